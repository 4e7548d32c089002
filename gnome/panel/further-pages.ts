// Makes the pages of the window other than the first. page-list.ts loads this file after the first frame.
import { accountForm } from '../../daemon/view/forms/account.ts';
import type { PageName } from '../../daemon/view/forms/form.ts';
import { preferencesForm, UNKNOWN_DESKTOP } from '../../daemon/view/forms/preferences.ts';
import { advancedForm } from '../../daemon/view/forms/tunnel/advanced.ts';
import { dnsForm } from '../../daemon/view/forms/tunnel/dns.ts';
import { killSwitchForm } from '../../daemon/view/forms/tunnel/killswitch.ts';
import { modeForm } from '../../daemon/view/forms/tunnel/modes.ts';
import { networksForm } from '../../daemon/view/forms/tunnel/networks.ts';
import type { View } from '../../daemon/view/view.ts';
import { tr } from '../i18n.ts';
import type { History } from './history.ts';
import { AppsPage } from './pages/apps/apps-page.ts';
import { EditorPage } from './pages/editor-page.ts';
import { GraphPage } from './pages/graph-page.ts';
import { HistoryPage } from './pages/history-page.ts';
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
import { RoutesPage } from './pages/routes-page.ts';
import { type Searched, SettingsPage } from './pages/settings-page.ts';
import { toolAccountsPage } from './pages/tool-accounts-page.ts';
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
  const searched = ({ client, tunnel, killSwitch }: View): Searched => [
    ['mode', title('mode'), modeForm(client, tunnel.settable, tr)],
    ['killswitch', title('killswitch'), killSwitchForm(killSwitch, Date.now(), tr)],
    ['dns', title('dns'), dnsForm(client, tunnel.settable, tr)],
    ['networks', title('networks'), networksForm(client, { settable: tunnel.settable, network: null }, tr)],
    ['account', title('account'), accountForm(client, null, tr)],
    ['advanced', title('advanced'), advancedForm(client, tunnel.settable, tr)],
    ['preferences', title('preferences'), preferencesForm(client, UNKNOWN_DESKTOP, tr)],
  ];
  const make: FurtherPages['make'] = name => {
    switch (name) {
      case 'apps':
        return new AppsPage(shell);
      case 'settings':
        return new SettingsPage(shell, searched);
      case 'mode':
        return new FormPage(shell, ({ client, tunnel }) => modeForm(client, tunnel.settable, tr));
      case 'killswitch':
        return new FormPage(shell, ({ killSwitch }) => killSwitchForm(killSwitch, Date.now(), tr), true);
      case 'routes':
        return new RoutesPage(shell);
      case 'editor':
        return new EditorPage(shell);
      case 'dns':
        return new FormPage(shell, ({ client, tunnel }) => dnsForm(client, tunnel.settable, tr));
      case 'networks':
        return networksPage(shell);
      case 'account':
        return accountPage(shell);
      case 'advanced':
        return new FormPage(shell, ({ client, tunnel }) => advancedForm(client, tunnel.settable, tr));
      case 'tools':
        return toolAccountsPage(shell);
      case 'graph':
        return new GraphPage(history);
      case 'history':
        return new HistoryPage(shell);
      case 'checks':
        return further.checks().page;
      case 'log':
        return new LogPage(shell);
      case 'preferences':
        return preferencesPage(shell);
      case 'updates':
        return further.updates().page;
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
