// `culvert metrics`: the metrics as Prometheus reads them.
import { type Run, show } from '../../context.ts';

export const metrics: Run = async context => {
  const text = await context.client.text('GET /api/metrics');
  show(context, { ok: true, text }, () => text.trimEnd());
  return 0;
};
