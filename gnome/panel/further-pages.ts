// Creates all pages of the window but the first. page-loader.ts loads this file after the first frame.
import { type PageName, pageTitle } from '../../daemon/view/page-list.ts';
import { FORM_PAGES } from '../../daemon/view/pages/all.ts';
import { settingsPage } from '../../daemon/view/pages/search.ts';
import { tr } from '../i18n.ts';
import type { PageWidget, WindowHost } from './host.ts';
import { LogPage } from './pages/log-page.ts';
import { FormPage } from './widgets/rows/form-page.ts';

/** Creates a page by name: pages with special widgets have a case, all others are forms. */
export function makePage(name: Exclude<PageName, 'connection'>, host: WindowHost): PageWidget {
  switch (name) {
    case 'settings':
      return new FormPage(host, settingsPage, pageTitle(name, tr));
    case 'log':
      return new LogPage(host);
    default:
      return new FormPage(host, FORM_PAGES[name].open, pageTitle(name, tr));
  }
}
