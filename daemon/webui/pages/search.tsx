// Shows what a search finds: an address's way, then rows of all pages.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { createLookup } from '../../view/forms/search/lookup.ts';
import { gatherForSearch } from '../../view/forms/search/searched-rows.ts';
import { hitCount, hitsForm, searchedPages, searchPages } from '../../view/pages/search.ts';
import { useApp } from '../client/app.ts';
import { FormView } from '../widgets/rows/form.tsx';

/** @param leave is called when a hit is followed */
export function SearchResults({ query, leave }: { query: string; leave(): void }) {
  const app = useApp();
  const view = app.view.value;
  const tr = app.tr.value;
  const answers = useSignal(0);
  const lookup = useMemo(() => createLookup(app.host.model, () => answers.value++), [app.host]);
  useEffect(() => app.host.checks.subscribe(() => answers.value++), [app.host]);
  void answers.value; // an answer draws the results again
  lookup.follow(query, view);
  const answer = lookup.group(view, tr);
  const gathered = useSignal<Awaited<ReturnType<typeof gatherForSearch>>>({ apps: [], log: [] });
  useEffect(() => {
    void gatherForSearch(app.host.model).then(read => {
      gathered.value = read;
    });
  }, [app.host]);
  const pages = searchedPages(view, tr, { ...gathered.value, checks: app.host.checks.state() });
  const hits = searchPages(pages, query, tr);
  useEffect(() => {
    // a link to the present address causes no hashchange
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
        {hitCount(hits, tr)}
      </p>
      {hits.length > 0 && <FormView form={hitsForm(hits, tr)} />}
    </>
  );
}
