// Updates of Culvert: what there is, installing it, and going back.
import { updatesForm } from '../../view/forms/updates.ts';
import { useApp } from '../client/app.ts';
import { FormView } from '../widgets/rows/form.tsx';

export function UpdatesPage() {
  const { client, view, tr } = useApp();
  const form = updatesForm(view.value.update, { offline: client.value.offline !== null, waiting: null }, tr.value);
  return <FormView form={form} />;
}
