// Changes and reads a kernel table through nft. If nft can't own the table, a monitor reports changes by other programs.
import GLib from 'gi://GLib?version=2.0';
import { createHeartbeat } from '../pacing.ts';
import { ABSENT } from '../recorder.ts';
import { type Elements, renderElements, renderRemoval, TABLE } from '../rules/rules.ts';
import { type Kernel, type Listing, parseListing } from '../table.ts';
import { message, WordedError } from '../wording.ts';
import { type Child, createBackOff, startChild } from './child.ts';

/** Attempts while the nft process of a service that was just killed still owns the table. */
const OWNED = { attempts: 40, ms: 25 };

interface TableKind<Options> {
  name: string;
  /** Renders the transaction that replaces the table. */
  render(options: Options & { flags?: readonly ('owner' | 'persist')[] }): string;
}

/**
 * @param nft path of the program
 * @param changed called when the table may have changed, or one of the children died
 */
export function createKernel<Options extends object>(
  nft: string,
  { name, render }: TableKind<Options>,
  changed: () => void,
): Kernel<Options> & { fill(elements: Elements): Promise<void> } {
  const list = `list table inet ${name}`;
  let guarding = false;
  /** True once nft and the kernel accepted a table that survives foreign flushes and its owner's death; null before a try. */
  let owning: boolean | null = null;
  const restart = createBackOff();
  const session = createSession(nft, () => {
    if (guarding) restart(changed);
  });
  const monitor = createMonitor({ nft, table: name, beat: () => session.ask(BEAT), changed });

  async function transact(text: string): Promise<Listing | null> {
    for (let attempt = 1; ; attempt++) {
      const lines = await session.ask(`${oneLine(text)}\n${list}`);
      const error = errorOf(lines.filter(line => !line.includes(ABSENT)));
      if (!error) return listingOf(lines, name);
      if (!/not permitted/.test(error) || attempt === OWNED.attempts) throw new Error(`nft: ${error}`);
      await delay(OWNED.ms);
    }
  }

  /** Runs the monitor for a guarded table without an owner; an owned table needs none. */
  function watch(listing: Listing | null): void {
    if (guarding && !listing?.flags.includes('owner')) monitor.start();
    else monitor.stop();
  }

  return {
    backend: versionOf(nft),
    async replace(options) {
      let listing: Listing | null = null;
      if (owning !== false) {
        try {
          listing = await transact(render({ ...options, flags: ['owner', 'persist'] }));
          owning = true;
        } catch (error) {
          if (owning) throw error;
          owning = false;
        }
      }
      if (!owning) listing = await transact(render(options));
      watch(listing);
      return listing;
    },
    async remove() {
      // `renderRemoval` starts with `add`, which nft refuses for a table with flags; an nft that knows flags has `destroy`
      const lines = await session.ask(`destroy table inet ${name}`);
      if (errorOf(lines)) await transact(renderRemoval(name));
      if (listingOf(await session.ask(list), name))
        throw new WordedError(message('nft removed the table, but it is still there'));
      watch(null);
    },
    async list() {
      const lines = await session.ask(list);
      const error = errorOf(lines);
      if (error && !lines.some(line => line.includes(ABSENT))) throw new Error(`nft: ${error}`);
      const listing = listingOf(lines, name);
      if (guarding) watch(listing);
      return listing;
    },
    async fill(elements) {
      const error = errorOf(await session.ask(renderElements(elements, name)));
      if (error) throw new Error(`nft: ${error}`);
    },
    protection(listing) {
      if (listing?.flags.includes('owner') && listing.flags.includes('persist')) return 'owner-persist';
      return monitor.running() ? 'watchdog' : 'none';
    },
    watch(on) {
      guarding = on;
      if (!on) watch(null);
    },
  };
}

/** Joins a transaction into one line, which `nft -i` runs as one transaction. */
function oneLine(text: string): string {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith('#'))
    .join(';');
}

function errorOf(lines: readonly string[]): string | null {
  const line = lines.find(line => /\bError: /.test(line));
  return line ? line.replace(/^.*?Error: /, '') : null;
}

function listingOf(lines: readonly string[], name: string): Listing | null {
  return lines.map(line => (line.startsWith('{') ? parseListing(line, name) : null)).find(listing => listing) ?? null;
}

function versionOf(nft: string): string | null {
  try {
    const [, out] = GLib.spawn_sync(null, [nft, '--version'], null, GLib.SpawnFlags.DEFAULT, null);
    const [, version] = /v(\d[\d.]*)/.exec(new TextDecoder().decode(out ?? new Uint8Array())) ?? [];
    return version ? `nftables ${version}` : null;
  } catch {
    return null;
  }
}

function delay(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms));
}

/** A command that marks the end of a reply: nft answers it with a line that occurs in no listing and no error. */
const END = { command: 'describe tcp dport', reply: 'payload expression' };
const REPLY_MS = 10_000;

interface Session {
  /** @returns the lines that nft printed. @throws Error when nft ended, or did not reply within ten seconds */
  ask(commands: string): Promise<string[]>;
  /** Ends an idle process; the next request starts another process. */
  end(): void;
}

interface Request {
  lines: string[];
  done(lines: string[]): void;
  fail(error: Error): void;
}

/**
 * @param nft path of the program
 * @param died called when the process ended; the next request starts another process
 */
export function createSession(nft: string, died: () => void): Session {
  let warm: Child | null = null;
  const waiting: Request[] = [];

  function start(): Child {
    const child = startChild(
      [nft, '-j', '-i'],
      line => child === warm && receive(line),
      () => lost(child),
    );
    return child;
  }

  function receive(line: string): void {
    const reply = waiting[0];
    if (!line.startsWith(END.reply)) reply?.lines.push(line);
    else waiting.shift()?.done(reply!.lines);
  }

  function lost(child: Child): void {
    if (warm !== child) return;
    warm = null;
    const error = new WordedError(message('nft ended before it answered'));
    for (const { fail } of waiting.splice(0)) fail(error);
    died();
  }

  function ask(commands: string): Promise<string[]> {
    warm ??= start();
    const child = warm;
    return new Promise<string[]>((done, fail) => {
      const timer = setTimeout(() => {
        child.kill();
        lost(child); // the end of its output may never be reported
      }, REPLY_MS);
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer);
          settle(value);
        };
      waiting.push({ lines: [], done: settled(done), fail: settled(fail) });
      child.write(`${commands}\n${END.command}\n`);
    });
  }

  return {
    ask,
    end() {
      const child = warm;
      warm = null;
      child?.kill();
    },
  };
}

/**
 * Subjects, each with its own `nft monitor`. Set elements are not monitored: nft prints them one by one, which takes seconds if
 * another program loads a long list, and no program can change the constant sets of this service.
 */
const SUBJECTS = ['tables', 'chains', 'rules'] as const;
const BEAT_TABLE = `${TABLE}_heartbeat`;
/** A transaction that leaves nothing changed, but makes the monitor of each subject report it. */
const BEAT = [
  `add table inet ${BEAT_TABLE}`,
  `add chain inet ${BEAT_TABLE} beat`,
  `add rule inet ${BEAT_TABLE} beat continue`,
  `delete table inet ${BEAT_TABLE}`,
].join('; ');
const HEARTBEAT = { everyMs: 3_000, withinMs: 2_000 };
/** Message that nft prints when its netlink buffer overflows. */
const LOST = 'We lost some netlink events';
/** Time in which a new nft must begin to listen. */
const START_MS = 500;

interface MonitorOptions {
  /** Path of the program. */
  nft: string;
  /** Name of the table. */
  table: string;
  /** Commits `BEAT`. */
  beat(): Promise<unknown>;
  /** Called when the table may have changed, by this service or by another program. */
  changed(): void;
}

interface Monitor {
  /** Starts the processes unless they run. */
  start(): void;
  stop(): void;
  running(): boolean;
}

function createMonitor({ nft, table, beat, changed }: MonitorOptions): Monitor {
  const ours = new RegExp(`inet ${table}(?!\\w)`);
  let children: Child[] = [];
  /** Subjects with a monitor that has heard the current beat. */
  const heard = new Set<string>();
  /** True once every monitor has heard a beat since the start. */
  let listening = false;
  const restart = createBackOff();

  const heartbeat = createHeartbeat({
    ...HEARTBEAT,
    beat() {
      heard.clear();
      beat().catch(() => {});
    },
    deaf() {
      printerr('culvert-killswitch: the monitor of the packet filter went deaf; it is started again');
      stop();
      changed(); // the table may have changed unnoticed; the caller's check starts the monitors again
    },
  });

  function start(): void {
    if (children.length) return;
    const started: Child[] = SUBJECTS.map(subject =>
      startChild(
        [nft, 'monitor', subject],
        line => children === started && receive(subject, line),
        () => {
          if (children !== started) return;
          stop();
          restart(changed);
        },
      ),
    );
    children = started;
    listening = false;
    heartbeat.start();
    setTimeout(changed, START_MS);
  }

  function stop(): void {
    heartbeat.stop();
    const ending = children;
    children = [];
    for (const child of ending) child.kill();
  }

  function receive(subject: string, line: string): void {
    if (line.includes(`inet ${BEAT_TABLE}`)) {
      heard.add(subject);
      if (heard.size < SUBJECTS.length) return;
      heartbeat.heard();
      if (!listening) changed(); // report changes before the monitors listened, if they took longer than START_MS
      listening = true;
    } else if (ours.test(line) || line.includes(LOST)) changed();
  }

  return { start, stop, running: () => children.length > 0 };
}
