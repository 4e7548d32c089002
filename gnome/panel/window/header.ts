// Builds the header bar and the switcher of the primary pages, which is above the page if it fits, or else below the page. A
// wide window has a list of all pages instead.
import Adw from 'gi://Adw?version=1';
import Gio from 'gi://Gio?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import { PLACES } from '../../../daemon/view/forms/settings.ts';
import { PAGES, type PageName, pageTitle } from '../../../daemon/view/page-list.ts';
import { _, tr } from '../../i18n.ts';
import { mendTree, nameMenuButton, setName } from '../widgets/accessible.ts';
import { SIDEBAR_FROM } from './sidebar.ts';

/** Minimum width for the switcher in the header bar, in pixels. */
const WIDE = 600;

/** Position of the switcher, or `list` if a list of all pages replaces it. */
type Layout = 'above' | 'below' | 'list';

export interface Header {
  above: Gtk.Widget;
  below: Gtk.Widget;
  /**
   * Shows the current page's title, and a back button if the page is not a primary page.
   * @param isListed true if a wide window's list contains the page.
   */
  show(page: PageName, title: string, isListed: boolean): void;
  /** Moves the switcher to the position for a window width. */
  resized(width: number): void;
}

interface Asks {
  goTo(page: PageName): void;
  back(): void;
}

export function createHeader({ goTo, back }: Asks): Header {
  const title = new Adw.WindowTitle({ title: 'Culvert' });
  const above = new Adw.HeaderBar({ title_widget: title });
  // before the bar has content: a role can't change after its first use
  mendTree(above, 'Culvert');
  const below = new Adw.Bin({ css_classes: ['culvert-bottom'] });
  const backButton = new Gtk.Button({ icon_name: 'go-previous-symbolic', tooltip_text: _('Back'), visible: false });
  setName(backButton, _('Back'));
  backButton.connect('clicked', back);
  above.pack_start(backButton);
  above.pack_end(menuButton());
  const switcher = createSwitcher(goTo);
  let layout: Layout | null = null;
  let shown = { primary: true, name: 'Culvert', isListed: true };

  const place = () => {
    const { primary, name, isListed } = shown;
    const here = primary && layout === 'above';
    const under = primary && layout === 'below';
    if (below.child && !under) below.child = null as never;
    const middle = here ? switcher.widget : title;
    if (above.title_widget !== middle) above.title_widget = middle;
    if (under && !below.child) below.child = switcher.widget;
    below.visible = under;
    title.title = primary && layout !== 'list' ? 'Culvert' : name;
    backButton.visible = !primary && !(isListed && layout === 'list');
    switcher.spread(here);
  };
  return {
    above,
    below,
    show(page, name, isListed) {
      shown = { primary: (PLACES as readonly string[]).includes(page), name, isListed };
      switcher.show(page);
      place();
    },
    resized(width) {
      const fitting = width >= SIDEBAR_FROM ? 'list' : width >= WIDE ? 'above' : 'below';
      if (layout === fitting) return;
      layout = fitting;
      place();
    },
  };
}

/**
 * Creates our own tabs: AdwViewSwitcherTitle keeps three copies in the accessibility tree, without the selected state.
 */
function createSwitcher(goTo: (page: PageName) => void) {
  const widget = new Gtk.Box({
    accessible_role: Gtk.AccessibleRole.TAB_LIST,
    halign: Gtk.Align.CENTER,
    spacing: 3,
  });
  setName(widget, _('Pages'));
  let setting = false;
  const tabs = PLACES.map(page => {
    const label = pageTitle(page, tr);
    // large letters must neither cut a tab nor keep the window from becoming narrow
    const text = new Gtk.Label({ label, ellipsize: Pango.EllipsizeMode.END });
    const picture = new Gtk.Image({
      icon_name: PAGES[page].icon,
      accessible_role: Gtk.AccessibleRole.PRESENTATION,
    });
    const box = new Gtk.Box({ spacing: 3, halign: Gtk.Align.CENTER });
    box.append(picture);
    box.append(text);
    const button = new Gtk.ToggleButton({
      child: box,
      accessible_role: Gtk.AccessibleRole.TAB,
      css_classes: ['flat', 'culvert-tab'],
    });
    setName(button, label);
    button.connect('toggled', () => {
      if (setting) return;
      setting = true;
      button.active = true;
      setting = false;
      goTo(page);
    });
    widget.append(button);
    return { page, button, box };
  });
  return {
    widget,
    show(page: PageName) {
      setting = true;
      for (const tab of tabs) {
        const active = tab.page === page;
        tab.button.active = active;
        tab.button.update_state([Gtk.AccessibleState.SELECTED], [Number(active)]);
      }
      setting = false;
    },
    /** Puts the icons next to the words, or above them. */
    spread(beside: boolean) {
      for (const { box } of tabs) box.orientation = beside ? Gtk.Orientation.HORIZONTAL : Gtk.Orientation.VERTICAL;
    },
  };
}

function menuButton(): Gtk.Widget {
  const section = (...lines: [label: string, action: string][]) => {
    const part = new Gio.Menu();
    for (const [label, action] of lines) part.append(label, action);
    return part;
  };
  const menu = new Gio.Menu();
  menu.append_section(
    null,
    section(
      [_('First Steps'), 'win.page::welcome'],
      [_('Keyboard Shortcuts'), 'app.shortcuts'],
      [_('Report a Problem…'), 'win.report'],
      [_('About Culvert'), 'app.about'],
      [_('Close Window'), 'window.close'],
      [_('Quit Culvert'), 'app.quit-everything'],
    ),
  );
  const button = new Gtk.MenuButton({
    icon_name: 'open-menu-symbolic',
    menu_model: menu,
    primary: true,
    tooltip_text: _('Main Menu'),
  });
  nameMenuButton(button, _('Main Menu'));
  return button;
}
