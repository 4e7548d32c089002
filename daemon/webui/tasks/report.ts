// Shows the report of a problem, then saves it.

import type { Host } from '../../view/host.ts';
import { reportView } from '../../view/report.ts';
import type { Messages } from '../client/app.ts';
import { saveBytes } from './files.ts';

/** Shows what would be shared, and saves it. Nothing is sent anywhere. */
export async function showReport({ model, toast, tr }: Host, { ask }: Messages): Promise<void> {
  const { _ } = tr();
  toast(_('Preparing the report…'));
  const bundle = await model.call('POST /api/doctor/bundle', { body: {} });
  const { redacted, files, fileName } = reportView(bundle, tr());
  const agreed = await ask({
    heading: _('Report a problem'),
    body: `${_('It is not sent anywhere: look through it, save it, and attach it yourself.')} ${redacted}`,
    files,
    accept: _('Save…'),
  });
  if (!agreed) return;
  saveBytes(
    fileName,
    Uint8Array.from(atob(bundle.archive), each => each.charCodeAt(0)),
  );
  toast(_('Saved'));
}
