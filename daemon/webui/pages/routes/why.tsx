// "Does this site use WARP?": a field, and the answer with what decides it and what the kernel says.
import { useSignal } from '@preact/signals';
import type { Why } from '../../../api/schema.ts';
import { whyForm } from '../../../view/routes/why.ts';
import { useApp } from '../../client/app.ts';
import { FormView } from '../../widgets/rows/form.tsx';

export function WhyField() {
  const { host, tr } = useApp();
  const answer = useSignal<Why | null>(null);
  const ask = async (target: string) => {
    answer.value = null;
    answer.value = await host.model.call('POST /api/why', { body: { target } });
  };
  return (
    <div role="status">
      <FormView form={whyForm(answer.value, ask, tr.value)} />
    </div>
  );
}
