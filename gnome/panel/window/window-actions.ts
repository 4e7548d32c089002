// Adds the window's actions, which its shortcuts and menu entries activate.
import type Adw from 'gi://Adw?version=1';
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { type PageName, placeOf } from '../../../daemon/view/page-list.ts';
import { _ } from '../../i18n.ts';
import type { PageWidget, WindowHost } from '../host.ts';
import { copyText } from '../widgets/buttons.ts';
import { showReport } from '../widgets/dialogs.ts';

/** Navigation of the window. */
interface Navigation {
  /** Returns the page on screen. */
  page(): PageWidget;
  /** Focuses a search field: of the page, or else of all pages. */
  search(): void;
  goToPlace(place: { page: PageName; row: string | null }): void;
  canGoBack(): boolean;
  back(): void;
}

/** @returns the action that connects or disconnects, which the window enables and disables */
export function addWindowActions(
  window: Adw.ApplicationWindow,
  host: WindowHost,
  { page, search, goToPlace, canGoBack, back }: Navigation,
): Gio.SimpleAction {
  const add = (name: string, activate: () => void) => {
    const action = new Gio.SimpleAction({ name });
    action.connect('activate', activate);
    window.add_action(action);
    return action;
  };
  add('refresh', () => {
    host.model.retry();
    void host.model.refresh('all');
    page().reload?.();
  });
  add('search', search);
  add('back', () => {
    if (canGoBack()) back();
  });
  add('escape', () => {
    const search = window.get_focus()?.get_ancestor(Gtk.SearchEntry.$gtype) as Gtk.SearchEntry | null | undefined;
    if (search?.text) search.text = '';
    else if (canGoBack()) back();
  });
  add('copy-proxy', () => {
    const { address } = host.view().proxy;
    if (!address) return;
    copyText(window, address);
    host.toast(_('Copied'));
  });
  add('report', () => void showReport(host).catch(host.showError));
  const turn = new Gio.SimpleAction({ name: 'page', parameter_type: GLib.VariantType.new('s') });
  turn.connect('activate', (_action, parameter) => {
    const requested = parameter!.unpack() as string;
    const place = placeOf(requested);
    if (place) goToPlace(place);
  });
  window.add_action(turn);
  return add('toggle', () => {
    const { action } = host.view().tunnel.toggle;
    if (action) void host.run({ ask: { kind: 'action', request: { action } } });
  });
}
