// Carries out the effects of the state machine, and keeps kernel, files and report in step with its mode.
import { describeState, type Effect, type Event, inForce, type Mode, reconcile, transition, undo } from './machine.ts';
import type { Report } from './report.ts';
import { type RuleOptions, render } from './rules/rules.ts';
import {
  formatRules,
  formatTrial,
  parseFormerPause,
  parseRules,
  parseTrial,
  type Stored,
  type Trial,
  unreadable,
} from './rules/wanted.ts';
import { createTable, isBlocking, type Kernel, type Listing, missingRules } from './table.ts';
import { type Message, message, messageOf, SwitchError, WordedError, wordingOf } from './wording.ts';

export interface Files<Name extends string = FileName> {
  /** @returns null if there is no such file. @throws Error when it can't be read */
  read(name: Name): string | null;
  /** Atomic and durable. @throws Error */
  write(name: Name, text: string): void;
  /** Removes a file, which may be missing. @throws Error */
  remove(name: Name): void;
}

/** `pause.json` is only read: services up to 0.2.7 wrote it. */
export type FileName = 'rules.nft' | 'trial.json' | 'pause.json';

/** Surroundings of the kill switch. Tests replace them to make each step fail. */
export interface Edges {
  kernel: Kernel;
  files: Files;
  clock: {
    bootId: string;
    /** Seconds since boot, suspend included. */
    uptime(): number;
    /** Milliseconds since the epoch. */
    now(): number;
  };
  /** Calls `ring` after some seconds, in place of an earlier alarm; null sets no alarm. */
  alarm(seconds: number | null, ring: () => void): void;
  /** Makes systemd load the rules file after some seconds, even if this process dies. @throws Error */
  arm(seconds: number): Promise<void>;
  disarm(): Promise<void>;
  /** True while the boot guard is installed and not masked. */
  bootGuard(): boolean;
  /** True while a user signs in to a network, when a helper may send outside the tunnel. */
  isSigningIn(): boolean;
  publish(report: Report): void;
  /** Rules that block while the stored rules can't be read. */
  fallback: RuleOptions;
}

/** Wait before the next attempt after the kernel refused the rules. */
const RETRY_SECONDS = 2;

/** @param ring called when the next measurement is due. Calls of the returned functions must not overlap. */
export function createKeeper(edges: Edges, ring: () => void) {
  const { kernel, files, clock } = edges;
  let mode: Mode = { kind: 'off' };
  let trouble: Message[] | null = null;
  let repairedAt: number | null = null;
  let announced: { until: number; ends: number } | null = null;
  const effects = createEffects(edges);

  /** Runs the effects of an event. The mode changes after the last effect, or before the first. @throws Error */
  async function makeTransition(
    { mode: next, effects: list }: ReturnType<typeof transition>,
    order: 'first' | 'after' = 'after',
  ) {
    if (order === 'first') mode = next;
    for (const effect of list) await effects.apply(effect);
    mode = 'fingerprint' in next && inForce(next) ? { ...next, fingerprint: effects.fingerprint() } : next;
  }

  /** Repairs foreign changes, ends a trial that is due, and lists the rules afterwards. */
  async function settle(): Promise<Listing | null> {
    const listing = await kernel.list();
    const seen = { fingerprint: listing?.fingerprint ?? null, blocks: isBlocking(listing) };
    const event = reconcile(mode, seen, clock.uptime());
    if (!event) return listing;
    if (event.kind === 'damaged') await repairDamage();
    else await makeTransition(transition(mode, event));
    return kernel.list();
  }

  async function repairDamage(): Promise<void> {
    if (!('fingerprint' in mode) || mode.fingerprint !== null) repairedAt = clock.now();
    await makeTransition(transition(mode, { kind: 'damaged' }));
  }

  /** Returns the end of a trial in the wall-clock time of its first report, so that all reports agree. */
  function trialEnds({ until }: Trial): number {
    if (announced?.until !== until) announced = { until, ends: clock.now() + (until - clock.uptime()) * 1000 };
    return announced.ends;
  }

  async function measure(): Promise<Report> {
    let listing: Listing | null | undefined;
    try {
      listing = await settle();
      if (mode.kind !== 'fail-closed') trouble = null;
    } catch (error) {
      trouble = wordingOf(error);
      listing = await kernel.list().catch(() => undefined);
    }
    const active = listing === undefined ? null : isBlocking(listing);
    const report = describeState(mode, {
      active,
      protection: kernel.protection(listing ?? null),
      bootGuard: edges.bootGuard(),
      backend: kernel.backend,
      trouble,
      isSigningIn: edges.isSigningIn(),
      repairedAt,
      ends: mode.kind === 'trying' ? trialEnds(mode.trial) : 0,
    });
    edges.alarm(nextLook(mode, active, clock.uptime()), ring);
    edges.publish(report);
    return report;
  }

  /** Runs a change. If it fails, restores mode and files. @throws SwitchError Failed */
  async function change(event: Event, failure: string): Promise<Report> {
    const previous = mode;
    const stored = {
      rules: tolerant(() => files.read('rules.nft')),
      trial: tolerant(() => files.read('trial.json')),
    };
    try {
      await makeTransition(transition(mode, event));
      trouble = repairedAt = null;
    } catch (error) {
      await makeTransition(undo(previous, event, stored)).catch(() => {});
      await measure();
      throw new SwitchError('Failed', `${failure}: ${messageOf(error)}`, error);
    }
    return measure();
  }

  async function start(): Promise<Report> {
    try {
      const stored = readStored(files);
      const event: Event = {
        kind: 'started',
        stored,
        trial: readTrial(edges),
        inForce: stored.kind === 'absent' && (await kernel.list()) !== null,
      };
      await makeTransition(transition(mode, event), 'first');
    } catch (error) {
      trouble = wordingOf(error);
    }
    return measure();
  }

  return {
    start,
    change,
    measure,
    mode: () => mode,
  };
}

/** Returns the seconds until the next measurement is due; null if it waits for another event. */
function nextLook(mode: Mode, active: boolean | null, uptime: number): number | null {
  if (mode.kind === 'trying') {
    const left = mode.trial.until - uptime;
    if (left <= 0) return RETRY_SECONDS; // ending it has failed
    const retry = active !== true && mode.trial.wanted !== null;
    return retry ? Math.min(RETRY_SECONDS, left) : left;
  }
  return active !== true && mode.kind !== 'off' ? RETRY_SECONDS : null;
}

/** Carries out effects, and remembers the fingerprint of the table that they put in force. */
function createEffects({ kernel, files, fallback, ...edges }: Edges) {
  const table = createTable(kernel, requireRules);

  async function execute(effect: Effect): Promise<void> {
    switch (effect.do) {
      case 'store-rules':
        return files.write('rules.nft', formatRules(effect.wanted));
      case 'refresh-rules':
        if (files.read('rules.nft') !== formatRules(effect.wanted))
          files.write('rules.nft', formatRules(effect.wanted));
        return;
      case 'restore-rules':
        return files.write('rules.nft', effect.text);
      case 'restore-trial':
        return files.write('trial.json', effect.text);
      case 'forget-rules':
        return files.remove('rules.nft');
      case 'store-trial':
        return files.write('trial.json', formatTrial(effect.trial));
      case 'forget-trial':
        return files.remove('trial.json');
      case 'watch':
        return kernel.watch(effect.on);
      case 'block':
        if (effect.wanted) await table.replace(effect.wanted);
        else if (!isBlocking(await kernel.list().catch(() => null))) await table.replace(fallback);
        return;
      case 'open':
        return kernel.remove();
      case 'arm':
        return edges.arm(effect.seconds);
      case 'disarm':
        return edges.disarm();
    }
  }

  return {
    /** @throws Error unless the effect may fail */
    async apply(effect: Effect): Promise<void> {
      try {
        await execute(effect);
      } catch (error) {
        if (!('tolerant' in effect)) throw error;
      }
    },
    fingerprint: () => table.inForce()?.fingerprint ?? null,
  };
}

/** @throws Error unless the kernel holds exactly these rules */
function requireRules(listing: Listing | null, rules: RuleOptions): void {
  const missing = missingRules(listing, render(rules));
  if (missing) throw new WordedError(message('nft accepted the rules, but the kernel has different ones: %s', missing));
}

/** Reads the stored rules; an unreadable file is broken, not absent. */
function readStored(files: Files): Stored {
  try {
    const text = files.read('rules.nft');
    return text === null ? { kind: 'absent' } : parseRules(text);
  } catch (error) {
    return { kind: 'broken', why: unreadable(messageOf(error)) };
  }
}

/** Reads the pause or unconfirmed change that was under way when the previous process ended. */
function readTrial(edges: Edges): { trial: Trial; due: boolean } | null {
  const { files, clock } = edges;
  tolerant(() => moveFormerPause(edges));
  const text = tolerant(() => files.read('trial.json'));
  return text === null ? null : parseTrial(text, { bootId: clock.bootId, uptime: clock.uptime() });
}

/** Turns a pause that a service up to 0.2.7 began into a trial. @throws Error if a file can't be changed */
function moveFormerPause({ files, clock }: Edges): void {
  const text = files.read('pause.json');
  if (text === null) return;
  const pause = parseFormerPause(text, clock.now());
  try {
    if (pause && files.read('trial.json') === null) files.write('trial.json', formatTrial(pause));
  } finally {
    // a pause that could not be moved has ended, and must not begin again at a later start
    files.remove('pause.json');
  }
}

/** Returns null if reading fails. */
function tolerant<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
