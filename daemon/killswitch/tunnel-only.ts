// Keeps chosen programs in the tunnel: puts them into their place, and the place's rules into the kernel. It knows no bus,
// files or processes, which come in as `ProgramEdges`.
import { createQueue, createShared } from './pacing.ts';
import type { ProgramRules } from './rules/tunnel-only.ts';
import { createTable, type Kernel } from './table.ts';
import { messageOf, N_, SwitchError } from './wording.ts';

/** Maximum number of programs for each user. */
export const MAX_PROGRAMS = 1024;
/**
 * Time for which the rules stay after the last program. The kernel retries a program's unsent data up to 8 times, and then
 * waits a minute (tcp_orphan_retries, TIME_WAIT).
 */
const LINGER_SECONDS = 15 * 60;
/** Attempts to load rules while cgroups come and go. */
const ATTEMPTS = 5;

/** A process as the kernel shows it. */
export interface Process {
  pid: number;
  /** The user of all IDs of the process; null if they differ. */
  uid: number | null;
  /** Distinguishes the process from a later process with the same number. */
  startTime: string;
  parent: number;
}

export interface ProgramEdges {
  kernel: Kernel<ProgramRules>;
  /** True if the only hierarchy of cgroups is version 2, and systemd manages it. */
  isSupported(): boolean;
  /** Returns null if there is no such process. */
  processOf(pid: number): Process | null;
  /** True for a process that asked for a place itself, with the command line of `culvert run`. */
  hasAsked(pid: number): boolean;
  /** Returns the number of a user's programs. */
  count(uid: number): number;
  /** Returns the users with programs, and for each user a number that no other cgroup ever gets. */
  cgroups(): ReadonlyMap<number, string>;
  /** Makes systemd put these processes into a scope, and waits until they are in it. @throws Error */
  startScope(uid: number, pids: readonly number[]): Promise<void>;
  /** Makes systemd take a process out of a scope of `startScope`. @throws Error */
  release(process: Process): Promise<void>;
  /** Monotonic time, in seconds. */
  now(): number;
  report(trouble: string): void;
}

export interface Programs {
  /** Adopts programs that outlived an earlier service. Never throws. */
  start(): Promise<void>;
  /**
   * Puts the caller's parent and grandparent into their place: the process that prepares a program, and the shell that becomes
   * the program. Callers can't name a process, or move a shell that did not ask for it.
   * @throws SwitchError InvalidArgument, Refused, LimitsExceeded, Failed
   */
  place(caller: { uid: number; pid: number }): Promise<{ placed: true }>;
  /** Brings the rules in step with the programs. Never throws. */
  check(): Promise<void>;
  /** True if the process may end: there are no programs, and no rules for unsent data of ended programs. */
  idle(): boolean;
}

export function createPrograms(edges: ProgramEdges): Programs {
  const inTurn = createQueue();
  const table = createTable(edges.kernel);
  /** Time when a program was last seen. */
  let last = Number.NEGATIVE_INFINITY;

  async function settle(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const cgroups = edges.cgroups();
      try {
        // if rules of a program are in force, it has ended only since then
        if (cgroups.size || table.inForce()?.rules.uids.length) last = edges.now();
        if (edges.now() - last < LINGER_SECONDS)
          await table.keep({ uids: [...cgroups.keys()] }, JSON.stringify([...cgroups].sort()));
        else await table.remove();
        return;
      } catch (error) {
        if (attempt === ATTEMPTS) throw error; // a cgroup may have disappeared before nft looked for it
      }
    }
  }

  const check = createShared(inTurn, settle);
  const checkQuietly = () =>
    check().catch(error => edges.report(`programs are not kept in the tunnel: ${messageOf(error)}`));

  /** Moves processes by ID, as systemd requires. A later process that got such an ID before the move is released again. */
  async function move(uid: number, processes: readonly Process[]): Promise<void> {
    let refusal: Error | null = null;
    try {
      const pids = processes.map(({ pid }) => pid);
      await edges.startScope(uid, pids);
    } finally {
      for (const before of processes) {
        const now = edges.processOf(before.pid);
        if (now && now.startTime !== before.startTime)
          await edges
            .release(now)
            .catch(error => edges.report(`process ${now.pid} is kept in the tunnel by mistake: ${messageOf(error)}`));
        if (now?.startTime !== before.startTime || now.uid !== uid) refusal = notOwn();
      }
    }
    if (refusal) throw refusal;
  }

  return {
    async start() {
      if (!edges.isSupported()) return;
      // a program may have ended just now
      if (await edges.kernel.list().catch(() => null)) last = edges.now();
      await checkQuietly();
    },
    async place(caller) {
      if (!edges.isSupported())
        throw new SwitchError(
          'Failed',
          N_('This needs systemd and version 2 of control groups, and nothing of version 1.'),
        );
      const processes = ancestorsOf(edges.processOf, caller);
      if (!processes) throw notOwn();
      requireAsked(edges, processes);
      if (edges.count(caller.uid) >= MAX_PROGRAMS)
        throw new SwitchError(
          'LimitsExceeded',
          N_('A user can have 1,024 programs that use the tunnel only. End one of them first.'),
        );
      try {
        await move(caller.uid, processes);
        await check();
      } catch (error) {
        if (error instanceof SwitchError) throw error;
        throw new SwitchError('Failed', `The program could not be kept in the tunnel: ${messageOf(error)}`, error);
      }
      return { placed: true };
    },
    check: checkQuietly,
    idle: () => edges.cgroups().size === 0 && !table.inForce(),
  };
}

/** Returns the parent and grandparent of a calling process; null unless all three are processes of the user. */
export function ancestorsOf(
  processOf: (pid: number) => Process | null,
  { uid, pid }: { uid: number; pid: number },
): Process[] | null {
  const caller = processOf(pid);
  const parent = caller && processOf(caller.parent);
  const grandparent = parent && processOf(parent.parent);
  for (const process of [caller, parent, grandparent]) if (process?.uid !== uid || process.pid <= 1) return null;
  return [parent!, grandparent!];
}

/** @param processes result of `ancestorsOf`. @throws SwitchError unless the process that would become the program asked for it */
export function requireAsked({ hasAsked }: Pick<ProgramEdges, 'hasAsked'>, [, shell]: readonly Process[]): void {
  if (!hasAsked(shell!.pid))
    throw new SwitchError(
      'Refused',
      N_('Only culvert run can ask for this. If it did, it is older than the root service: update it.'),
    );
}

function notOwn(): SwitchError {
  return new SwitchError('InvalidArgument', N_('Only a process of your own can be kept in the tunnel.'));
}
