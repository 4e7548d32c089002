// Lists the pages of a client with their titles. `pages/all.ts` defines the pages that are forms; clients draw the rest.
import type { Translator } from './translator.ts';

interface ListedPage {
  /** The translated title, as headings and navigation show it. */
  title(tr: Translator): string;
  /** Name of the icon in the panel's navigation. */
  icon: string;
}

const LIST = {
  connection: { title: ({ _ }) => _('Connection'), icon: 'org.culvert.Culvert-symbolic' },
  apps: { title: ({ _ }) => _('Apps'), icon: 'culvert-apps-symbolic' },
  settings: { title: ({ _ }) => _('Settings'), icon: 'culvert-settings-symbolic' },
  mode: { title: ({ _ }) => _('Mode'), icon: 'culvert-mode-symbolic' },
  killswitch: { title: ({ _ }) => _('Kill Switch'), icon: 'culvert-killswitch-symbolic' },
  routes: { title: ({ _ }) => _('Routes'), icon: 'culvert-routes-symbolic' },
  editor: { title: ({ _ }) => _('Edit as Text'), icon: 'culvert-routes-symbolic' },
  dns: { title: ({ _ }) => _('DNS'), icon: 'culvert-dns-symbolic' },
  networks: { title: ({ _ }) => _('Networks'), icon: 'culvert-networks-symbolic' },
  account: { title: ({ _ }) => _('Account'), icon: 'culvert-account-symbolic' },
  advanced: { title: ({ _ }) => _('Server and Proxy'), icon: 'culvert-server-symbolic' },
  tools: { title: ({ _ }) => _('Tool Accounts'), icon: 'culvert-accounts-symbolic' },
  certificate: { title: ({ _ }) => _('Organization Certificate'), icon: 'culvert-certificate-symbolic' },
  history: { title: ({ _ }) => _('History'), icon: 'culvert-graph-symbolic' },
  checks: { title: ({ _ }) => _('Checks'), icon: 'culvert-checks-symbolic' },
  log: { title: ({ _ }) => _('Log'), icon: 'culvert-console-symbolic' },
  preferences: { title: ({ _ }) => _('App'), icon: 'culvert-settings-symbolic' },
  updates: { title: ({ _ }) => _('Updates'), icon: 'culvert-updates-symbolic' },
  welcome: { title: ({ _ }) => _('First Steps'), icon: 'org.culvert.Culvert-symbolic' },
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
