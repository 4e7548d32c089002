// Shows what a search finds: an address's way, then rows of all pages.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { createSearch, hitsForm } from '../../view/pages/search.ts';
import { useApp } from '../client/app.ts';
import { FormView } from '../widgets/rows/form.tsx';

/** @param leave is called when a hit is followed */
export function SearchResults({ query, leave }: { query: string; leave(): void }) {
  const { host, view, tr } = useApp();
  const changes = useSignal(0);
  const search = useMemo(() => createSearch(host, () => changes.value++), [host]);
  void changes.value; // drawn again after each
  const { answer, hits, count } = search.find(query, view.value);
  useEffect(() => {
    void search.begin();
    return search.close;
  }, [search]);
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
        {count}
      </p>
      {hits.length > 0 && <FormView form={hitsForm(hits, tr.value)} />}
    </>
  );
}
