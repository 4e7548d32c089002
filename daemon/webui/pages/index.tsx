// Renders all pages but the first, the search results and the problem report; the page loads this module on demand.
import app from 'icons:hicolor/symbolic/apps';
import panel from 'icons:panel';
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Host } from '../../view/host.ts';
import type { PageName } from '../../view/page-list.ts';
import { FORM_PAGES } from '../../view/pages/all.ts';
import { createSearch, hitsForm, settingsPage } from '../../view/pages/search.ts';
import { reportView } from '../../view/report.ts';
import { type Messages, useApp } from '../app.ts';
import { saveBytes } from '../files.ts';
import { addPictureRows } from '../widgets/chart.tsx';
import { ICONS } from '../widgets/icon.tsx';
import { Below } from '../widgets/list-view.tsx';
import { PageView } from '../widgets/page-view.tsx';
import { FormView } from '../widgets/rows/form.tsx';
import { LogPage } from './log.tsx';
import style from './style.css';

export { SETTINGS_TASKS } from '../../view/pages/settings-file.ts';
export { SignInPage } from './sign-in.tsx';

const sheet = new CSSStyleSheet();
sheet.replaceSync(style);
document.adoptedStyleSheets.push(sheet);
for (const [name, paths] of Object.entries({ ...app, ...panel })) ICONS.set(name, paths);

addPictureRows();

/** Renders a page by name: pages with special widgets have a case, all others are forms. */
export function FurtherPage({ page }: { page: Exclude<PageName, 'connection'> }) {
  switch (page) {
    case 'settings':
      return <PageView page={settingsPage} />;
    case 'log':
      return <LogPage />;
    default:
      return <PageView page={FORM_PAGES[page].open} Below={Below} />;
  }
}

/** Shows search results: an address's path, then rows of all pages. @param leave called when the user follows a link */
export function SearchResults({ query, leave }: { query: string; leave(): void }) {
  const { host, view, tr } = useApp();
  const changes = useSignal(0);
  const search = useMemo(() => createSearch(host, () => changes.value++), [host]);
  void changes.value; // renders again after each change
  const { answer, hits, count } = search.find(query, view.value);
  useEffect(() => {
    void search.begin();
    return search.close;
  }, [search]);
  useEffect(() => {
    // a link to the current address fires no hashchange
    const follow = ({ target }: MouseEvent) => {
      const link = target instanceof Element ? target.closest('a') : null;
      if (link?.hash && link.hash === location.hash) leave();
    };
    addEventListener('hashchange', leave);
    addEventListener('click', follow);
    return () => {
      removeEventListener('hashchange', leave);
      removeEventListener('click', follow);
    };
  }, [leave]);
  return (
    <>
      <div role="status">{answer && <FormView form={{ groups: [answer] }} />}</div>
      <p role="status" class="description">
        {count}
      </p>
      {hits.length > 0 && <FormView form={hitsForm(hits, tr.value)} />}
    </>
  );
}

/** Shows the report's contents, and saves the report if the user agrees. Sends nothing. */
export async function showReport({ model, toast, tr }: Host, { ask }: Messages): Promise<void> {
  const { _ } = tr();
  toast(_('Preparing the report…'));
  const bundle = await model.call('POST /api/doctor/bundle', { body: {} });
  const { redacted, files, fileName } = reportView(bundle, tr());
  const agreed = await ask({
    heading: _('Report a problem'),
    body: `${_('It is not sent anywhere: look through it, save it, and attach it yourself.')} ${redacted}`,
    files,
    accept: _('Save…'),
  });
  if (!agreed) return;
  saveBytes(
    fileName,
    Uint8Array.from(atob(bundle.archive), each => each.charCodeAt(0)),
  );
  toast(_('Saved'));
}
