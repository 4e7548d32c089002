// Shows every page but the first. Loaded when one of them is opened.
import type { ComponentType } from 'preact';
import type { Form, PageName, Row } from '../../view/form.ts';
import { preferencesForm, UNKNOWN_DESKTOP } from '../../view/forms/preferences.ts';
import { overviewForm } from '../../view/forms/settings.ts';
import { advancedForm } from '../../view/forms/tunnel/advanced.ts';
import { dnsForm } from '../../view/forms/tunnel/dns.ts';
import { killSwitchForm } from '../../view/forms/tunnel/killswitch.ts';
import { modeForm } from '../../view/forms/tunnel/modes.ts';
import { networksForm } from '../../view/forms/tunnel/networks.ts';
import { pageTitle } from '../../view/page-titles.ts';
import type { Translator } from '../../view/translator.ts';
import type { View } from '../../view/view.ts';
import { type App, useApp } from '../client/app.ts';
import { FormView } from '../widgets/rows.tsx';
import { AccountPage } from './account.tsx';
import { AppsPage } from './apps.tsx';
import { ChecksPage } from './checks.tsx';
import { HistoryPage } from './history.tsx';
import { LogPage } from './log.tsx';
import { EditorPage } from './routes/editor.tsx';
import { RoutesPage } from './routes/routes.tsx';
import { ToolAccountsPage } from './tool-accounts.tsx';
import { UpdatesPage } from './updates.tsx';
import { WelcomePage } from './welcome.tsx';

export { showReport } from '../tasks/report.ts';
export { runSettingsTask } from '../tasks/settings.ts';
export { PairingPage } from './pairing.tsx';
export { SearchResults } from './search.tsx';

export const PAGES = {
  settings: formPage((view, { tr }) => settingsForm(view, tr.value)),
  mode: formPage((view, { tr }) => modeForm(view.client, view.tunnel.settable, tr.value)),
  killswitch: formPage((view, { tr, now }) => killSwitchForm(view.killSwitch, now.value, tr.value)),
  routes: RoutesPage,
  editor: EditorPage,
  dns: formPage((view, { tr }) => dnsForm(view.client, view.tunnel.settable, tr.value)),
  // only the desktop knows the present network
  networks: formPage((view, { tr, now }) =>
    networksForm(view.client, { settable: view.tunnel.settable, network: null, now: now.value }, tr.value),
  ),
  account: AccountPage,
  apps: AppsPage,
  tools: ToolAccountsPage,
  advanced: formPage((view, { tr }) => advancedForm(view.client, view.tunnel.settable, tr.value)),
  history: HistoryPage,
  checks: ChecksPage,
  log: LogPage,
  preferences: formPage((view, { tr }) => preferencesForm(view.client, UNKNOWN_DESKTOP, tr.value)),
  updates: UpdatesPage,
  welcome: WelcomePage,
} satisfies Record<Exclude<PageName, 'connection'>, ComponentType>;

/** A page has no main menu, which leads to the first steps in the window. */
function settingsForm(view: View, tr: Translator): Form {
  const { groups } = overviewForm(view, tr);
  const row: Row = { kind: 'link', id: 'to-welcome', page: 'welcome', title: pageTitle('welcome', tr) };
  return { groups: [...groups, { id: 'welcome', rows: [row] }] };
}

function formPage(build: (view: View, app: App) => Form): ComponentType {
  return function FormPage() {
    const app = useApp();
    return <FormView form={build(app.view.value, app)} />;
  };
}
