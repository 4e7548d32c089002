// Builds the offer of desktop shortcuts for common apps, made once the local proxy was turned on.

import Adw from 'gi://Adw?version=1';
import Gtk from 'gi://Gtk?version=4.0';
import type { App } from '../../../../daemon/api/schema.ts';
import { formatCount } from '../../../../daemon/view/format.ts';
import { commonApps } from '../../../../daemon/view/states/apps.ts';
import { fill } from '../../../../daemon/view/translator.ts';
import { _, tr } from '../../../i18n.ts';
import type { WindowHost } from '../../host.ts';
import { ask } from '../../widgets/compat.ts';

/** Offers shortcuts for the common apps that are installed, if there are any, and makes those that are chosen. */
export async function offerShortcuts(host: WindowHost): Promise<void> {
  try {
    const { apps } = await host.model.call('GET /api/apps');
    const common = commonApps(apps);
    if (!common.length) {
      host.toast(_('Only chosen apps are tunneled'));
      return;
    }
    const { widget, chosen } = choices(common);
    const answer = await ask(host.window, {
      heading: _('Only chosen apps are tunneled'),
      body: _('Add these to the app menu, started in the tunnel?'),
      responses: [
        ['later', _('Not Now')],
        ['make', _('Add')],
      ],
      suggested: 'make',
      extra: widget,
    });
    if (answer === 'make') await make(host, chosen());
  } catch (error) {
    host.showError(error);
  }
}

async function make(host: WindowHost, apps: App[]): Promise<void> {
  for (const { id: appId } of apps)
    await host.model.call('POST /api/apps/shortcut', { body: { appId, present: true } });
  if (apps.length)
    host.toast(fill(tr.ngettext('%d app added', '%d apps added', apps.length), formatCount(apps.length, tr)));
}

/** A list with a check mark each, all set. */
function choices(apps: App[]): { widget: Gtk.Widget; chosen(): App[] } {
  const list = new Gtk.ListBox({ selection_mode: Gtk.SelectionMode.NONE, css_classes: ['boxed-list'] });
  const checks = apps.map(({ name }) => {
    const check = new Gtk.CheckButton({ active: true, valign: Gtk.Align.CENTER });
    // the row names it
    const row = new Adw.ActionRow({ title: name, use_markup: false, activatable_widget: check });
    row.add_prefix(check);
    list.append(row);
    return check;
  });
  return { widget: list, chosen: () => apps.filter((_app, i) => checks[i]!.active) };
}
