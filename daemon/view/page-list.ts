// Lists the pages of a client with their titles. `pages/all.ts` defines the pages that are forms; clients draw the rest.
import type { Translator } from './translator.ts';

interface ListedPage {
  /** The translated title, as headings and navigation show it. */
  title(tr: Translator): string;
  /** Name of the icon for the switcher of the primary pages. */
  icon?: string;
}

const LIST = {
  connection: { title: ({ _ }) => _('Connection'), icon: 'org.culvert.Culvert-symbolic' },
  apps: { title: ({ _ }) => _('Apps'), icon: 'culvert-apps-symbolic' },
  settings: { title: ({ _ }) => _('Settings'), icon: 'culvert-settings-symbolic' },
  mode: { title: ({ _ }) => _('Mode') },
  killswitch: { title: ({ _ }) => _('Kill Switch') },
  routes: { title: ({ _ }) => _('Routes') },
  editor: { title: ({ _ }) => _('Edit as Text') },
  dns: { title: ({ _ }) => _('DNS') },
  networks: { title: ({ _ }) => _('Networks') },
  account: { title: ({ _ }) => _('Account') },
  advanced: { title: ({ _ }) => _('Server and Proxy') },
  tools: { title: ({ _ }) => _('Tool Accounts') },
  certificate: { title: ({ _ }) => _('Organization Certificate') },
  history: { title: ({ _ }) => _('History') },
  checks: { title: ({ _ }) => _('Checks') },
  log: { title: ({ _ }) => _('Log') },
  preferences: { title: ({ _ }) => _('App') },
  updates: { title: ({ _ }) => _('Updates') },
  welcome: { title: ({ _ }) => _('First Steps') },
} satisfies Record<string, ListedPage>;

export type PageName = keyof typeof LIST;
export const PAGES: Readonly<Record<PageName, ListedPage>> = LIST;
export const PAGE_NAMES = Object.keys(LIST) as readonly PageName[];

/** Present places of former pages, which links and desktop actions may still name. */
const FORMER_PAGES: Readonly<Record<string, { page: PageName; row: string }>> = {
  graph: { page: 'history', row: 'now' },
};
export const FORMER_PAGE_NAMES = Object.keys(FORMER_PAGES);

/** Returns the page with a name, or for a former page the row that replaced it; null for any other name. */
export function placeOf(name: string): { page: PageName; row: string | null } | null {
  const page = PAGE_NAMES.find(page => page === name);
  if (page) return { page, row: null };
  return Object.hasOwn(FORMER_PAGES, name) ? FORMER_PAGES[name]! : null;
}

export function pageTitle(page: PageName, tr: Translator): string {
  return PAGES[page].title(tr);
}
