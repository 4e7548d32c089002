// Edits and prints the user's lists: the split tunnel, fallback domains, and trusted Wi-Fi networks.
import { type Context, notAuthorized, type Operation, refuse, sayJson, sayText } from './answer.ts';
import { described, fallbackOf, routesOf } from './settings.ts';
import type { Fallback, Route, Settings } from './state.ts';
import { change } from './tunnel.ts';

export interface Edits {
  add: Operation;
  remove: Operation;
  reset: Operation;
}

interface List<Entry> {
  of(context: Context): Entry[];
  nameOf(entry: Entry): string;
  make(name: string, context: Context): Entry;
  /** Stores the entries; null restores the initial list. */
  store(settings: Settings, entries: Entry[] | null): void;
  normalize?(name: string): string;
}

/** Creates the commands that edit a list. All are refused for members of an organization. */
function edits<Entry>({ of, nameOf, make, store, normalize = name => name }: List<Entry>): Edits {
  const edit =
    (
      next: (entries: Entry[], name: string, context: Context) => Entry[] | null | ReturnType<typeof refuse>,
    ): Operation =>
    (context, [text = '']) => {
      if (context.state.policy) return notAuthorized;
      const entries = next(of(context), normalize(text), context);
      if (entries !== null && !Array.isArray(entries)) return entries;
      return change(context, settings => store(settings, entries));
    };
  const has = (entries: Entry[], name: string) => entries.some(entry => nameOf(entry) === name);
  return {
    add: edit((entries, name, context) =>
      has(entries, name) ? refuse('AlreadyExists', `${name} already exists.`) : [...entries, make(name, context)],
    ),
    remove: edit((entries, name) =>
      has(entries, name)
        ? entries.filter(entry => nameOf(entry) !== name)
        : refuse('NotFound', `${name} was not found.`),
    ),
    reset: edit(() => null),
  };
}

const route = {
  nameOf: ({ value }: Route) => value,
  make: (value: string, { state }: Context): Route => ({
    value,
    description: state.settings.splitMode === 'exclude' ? 'CLI exclude' : 'CLI include',
  }),
};

export const ips = edits<Route>({
  ...route,
  of: routesOf,
  store(settings, entries) {
    settings.ips = entries;
  },
  // store an address as a range of one address
  normalize: address => (address.includes('/') ? address : `${address}/${address.includes(':') ? 128 : 32}`),
});

export const hosts = edits<Route>({
  ...route,
  of: ({ state }) => state.settings.hosts,
  store(settings, entries) {
    settings.hosts = entries ?? [];
  },
});

export const fallback = edits<Fallback>({
  of: fallbackOf,
  nameOf: ({ domain }) => domain,
  make: domain => ({ domain, description: 'CLI add', servers: [] }),
  store(settings, entries) {
    settings.fallback = entries;
  },
});

export const ssids = edits<string>({
  of: ({ state }) => state.settings.ssids,
  nameOf: ssid => ssid,
  make: ssid => ssid,
  store(settings, entries) {
    settings.ssids = entries ?? [];
  },
});

/** Prints the routes. Only the heading `Excluded:` and the routes below it are known. */
export const dump: Operation = context => {
  const { splitMode, hosts } = context.state.settings;
  const values = [...routesOf(context), ...hosts].map(({ value }) => value);
  const everything = ['0.0.0.0/0', '::/0'];
  const [excluded, included] = splitMode === 'exclude' ? [values, everything] : [everything, values];
  return sayText(`${block('Excluded', excluded)}\n${block('Included', included)}`);
};

export const listIps: Operation = context => listing(context, 'routes', routesOf(context));
export const listHosts: Operation = context => listing(context, 'hosts', context.state.settings.hosts);
export const listSsids: Operation = ({ state }) => sayJson(state.settings.ssids);

function listing({ state }: Context, kind: string, routes: Route[]) {
  const mode = state.settings.splitMode === 'exclude' ? 'Excluded' : 'Included';
  return sayText(block(`${mode} ${kind}`, routes.map(described)));
}

const block = (heading: string, lines: string[]) => `${heading}:\n${lines.map(line => `  ${line}\n`).join('')}`;
