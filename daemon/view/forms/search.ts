// Finds settings by words: every row of every page, by its title, values and keywords, with the page that holds it.
import { pageTitle } from '../page-titles.ts';
import { foldText } from '../text-search.ts';
import type { Translator } from '../translator.ts';
import type { View } from '../view.ts';
import { accountForm } from './account.ts';
import { type Form, type Group, PAGE_NAMES, type PageName, type Row } from './form.ts';
import { rowKeywords } from './keywords.ts';
import { preferencesForm, settingsForm, UNKNOWN_DESKTOP } from './preferences.ts';
import { advancedForm } from './tunnel/advanced.ts';
import { dnsForm } from './tunnel/dns.ts';
import { killSwitchForm } from './tunnel/killswitch.ts';
import { modeForm } from './tunnel/modes.ts';
import { networksForm } from './tunnel/networks.ts';

export interface Hit {
  page: PageName;
  /** Id of the row on the page; null for the page as a whole. */
  row: string | null;
  /** Title of the page. */
  place: string;
  title: string;
  subtitle: string;
}

type SearchedPage = readonly [page: PageName, title: string, form: Form];

/** Every form that has the same rows at any time, and a link to each page. */
export function searchedPages({ client, tunnel, killSwitch }: View, tr: Translator): SearchedPage[] {
  const { settable } = tunnel;
  const forms: [PageName, Form][] = [
    ['settings', linksForm(tr)],
    ['mode', modeForm(client, settable, tr)],
    ['killswitch', killSwitchForm(killSwitch, Date.now(), tr)],
    ['dns', dnsForm(client, settable, tr)],
    ['networks', networksForm(client, { settable, network: null }, tr)],
    ['account', accountForm(client, null, tr)],
    ['advanced', advancedForm(client, settable, tr)],
    ['preferences', preferencesForm(client, UNKNOWN_DESKTOP, tr)],
  ];
  return forms.map(([page, form]) => [page, pageTitle(page, tr), form]);
}

/** A link to each page; the list of settings has some of them, with a description. */
function linksForm(tr: Translator): Form {
  const { groups } = settingsForm({ mode: '', killSwitch: '', routes: 0, account: null }, tr);
  const listed = groups.flatMap(({ rows }) => rows).map(row => (row.kind === 'link' ? { ...row, value: '' } : row));
  const missing = PAGE_NAMES.filter(
    page => page !== 'settings' && !listed.some(row => row.kind === 'link' && row.page === page),
  );
  const links = missing.map((page): Row => ({ kind: 'link', id: `to-${page}`, page, title: pageTitle(page, tr) }));
  return { groups: [{ id: 'pages', rows: [...listed, ...links] }] };
}

/** The rows that hold every word of `query`, the best first. */
export function searchPages(pages: readonly SearchedPage[], query: string, tr: Translator): Hit[] {
  const words = foldText(query).split(' ').filter(Boolean);
  if (!words.length) return [];
  const keywords = rowKeywords(tr);
  const hits = pages.flatMap(([page, place, { groups }]) =>
    groups.flatMap(group =>
      group.rows.flatMap(row => {
        const rank = rankOf([row.title, keywords[`${page}/${row.id}`] ?? '', aboutOf(row, group, place)], words);
        if (rank === null) return [];
        const link = row.kind === 'link';
        const hit: Hit = {
          page: link ? row.page : page,
          row: link ? null : row.id,
          place,
          title: row.title,
          subtitle: (link ? row.subtitle : group.title) ?? '',
        };
        return [{ hit, rank }];
      }),
    ),
  );
  hits.sort((a, b) => a.rank - b.rank);
  return unique(hits.map(({ hit }) => hit)).slice(0, 50);
}

/** Context of a row: its description, values, group and page. */
function aboutOf(row: Row, { title, description }: Group, place: string): string {
  const values = row.kind === 'select' ? row.options.map(({ label }) => label) : [];
  const value = row.kind === 'fact' || row.kind === 'link' ? row.value : '';
  return [row.subtitle, value, ...values, title, description, place].filter(Boolean).join('; ');
}

/**
 * Rank of texts, which are in the order of their importance: 0 for a title that is or begins with what was typed. A word
 * matches where another one begins with it; in the midst of a word it counts least.
 * @returns null where a word is missing
 */
function rankOf(texts: string[], words: string[]): number | null {
  const indexed = texts.map(text => text.split(';').map(indexOf).join(' ;'));
  const phrases = [` ${words.join(' ')}`, ` ${words.join('')}`];
  if (phrases.some(phrase => indexed[0]!.startsWith(phrase))) return 0;
  const text = indexed.findIndex(each => phrases.some(phrase => each.includes(phrase)));
  if (text >= 0) return 1 + text;
  const all = indexed.join(' ');
  if (words.every(word => all.includes(` ${word}`))) return 5;
  return words.every(word => all.includes(word)) ? 6 : null;
}

/** The words of a phrase, and each two of them as one, so that “killswitch” matches “kill switch”. */
function indexOf(phrase: string): string {
  const words = foldText(phrase).split(' ');
  const pairs = words.slice(1).map((word, i) => `${words[i]}${word}`);
  return ['', ...words, ...pairs].join(' ');
}

/** A page stands once, even if several links lead to it. */
function unique(hits: Hit[]): Hit[] {
  const keyed = new Map<string, Hit>();
  for (const hit of hits) {
    const key = hit.row === null ? hit.page : `${hit.page}/${hit.row}`;
    if (!keyed.has(key)) keyed.set(key, hit);
  }
  return [...keyed.values()];
}

/** The hits as rows that lead to them. */
export function hitsForm(hits: readonly Hit[], { _ }: Translator): Form {
  const none: Row = { kind: 'note', id: 'none', title: _('Nothing found') };
  const rows = hits.map(
    ({ page, row, place, title, subtitle }): Row => ({
      kind: 'link',
      id: `${page} ${row}`,
      page,
      ...(row === null ? {} : { row }),
      title,
      subtitle: [...(row === null ? [] : [place]), subtitle].filter(Boolean).join(' · '),
    }),
  );
  return { groups: [{ id: 'hits', rows: rows.length ? rows : [none] }] };
}
