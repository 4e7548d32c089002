// Shows every page but the first. Loaded when one of them is opened.
import type { ComponentType } from 'preact';
import type { Form, PageName, Row } from '../../view/form.ts';
import { PAGE_FORMS, type PageForm } from '../../view/forms/pages.ts';
import { overviewForm } from '../../view/forms/settings.ts';
import { pageTitle } from '../../view/page-titles.ts';
import type { Translator } from '../../view/translator.ts';
import type { View } from '../../view/view.ts';
import { type App, useApp } from '../client/app.ts';
import { FormView } from '../widgets/rows/form.tsx';
import { AccountPage } from './account.tsx';
import { AppsPage } from './apps.tsx';
import { CertificatePage } from './certificate.tsx';
import { ChecksPage } from './checks.tsx';
import { HistoryPage } from './history.tsx';
import { LogPage } from './log.tsx';
import { NetworksPage } from './networks.tsx';
import { EditorPage } from './routes/editor.tsx';
import { RoutesPage } from './routes/routes.tsx';
import { ToolAccountsPage } from './tool-accounts.tsx';
import { KillSwitchPage } from './tunnel/killswitch.tsx';
import { UpdatesPage } from './updates.tsx';
import { WelcomePage } from './welcome.tsx';

export { showReport } from '../tasks/report.ts';
export { runSettingsTask } from '../tasks/settings.ts';
export { SearchResults } from './search.tsx';
export { SignInPage } from './sign-in.tsx';

const FORM_PAGES = Object.fromEntries(
  Object.entries<PageForm>(PAGE_FORMS).map(([page, build]) => [
    page,
    formPage((view, { tr, now }) => build(view, tr.value, () => now.value)),
  ]),
) as Record<keyof typeof PAGE_FORMS, ComponentType>;

export const PAGES = {
  ...FORM_PAGES,
  settings: formPage((view, { tr }) => settingsForm(view, tr.value)),
  killswitch: KillSwitchPage,
  networks: NetworksPage,
  routes: RoutesPage,
  editor: EditorPage,
  account: AccountPage,
  apps: AppsPage,
  tools: ToolAccountsPage,
  certificate: CertificatePage,
  history: HistoryPage,
  checks: ChecksPage,
  log: LogPage,
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
