// Declares what a command runs with: its environment and clock, and the modules that are loaded only when needed.
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

/** The part of a child process that passing on signals needs. */
export interface SignalTarget {
  exitCode: number | null;
  signalCode: string | null;
  kill(signal: NodeJS.Signals): boolean;
}

/** Passes signals on to a child; see `run/upstream/attempt.ts`. */
export interface SignalForwarding {
  /** Starts a child and passes signals on to it, including those that arrive during the start. */
  forwardTo<Child extends SignalTarget>(start: () => Child): Child;
  /** Gives signals their default effect again. Needed before this process blocks. */
  stop(): void;
  /** The first signal that arrived and would end a program. */
  received: NodeJS.Signals | undefined;
}

/** A parsed command line; see `run/invocation.ts`. */
export interface Invocation {
  args: string[];
  /** The leading words that are not options: `crawl`, `r2 bucket list`. */
  command: string;
  /** Runs as it is, without an account. */
  passthrough: boolean;
  /** Not repeated, or not once a job exists. */
  once: boolean;
  /** Failures after which a job may exist whose id was not printed: not repeated after these. */
  silentJob: readonly ('quota' | 'rate' | 'auth')[];
  /** The command is known to read stdin. */
  readsStdin: boolean;
  /** Its output is meant for a program. */
  machineReadable: boolean;
}

export type DirectoryChoice =
  | { kind: 'none' }
  | { kind: 'untrusted'; file: string }
  | { kind: 'broken'; file: string; why: string }
  | { kind: 'chosen'; file: string; account: string };

/** Credentials of the accounts of one run; see `run/accounts/ready.ts`. */
export interface Credentials {
  /** The values that the sources of an account give; a program is asked for them once. */
  of(account: Account): Promise<Resolved>;
  /** Asks a second time. A run asks a program no more than twice: further calls return the second answer. */
  again(account: Account): Promise<Resolved>;
  /** Has programs asked again, because the values may have become old while the run waited. */
  forget(): void;
}

/** The functions behind `manage/lazy.ts`. `run/` reaches them only through `Context`, so that it never parses them. */
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
  /** Asks the provider what an unclear refusal means. */
  confirmRefusal(
    plan: Plan,
    refusal: Verdict & { kind: 'retry' },
    env: NodeJS.ProcessEnv,
    now: number,
  ): Promise<Verdict>;
  /** A note of the catalog for a person. */
  noteText(cli: string, note: string, env?: NodeJS.ProcessEnv): string;
  /** Waits, with the time left on stderr when that is a terminal. */
  sleepUntil(at: number, context: Context, isReady?: () => boolean): Promise<void>;
  /** Shows a desktop notification when an account passes a threshold of `notify_at`. */
  reportCapacity(plan: Plan, state: CliState, context: Context): void;
  runWarning(plan: Plan, remaining: number, context: Context): void;
  lineRepl(plan: Plan, original: string, context: Context): Promise<End>;
}

/** Result of an attempt with a leased account. */
export interface LeaseEnd {
  /** Units that it used, as far as known. */
  spent: number;
  pause?: { class: 'quota' | 'rate' | 'auth'; rest: NamedPause };
}

/** An account to be tried now. */
export interface Leased {
  /** `undefined`: none of the offered accounts. */
  account: Account | undefined;
  /** Those that may follow, in their order. */
  rest: readonly Account[];
  /** Others may be had later: another run tries them at the moment. */
  awaits: boolean;
}

/** The right to use accounts during one run: this machine's own (`run/accounts/local-leases.ts`), or that of a pool (`pool/leases.ts`). */
export interface Leases {
  /**
   * Leases one of the accounts.
   * @param accounts in the order in which this machine would try them
   * @param patient the run can wait or be kept, while other runs try accounts after their pause
   */
  next(accounts: readonly Account[], patient: boolean): Promise<Leased>;
  /** Why `next` leased nothing; empty if it says nothing. */
  readonly refusal: string;
  /**
   * After `next` leased nothing because every account is paused or has nothing left: in how many milliseconds one is free, if known,
   * and the failures that they are paused for.
   */
  readonly usedUp?: { ms: number | undefined; classes: readonly string[] } | undefined;
  /** Resolves with true if the lease is for the account with this credential; otherwise the lease is returned. */
  matches(credentials: Record<string, string>): Promise<boolean>;
  /** Says how the attempt ended. */
  settle(end: LeaseEnd): Promise<void>;
  /** Other machines learn how attempts end, even those with an only account. */
  readonly isShared: boolean;
  /** The pool can't be reached: this machine's share of the reserve is used, or nothing. */
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
  /** Units that the command is expected to use. */
  cost: number;
  /** The account that the user named, if any. */
  pinned: string | undefined;
}

/** Dependencies of the jobs of a pool. */
export type JobOptions = Pick<LeaseOptions, 'plan' | 'context' | 'credentials'>;

/** The functions of `pool/` that a wrapped command uses. */
interface PoolModule {
  openLeases(options: LeaseOptions): Promise<Leases>;
  /** Stores which account created a job, for the other machines of the pool, or that none did. */
  keepJob(id: string, account: Account | undefined, options: JobOptions): Promise<void>;
  /** The first of these jobs whose account this machine has. */
  findJob(ids: readonly string[], options: JobOptions): Promise<{ id: string; account: string } | undefined>;
  /** Closes the store of a gateway that ends. */
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
  /** The shipped providers.toml. */
  catalog: string;
  now(): number;
  signals: SignalForwarding;
  /** Loads code that a wrapped command seldom needs. */
  load(): Promise<LazyModules>;
  /** Loads code that only a configured pool needs. */
  loadPool(): Promise<PoolModule>;
  /** Loads the account commands, for a line prompt in which one is typed. */
  loadCommands(): Promise<CommandsModule>;
  /** More commands will run in this process. */
  staysAlive?: boolean;
  /** Requests share one connection to the store of a pool, which `closeShared` ends. */
  sharesStore?: boolean;
}
