// Lists the pages that the web page has.
import type { PageName } from '../../view/forms/form.ts';

/** In the order of the navigation. */
export const SHOWN_PAGES = [
  'connection',
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
