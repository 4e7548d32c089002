// Defines the state that all components share: the daemon's state as signals, the user's place, and the host of the pages.
import type { ReadonlySignal, Signal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { LogEntry } from '../api/schema.ts';
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
/** Contents of a dialog, whose answer is whether the user agreed. */
export interface DialogContent extends Question {
  /** A command for a terminal, to copy. */
  shell?: string;
  /** Files to look through; each unfolds. */
  files?: ReportView['files'];
  /** The user has nothing to decide. */
  notice?: boolean;
}
export interface OpenDialog {
  content: DialogContent;
  /** The secrets that it asked for; null when the user declined. */
  answer(given: string[] | null): void;
}

/** Short messages, and the one dialog. */
export interface Messages {
  toasts: ReadonlySignal<readonly Toast[]>;
  dialog: ReadonlySignal<OpenDialog | null>;
  toast(text: string, options?: { error?: boolean; undo?: () => void }): void;
  dismiss(id: number): void;
  /** Asks, and resolves with whether the user agreed. */
  ask(content: DialogContent): Promise<boolean>;
  /** The same, with the secrets that were typed; null when the user declined. */
  askFor(content: DialogContent): Promise<string[] | null>;
}

/** The state of the whole page as signals, for its components. */
export interface App {
  host: Host;
  client: ReadonlySignal<ClientState>;
  tr: Signal<Translator>;
  view: ReadonlySignal<View>;
  /** The page in the address. */
  page: ReadonlySignal<PageName>;
  /** ms since the epoch, renewed each second while the page can be seen. */
  now: Signal<number>;
  /** Since when the state is not current, in ms since the epoch; null while it is. */
  staleSince: ReadonlySignal<number | null>;
  samples: ReadonlySignal<readonly Sample[]>;
  log: ReadonlySignal<readonly LogEntry[]>;
  /** Reads the log, and follows it from now on. */
  loadLog(): void;
  messages: Messages;
  /** The dialog of the modes is open. */
  choosingMode: Signal<boolean>;
  /** Version of a daemon that is newer than this page, or null. */
  newer: ReadonlySignal<string | null>;
}

export const AppContext = createContext<App | null>(null);
export function useApp(): App {
  return useContext(AppContext)!;
}
