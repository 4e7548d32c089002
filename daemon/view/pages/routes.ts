// Defines the split tunnel's pages: the list, and an editor for the list as text.
import type { Why } from '../../api/schema.ts';
import { createRoutesEditor } from '../client/routes-editor.ts';
import { type Form, type Group, type List, type ListItem, type Status, workCommand } from '../form.ts';
import { searchedText } from '../forms/search-rows.ts';
import { editorForm } from '../forms/tunnel/routes-editor.ts';
import {
  addition,
  describeRoutes,
  type RouteEntry,
  type RoutesView,
  removal,
  resetRoutes,
  routeMatches,
} from '../forms/tunnel/split-tunnel.ts';
import { checks } from '../forms/validate.ts';
import type { Host } from '../host.ts';
import { pageTitle } from '../page-list.ts';
import { whyForm } from '../states/why.ts';
import { fill, type Translator } from '../translator.ts';
import type { View } from '../view.ts';
import { type Page, reading } from './page.ts';

/** The list page: a question about a target, a field that adds an entry, and the entries to search and remove. */
export const routesPage: Page = (host, changed) => {
  let answer: Why | null = null;
  const show = (next: Why | null) => {
    answer = next;
    changed();
  };
  const ask = async (target: string) => {
    show(null);
    show(await host.model.call('POST /api/why', { body: { target } }));
  };
  const entries = createEntries(host);
  const search = (text: string) => {
    if (entries.search(text)) changed();
  };
  return {
    // the keyboard begins in the field that changes the list, not in the question above it
    first: 'add',
    form(view) {
      const tr = host.tr();
      const routes = entries.follow(view);
      const isListed = (value: string) => entries.find(value) !== undefined;
      return {
        groups: [...whyForm(answer, ask, tr).groups, changeGroup(routes, isListed, tr)],
        search: {
          label: tr._('Search routes'),
          text: entries.query(),
          type: search,
        },
        list: { ...listOf(routes, tr), ...entries.shown(routes, search) },
      };
    },
    reveal(row) {
      const text = searchedText(row);
      if (text) entries.search(text);
    },
  };
};

const EMPTY = { icon: 'culvert-routes-symbolic', tone: 'neutral' } as const;

/** Filters the entries by the search, and describes them again only when the state or the search changes. */
function createEntries(host: Host) {
  let described: { view: View; routes: RoutesView } | null = null;
  let key = '';
  let mode: RoutesView['mode'] = null;
  let entries: ReadonlyMap<string, RouteEntry> = new Map();
  /** The user's entries that came while the page was open, newest first, so that the user sees an added entry. */
  let newest: readonly string[] = [];
  let query = '';
  let items: readonly ListItem[] | null = null;
  return {
    follow(view: View): RoutesView {
      if (described?.view === view) return described.routes;
      const routes = describeRoutes(view.client, view.tunnel.settable, host.tr());
      described = { view, routes };
      const now = JSON.stringify([routes.entries, routes.mode, routes.sensitive]);
      if (now !== key) {
        const added = routes.entries.filter(({ value, isBuiltIn }) => !isBuiltIn && !entries.has(value));
        // a list of the other mode, and the first list of a daemon, are not the user's additions
        if (routes.mode !== mode) newest = [];
        else if (entries.size > 0) newest = [...added.map(({ value }) => value), ...newest];
        mode = routes.mode;
        entries = new Map(routes.entries.map(entry => [entry.value, entry]));
        items = null;
        key = now;
      }
      return routes;
    },
    find: (value: string) => entries.get(value),
    query: () => query,
    shown(routes: RoutesView, search: (text: string) => void): Pick<List, 'items' | 'removal' | 'empty'> {
      const tr = host.tr();
      const { _ } = tr;
      items ??= sorted(entries, newest)
        .filter(entry => routeMatches(entry, query))
        .map(itemOf);
      return {
        items,
        removal: ({ id }) => ({
          // Translators: %s is an address or a host name
          label: fill(_('Remove %s'), id),
          command: removal(entries.get(id)!, tr),
        }),
        empty: entries.size ? notFound(search, tr) : noRoutes(routes, tr),
      };
    },
    /** @returns false if the search stays the same */
    search(text: string): boolean {
      if (text === query) return false;
      query = text;
      items = null;
      return true;
    },
  };
}

function notFound(search: (text: string) => void, { _ }: Translator): Status {
  const all = { label: _('Show all'), command: workCommand(async () => search('')) };
  return { ...EMPTY, title: _('Nothing found'), sentence: _('No route matches the search.'), buttons: [all] };
}

function noRoutes({ managed, sensitive }: RoutesView, tr: Translator): Status {
  const { _ } = tr;
  const sentence = managed ? _('Your organization manages this list') : _('Add an address, a range or a host above.');
  const defaults = { label: _('Default Addresses…'), command: resetRoutes('addresses', tr), sensitive };
  return { ...EMPTY, title: _('No routes'), sentence, buttons: [defaults] };
}

/** Returns the entries with the newest first. */
function sorted(entries: ReadonlyMap<string, RouteEntry>, newest: readonly string[]): RouteEntry[] {
  const first = new Map(newest.flatMap(value => (entries.has(value) ? [[value, entries.get(value)!] as const] : [])));
  return [...new Map([...first, ...entries]).values()];
}

function itemOf({ value, origin, note, removable }: RouteEntry): ListItem {
  return { id: value, title: value, badge: origin, note, removable };
}

/** A sentence about the list, a link to the editor, and the field that adds an entry. */
function changeGroup(routes: RoutesView, isListed: (value: string) => boolean, tr: Translator): Group {
  const { _ } = tr;
  const { sentence, managed, sensitive } = routes;
  const reason = managed ? _('Your organization manages this list') : null;
  return {
    id: 'change',
    description: reason ? `${sentence} ${reason}.` : sentence,
    rows: [
      { kind: 'link', id: 'edit', title: pageTitle('editor', tr), page: 'editor' },
      {
        kind: 'entry',
        id: 'add',
        title: _('Address, range or host to add'),
        label: _('Add'),
        name: _('Add a route'),
        placeholder: '192.0.2.0/24',
        check: text => checks(tr).route(text) ?? (isListed(text) ? _('It is already on the list') : null),
        sensitive,
        reason,
        command: value => addition(value, routes.mode, tr),
      },
    ],
  };
}

/** The list without its entries. */
function listOf({ managed, sensitive }: RoutesView, tr: Translator) {
  const { _ } = tr;
  return {
    title: pageTitle('routes', tr),
    sensitive,
    reason: managed ? _('Your organization manages this list') : null,
    more: {
      name: _('More for routes'),
      entries: [
        { label: _('Default Addresses…'), command: resetRoutes('addresses', tr) },
        { label: _('Remove All Hosts…'), command: resetRoutes('hosts', tr) },
      ],
    },
  };
}

/** Shortest wait before an event repeats a first read that failed. */
const RETRY_MS = 5_000;

/** The editor page: the list as text, and below it a preview of its changes, presets and earlier lists. */
export const editorPage: Page = (host, changed) => {
  const editor = createRoutesEditor(host.model, changed);
  /** Time from which an event repeats a failed first read; null during a read. */
  let retryAt: number | null = null;
  let isReported = false;
  const lists = reading(host, changed, {
    async read() {
      retryAt = null;
      try {
        await editor.read();
      } catch (error) {
        if (!isReported) host.showError(error);
        isReported = true;
        if (!editor.state().routes) retryAt = host.now() + RETRY_MS;
      }
    },
    everyMs: () => (retryAt !== null && host.now() >= retryAt ? 0 : Number.POSITIVE_INFINITY),
  });
  return {
    form(view): Form {
      lists.now(view);
      const tr = host.tr();
      const { text, routes, busy } = editor.state();
      const field: Group = {
        id: 'text',
        description: tr._(
          'One address, range, host or difference such as 10.0.0.0/8 - 10.1.2.0/24 a line; # begins a comment.',
        ),
        rows: [
          {
            kind: 'area',
            id: 'text',
            title: pageTitle('editor', tr),
            text,
            sensitive: routes !== null && !routes.readOnly && busy !== 'setting',
            type: editor.type,
          },
        ],
      };
      const { groups } = editorForm(editor, { settable: view.tunnel.settable, files: host }, tr);
      return { groups: [field, ...groups] };
    },
    shown: lists.shown,
    close() {
      lists.close();
      editor.close();
    },
  };
};
