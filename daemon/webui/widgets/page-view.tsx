// Renders any page that is a form.
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useMemo } from 'preact/hooks';
import type { Page } from '../../view/pages/page.ts';
import { useApp } from '../client/app.ts';
import { rowInAddress } from '../navigation.ts';
import { FormView } from './rows/form.tsx';

export function PageView({ page }: { page: Page }) {
  const { host, view, now } = useApp();
  const changes = useSignal(0);
  const open = useMemo(() => {
    const made = page(host, () => changes.value++);
    made.reveal?.(rowInAddress());
    return made;
  }, [page, host]);
  // the form is made again after each change, and each second where it moves with time
  void changes.value;
  if (open.ticks) void now.value;
  useLayoutEffect(() => {
    open.shown?.();
    return () => open.close?.();
  }, [open]);
  return <FormView form={open.form(view.value)} />;
}
