// Defines the interface through which pages, commands and tasks use a client. Each client creates one host.
import type { DoctorReport } from '../api/doctor.ts';
import type { App } from '../api/schema.ts';
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
  /** True while the user can't see the client. */
  isHidden(): boolean;
  /** Statistics of the last minutes of this connection. */
  figures(): readonly Sample[];
  /** Functions that only a desktop app has; null in a browser. */
  desktop: Desktop | null;
  /** Runs a command after its question, and reports the result. Resolves with true if it was done; never rejects. */
  run(command: Command): Promise<boolean>;
  /** Runs a task of this client. Resolves with true if it was done. */
  task(task: ClientTask): Promise<boolean>;
  /** Asks a question; resolves with the secrets or the field's text that the user typed, or null if the user declined. */
  answer(question: Question): Promise<string[] | null>;
  /** Shows a short message about a completed change. @param undo reverts it */
  toast(text: string, undo?: () => void): void;
  /** Shows a failure, with its details. */
  showError(error: unknown): void;
  /** Opens an address in the browser. */
  open(uri: string): void;
  /** @param row id of a row on that page to show */
  goTo(page: PageName, row?: string | null): void;
  /** Resolves with true if the text was copied. */
  copy(text: string): Promise<boolean>;
  /** Resolves with the text of a file that the user chooses, or null. */
  openText(): Promise<string | null>;
  /** Resolves with true if the text was saved. @param name file name to suggest */
  saveText(name: string, text: string): Promise<boolean>;
}

export interface Checks {
  state(): ChecksState;
  /** Runs the checks, unless they are running. Never rejects. */
  run(): Promise<void>;
  /** Calls `listener` after every change. Returns what unsubscribes. */
  subscribe(listener: () => void): () => void;
  close(): void;
}

export interface Updates {
  /** Returns the request under way that no event reports yet. */
  waiting(): 'check' | 'change' | null;
  /** Resolves with false while another request is under way, like the next two methods. @throws ApiError, Unreachable */
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
  /** Reports whether the session starts Culvert, now and after each change. Returns a function that stops this. */
  watchAutostart(report: (on: boolean) => void): () => void;
  /** The network of the default route, or null if the desktop does not report it. */
  currentNetwork(): Promise<CurrentNetwork | null>;
  /** Calls `changed` when the default route moves to another network. Returns a function that stops this. */
  watchNetwork(changed: () => void): () => void;
  /** Returns the program that finishes sign-ins, `culvert` or another; null without a program. */
  signInProgram(): string | null;
  /** Asks which of these apps get an entry in the app menu. */
  offerApps(apps: readonly App[]): Promise<readonly App[]>;
  /** Adds an app to the apps that the tray offers to start. */
  rememberApp(app: App): void;
  /** Runs the checks without a daemon. @throws Error with the reason */
  runDoctor(): Promise<Pick<DoctorReport, 'results' | 'undo'>>;
  /** False if `culvert-repair` can't be started. */
  canRepair(): boolean;
  /** Runs `culvert-repair` with these arguments. @returns false without a password. @throws Error with the reason */
  repair(argv: readonly string[]): Promise<boolean>;
}

/** The network that this computer uses now, as the desktop reports it. */
export interface CurrentNetwork {
  kind: 'wifi' | 'wired' | 'other';
  /** Name of a Wi-Fi network. */
  ssid: string | null;
}
