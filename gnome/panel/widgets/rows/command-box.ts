// Provides a command for a terminal, with a button that copies it.
import Gtk from 'gi://Gtk?version=4.0';
import { fill } from '../../../../daemon/view/translator.ts';
import { _ } from '../../../i18n.ts';
import type { WindowHost } from '../../host.ts';
import { ask } from '../compat.ts';
import { copyButton } from '../copy.ts';

/**
 * @param purpose what the command is for.
 * @param copied is called after it was put on the clipboard.
 */
export function commandBox(purpose: string, command: string, copied: () => void): Gtk.Widget {
  const label = new Gtk.Label({
    label: command,
    selectable: true,
    wrap: true,
    xalign: 0,
    hexpand: true,
    css_classes: ['monospace'],
  });
  const line = new Gtk.Box({ spacing: 6, css_classes: ['card', 'culvert-command'] });
  line.append(label);
  line.append(copyButton(fill(_('Copy “%s”'), command), () => command, copied));
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6 });
  box.append(new Gtk.Label({ label: purpose, xalign: 0, wrap: true, css_classes: ['dim-label'] }));
  box.append(line);
  return box;
}

/** Shows the command that brings the new version where the daemon can't. */
export async function showUpdateCommand(host: WindowHost): Promise<void> {
  const { update } = host.model.state();
  if (!update?.command) return;
  await ask(host.window, {
    heading: fill(_('Culvert %s is available'), update.latest ?? ''),
    body: _('Update it the way it was installed, with this system’s packages.'),
    extra: commandBox(_('Run this:'), update.command, () => host.toast(_('Copied'))),
    responses: [['ok', _('OK')]],
  });
}
