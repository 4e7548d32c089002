// Reads from the tunnel CLI what is wanted and went stale: each part once at a time, and never in vain.
import { setTimeout as delay } from 'node:timers/promises';
import type { CommandOutput } from '../api/schema.ts';
import type { State } from '../state.ts';
import type { Facts } from './facts.ts';
import { blockedBy, failureIn, wordsOf } from './failures.ts';
import { createFreshness } from './freshness.ts';
import { parseStatus } from './parse-status.ts';
import type { Programs } from './program.ts';
import { READ_LIMIT_MS, type Read, readArgv } from './reads.ts';
import type { Finished, Runner } from './run.ts';
import type { Form } from './watch.ts';

export interface Reader {
  /** The part is stale, and reading it could tell anything in the present state. */
  isDue(part: Read): boolean;
  /** Nothing that a snapshot shows is due. */
  isFresh(): boolean;
  /** Reads one part; whoever asks meanwhile gets the same read. Never rejects. */
  read(part: Read): Promise<void>;
  /** Reads a part if it is due, after a read under way that may have begun before the change. */
  readLatest(part: Read): Promise<void>;
  /** Reads what a snapshot shows and is due. `spoken` resolves when a status can be expected to have been heard. */
  readStale(spoken: () => Promise<void>): Promise<void>;
  readAll(): Promise<void>;
  expire(...parts: Read[]): void;
  /** Everything: another program, or another registration. */
  expireAll(): void;
}

interface Options {
  state: State;
  facts: Facts;
  program: Programs;
  runner: Runner;
  acceptTerms: () => boolean;
  /** How status changes are heard at present; null while they are not. */
  listening: () => Form | null;
  /** A read went through although something stood in the way before. */
  onReachable: () => void;
}

export const LISTS = ['splitTunnelIps', 'splitTunnelHosts', 'splitTunnelDump'] as const satisfies Read[];
const SNAPSHOT_PARTS = ['settings', 'registration', 'tunnelStats', ...LISTS] as const satisfies Read[];

/** Where no event tells that an answer became outdated. */
const TTL_MS = { status: 2000, unheard: 60_000, registration: 300_000, tunnelStats: 5000 };

export function createReader(options: Options): Reader {
  const { state, facts, program, runner, listening } = options;
  const fresh = createFreshness<Read>();
  const underWay = new Map<Read, Promise<void>>();

  const isDue = (part: Read) => {
    const { status, settings } = state.snapshot();
    switch (status.blocked) {
      case 'cli-missing':
      case 'service-stopped':
      case 'terms-not-accepted':
        return false;
      case 'not-registered':
        if (part !== 'settings' && part !== 'status') return false;
    }
    if (part === 'status' && facts.heard() && listening() !== 'poll') return false;
    // Without a tunnel (also in the modes that only resolve names) there are no figures.
    const tunnelled = status.state === 'connected' && settings.Mode !== 'doh' && settings.Mode !== 'dot';
    if (part === 'tunnelStats' && !tunnelled) return false;
    return fresh.isStale(part);
  };

  const read = (part: Read): Promise<void> => {
    const already = underWay.get(part);
    if (already) return already;
    const reading = readNow(part)
      .catch(() => fresh.failed(part)) // too busy, or shutting down
      .finally(() => underWay.delete(part));
    underWay.set(part, reading);
    return reading;
  };

  const readNow = async (part: Read): Promise<void> => {
    const found = await program.current();
    if (!found) return;
    const { status, splitTunnel } = state.snapshot();
    const began = fresh.begin(part);
    const args = readArgv(part, found.can, options.acceptTerms());
    const finished = await runner.run({ file: found.path, args, source: 'read', timeoutMs: READ_LIMIT_MS });
    const failure = failureIn(finished);
    if (failure?.kind === 'unsupported' && program.demote(found, args, failure.message)) return readNow(part);
    if (part === 'status') {
      // What was heard while this was read is newer.
      if (state.snapshot().status === status || listening() === 'poll') takeStatus(finished);
      return;
    }
    if (take(part, finished.output) && !failure) fresh.read(part, ttlOf(part), began);
    else fresh.failed(part);
    const blocked = failure && blockedBy(failure);
    // Some parts are refused to some accounts; only without settings nothing else makes sense.
    if (blocked && (blocked !== 'not-authorized' || part === 'settings')) facts.hinder(blocked, wordsOf(finished));
    if (!failure && part === 'settings') facts.unhinder('not-authorized');
    if (!failure && facts.unhinder('service-stopped', 'terms-not-accepted')) options.onReachable();
    // The settings tell the lists in full: as long as those stay the same, so do they.
    if (part === 'settings' && splitTunnel.mode && splitTunnel !== state.snapshot().splitTunnel) fresh.expire(...LISTS);
  };

  const takeStatus = (finished: Finished) => {
    const status = parseStatus(finished.output);
    const understood = status.state !== 'unknown';
    if (understood) fresh.read('status', TTL_MS.status);
    else fresh.failed('status');
    // An answer that says nothing does not outweigh what a living listener said.
    if (!understood && !status.blocked && facts.heard() && listening() && listening() !== 'poll') return;
    state.record('status', finished.output);
    if (understood && state.snapshot().status.state !== status.state) fresh.expire('tunnelStats');
    if (status.blocked && !understood) facts.hinder(status.blocked, wordsOf(finished));
    else facts.status(status, wordsOf(finished));
  };

  const take = (part: Exclude<Read, 'status'>, output: CommandOutput): boolean => {
    switch (part) {
      case 'settings':
        return facts.settings(output);
      case 'splitTunnelIps':
        return facts.splitIps(output);
      case 'splitTunnelHosts':
        return facts.splitHosts(output);
      case 'tunnelStats':
        return facts.stats(output);
      case 'registration':
        return facts.registration(output);
      case 'splitTunnelDump':
        state.record(part, output);
        return true;
      case 'devices':
        facts.devices(output);
        return true;
    }
  };

  const ttlOf = (part: Read): number => {
    if (part === 'tunnelStats') return TTL_MS.tunnelStats;
    if (part === 'registration' || part === 'devices') return TTL_MS.registration;
    // A child that listens in JSON tells of every change of settings.
    return listening() === 'json' ? Number.POSITIVE_INFINITY : TTL_MS.unheard;
  };

  const expireAll = () => fresh.expire('status', 'devices', ...SNAPSHOT_PARTS);
  const readDue = () => Promise.all(SNAPSHOT_PARTS.filter(isDue).map(read));

  return {
    isDue,
    isFresh: () => !isDue('status') && !SNAPSHOT_PARTS.some(isDue),
    read,
    async readLatest(part) {
      await underWay.get(part);
      if (isDue(part)) await read(part);
    },
    async readStale(spoken) {
      if (!facts.heard()) {
        // The listening child was started moments ago and is about to say it.
        await Promise.race([spoken(), delay(300, undefined, { ref: false })]);
        if (isDue('status')) await read('status');
      }
      await readDue();
    },
    async readAll() {
      if (!(await program.current())) return;
      expireAll();
      await read('status');
      await readDue();
    },
    expire: fresh.expire,
    expireAll,
  };
}
