// Renders the account page: the registration, and the actions that change it.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Account } from '../../api/schema.ts';
import { accountForm } from '../../view/forms/account.ts';
import { useApp } from '../client/app.ts';
import { FormView } from '../widgets/rows/form.tsx';

export function AccountPage() {
  const { model, client, tr } = useApp();
  const account = useSignal<Account | null>(null);
  const { offline, snapshot } = client.value;
  const summary = snapshot?.account;
  useEffect(() => {
    if (offline || !summary) return;
    model.call('GET /api/account').then(
      answer => {
        account.value = answer;
      },
      () => {
        account.value = null; // the summary is shown all the same
      },
    );
  }, [offline === null, summary]);
  return <FormView form={accountForm(client.value, account.value, tr.value)} />;
}
