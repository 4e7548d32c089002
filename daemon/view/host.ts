// Defines what a client does for pages, commands and tasks, beyond the daemon's answers. Each client makes one host.
import type { DoctorReport } from '../api/doctor.ts';
import type { Model } from './client/model.ts';
import type { ClientTask, Command, Question } from './form.ts';
import type { Sample } from './graph.ts';
import type { PageName } from './page-list.ts';
import type { ChecksState } from './states/findings.ts';
import type { Translator } from './translator.ts';
import type { View } from './view.ts';

export interface Host {
  model: Model;
  /** The state in words, computed once per event. */
  view(): View;
  /** The translator of the present language. */
  tr(): Translator;
  /** The clock, in ms since the epoch. */
  now(): number;
  checks: Checks;
  updates: Updates;
  /** The figures of the last minutes of this connection. */
  figures(): readonly Sample[];
  /** Abilities of a program of the desktop; null in a browser. */
  desktop: Desktop | null;
  /** Asks what must be asked, does it, and reports the result. Resolves with whether it was done; never rejects. */
  run(command: Command): Promise<boolean>;
  /** A task of this client only. Resolves with whether it was done. */
  task(task: ClientTask): Promise<boolean>;
  /** Asks a question; resolves with the secrets that were typed, or null when the user declined. */
  answer(question: Question): Promise<string[] | null>;
  /** Shows a short message about a completed change. @param undo reverts it */
  toast(text: string, undo?: () => void): void;
  /** Shows a failure, with its details. */
  showError(error: unknown): void;
  /** Opens an address in the browser. */
  open(uri: string): void;
  /** @param row id of a row that is shown there */
  goTo(page: PageName, row?: string | null): void;
  /** Resolves with whether the text was copied. */
  copy(text: string): Promise<boolean>;
  /** The text of a file that the user chooses, or null. */
  openText(): Promise<string | null>;
  /** @param name offered to the user. @returns whether it was saved */
  saveText(name: string, text: string): Promise<boolean>;
}

export interface Checks {
  state(): ChecksState;
  /** Runs them, unless they run. Never rejects. */
  run(): Promise<void>;
  /** Calls `listener` after every change. Returns what unsubscribes. */
  subscribe(listener: () => void): () => void;
  close(): void;
}

export interface Updates {
  /** The request that is under way, which no event reports yet. */
  waiting(): 'check' | 'change' | null;
  /** Each resolves with whether it was done: false while another one is under way. @throws ApiError, Unreachable */
  check(): Promise<boolean>;
  apply(): Promise<boolean>;
  rollBack(): Promise<boolean>;
  /** Calls `listener` after every change. Returns what unsubscribes. */
  subscribe(listener: () => void): () => void;
}

export interface Desktop {
  /** True while the desktop shows tray icons; null if it gives no answer. */
  hasTrayHost(): Promise<boolean | null>;
  /** True while the desktop has global shortcuts for apps; null if it gives no answer. */
  hasShortcuts(): Promise<boolean | null>;
  /** Reports whether the session starts Culvert: now, and whenever that changes. @returns what ends it */
  watchAutostart(report: (on: boolean) => void): () => void;
  /** The network of the default route, or null if the desktop does not report it. */
  currentNetwork(): Promise<CurrentNetwork | null>;
  /** Calls `changed` when another network has become that of the default route. @returns what ends it */
  watchNetwork(changed: () => void): () => void;
  /** The program that finishes sign-ins: `culvert`, another one, or null for none. */
  signInProgram(): string | null;
  /** Runs the checks without a daemon. @throws Error with the reason */
  runDoctor(): Promise<Pick<DoctorReport, 'results' | 'undo'>>;
  /** False if `culvert-repair` can't be started. */
  canRepair(): boolean;
  /** Runs `culvert-repair` with these words. @returns false without a password. @throws Error with the reason */
  repair(argv: readonly string[]): Promise<boolean>;
}

/** The network that this computer uses now, as the desktop reports it. */
export interface CurrentNetwork {
  kind: 'wifi' | 'wired' | 'other';
  /** Name of a Wi-Fi network. */
  ssid: string | null;
}
