// Lists the pages that the web page has.
import type { PageName } from '../view/form.ts';

export const SHOWN_PAGES = [
  'connection',
  'settings',
  'mode',
  'killswitch',
  'routes',
  'editor',
  'dns',
  'networks',
  'account',
  'apps',
  'tools',
  'advanced',
  'history',
  'checks',
  'log',
  'preferences',
  'updates',
  'welcome',
] as const satisfies readonly PageName[];
export type ShownPage = (typeof SHOWN_PAGES)[number];
