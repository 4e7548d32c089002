// Keeps chosen programs in the tunnel: puts them into their place, and the rules for it into the kernel. It knows no bus, files or
// processes; they come in as `ProgramEdges`.
import type { Kernel } from './edges.ts';
import { messageOf } from './effects.ts';
import type { ProgramRules } from './rules/tunnel-only.ts';
import { createQueue } from './switch.ts';
import { SwitchError } from './switch-error.ts';
import { N_ } from './wording.ts';

/** A shell that becomes the program, and the process that prepares it. */
const MAX_PROCESSES = 2;
/** Limit for each user. */
const MAX_PROGRAMS = 1024;
/** Attempts to load rules while cgroups come and go. */
const ATTEMPTS = 5;

export interface ProgramEdges {
  kernel: Kernel<ProgramRules>;
  /** True where the one hierarchy of cgroups is version 2, and systemd manages it. */
  isSupported(): boolean;
  /** The user whose process it is, in every respect; null: of nobody, or of several. */
  userOf(pid: number): number | null;
  /** Number of programs of a user. */
  count(uid: number): number;
  /** The users who have programs, each with a number that is never given to another cgroup. */
  cgroups(): ReadonlyMap<number, string>;
  /** Has systemd make a scope of these processes, and waits until they are in it. @throws Error */
  startScope(uid: number, pids: readonly number[]): Promise<void>;
  report(trouble: string): void;
}

export interface Programs {
  /** Adopts programs that outlived the service before. Never throws. */
  start(): Promise<void>;
  /** Puts processes of a user into their place. @throws SwitchError InvalidArgument, LimitsExceeded, Failed */
  place(uid: number, pids: readonly number[]): Promise<{ placed: true }>;
  /** Brings the rules in step with the programs. Never throws. */
  check(): Promise<void>;
  /** No program is there, so that the process may end. */
  idle(): boolean;
}

export function createPrograms(edges: ProgramEdges): Programs {
  const { kernel } = edges;
  const inTurn = createQueue();
  /** The table and the cgroups that it was rendered for. */
  let inForce: { fingerprint: string; cgroups: string } | null = null;
  let checking: Promise<void> | null = null;

  async function settle(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const cgroups = edges.cgroups();
      try {
        if (cgroups.size) await putInForce(cgroups);
        else await remove();
        return;
      } catch (error) {
        if (attempt === ATTEMPTS) throw error; // else a cgroup had gone before nft looked for it
      }
    }
  }

  async function putInForce(found: ReadonlyMap<number, string>): Promise<void> {
    const cgroups = JSON.stringify([...found]);
    const listing = await kernel.list();
    if (inForce && listing?.fingerprint === inForce.fingerprint && cgroups === inForce.cgroups) return;
    kernel.watch(true);
    const loaded = await kernel.replace({ uids: [...found.keys()] });
    if (!loaded || loaded.dormant) throw new Error('nft accepted the rules, but the kernel does not have them');
    inForce = { fingerprint: loaded.fingerprint, cgroups };
  }

  async function remove(): Promise<void> {
    inForce = null;
    kernel.watch(false);
    if (await kernel.list()) await kernel.remove();
  }

  /** Callers that ask while a check waits for its turn share that check. */
  function check(): Promise<void> {
    checking ??= inTurn(() => {
      checking = null;
      return settle();
    });
    return checking;
  }

  const checkQuietly = () =>
    check().catch(error => edges.report(`programs are not kept in the tunnel: ${messageOf(error)}`));

  function refuseOthers(uid: number, pids: readonly number[]): void {
    if (!edges.isSupported())
      throw new SwitchError(
        'Failed',
        N_('This needs systemd and version 2 of control groups, and nothing of version 1.'),
      );
    if (!pids.length || pids.length > MAX_PROCESSES || new Set(pids).size !== pids.length)
      throw new SwitchError('InvalidArgument', `A program has 1 to ${MAX_PROCESSES} processes at its start.`);
    if (!pids.every(pid => edges.userOf(pid) === uid))
      throw new SwitchError('InvalidArgument', N_('Only a process of your own can be kept in the tunnel.'));
    if (edges.count(uid) >= MAX_PROGRAMS)
      throw new SwitchError('LimitsExceeded', N_('Too many programs of this user are kept in the tunnel.'));
  }

  return {
    async start() {
      if (edges.isSupported()) await checkQuietly();
    },
    async place(uid, pids) {
      refuseOthers(uid, pids);
      try {
        await edges.startScope(uid, pids);
        await check();
      } catch (error) {
        throw new SwitchError('Failed', `The program could not be kept in the tunnel: ${messageOf(error)}`, error);
      }
      return { placed: true };
    },
    check: checkQuietly,
    idle: () => edges.cgroups().size === 0,
  };
}
