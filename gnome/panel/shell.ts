// Defines what the window offers to its pages, so that no page knows the window itself.
import type Gtk from 'gi://Gtk?version=4.0';
import type { ActionRequest } from '../../daemon/api/schema.ts';
import type { Model } from '../../daemon/view/client/model.ts';
import type { Command, PageName } from '../../daemon/view/form.ts';
import type { View } from '../../daemon/view/view.ts';

export interface Question {
  heading: string;
  body: string;
  /** The first is what closing the dialog means. */
  responses: [id: string, label: string][];
  suggested?: string;
  destructive?: string;
  extra?: Gtk.Widget;
  /** Has the keyboard first; by default the suggested response. */
  focus?: Gtk.Widget | null;
  /** Is given what closes the dialog as its first response does. */
  opened?(close: () => void): void;
  /** Is given what allows the suggested response, once `extra` is filled in. */
  gate?(allow: (allowed: boolean) => void): void;
}

export interface Shell {
  model: Model;
  /** The state in words, computed once per event. */
  view(): View;
  /** Shows a short message about a completed change. @param undo reverts it */
  toast(text: string, undo?: () => void): void;
  /** Shows a failure, with its details behind a button. */
  showError(error: unknown): void;
  /** Resolves with the id of the chosen response. */
  ask(question: Question): Promise<string>;
  /** Opens an address in the browser. */
  open(uri: string): void;
  /** @param row id of a row that is shown there */
  goTo(page: PageName, row?: string | null): void;
  /** Asks what must be asked, does it, and reports the result. Resolves with whether it was done; never rejects. */
  run(command: Command): Promise<boolean>;
  /** Performs an action; as `run`. */
  runAction(request: ActionRequest): Promise<boolean>;
  /** The window, for dialogs. */
  window(): Gtk.Window;
}

export interface Page extends Gtk.Widget {
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
