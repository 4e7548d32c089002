// The kill switch itself: what is wanted, stored, in the kernel and published, kept in step through every failure.
// Knows no bus, files or processes: those come in, so that the tests can fail each of them at each step.
import { blocks, type Listing, lacks } from './listing.ts';
import type { Protection, Report } from './report.ts';
import { LONGEST_PAUSE, loosens, type Wanted } from './request.ts';
import { type RuleOptions, render } from './rules.ts';
import { formatPause, formatRules, type Pause, parsePause, parseRules, type Stored } from './stored.ts';

export interface Kernel {
  /** What enforces the rules: `nftables 1.0.6`. */
  readonly backend: string | null;
  /** Replaces the table in one transaction and lists it. @throws Error with nft's words; nothing has changed then */
  replace(options: RuleOptions): Promise<Listing | null>;
  /** @throws Error with nft's words */
  remove(): Promise<void>;
  /** The table as it is, null where there is none. @throws Error when the kernel can't be asked */
  list(): Promise<Listing | null>;
  /** What answers a foreign change, given what was listed. */
  protection(listing: Listing | null): Protection;
  /** Begins or ends to tell of foreign changes. */
  guard(on: boolean): void;
}

export interface Files {
  /** @returns null where there is no such file. @throws Error when it can't be read */
  read(name: FileName): string | null;
  /** Atomic and durable. @throws Error */
  write(name: FileName, text: string): void;
  /** No file is fine. @throws Error */
  remove(name: FileName): void;
}
export type FileName = 'rules.nft' | 'pause.json';

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
  /** Calls back after some seconds; replaces the alarm before. null: no alarm. */
  alarm(seconds: number | null, ring: () => void): void;
  /** Has the rules file loaded after some seconds by somebody who outlives this process. @throws Error */
  arm(seconds: number): Promise<void>;
  disarm(): Promise<void>;
  /** Whether the boot guard is installed and not masked. */
  bootGuard(): boolean;
  publish(report: Report): void;
  /** What to block with where the stored rules can't be read. */
  fallback: RuleOptions;
  tunnelInterfaces?: readonly string[];
}

/** A refusal or failure with the name it has on the bus. */
export class SwitchError extends Error {
  readonly code: 'Denied' | 'InvalidArgument' | 'LimitsExceeded' | 'NotEnabled' | 'Failed';
  constructor(code: SwitchError['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SwitchError';
    this.code = code;
  }
}

export interface Switch {
  /** Brings the kernel to what is stored. Never throws: what went wrong is in the report. */
  start(): Promise<Report>;
  /** @throws SwitchError Failed; what held before holds then */
  enable(wanted: Wanted): Promise<Report>;
  /** @throws SwitchError Failed */
  disable(): Promise<Report>;
  /** @param seconds 0 ends a pause. @throws SwitchError NotEnabled, Failed */
  pause(seconds: number): Promise<Report>;
  /** Measures, mends what another program changed, and tells. */
  check(): Promise<Report>;
  /** The same where another program surely changed it: mends first, since the time until then is a leak. */
  mend(): Promise<Report>;
  /** Whether this wish asks for an administrator. */
  loosens(next: Wanted): boolean;
  /** Nothing to guard, so that the process may end. */
  idle(): boolean;
}

type Mode =
  | { kind: 'off' }
  | { kind: 'on'; wanted: Wanted; fingerprint: string | null }
  /** `ends`: milliseconds since the epoch, for people. */
  | { kind: 'paused'; wanted: Wanted; pause: Pause; ends: number }
  /** Rules in force of which nobody knows what they should be. They stay. */
  | { kind: 'held'; why: string };

/** Until the next attempt, where the kernel did not take what is wanted. */
const RETRY_SECONDS = 2;

export function createSwitch(edges: Edges): Switch {
  const { kernel, files, clock, tunnelInterfaces } = edges;
  let mode: Mode = { kind: 'off' };
  let trouble: string | null = null;
  let mended: number | null = null;
  let queue: Promise<unknown> = Promise.resolve();
  let checking: Promise<Report> | null = null;
  let harmed = false;

  /** One at a time: two operations never meet in the kernel or on disk. */
  function inTurn<T>(operation: () => Promise<T>): Promise<T> {
    const result = queue.then(operation);
    queue = result.catch(() => {});
    return result;
  }

  const options = ({ allowLan, endpoints }: Wanted): RuleOptions => ({
    allowLan,
    endpoints,
    ...(tunnelInterfaces ? { tunnelInterfaces } : {}),
  });

  /** @throws Error unless the kernel then holds just these rules. */
  async function put(rules: RuleOptions): Promise<Listing> {
    const listing = await kernel.replace(rules);
    const missing = lacks(listing, render(rules));
    if (missing) throw new Error(`nft took the rules, but ${missing}`);
    return listing!;
  }

  async function block(wanted: Wanted): Promise<void> {
    kernel.guard(true);
    const { fingerprint } = await put(options(wanted));
    mode = { kind: 'on', wanted, fingerprint };
    edges.alarm(null, () => {});
  }

  async function hold(why: string): Promise<void> {
    mode = { kind: 'held', why };
    kernel.guard(true);
    if (!blocks(await kernel.list().catch(() => null))) await put(edges.fallback);
  }

  function open(wanted: Wanted, pause: Pause): void {
    const left = Math.max(0, pause.until - clock.uptime());
    mode = { kind: 'paused', wanted, pause, ends: clock.now() + left * 1000 };
    edges.alarm(left, () => void check());
  }

  /** Blocks again, whatever becomes of the pause's file and timer: both only ever end a pause. */
  async function resume(wanted: Wanted): Promise<void> {
    tolerant(() => files.remove('pause.json'));
    await block(wanted);
    await edges.disarm().catch(() => {});
  }

  function readStored(): Stored {
    try {
      const text = files.read('rules.nft');
      return text === null ? { kind: 'absent' } : parseRules(text);
    } catch (error) {
      return { kind: 'broken', why: messageOf(error) };
    }
  }

  function readPause(): Pause | null {
    try {
      return parsePause(files.read('pause.json') ?? '', clock.bootId, clock.uptime(), LONGEST_PAUSE);
    } catch {
      return null;
    }
  }

  async function begin(): Promise<void> {
    const stored = readStored();
    if (stored.kind === 'broken') return hold(`The stored settings can't be read: ${stored.why}.`);
    if (stored.kind === 'absent') {
      if (await kernel.list()) await hold('Nothing is stored, but rules of an earlier run are in force.');
      return;
    }
    const { wanted } = stored;
    const pause = readPause();
    mode = { kind: 'on', wanted, fingerprint: null };
    if (pause) {
      await kernel.remove();
      return open(wanted, pause);
    }
    await resume(wanted);
    const text = formatRules(wanted);
    if (files.read('rules.nft') !== text) files.write('rules.nft', text); // rendered by an earlier version
  }

  /** Mends, ends a pause whose time has come, and measures. */
  async function look(): Promise<Listing | null> {
    if (harmed && mode.kind === 'on') {
      harmed = false;
      mended = clock.now();
      await block(mode.wanted);
    }
    harmed = false;
    const listing = await kernel.list();
    if (mode.kind === 'paused') {
      const over = mode.pause.until <= clock.uptime();
      if (over || listing) await resume(mode.wanted); // a table in a pause: the timer that outlives us was first
      return over || listing ? kernel.list() : null;
    }
    if (mode.kind === 'on' && (!listing || listing.fingerprint !== mode.fingerprint)) {
      if (mode.fingerprint !== null) mended = clock.now();
      await block(mode.wanted);
      return kernel.list();
    }
    if (mode.kind === 'held' && !blocks(listing)) {
      mended = clock.now();
      return put(edges.fallback);
    }
    return listing;
  }

  function blockDue(): boolean {
    if (mode.kind === 'paused') return mode.pause.until <= clock.uptime();
    return mode.kind !== 'off';
  }

  function describe(active: boolean | null, protection: Protection): Report {
    const wanted = mode.kind === 'on' || mode.kind === 'paused' ? mode.wanted : null;
    return {
      enabled: mode.kind !== 'off',
      allowLan: wanted?.allowLan ?? false,
      active,
      protection,
      bootGuard: mode.kind !== 'off' && edges.bootGuard(),
      backend: kernel.backend,
      detail: detail(active),
      pausedUntil: mode.kind === 'paused' ? toIso(mode.ends) : null,
    };
  }

  function detail(active: boolean | null): string | null {
    if (trouble) return trouble;
    if (mode.kind === 'held')
      return `${mode.why} Everything outside the tunnel stays blocked until the kill switch is turned on or off again.`;
    if (mode.kind === 'paused') return 'Paused.';
    if (mode.kind === 'off' && active) return 'Rules are in force that nobody asked for; turning it off removes them.';
    if (mended !== null) return `Another program changed the rules at ${toIso(mended)}; they were put back.`;
    return null;
  }

  async function measure(): Promise<Report> {
    let report: Report;
    try {
      const listing = await look();
      if (mode.kind !== 'held') trouble = null;
      report = describe(blocks(listing), kernel.protection(listing));
    } catch (error) {
      trouble = messageOf(error);
      const listing = await kernel.list().catch(() => undefined);
      const active = listing === undefined ? null : blocks(listing);
      report = describe(active, kernel.protection(listing ?? null));
    }
    if (report.active !== true && blockDue()) edges.alarm(RETRY_SECONDS, () => void check());
    edges.publish(report);
    return report;
  }

  /** Runs a change; where it fails, `undo` brings back what held before. @throws SwitchError Failed */
  async function change(what: string, steps: () => Promise<void>, undo: () => Promise<void>): Promise<Report> {
    try {
      await steps();
      trouble = mended = null;
    } catch (error) {
      await undo().catch(() => {});
      await measure();
      throw error instanceof SwitchError ? error : new SwitchError('Failed', `${what}: ${messageOf(error)}`, error);
    }
    return measure();
  }

  /** Whoever asks while one waits for its turn is answered by that one. */
  function check(): Promise<Report> {
    checking ??= inTurn(() => {
      checking = null;
      return measure();
    });
    return checking;
  }

  return {
    start: () =>
      inTurn(async () => {
        try {
          await begin();
        } catch (error) {
          trouble = messageOf(error);
        }
        return measure();
      }),
    enable: wanted =>
      inTurn(() => {
        const [before, text] = [mode, tolerant(() => files.read('rules.nft'))];
        return change(
          'The rules could not be put in force',
          async () => {
            files.write('rules.nft', formatRules(wanted)); // first the wish, so that a crash from here on ends blocked
            files.remove('pause.json');
            await block(wanted);
            await edges.disarm().catch(() => {});
          },
          async () => {
            if (text === null && before.kind === 'off') files.remove('rules.nft');
            else if (text !== null) files.write('rules.nft', text);
            mode = before;
            if (before.kind === 'off') {
              kernel.guard(false);
              await kernel.remove();
            }
          },
        );
      }),
    disable: () =>
      inTurn(() => {
        const [before, text] = [mode, tolerant(() => files.read('rules.nft'))];
        return change(
          'The rules could not be removed',
          async () => {
            files.remove('rules.nft'); // a crash from here on leaves rules that nobody wants, never the other way round
            files.remove('pause.json');
            mode = { kind: 'off' };
            edges.alarm(null, () => {});
            kernel.guard(false);
            await kernel.remove();
            await edges.disarm().catch(() => {});
          },
          async () => {
            mode = before;
            if (text !== null) files.write('rules.nft', text);
            if (before.kind !== 'off') kernel.guard(true);
          },
        );
      }),
    pause: seconds =>
      inTurn(async () => {
        if (mode.kind !== 'on' && mode.kind !== 'paused')
          throw new SwitchError('NotEnabled', 'There is nothing to pause: the kill switch is not on.');
        const { wanted } = mode;
        const back = () => resume(wanted);
        if (seconds === 0) return change('The pause could not be ended', back, back);
        const pause = { bootId: clock.bootId, until: clock.uptime() + seconds };
        return change(
          'The kill switch was not paused',
          async () => {
            await edges.arm(seconds); // nobody lifts the block before somebody else is sure to bring it back
            files.write('pause.json', formatPause(pause));
            kernel.guard(true);
            open(wanted, pause);
            await kernel.remove();
          },
          back,
        );
      }),
    check,
    mend: () => {
      harmed = true;
      return check();
    },
    loosens: next => loosens(mode.kind === 'off' ? null : 'wanted' in mode ? mode.wanted : edges.fallback, next),
    idle: () => mode.kind === 'off',
  };
}

function tolerant<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
