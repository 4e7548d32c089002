// Shows the report of a problem, then saves it.
import { reportView } from '../../view/report.ts';
import type { App } from '../client/app.ts';
import { saveBytes } from './files.ts';

/** Shows what would be shared, and saves it. Nothing is sent anywhere. */
export async function showReport(app: App): Promise<void> {
  const { _ } = app.tr.value;
  app.toast(_('Preparing the report…'));
  const bundle = await app.model.call('POST /api/doctor/bundle', { body: {} });
  const { redacted, files, fileName } = reportView(bundle, app.tr.value);
  const agreed = await app.ask({
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
  app.toast(_('Saved'));
}
