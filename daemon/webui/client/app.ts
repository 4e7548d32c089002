// Holds what the whole page shares: the daemon's state as signals, its translator, the user's place, and pending requests.
import type { ReadonlySignal, Signal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { LogEntry } from '../../api/schema.ts';
import type { ClientState } from '../../view/client/client-state.ts';
import type { Sample } from '../../view/client/history.ts';
import type { Model } from '../../view/client/model.ts';
import type { Command, PageName, Question } from '../../view/form.ts';
import type { ReportView } from '../../view/report.ts';
import type { ChecksState } from '../../view/states/findings.ts';
import type { Translator } from '../../view/translator.ts';
import type { View } from '../../view/view.ts';

export interface Toast {
  id: number;
  text: string;
  error: boolean;
  undo: (() => void) | null;
}
/** Contents of a dialog; it is answered by whether the user agreed. */
export interface DialogContent extends Question {
  /** A command for a terminal, to copy. */
  shell?: string;
  /** To be looked through; each unfolds. */
  files?: ReportView['files'];
  /** There is nothing to decide. */
  notice?: boolean;
}
export interface OpenDialog {
  content: DialogContent;
  /** The secrets that it asked for; null when the user declined. */
  answer(given: string[] | null): void;
}

export interface App {
  model: Model;
  client: ReadonlySignal<ClientState>;
  tr: Signal<Translator>;
  view: ReadonlySignal<View>;
  /** The page in the address. */
  page: ReadonlySignal<PageName>;
  /** ms since the epoch, renewed each second while the page can be seen. */
  now: Signal<number>;
  /** Since when the state is not current, in ms since the epoch; null while it is. */
  staleSince: ReadonlySignal<number | null>;
  samples: ReadonlySignal<Sample[]>;
  log: ReadonlySignal<readonly LogEntry[]>;
  /** Reads the log, and follows it from now on. */
  loadLog(): void;
  toasts: ReadonlySignal<readonly Toast[]>;
  dialog: ReadonlySignal<OpenDialog | null>;
  /** The dialog of the modes is open. */
  choosingMode: Signal<boolean>;
  checks: ReadonlySignal<ChecksState>;
  runChecks(): Promise<void>;
  /** Version of a daemon that is newer than this page, or null. */
  newer: ReadonlySignal<string | null>;
  toast(text: string, options?: { error?: boolean; undo?: () => void }): void;
  dismiss(id: number): void;
  /** Asks, and resolves with whether the user agreed. */
  ask(content: DialogContent): Promise<boolean>;
  /** The same, with the secrets that were typed; null when the user declined. */
  askFor(content: DialogContent): Promise<string[] | null>;
  showError(error: unknown): void;
  /**
   * Asks what must be asked, does it, and reports the result. Resolves with whether it was done; never rejects.
   */
  run(command: Command): Promise<boolean>;
}

export const AppContext = createContext<App | null>(null);
export function useApp(): App {
  return useContext(AppContext)!;
}
