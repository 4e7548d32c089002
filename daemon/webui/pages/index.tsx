// Shows every page but the first. Loaded when one of them is opened.
import type { Form, Row } from '../../view/form.ts';
import { overviewForm } from '../../view/forms/settings.ts';
import { type PageName, pageTitle } from '../../view/page-list.ts';
import { FORM_PAGES } from '../../view/pages/all.ts';
import type { Translator } from '../../view/translator.ts';
import type { View } from '../../view/view.ts';
import { useApp } from '../client/app.ts';
import { PageView } from '../widgets/page-view.tsx';
import { FormView } from '../widgets/rows/form.tsx';
import { AppsPage } from './apps.tsx';
import { HistoryPage } from './history.tsx';
import { LogPage } from './log.tsx';
import { WelcomePage } from './welcome.tsx';

export { SETTINGS_TASKS } from '../../view/pages/settings-file.ts';
export { showReport } from '../tasks/report.ts';
export { SearchResults } from './search.tsx';
export { SignInPage } from './sign-in.tsx';

/** Pages with widgets of their own have a line; all others are forms. */
export function FurtherPage({ page }: { page: Exclude<PageName, 'connection'> }) {
  switch (page) {
    case 'apps':
      return <AppsPage />;
    case 'settings':
      return <SettingsPage />;
    case 'history':
      return <HistoryPage />;
    case 'log':
      return <LogPage />;
    case 'welcome':
      return <WelcomePage />;
    default:
      return <PageView page={FORM_PAGES[page].open} />;
  }
}

function SettingsPage() {
  const { view, tr } = useApp();
  return <FormView form={settingsForm(view.value, tr.value)} />;
}

/** A page has no main menu, which leads to the first steps in the window. */
function settingsForm(view: View, tr: Translator): Form {
  const { groups } = overviewForm(view, tr);
  const row: Row = { kind: 'link', id: 'to-welcome', page: 'welcome', title: pageTitle('welcome', tr) };
  return { groups: [...groups, { id: 'welcome', rows: [row] }] };
}
