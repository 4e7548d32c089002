// Opens the window that the panel is measured against: with nothing in it, or with a header bar and a view switcher.
import './hook.js';
import Adw from 'gi://Adw?version=1';
import Gtk from 'gi://Gtk?version=4.0';

const application = new Adw.Application({ application_id: 'org.culvert.Bench' });
application.connect('activate', () => {
  const window = new Adw.ApplicationWindow({ application, default_width: 440, default_height: 760 });
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL });
  if (ARGV[0] === 'switcher') {
    const stack = new Adw.ViewStack({ vexpand: true });
    for (const [name, icon] of [
      ['Connection', 'network-vpn-symbolic'],
      ['Apps', 'view-grid-symbolic'],
      ['Settings', 'emblem-system-symbolic'],
    ]) {
      const page = stack.add_titled(new Gtk.Label({ label: name }), name, name);
      page.icon_name = icon;
    }
    const title = new Adw.ViewSwitcherTitle({ title: 'Culvert', stack });
    const bar = new Adw.HeaderBar({ title_widget: title });
    bar.pack_end(new Gtk.MenuButton({ icon_name: 'open-menu-symbolic' }));
    const below = new Adw.ViewSwitcherBar({ stack });
    title.connect('notify::title-visible', () => {
      below.reveal = title.title_visible;
    });
    for (const child of [bar, stack, below]) box.append(child);
  }
  window.content = box;
  window.present();
});
application.run([]);
