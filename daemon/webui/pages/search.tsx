// Shows what a search finds: an address's way, then rows of all pages.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { hitsForm, searchedPages, searchPages } from '../../view/forms/search.ts';
import { createLookup } from '../../view/routes/lookup.ts';
import { useApp } from '../client/app.ts';
import { FormView } from '../widgets/rows.tsx';

/** @param leave is called when a hit is followed */
export function SearchResults({ query, leave }: { query: string; leave(): void }) {
  const app = useApp();
  const view = app.view.value;
  const tr = app.tr.value;
  const answers = useSignal(0);
  const lookup = useMemo(() => createLookup(app.model, () => answers.value++), [app.model]);
  void answers.value; // an answer draws the results again
  lookup.follow(query, view);
  const answer = lookup.group(view, tr);
  const form = hitsForm(searchPages(searchedPages(view, tr), query, tr), tr);
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
      <FormView form={form} />
    </>
  );
}
