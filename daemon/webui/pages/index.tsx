// Shows every page but the first. Loaded when one of them is opened.
import type { PageName } from '../../view/page-list.ts';
import { FORM_PAGES } from '../../view/pages/all.ts';
import { settingsPage } from '../../view/pages/search.ts';
import { PageView } from '../widgets/page-view.tsx';
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
      return <PageView page={settingsPage} />;
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
