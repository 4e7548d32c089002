// Defines the interface between the window and its pages.
import type Gtk from 'gi://Gtk?version=4.0';
import type { Host } from '../../daemon/view/host.ts';
import type { View } from '../../daemon/view/view.ts';

export interface WindowHost extends Host {
  /** The window, as the parent of dialogs. */
  window: Gtk.Window;
}

/** A search field, as the window uses it. */
export interface SearchField {
  widget: Gtk.Widget;
  /** Text in the field. */
  text(): string;
  /** @param isTyping true if the user is typing, so that the field must not select its text */
  focus(isTyping?: boolean): void;
  /** Searches for a text that the user typed in another field. */
  type(text: string): void;
  /** Follows the first result. */
  enter(): void;
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
  readonly searchBar?: SearchField | null;
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
