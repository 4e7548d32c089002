// Records what is blocked while a client asks: keeps the table of `recording.ts` in step with the rules in force, reads it, and
// removes it when no client has asked for a while. It knows no processes; they come in as `RecorderEdges`.
import type { BlockedList } from '../../api/schema.ts';
import type { Kernel } from '../edges.ts';
import { messageOf } from '../effects.ts';
import type { RuleOptions } from '../rules/rules.ts';
import type { ProgramRules } from '../rules/tunnel-only.ts';
import { createQueue } from '../switch.ts';
import { SwitchError } from '../switch-error.ts';
import type { Recording } from './entries.ts';
import { listOf } from './list.ts';
import { renderRecording } from './recording.ts';
import { createTable, type RecordingNft } from './table.ts';

/** The longest time for which one call keeps the recording on. */
export const MAX_LEASE_SECONDS = 900;
/** Looks of its own, so that the time of a first packet is known about that exactly. */
const LOOK_MS = 60_000;

export interface RecorderEdges {
  nft: RecordingNft;
  /** Names of some processes in a cgroup, given by its path below the root of the hierarchy. */
  programsIn(cgroup: string): string[];
  /** Milliseconds since the epoch. */
  now(): number;
  report(trouble: string): void;
}

export interface Recorder {
  /** Removes a table that an earlier service left. Never throws. */
  start(): Promise<void>;
  /** A kernel whose rules the recording follows. */
  followSwitch(kernel: Kernel<RuleOptions>): Kernel<RuleOptions>;
  followPrograms(kernel: Kernel<ProgramRules>): Kernel<ProgramRules>;
  /**
   * List of what was blocked of a user, or of all for root, in the last ten minutes. Records for these seconds from now on.
   * @throws SwitchError Failed
   */
  read(uid: number, seconds: number): Promise<BlockedList>;
  /** Ends the recording. Never throws. */
  end(): Promise<void>;
}

export function createRecorder({ nft, programsIn, now, report }: RecorderEdges): Recorder {
  const inTurn = createQueue();
  const table = createTable(nft);
  const inForce: { rules: RuleOptions | null; uids: readonly number[] } = { rules: null, uids: [] };
  let leaseUntil = 0;
  /** When the recording began, and when it was last read. */
  let began = 0;
  let readAt = 0;
  /** Time of the first packet of each entry. */
  let first = new Map<string, number>();
  let timer: ReturnType<typeof setTimeout> | null = null;

  /** Brings the table in step. @throws Error with nft's message */
  async function settle(): Promise<void> {
    if (now() >= leaseUntil) await remove();
    else if (await table.load(renderRecording(inForce))) began = readAt = now();
  }

  async function remove(): Promise<void> {
    if (timer) clearTimeout(timer);
    timer = null;
    leaseUntil = 0;
    first.clear();
    if (table.isLoaded()) await table.remove();
  }

  /** Tries twice, since another program may flush the table. @throws Error */
  async function look(): Promise<Recording> {
    for (let attempt = 1; attempt <= 2; attempt++) {
      await settle();
      const recording = await table.read();
      if (recording) return remembered(recording);
    }
    throw new Error('another program removes the table');
  }

  function remembered(recording: Recording): Recording {
    const at = now();
    first = new Map(
      recording.entries.map(({ key, packets, age }) => {
        const last = at - age * 1000;
        return [key, first.get(key) ?? (packets === 1 ? last : Math.min(last, readAt))];
      }),
    );
    readAt = at;
    return recording;
  }

  function plan(): void {
    if (timer) clearTimeout(timer);
    const left = leaseUntil - now();
    timer = setTimeout(() => void quietly(left > LOOK_MS ? lookAgain : settle), Math.min(left, LOOK_MS) + 1);
  }

  async function lookAgain(): Promise<void> {
    await look();
    plan();
  }

  const quietly = (step: () => Promise<unknown>) =>
    inTurn(step).then(
      () => {},
      error => report(`what is blocked is not recorded: ${messageOf(error)}`),
    );

  const changed = () => {
    if (table.isLoaded()) void quietly(settle);
  };

  return {
    start: () => quietly(table.remove),
    followSwitch: kernel =>
      follow(kernel, options => {
        inForce.rules = options;
        changed();
      }),
    followPrograms: kernel =>
      follow(kernel, options => {
        inForce.uids = options?.uids ?? [];
        changed();
      }),
    read: (uid, seconds) =>
      inTurn(async () => {
        leaseUntil = Math.max(leaseUntil, now() + seconds * 1000);
        try {
          const recording = await look();
          return listOf(recording, { uid, began, readAt, first, programsIn });
        } catch (error) {
          throw new SwitchError('Failed', `What was blocked could not be read: ${messageOf(error)}`, error);
        } finally {
          plan();
        }
      }),
    end: () => quietly(remove),
  };
}

/** @param changed called with the rules in force after each change; null: none */
function follow<Options>(kernel: Kernel<Options>, changed: (options: Options | null) => void): Kernel<Options> {
  return {
    ...kernel,
    async replace(options) {
      const listing = await kernel.replace(options);
      changed(options);
      return listing;
    },
    async remove() {
      await kernel.remove();
      changed(null);
    },
  };
}
