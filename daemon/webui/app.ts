// Defines the state that all components share.
import type { ReadonlySignal, Signal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ClientState } from '../view/client/client-state.ts';
import type { Question } from '../view/form.ts';
import type { Sample } from '../view/graph.ts';
import type { Host } from '../view/host.ts';
import type { PageName } from '../view/page-list.ts';
import type { ReportView } from '../view/report.ts';
import type { Translator } from '../view/translator.ts';
import type { View } from '../view/view.ts';

export interface Toast {
  id: number;
  text: string;
  error: boolean;
  undo: (() => void) | null;
}
/** Contents of a dialog that asks for the user's agreement. */
export interface DialogContent extends Question {
  /** Terminal command that the user can copy. */
  shell?: string;
  /** Files that the user can unfold and read. */
  files?: ReportView['files'];
  /** True if the dialog only informs the user. */
  notice?: boolean;
}
export interface OpenDialog {
  id: number;
  content: DialogContent;
  /** Closes the dialog. @param given the texts that the user typed; null if the user declined */
  answer(given: string[] | null): void;
}

/** Toasts and the page's only dialog. */
export interface Messages {
  toasts: ReadonlySignal<readonly Toast[]>;
  dialog: ReadonlySignal<OpenDialog | null>;
  toast(text: string, options?: { error?: boolean; undo?: () => void }): void;
  dismiss(id: number): void;
  /** Opens a dialog; resolves with true if the user agreed. */
  ask(content: DialogContent): Promise<boolean>;
  /** Opens a dialog; resolves with the texts that the user typed, or with null if the user declined. */
  askFor(content: DialogContent): Promise<string[] | null>;
}

/** State of the whole page, as signals for its components. */
export interface App {
  host: Host;
  client: ReadonlySignal<ClientState>;
  tr: Signal<Translator>;
  view: ReadonlySignal<View>;
  /** Page that the address names. */
  page: ReadonlySignal<PageName>;
  /** Current time in ms since the epoch, updated each second while the page is visible. */
  now: Signal<number>;
  /** Time when the state became outdated, in ms since the epoch; null while it is current. */
  staleSince: ReadonlySignal<number | null>;
  samples: ReadonlySignal<readonly Sample[]>;
  messages: Messages;
  /** The daemon's version if it differs from the page's, or null. */
  newer: ReadonlySignal<string | null>;
}

export const AppContext = createContext<App | null>(null);
export function useApp(): App {
  return useContext(AppContext)!;
}
