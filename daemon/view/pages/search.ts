// Searches the rows of all pages by title, values and keywords, and defines the page of all settings, which contains the
// search in a desktop app.
import { type Button, type ClientTask, clientCommand, type Form, type Group, type Row, type Status } from '../form.ts';
import { formatCount } from '../format.ts';
import { rankRows, rowKeywords } from '../forms/search-match.ts';
import {
  appRows,
  createLookup,
  type Gathered,
  gatherForSearch,
  historyRows,
  logRows,
  NOTHING_GATHERED,
  routeRows,
} from '../forms/search-rows.ts';
import { overviewForm } from '../forms/settings.ts';
import type { Host } from '../host.ts';
import { PAGE_NAMES, type PageName, pageTitle } from '../page-list.ts';
import { fill, type Translator } from '../translator.ts';
import type { View } from '../view.ts';
import { searchedForms } from './all.ts';
import type { Page } from './page.ts';

export interface Hit {
  page: PageName;
  /** Id of the row on the page; null for the page as a whole. */
  row: string | null;
  /** Title of the page. */
  place: string;
  title: string;
  subtitle: string;
  /** Opens a dialog instead of the page. */
  task?: ClientTask;
}

/** The page of all settings; in a desktop app, it begins with a search over all pages. */
export const settingsPage: Page = (host, changed) => {
  const search = createSearch(host, changed);
  let query = '';
  return {
    form(view) {
      const tr = host.tr();
      // in a browser, the search is next to every page, and no main menu links to the first steps
      const toWelcome: Row = { kind: 'link', id: 'to-welcome', page: 'welcome', title: pageTitle('welcome', tr) };
      if (!host.desktop) return { groups: [...overviewForm(view, tr).groups, { id: 'welcome', rows: [toWelcome] }] };
      const { answer, hits, count } = search.find(query, view);
      const isSearched = query.trim() !== '';
      const title = hits.length ? { title: count } : {};
      const groups = isSearched
        ? hitsForm(hits, tr).groups.map(group => ({ ...group, ...title }))
        : overviewForm(view, tr).groups;
      return {
        groups: answer ? [answer, ...groups] : groups,
        search: {
          label: tr._('Search settings'),
          text: query,
          type(text) {
            if (text === query) return;
            query = text;
            changed();
          },
          begin: () => void search.begin(),
          enter() {
            const [first] = search.find(query, host.view()).hits;
            if (first?.task) void host.run(clientCommand(first.task));
            else if (first) host.goTo(first.page, first.row);
          },
          ...(isSearched && { found: count }),
        },
      };
    },
    // the next search begins empty
    left() {
      query = '';
      search.find(query, host.view());
    },
    close: search.close,
  };
};

/** Creates a search over all pages. @param changed called when the results may have changed */
export function createSearch(host: Host, changed: () => void) {
  const { model, checks } = host;
  const lookup = createLookup(model, changed);
  const unsubscribe = checks.subscribe(changed);
  let gathered: Pick<Gathered, 'apps' | 'log'> = NOTHING_GATHERED;
  return {
    /** Reads the lists that only a search shows. */
    async begin(): Promise<void> {
      gathered = await gatherForSearch(model);
      changed();
    },
    /** Returns the route of an address in the query, the matching rows, best first, and their number in words. */
    find(query: string, view: View): { answer: Group | null; hits: Hit[]; count: string } {
      const tr = host.tr();
      lookup.follow(query, view);
      const pages = () => searchedPages(view, tr, { ...gathered, checks: checks.state() });
      const hits = query.trim() ? searchPages(pages(), query, tr) : [];
      return { answer: lookup.group(view, tr), hits, count: hitCount(hits, tr) };
    },
    close() {
      unsubscribe();
      // stops the lookup of a typed address
      lookup.follow('', host.view());
    },
  };
}

type SearchedPage = readonly [page: PageName, title: string, form: Form];

/** Returns the forms to search, including a form with a link to each page. */
export function searchedPages(view: View, tr: Translator, gathered: Gathered = NOTHING_GATHERED): SearchedPage[] {
  const forms: [PageName, Form][] = [
    ['settings', linksForm(view, tr)],
    ...searchedForms(view, tr, gathered.checks),
    ['history', historyRows(tr)],
    ['routes', routeRows(view, tr)],
    ['apps', appRows(gathered.apps, tr)],
    ['log', logRows(gathered.log, tr)],
  ];
  return forms.map(([page, form]) => [page, pageTitle(page, tr), form]);
}

/** Pages that get no added link: the settings, and pages that the settings list only if they are offered. */
const UNLISTED: readonly PageName[] = ['settings', 'tools', 'certificate'];

/** Returns links to all pages; those in the list of settings have a description. */
function linksForm(view: View, tr: Translator): Form {
  const { groups } = overviewForm(view, tr);
  const listed = groups.flatMap(({ rows }) => rows).map(row => (row.kind === 'link' ? { ...row, value: '' } : row));
  const missing = PAGE_NAMES.filter(
    page => !UNLISTED.includes(page) && !listed.some(row => row.kind === 'link' && row.page === page),
  );
  const links = missing.map((page): Row => ({ kind: 'link', id: `to-${page}`, page, title: pageTitle(page, tr) }));
  const shortcuts: Row = {
    kind: 'link',
    id: 'shortcuts',
    page: 'preferences',
    task: 'shortcuts',
    title: tr._('Keyboard Shortcuts'),
  };
  return { groups: [{ id: 'pages', rows: [...listed, ...links, shortcuts] }] };
}

/** Returns the rows that contain every word of `query`, best first; if no row does, the rows that contain some. */
export function searchPages(pages: readonly SearchedPage[], query: string, tr: Translator): Hit[] {
  const keywords = rowKeywords(tr);
  const rows = pages.flatMap(([page, place, { status, groups }]) => [
    ...(status ? statusRows(status, page).map(row => ({ page, place, group: STATUS, row })) : []),
    ...groups.flatMap(group => {
      const { rows, title = place, actions = [], menu = [] } = group;
      const unfoldedRows = rows.flatMap(unfolded);
      const found = [
        ...unfoldedRows,
        ...unfoldedRows.flatMap(row => commandRows(row.menu ?? [], row.title, page, () => row.id)),
        ...commandRows([...actions, ...menu], title, page, label => label),
      ];
      return found.map(row => ({ page, place, group, row }));
    }),
  ]);
  const ranks = rankRows(
    rows.map(({ page, place, group, row }) => [
      row.title,
      keywords[`${page}/${row.id}`] ?? '',
      aboutOf(row, group, place),
    ]),
    query,
  );
  const hits = rows.flatMap(({ page, place, group, row }, i) => {
    const rank = ranks[i];
    if (rank == null) return [];
    const link = row.kind === 'link';
    const task = link ? row.task : undefined;
    const hit: Hit = {
      page: link ? row.page : page,
      row: link && !task ? (row.row ?? null) : row.id,
      place,
      title: row.title,
      subtitle: (link ? row.subtitle : group.title) ?? '',
    };
    if (task) hit.task = task;
    return [{ hit, rank }];
  });
  hits.sort((a, b) => a.rank - b.rank);
  return unique(hits.map(({ hit }) => hit)).slice(0, 50);
}

/** Returns a row with the rows that it unfolds. */
function unfolded(row: Row): Row[] {
  return row.kind === 'expander' ? [row, ...row.rows.flatMap(unfolded)] : [row];
}

/** The group of a page's status, which has no title. */
const STATUS: Group = { id: 'status', rows: [] };

/** Returns a row for the state of a page and for each of its commands. */
function statusRows({ title, sentence, buttons, menu = [] }: Status, page: PageName): Row[] {
  return [
    { kind: 'link', page, id: 'status', title, subtitle: sentence },
    ...commandRows([...buttons, ...menu], title, page),
  ];
}

/**
 * Returns a row for each command, which leads to the place of the command. A report starts from the search.
 * @param rowOf returns the place of a label: a row, or the label of a button in a group's heading
 */
function commandRows(
  buttons: readonly Button[],
  subtitle: string,
  page: PageName,
  rowOf?: (label: string) => string,
): Row[] {
  return buttons.map(({ label, command: { ask } }): Row => {
    const link = { kind: 'link', page, title: label, subtitle, ...(rowOf && { row: rowOf(label) }) } as const;
    const isReport = ask.kind === 'client' && ask.task === 'report';
    return isReport ? { ...link, id: 'report', task: 'report' } : { ...link, id: label };
  });
}

/** Joins the context of a row: its description, values, group and page. */
function aboutOf(row: Row, { title, description }: Group, place: string): string {
  const values = row.kind === 'select' ? row.options.map(({ label }) => label) : [];
  const value = row.kind === 'fact' || row.kind === 'link' ? row.value : '';
  return [row.subtitle, value, ...values, title, description, place].filter(Boolean).join('; ');
}

/** Removes repeated hits, such as several links to a page. */
function unique(hits: Hit[]): Hit[] {
  const keyed = new Map<string, Hit>();
  for (const hit of hits) {
    const key = hit.row === null ? hit.page : `${hit.page}/${hit.row}`;
    if (!keyed.has(key)) keyed.set(key, hit);
  }
  return [...keyed.values()];
}

/** Words the number of hits; screen readers announce its changes. */
function hitCount(hits: readonly Hit[], tr: Translator): string {
  if (!hits.length) return tr._('Nothing found');
  return fill(tr.ngettext('%d result', '%d results', hits.length), formatCount(hits.length, tr));
}

/** Returns a form with a link to each hit. */
export function hitsForm(hits: readonly Hit[], { _ }: Translator): Form {
  const none: Row = { kind: 'note', id: 'none', title: _('Nothing found') };
  const rows = hits.map(({ page, row, place, title, subtitle, task }): Row => {
    const about = row === null ? subtitle : [place, subtitle].filter(Boolean).join(' · ');
    const link: Extract<Row, { kind: 'link' }> = { kind: 'link', id: `${page} ${row}`, page, title, subtitle: about };
    if (row !== null) link.row = row;
    if (task) link.task = task;
    return link;
  });
  return { groups: [{ id: 'hits', rows: rows.length ? rows : [none] }] };
}
