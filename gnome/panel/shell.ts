// What the window offers to its pages, so that none of them knows the window itself.
import type Gtk from 'gi://Gtk?version=4.0';
import type { ActionName } from '../../daemon/api/schema.ts';
import type { Model } from '../model.ts';
import type { Question } from './compat.ts';

export const PAGES = ['connection', 'apps', 'console'] as const;
export type PageName = (typeof PAGES)[number];

export interface Shell {
  model: Model;
  /** A short word on what has been done. */
  say(text: string): void;
  /** What failed, and what else there is to know behind a button. */
  complain(error: unknown): void;
  /** Resolves with the id of the chosen response. */
  ask(question: Question): Promise<string>;
  /** Opens an address in the browser. */
  open(uri: string): void;
  goTo(page: PageName): void;
  /** Performs an action and tells what it came to. Resolves with whether it succeeded; never rejects. */
  perform(action: ActionName, value?: string): Promise<boolean>;
}

/** A page behind one of the tabs. */
export interface Page extends Gtk.Widget {
  /** Called after every change of the model's facts. */
  refreshState(): void;
  /** Puts the keyboard into its search, where it has one. */
  focusSearch?(): void;
  /** Reads again what no event tells. */
  reload?(): void;
  /** The window goes away. */
  close?(): void;
}
