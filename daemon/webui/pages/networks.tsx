// Renders the page of networks: read when it is turned to, and again while it can be seen, so that the daemon follows them.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { createRuleEditor } from '../../view/client/rule-editor.ts';
import { READ_NETWORKS_MS } from '../../view/forms/tunnel/network-rules.ts';
import { networksForm } from '../../view/forms/tunnel/networks.ts';
import { useApp } from '../client/app.ts';
import { FormView } from '../widgets/rows/form.tsx';

export function NetworksPage() {
  const { model, client, view, now, tr } = useApp();
  const changes = useSignal(0);
  const editor = useMemo(() => createRuleEditor(model, () => changes.value++), []);
  void changes.value; // drawn again after each
  const offline = client.value.offline !== null;
  const turn = Math.floor(now.value / READ_NETWORKS_MS);
  useEffect(() => {
    // the answer comes as an event as well; without one the rest of the page is of use
    if (!offline) model.call('GET /api/networks').catch(() => {});
  }, [offline, turn]);
  const { settable } = view.value.tunnel;
  return <FormView form={networksForm(client.value, { settable, network: null, now: now.value, editor }, tr.value)} />;
}
