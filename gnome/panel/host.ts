// Defines the interface between the window and its pages.
import type Gtk from 'gi://Gtk?version=4.0';
import type { Host } from '../../daemon/view/host.ts';
import type { View } from '../../daemon/view/view.ts';

export interface WindowHost extends Host {
  /** The window, for dialogs. */
  window: Gtk.Window;
}

export interface PageWidget extends Gtk.Widget {
  /** Called after every change of the state. */
  refresh(view: View): void;
  /** Updates clocks and countdowns; called each second while the page can be seen. */
  tick?(): void;
  /** True while it has a control that can't be used. */
  readonly inert?: boolean;
  /** Control that has the focus at first; by default the first one. */
  readonly first?: Gtk.Widget;
  /** Focuses its search field, where it has one. */
  focusSearch?(): void;
  /** Scrolls to a row, highlights it briefly, and focuses it. */
  reveal?(row: string): void;
  /** Called when the page is first shown. */
  opened?(): void;
  /** Called when the page is shown again: reads again what no event reports. */
  reload?(): void;
  /** Called when another page is shown. */
  leave?(): void;
  /** Called when the window closes. */
  close?(): void;
}
