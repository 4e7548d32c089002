// Defines what the window offers to its pages beyond what every client does, and what it asks of a page.
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
  /** Moves what only time moves; called each second while the page can be seen. */
  tick?(): void;
  /** True while it has a control that can't be used. */
  readonly inert?: boolean;
  /** Control in which the keyboard starts; by default the first one. */
  readonly first?: Gtk.Widget;
  /** Puts the keyboard into its search, where it has one. */
  focusSearch?(): void;
  /** Scrolls to a row, marks it for a moment, and puts the keyboard onto it. */
  reveal?(row: string): void;
  /** The page is turned to for the first time. */
  opened?(): void;
  /** Reads again what no event reports, when it is turned to again. */
  reload?(): void;
  /** Another page is turned to. */
  leave?(): void;
  /** The window goes away. */
  close?(): void;
}
