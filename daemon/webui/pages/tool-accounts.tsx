// Renders the page of tool accounts: read when it is turned to, followed by events, and read again while it can be seen.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import {
  NO_TOOL_ACCOUNTS,
  READ_AGAIN_MS,
  type ToolAccountsState,
  toolAccountsForm,
} from '../../view/forms/tools/tool-accounts.ts';
import { errorText } from '../../view/states/problems.ts';
import { useApp } from '../client/app.ts';
import { FormView } from '../widgets/rows/form.tsx';

export function ToolAccountsPage() {
  const { model, client, now, tr } = useApp();
  const state = useSignal<ToolAccountsState>(NO_TOOL_ACCOUNTS);
  const offline = client.value.offline !== null;
  useEffect(
    () =>
      model.onEvent(({ event, data }) => {
        if (event === 'accounts') state.value = { answer: data, failed: null };
      }),
    [],
  );
  const turn = Math.floor(now.value / READ_AGAIN_MS);
  useEffect(() => {
    if (offline) return;
    model.call('GET /api/accounts').then(
      accounts => {
        state.value = { answer: accounts, failed: null };
      },
      error => {
        state.value = { ...state.value, failed: errorText(error, tr.value) };
      },
    );
  }, [offline, turn]);
  return <FormView form={toolAccountsForm(state.value, { offline, now: now.value }, tr.value)} />;
}
