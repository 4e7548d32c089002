// Declares the dependencies of a command: its environment, its clock, and modules that are loaded only when needed.
import type { AuditNote } from './store/audit.ts';
import type { Account } from './store/config.ts';
import type { Paths } from './store/paths.ts';
import type { NamedPause, Verdict } from './store/pause.ts';
import type { Plan, Sources } from './store/plan.ts';
import type { Resolved } from './store/secrets.ts';
import type { CliState } from './store/state.ts';

/** The end of a process: its exit status or its signal. */
export interface End {
  exit: number | null;
  signal: NodeJS.Signals | null;
}

/** Part of a child process that signal forwarding needs. */
export interface SignalTarget {
  exitCode: number | null;
  signalCode: string | null;
  kill(signal: NodeJS.Signals): boolean;
}

/** Passes signals on to a child; see `run/upstream/attempt.ts`. */
export interface SignalForwarding {
  /** Starts a child and passes signals on to it, including those that arrive during the start. */
  forwardTo<Child extends SignalTarget>(start: () => Child): Child;
  /** Restores the default effect of signals, which is necessary before this process blocks. */
  stop(): void;
  /** The first received signal that would end a program. */
  received: NodeJS.Signals | undefined;
}

/** A parsed command line; see `run/invocation.ts`. */
export interface Invocation {
  args: string[];
  /** The leading words that are not options: `crawl`, `r2 bucket list`. */
  command: string;
  /** True if the command runs unchanged, without an account. */
  passthrough: boolean;
  /** True if the command must not be repeated, or not after it has created a job. */
  once: boolean;
  /** Failures after which the command is not repeated, because a job may exist without a printed id. */
  silentJob: readonly ('quota' | 'rate' | 'auth')[];
  /** True if the catalog says that the command reads stdin. */
  readsStdin: boolean;
  /** True if the output is for a program. */
  machineReadable: boolean;
}

export type DirectoryChoice =
  | { kind: 'none' }
  | { kind: 'untrusted'; file: string }
  | { kind: 'broken'; file: string; why: string }
  | { kind: 'chosen'; file: string; account: string };

/** Credentials of the accounts of one run; see `run/accounts/ready.ts`. */
export interface Credentials {
  /** Returns the values from an account's sources. A program among the sources runs once. */
  of(account: Account): Promise<Resolved>;
  /** Reads the sources a second time. Further calls return the second result, so a program runs at most twice. */
  again(account: Account): Promise<Resolved>;
  /** Discards values from programs, which may be out of date after a wait. */
  forget(): void;
}

/** The functions of `manage/lazy.ts`. `run/` calls them only through `Context`, and so doesn't load them with each run. */
interface LazyModules {
  compile(cli: string, sources: Sources, stamp: string): Plan;
  writePlan(plan: Plan, sources: Sources): void;
  chooseByDirectory(cli: string, directory: string, paths: Paths): DirectoryChoice;
  postpone(
    decision: 'queue' | 'shed',
    run: { plan: Plan; invocation: Invocation; context: Context; stdin: Uint8Array | undefined },
    audit: (entry: AuditNote) => void,
  ): End;
  refreshUsage(
    plan: Plan,
    state: CliState,
    context: Context,
    options?: { accounts?: readonly Account[]; credentials?: Credentials },
  ): Promise<Record<string, { problem: string; unusable: boolean }>>;
  /** Queries the provider about the meaning of an ambiguous refusal. */
  confirmRefusal(
    plan: Plan,
    refusal: Verdict & { kind: 'retry' },
    env: NodeJS.ProcessEnv,
    now: number,
  ): Promise<Verdict>;
  /** Formats a note of the catalog for the user. */
  noteText(cli: string, note: string, env?: NodeJS.ProcessEnv): string;
  /** Waits, and shows the remaining time if stderr is a terminal. */
  sleepUntil(at: number, context: Context, isReady?: () => boolean): Promise<void>;
  /** Shows a desktop notification when an account passes a threshold of `notify_at`. */
  reportCapacity(plan: Plan, state: CliState, context: Context): void;
  runWarning(plan: Plan, remaining: number, context: Context): void;
  lineRepl(plan: Plan, original: string, context: Context): Promise<End>;
}

/** Result of an attempt with a leased account. */
export interface LeaseEnd {
  /** Number of units that the attempt is known to have used. */
  spent: number;
  pause?: { class: 'quota' | 'rate' | 'auth'; rest: NamedPause };
}

/** Result of a request for a lease. */
export interface Leased {
  /** The leased account, or `undefined` if no offered account can be leased. */
  account: Account | undefined;
  /** The accounts that may follow, in order. */
  rest: readonly Account[];
  /** True if other accounts may be available later, because another run is trying them. */
  awaits: boolean;
}

/** Leases of accounts for one run, from this machine (`run/accounts/local-leases.ts`) or a pool (`pool/leases.ts`). */
export interface Leases {
  /**
   * Leases one of the accounts.
   * @param accounts in the order in which this machine would try them
   * @param patient true if the run can wait or be queued while other runs try accounts after their pause
   */
  next(accounts: readonly Account[], patient: boolean): Promise<Leased>;
  /** The reason why `next` leased no account; may be empty. */
  readonly refusal: string;
  /**
   * Set if `next` leased no account because every account is paused or has nothing left: the milliseconds until an account is
   * available, if known, and the classes of the failures that caused the pauses.
   */
  readonly usedUp?: { ms: number | undefined; classes: readonly string[] } | undefined;
  /** Resolves with true if the lease is for the account with this credential, and otherwise gives the lease back. */
  matches(credentials: Record<string, string>): Promise<boolean>;
  /** Records the result of the attempt. */
  settle(end: LeaseEnd): Promise<void>;
  /** True if other machines receive the results of attempts, even with a single account. */
  readonly isShared: boolean;
  /** True if the pool can't be reached. The run then uses this machine's share of the reserve, or no account. */
  readonly degraded: boolean;
  /** Reports the last attempt and gives its lease back. Never fails. */
  finish(): Promise<void>;
}

/** Dependencies of the leases of one run. */
export interface LeaseOptions {
  plan: Plan;
  state: CliState;
  context: Context;
  credentials: Credentials;
  /** Expected cost of the command, in units. */
  cost: number;
  /** The account that the user named, if any. */
  pinned: string | undefined;
}

/** Dependencies of the jobs of a pool. */
export type JobOptions = Pick<LeaseOptions, 'plan' | 'context' | 'credentials'>;

/** The functions of `pool/` that a wrapped command uses. */
interface PoolModule {
  openLeases(options: LeaseOptions): Promise<Leases>;
  /** Stores the account that created a job, or that there is no such account, for the other machines of the pool. */
  keepJob(id: string, account: Account | undefined, options: JobOptions): Promise<void>;
  /** Finds the first of these jobs with an account that this machine has. */
  findJob(ids: readonly string[], options: JobOptions): Promise<{ id: string; account: string } | undefined>;
  /** Closes a gateway's connection to the store. */
  closeShared(context: Context): void;
}

/** The command of `commands/` that the line prompt needs. */
interface CommandsModule {
  runAuth(cli: string, argv: readonly string[], context: Context): Promise<void>;
}

/** Dependencies of every command. */
export interface Context {
  env: NodeJS.ProcessEnv;
  cwd: string;
  paths: Paths;
  /** The shipped providers.toml; its directory in the sources. */
  catalog: string;
  now(): number;
  signals: SignalForwarding;
  /** Loads code that a wrapped command seldom needs. */
  load(): Promise<LazyModules>;
  /** Loads code that only a configured pool needs. */
  loadPool(): Promise<PoolModule>;
  /** Loads the account commands for a line prompt. */
  loadCommands(): Promise<CommandsModule>;
  /** True if more commands will run in this process. */
  staysAlive?: boolean;
  /** True if requests share a connection to a pool's store, which `closeShared` ends. */
  sharesStore?: boolean;
}
