// Makes the pages of the window other than the first. page-list.ts loads this file after the first frame.
import type { PageName } from '../../daemon/view/form.ts';
import { PAGE_FORMS, type PageForm } from '../../daemon/view/forms/pages.ts';
import { tr } from '../i18n.ts';
import type { History } from './history.ts';
import { AppsPage } from './pages/apps/apps-page.ts';
import { certificatePage } from './pages/certificate-page.ts';
import { EditorPage } from './pages/editor-page.ts';
import { HistoryPage } from './pages/history-page.ts';
import { killSwitchPage } from './pages/killswitch-page.ts';
import {
  accountPage,
  type ChecksPage,
  checksPage,
  networksPage,
  preferencesPage,
  type UpdatesPage,
  updatesPage,
} from './pages/loaded-pages.ts';
import { LogPage } from './pages/log-page.ts';
import { RoutesPage } from './pages/routes/routes-page.ts';
import { SettingsPage } from './pages/settings-page.ts';
import { toolAccountsPage } from './pages/tool-accounts-page.ts';
import { WelcomePage } from './pages/welcome-page.ts';
import type { Page, Shell } from './shell.ts';
import { FormPage } from './widgets/rows/form-page.ts';

export interface FurtherPages {
  make(page: Exclude<PageName, 'connection'>): Page;
  checks(): ChecksPage;
  updates(): UpdatesPage;
}

/** @param title of a page, in words */
export function createFurtherPages(shell: Shell, history: History, title: (page: PageName) => string): FurtherPages {
  let checks: ChecksPage | null = null;
  let updates: UpdatesPage | null = null;
  const make: FurtherPages['make'] = name => {
    switch (name) {
      case 'apps':
        return new AppsPage(shell);
      case 'settings':
        return new SettingsPage(shell);
      case 'routes':
        return new RoutesPage(shell);
      case 'editor':
        return new EditorPage(shell);
      case 'killswitch':
        return killSwitchPage(shell);
      case 'networks':
        return networksPage(shell);
      case 'account':
        return accountPage(shell);
      case 'tools':
        return toolAccountsPage(shell);
      case 'certificate':
        return certificatePage(shell);
      case 'history':
        return new HistoryPage(shell, history);
      case 'checks':
        return further.checks().page;
      case 'log':
        return new LogPage(shell);
      case 'preferences':
        return preferencesPage(shell);
      case 'updates':
        return further.updates().page;
      case 'welcome':
        return new WelcomePage(shell);
      default: {
        const build: PageForm = PAGE_FORMS[name];
        return new FormPage(shell, view => build(view, tr, Date.now));
      }
    }
  };
  const further: FurtherPages = {
    make(name) {
      const page = make(name);
      if (page instanceof FormPage) page.setTitle(title(name));
      return page;
    },
    checks() {
      checks ??= checksPage(shell);
      return checks;
    },
    updates() {
      updates ??= updatesPage(shell);
      return updates;
    },
  };
  return further;
}
