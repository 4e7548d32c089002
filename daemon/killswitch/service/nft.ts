// The kernel's side of the root service: one warm nft that takes transactions, and where the table can't be owned, one
// that tells of changes. Starting an nft for each change would cost three times as long, and the time is a leak.
import GLib from 'gi://GLib?version=2.0';
import { type Listing, parseListing } from '../listing.ts';
import { type RuleOptions, render, renderRemoval, TABLE } from '../rules.ts';
import type { Kernel } from '../switch.ts';
import { type Child, startChild } from './child.ts';

/** nft answers it with one line of text that no listing and no error contains: it marks the end of a reply. */
const END = { command: 'describe tcp dport', reply: 'payload expression' };
const LIST = `list table inet ${TABLE}`;
const REPLY_MS = 10_000;
/** nft's last line for a transaction: `# new generation 5 by process 1234 (nft)`. */
const GENERATION = /^# new generation \d+(?: by process (\d+))?/;
/** Until a change is looked into of which the monitor has not said whose it is. */
const UNCLAIMED_MS = 100;
/** Before a child that keeps dying is started again; doubled each time. One that lived so long begins anew. */
const BACK_OFF_MS = { first: 20, last: 10_000, lived: 30_000 };
/** How long a table may still belong to the nft of a service that was just killed. */
const OWNED = { attempts: 40, ms: 25 };

/**
 * @param nft path of the program
 * @param changed called when the table may have changed, or one of the children died; `foreign` where it was somebody else
 */
export function createKernel(nft: string, changed: (foreign: boolean) => void): Kernel {
  let warm: Child | null = null;
  let monitor: Child | null = null;
  let guarding = false;
  /** Whether nft and kernel know tables that survive a foreign flush and their owner's death; found out by trying. */
  let owning: boolean | null = null;
  /** The table was changed, and the monitor has yet to say by whom. */
  let unclaimed: ReturnType<typeof setTimeout> | null = null;
  const warmDied = createBackOff();
  const monitorDied = createBackOff();
  const waiting: { lines: string[]; done(lines: string[]): void; fail(error: Error): void }[] = [];

  function ask(commands: string): Promise<string[]> {
    warm ??= startChild([nft, '-j', '-i'], hear, lost);
    const child = warm;
    return new Promise<string[]>((done, fail) => {
      const timer = setTimeout(() => child.kill(), REPLY_MS);
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

  function hear(line: string): void {
    const reply = waiting[0];
    if (!line.startsWith(END.reply)) reply?.lines.push(line);
    else waiting.shift()?.done(reply!.lines);
  }

  function lost(): void {
    warm = null;
    const error = new Error('nft ended before it answered');
    for (const { fail } of waiting.splice(0)) fail(error);
    if (guarding) warmDied(() => changed(false));
  }

  async function transact(text: string): Promise<Listing | null> {
    for (let attempt = 1; ; attempt++) {
      const lines = await ask(`${oneLine(text)}\n${LIST}`);
      const error = errorOf(lines.filter(line => !line.includes('No such file or directory')));
      if (!error) return listingOf(lines);
      if (!/not permitted/.test(error) || attempt === OWNED.attempts) throw new Error(`nft: ${error}`);
      await delay(OWNED.ms);
    }
  }

  function watch(listing: Listing | null): void {
    const needed = guarding && !listing?.flags.includes('owner');
    if (!needed) {
      monitor?.kill();
      monitor = null;
    } else if (!monitor) {
      const child = startChild([nft, 'monitor'], hearChange, () => {
        if (monitor !== child) return;
        monitor = null;
        monitorDied(() => changed(false));
      });
      monitor = child;
      setTimeout(changed, 500, false); // what happened before it listened
    }
  }

  function hearChange(line: string): void {
    if (line.includes(`inet ${TABLE}`)) unclaimed ??= setTimeout(settle, UNCLAIMED_MS, true);
    const [generation, author] = GENERATION.exec(line) ?? [];
    if (generation && unclaimed) settle(author !== warm?.pid());
  }

  function settle(foreign: boolean): void {
    if (unclaimed) clearTimeout(unclaimed);
    unclaimed = null;
    if (foreign) changed(true);
  }

  return {
    backend: versionOf(nft),
    async replace(options: RuleOptions) {
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
      // an `add` in front is refused for a table with flags, and who has flags has `destroy`
      const lines = await ask(`destroy table inet ${TABLE}`);
      if (errorOf(lines)) await transact(renderRemoval());
      if (listingOf(await ask(LIST))) throw new Error('nft removed the table, but it is still there');
      watch(null);
    },
    async list() {
      const lines = await ask(LIST);
      const error = errorOf(lines);
      if (error && !lines.some(line => line.includes('No such file or directory'))) throw new Error(`nft: ${error}`);
      const listing = listingOf(lines);
      if (guarding) watch(listing);
      return listing;
    },
    protection(listing) {
      if (listing?.flags.includes('owner') && listing.flags.includes('persist')) return 'owner-persist';
      return monitor ? 'watchdog' : 'none';
    },
    guard(on) {
      guarding = on;
      if (!on) watch(null);
    },
  };
}

/** Answers the first death at once, since it may have cost the table its owner, and each further one later. */
function createBackOff() {
  let ms = 0;
  let last = 0;
  return (act: () => void) => {
    const now = Date.now();
    ms = now - last > BACK_OFF_MS.lived ? 0 : Math.min(Math.max(ms * 2, BACK_OFF_MS.first), BACK_OFF_MS.last);
    last = now;
    setTimeout(act, ms);
  };
}

/** `nft -i` takes a line as a transaction. */
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

function listingOf(lines: readonly string[]): Listing | null {
  return lines.map(line => (line.startsWith('{') ? parseListing(line) : null)).find(listing => listing) ?? null;
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
