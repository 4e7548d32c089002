// Shows the report of a problem with everything that it holds, and saves it.
import GLib from 'gi://GLib?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { type ReportView, reportView } from '../../../daemon/view/report.ts';
import { _, tr } from '../../i18n.ts';
import { culvertProgram } from '../../install-paths.ts';
import type { WindowHost } from '../host.ts';
import { setName } from '../widgets/accessible.ts';
import { ask } from '../widgets/compat.ts';
import { preformatted, saveBytes } from '../widgets/dialogs.ts';

/** A long text takes seconds to lay out; the file has all of it. */
const SHOWN = 20_000;

/** Shows what would be shared, and saves it. Nothing is sent anywhere. */
export async function showReport(host: WindowHost): Promise<void> {
  if (host.view().client.offline) {
    const program = culvertProgram() ?? 'culvert';
    throw new Error(
      `${_('Culvert’s background service isn’t running.')} ${_('In a terminal:')} ${program} diagnose --out report.zip`,
    );
  }
  host.toast(_('Preparing the report…'));
  const bundle = await host.model.call('POST /api/doctor/bundle', { body: {} });
  const view = reportView(bundle, tr);
  const answer = await ask(host.window, {
    heading: _('Report a problem'),
    body: `${_('It is not sent anywhere: look through it, save it, and attach it yourself.')} ${view.redacted}`,
    extra: preview(view),
    responses: [
      ['close', _('Close')],
      ['save', _('Save…')],
    ],
    suggested: 'save',
  });
  if (answer === 'save' && (await saveBytes(host.window, view.fileName, GLib.base64_decode(bundle.archive))))
    host.toast(_('Saved'));
}

/** Each file unfolds below its name; its text is made only then. */
function preview({ files }: ReportView): Gtk.Widget {
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6, css_classes: ['culvert-entry'] });
  for (const { name, about, text } of files) {
    const expander = new Gtk.Expander({ label: `${name} · ${about}` });
    setName(expander, `${name} · ${about}`);
    expander.connect('notify::expanded', () => {
      if (expander.expanded) expander.child ??= preformatted(text.length > SHOWN ? `${text.slice(0, SHOWN)}\n…` : text);
    });
    box.append(expander);
  }
  const scrolled = new Gtk.ScrolledWindow({
    child: box,
    height_request: 260,
    hscrollbar_policy: Gtk.PolicyType.NEVER,
    css_classes: ['card'],
  });
  setName(scrolled, _('Report'));
  return scrolled;
}
