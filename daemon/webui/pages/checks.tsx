// Renders the checks of the computer where Culvert runs: results as they come, problems first, with what would repair each.
import { checksForm } from '../../view/forms/checks.ts';
import { useApp } from '../client/app.ts';
import { FormView } from '../widgets/rows/form.tsx';

export function ChecksPage() {
  const { checks, client, tr } = useApp();
  return <FormView form={checksForm(checks.value, { offline: client.value.offline !== null }, tr.value)} />;
}
