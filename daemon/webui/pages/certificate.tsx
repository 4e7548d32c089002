// Renders the page of the organization's certificate: the tools are tried when it is turned to.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { NO_TRUST, trustForm } from '../../view/forms/trust.ts';
import { createTrustPage } from '../../view/forms/trust-page.ts';
import { useApp } from '../client/app.ts';
import { FormView } from '../widgets/rows/form.tsx';

export function CertificatePage() {
  const { model, client, tr } = useApp();
  const state = useSignal(NO_TRUST);
  const tasks = useMemo(
    () =>
      createTrustPage(
        model,
        next => {
          state.value = next;
        },
        () => tr.value,
      ),
    [],
  );
  const offline = client.value.offline !== null;
  useEffect(() => {
    if (!offline) void tasks.check();
  }, [offline]);
  return <FormView form={trustForm(state.value, tasks, tr.value)} />;
}
