// Changes and reads a table of the kernel for the root service, through nft. Where the table can't be owned, a monitor reports
// what other programs change.
import GLib from 'gi://GLib?version=2.0';
import type { Kernel } from '../edges.ts';
import { type Elements, renderElements } from '../rules/elements.ts';
import { renderRemoval } from '../rules/rules.ts';
import { type Listing, parseListing } from '../rules/ruleset-diff.ts';
import { message, WordedError } from '../wording.ts';
import { createBackOff } from './child.ts';
import { BEAT, createMonitor } from './nft-monitor.ts';
import { createSession } from './nft-session.ts';

/** Attempts while the table still belongs to the nft of a service that was just killed. */
const OWNED = { attempts: 40, ms: 25 };
const ABSENT = 'No such file or directory';

export interface TableKind<Options> {
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
  /** True once nft and kernel took a table that survives a foreign flush and its owner's death; null: not tried yet. */
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

  /** A table with an owner needs no monitor. */
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
      // an `add` in front is refused for a table with flags, and an nft that knows flags has `destroy`
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
