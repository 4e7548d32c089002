// Builds the search and the list of pages next to the page, for a wide window.
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { ClientState } from '../../../daemon/view/client/client-state.ts';
import { entryOfPage, navigationGroups, PLACES } from '../../../daemon/view/forms/settings.ts';
import { PAGES, type PageName, pageTitle } from '../../../daemon/view/page-list.ts';
import { _, tr } from '../../i18n.ts';
import { mendTree, setName } from '../widgets/accessible.ts';
import { vertical } from '../widgets/columns.ts';
import { createSearchBar, type SearchBar } from '../widgets/rows/search-bar.ts';

/** Minimum window width for the list, in pixels. */
export const SIDEBAR_FROM = 720;
const WIDTH = 210;

export interface Sidebar {
  widget: Gtk.Widget;
  /** Lists the pages for a state, and marks the current page. */
  show(page: PageName, client: ClientState): void;
  search: SearchBar;
}

interface Asks {
  goTo(page: PageName): void;
  /** Searches all pages for a text that the user typed. */
  search(text: string): void;
  /** Follows the first result. */
  enter(): void;
}

export function createSidebar({ goTo, search, enter }: Asks): Sidebar {
  // a selection would follow the arrow keys, so the current page's row is only marked
  const list = new Gtk.ListBox({ css_classes: ['navigation-sidebar'], selection_mode: Gtk.SelectionMode.NONE });
  setName(list, _('Pages'));
  // the page decides how narrow the window may become
  const scrolled = new Gtk.ScrolledWindow({
    hscrollbar_policy: Gtk.PolicyType.EXTERNAL,
    propagate_natural_width: true,
    vexpand: true,
    child: list,
  });
  list.width_request = WIDTH;
  const field = createSearchBar({ label: _('Search settings'), text: '', type: search, enter }, null);
  const widget = vertical(0);
  widget.hexpand = false; // unlike the search field
  widget.add_css_class('culvert-sidebar');
  for (const child of [field.widget, scrolled]) widget.append(child);
  let entries: { page: PageName; row: Gtk.ListBoxRow; title: string }[] = [];
  list.connect('row-activated', (_list: Gtk.ListBox, row: Gtk.ListBoxRow) => {
    const entry = entries[row.get_index()];
    if (entry) goTo(entry.page);
  });
  list.set_header_func((row: Gtk.ListBoxRow) => {
    const title = entries[row.get_index()]?.title;
    if (title && !row.get_header()) row.set_header(heading(title));
  });
  return {
    widget,
    search: field,
    show(page, client) {
      const listed = pagesOf(client);
      if (listed.map(entry => entry.page).join() !== entries.map(entry => entry.page).join()) {
        for (const { row } of entries) list.remove(row);
        entries = listed.map(entry => ({ ...entry, row: createRow(entry.page) }));
        for (const { row } of entries) list.append(row);
        list.invalidate_headers();
        mendTree(widget, _('Pages'));
      }
      const current = entryOfPage(page);
      for (const { row, page: own } of entries) mark(row, own === current);
    },
  };
}

/** Returns the pages in order, without the page of all settings, whose links these are. The first page of a group has the group's title. */
function pagesOf(client: ClientState): { page: PageName; title: string }[] {
  const groups = navigationGroups(client, tr);
  return [
    ...PLACES.filter(page => page !== 'settings').map(page => ({ page, title: '' })),
    ...groups.flatMap(({ title, pages }) => pages.map((page, i) => ({ page, title: i === 0 ? title : '' }))),
  ];
}

/** True if the list contains the page. */
export function isListed(page: PageName, client: ClientState): boolean {
  return pagesOf(client).some(entry => entry.page === page);
}

function createRow(page: PageName): Gtk.ListBoxRow {
  const label = pageTitle(page, tr);
  const child = new Gtk.Box({ spacing: 9 });
  const { PRESENTATION: accessible_role } = Gtk.AccessibleRole;
  child.append(new Gtk.Image({ icon_name: PAGES[page].icon, accessible_role }));
  child.append(new Gtk.Label({ label, xalign: 0, hexpand: true, wrap: true, wrap_mode: Pango.WrapMode.WORD_CHAR }));
  const row = new Gtk.ListBoxRow({ child });
  setName(row, label);
  return row;
}

function heading(label: string): Gtk.Widget {
  return new Gtk.Label({
    label,
    xalign: 0,
    wrap: true,
    css_classes: ['heading', 'dim-label', 'culvert-sidebar-heading'],
  });
}

function mark(row: Gtk.ListBoxRow, isCurrent: boolean): void {
  if (isCurrent) row.set_state_flags(Gtk.StateFlags.SELECTED, false);
  else row.unset_state_flags(Gtk.StateFlags.SELECTED);
  row.update_state([Gtk.AccessibleState.SELECTED], [Number(isCurrent)]);
}
