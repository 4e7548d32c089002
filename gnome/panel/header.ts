// The header bar: the tabs while there is room for them, else a bar below; and the menu.
import Adw from 'gi://Adw?version=1';
import Gio from 'gi://Gio?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { _ } from '../i18n.ts';

/** The bar above, and the one below that shows itself where the window is narrow. */
export function createHeader(stack: Adw.ViewStack): { header: Gtk.Widget; below: Gtk.Widget } {
  // deprecated in 1.4, whose breakpoints 1.2 lacks
  const title = new Adw.ViewSwitcherTitle({ stack, title: 'Culvert' });
  const below = new Adw.ViewSwitcherBar({ stack });
  title.bind_property('title-visible', below, 'reveal', GObject.BindingFlags.SYNC_CREATE);
  const header = new Adw.HeaderBar({ title_widget: title });
  header.pack_end(menuButton());
  return { header, below };
}

function menuButton(): Gtk.Widget {
  const pages = new Gio.Menu();
  pages.append(_('Updates'), 'win.updates');
  const about = new Gio.Menu();
  about.append(_('Keyboard Shortcuts'), 'app.shortcuts');
  about.append(_('About Culvert'), 'app.about');
  about.append(_('Quit'), 'app.quit');
  const menu = new Gio.Menu();
  menu.append_section(null, pages);
  menu.append_section(null, about);
  const button = new Gtk.MenuButton({
    icon_name: 'open-menu-symbolic',
    menu_model: menu,
    primary: true,
    tooltip_text: _('Main Menu'),
  });
  button.update_property([Gtk.AccessibleProperty.LABEL], [_('Main Menu')]);
  return button;
}
