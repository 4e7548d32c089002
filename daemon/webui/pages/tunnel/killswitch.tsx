// Renders the page of the kill switch: what was blocked is recorded and read while the page can be seen.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type BlockedState, NOT_READ, READ_BLOCKED_MS, recordsBlocked } from '../../../view/forms/tunnel/blocked.ts';
import { killSwitchForm } from '../../../view/forms/tunnel/killswitch.ts';
import { errorText } from '../../../view/states/problems.ts';
import { useApp } from '../../client/app.ts';
import { FormView } from '../../widgets/rows/form.tsx';

export function KillSwitchPage() {
  const { model, view, client, now, tr } = useApp();
  const state = useSignal<BlockedState>(NOT_READ);
  const { killSwitch } = view.value;
  const isThere = killSwitch.installed;
  const turn = Math.floor(now.value / READ_BLOCKED_MS);
  useEffect(() => {
    if (!isThere) return;
    model.call('GET /api/killswitch/blocked').then(
      list => {
        state.value = { list, failed: null };
      },
      error => {
        state.value = { list: null, failed: errorText(error, tr.value) };
      },
    );
  }, [isThere, turn]);
  const blocked = { ...state.value, records: recordsBlocked(client.value) };
  return <FormView form={killSwitchForm(killSwitch, now.value, tr.value, blocked)} />;
}
