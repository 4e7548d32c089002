// Shows a form that a test describes in a window, and records the commands that its rows run.
import Adw from 'gi://Adw?version=1';
import Gio from 'gi://Gio?version=2.0';
import type Gtk from 'gi://Gtk?version=4.0';
import type { Model } from '../../../../daemon/view/client/model.ts';
import type { Ask, Command, Form, Group } from '../../../../daemon/view/form.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import { describe } from '../../../../daemon/view/view.ts';
import { tr } from '../../../../gnome/i18n.ts';
import { FormGroups } from '../../../../gnome/panel/widgets/rows/form-groups.ts';

/** A form as JSON: an order has no `move`. */
type Given = { groups: (Omit<Group, 'order'> & { order?: { ids: string[] } })[] };

let groups: FormGroups | null = null;
const ran: Ask[] = [];

/** Shows the form in a window with this title, in place of the form before. */
export function showForm(text: string, title: string): true {
  const given: Given = JSON.parse(text);
  groups ??= createWindow(title);
  const form: Form = {
    groups: given.groups.map(({ order, ...group }) => ({
      ...group,
      ...(order && { order: { ...order, move: (id: string, to: number) => copy(`${id} to ${to}`) } }),
    })),
  };
  groups.show(form);
  return true;
}

const copy = (text: string): Command => ({ ask: { kind: 'copy', text } });

function createWindow(title: string): FormGroups {
  const application = Gio.Application.get_default() as Gtk.Application & { model: Model };
  const page = new Adw.PreferencesPage();
  const window = new Adw.Window({ title, content: page, application, default_width: 400, default_height: 600 });
  const host = {
    view: () => describe(application.model.state(), '0', tr),
    run: async ({ ask }: Command) => ran.push(ask) > 0,
    toast() {},
  } as unknown as Host;
  window.present();
  return new FormGroups(
    host,
    group => page.add(group),
    group => page.remove(group),
  );
}

/** Returns the commands since the last call. */
export const takeRan = (): Ask[] => ran.splice(0);
