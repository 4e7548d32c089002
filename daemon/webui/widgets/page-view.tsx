// Renders a page, which consists of a form.
import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { Form } from '../../view/form.ts';
import type { Page } from '../../view/pages/page.ts';
import { useApp } from '../app.ts';
import { revealRow, rowInAddress } from '../navigation.ts';
import { SearchField } from './rows/entry-row.tsx';
import { FormView } from './rows/form.tsx';

/** @param Below draws what is below the groups; the script of the first page does not contain it */
export function PageView({ page, Below }: { page: Page; Below?: ComponentType<{ form: Form }> }) {
  const { host, view, now } = useApp();
  const changes = useSignal(0);
  const open = useMemo(() => {
    const made = page(host, () => changes.value++);
    made.reveal?.(rowInAddress());
    return made;
  }, [page, host]);
  // renders the form again after each change, and each second if it depends on the time
  void changes.value;
  if (open.ticks) void now.value;
  useLayoutEffect(() => {
    open.shown?.();
    return () => {
      open.left?.();
      open.close?.();
    };
  }, [open]);
  useEffect(() => {
    const follow = () => void open.reveal?.(rowInAddress());
    const showAll = () => open.showAll?.();
    addEventListener('hashchange', follow);
    addEventListener('beforeprint', showAll);
    return () => {
      removeEventListener('hashchange', follow);
      removeEventListener('beforeprint', showAll);
    };
  }, [open]);
  const form = open.form(view.value);
  // each second, a page may have the same form
  const body = useMemo(() => <FormView form={form} />, [form]);
  const isRevealed = useRef(rowInAddress() === '');
  useEffect(() => {
    // the page may still read what the address names
    if (!isRevealed.current) isRevealed.current = revealRow();
  });
  return (
    <>
      {form.search && !form.list && (
        <div class="toolbar">
          <SearchField {...form.search} />
        </div>
      )}
      {body}
      {Below && <Below form={form} />}
    </>
  );
}
