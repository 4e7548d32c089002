// Defines the interface between the window and its pages.
import type Gtk from 'gi://Gtk?version=4.0';
import type { Host } from '../../daemon/view/host.ts';
import type { View } from '../../daemon/view/view.ts';
import type { SearchBar } from './widgets/long-list.ts';

export interface WindowHost extends Host {
  /** The window, as the parent of dialogs. */
  window: Gtk.Window;
}

export interface PageWidget extends Gtk.Widget {
  /** Called after every change of the state. */
  refresh(view: View): void;
  /** Updates clocks and countdowns; called each second while the page is visible. */
  tick?(): void;
  /** True while a control of the page can't be used. */
  readonly inert?: boolean;
  /** Control that gets the initial focus (default: the page's first control). */
  readonly first?: Gtk.Widget;
  /** Focuses the page's search field. */
  focusSearch?(): void;
  /** The search field of a form. */
  readonly searchBar?: Pick<SearchBar, 'widget' | 'text' | 'enter' | 'type' | 'focus'> | null;
  /** Scrolls to a row, highlights it briefly, and focuses it. */
  reveal?(row: string): void;
  /** Called when the page is first shown. */
  opened?(): void;
  /** Called when the page is shown again; reads data that no event reports. */
  reload?(): void;
  /** Called when another page is shown. */
  leave?(): void;
  /** Called when the window closes. */
  close?(): void;
}
