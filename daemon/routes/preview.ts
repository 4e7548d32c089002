// Compares a document with the current list, and reports changes, faults and warnings.
import type { SplitTunnel } from '../api/schema.ts';
import type { Message } from '../api/values.ts';
import { message, wordMessage } from '../view/message.ts';
import { wholeFamilies } from '../view/states/coverage.ts';
import { english } from '../view/translator.ts';
import { canonical, type Document, type Entry, type Mode } from './document.ts';
import { byPosition, contains, parseRange } from './ranges.ts';

/** An invalid line, and the reason. */
interface InvalidLine {
  line: number;
  text: string;
  reason: string;
  /** The reason, for translation by a client. */
  message: Message;
}

export interface Preview {
  mode: Mode | null;
  add: Entry[];
  remove: Entry[];
  /** Number of entries that stay. */
  unchanged: number;
  invalid: InvalidLine[];
  /** Entries that an earlier line already lists. */
  duplicates: { line: number; value: string; first: number }[];
  /** Entries that change nothing because a wider entry contains them. */
  contained: { line: number; value: string; in: string }[];
  warnings: Warning[];
}

/** A consequence that users tend to overlook; `value` is the affected address or host. */
interface Warning {
  code: 'ssh-peer' | 'gateway' | 'printer' | 'resolver' | 'endpoint' | 'everything' | 'hosts-need-dns';
  value: string;
}

/** Networks and servers around this machine, with addresses as text. */
export interface Surroundings {
  /** The peer of this SSH session, or null outside a session. */
  sshPeer: string | null;
  gateways: readonly string[];
  resolvers: readonly string[];
  /** Printers with an open connection. */
  printers: readonly string[];
  /** The tunnel's own endpoints. */
  endpoints: readonly string[];
  /** The client's mode, in the form that `setMode` accepts. */
  clientMode: string | null;
  /** True if the tunnel is up, so that a change of the list moves connections immediately. */
  connected: boolean;
}

export const NO_SURROUNDINGS: Surroundings = {
  sshPeer: null,
  gateways: [],
  resolvers: [],
  printers: [],
  endpoints: [],
  clientMode: null,
  connected: false,
};

/** Compares a document with the current list. warp-cli can't change the mode, so another mode is invalid. */
export function preview(document: Document, current: SplitTunnel, around: Surroundings = NO_SURROUNDINGS): Preview {
  const set = new Map([...current.ips, ...current.hosts].map(({ value }) => canonical(value)).map(e => [e.value, e]));
  const listed = new Map<string, { entry: Entry; line: number }>();
  const duplicates: Preview['duplicates'] = [];
  for (const { number, entries } of document.lines)
    for (const entry of entries) {
      const first = listed.get(entry.value);
      if (first) duplicates.push({ line: number, value: entry.value, first: first.line });
      else listed.set(entry.value, { entry, line: number });
    }
  const mode = current.mode ?? document.mode;
  const entries = [...listed.values()];
  const add = entries.filter(({ entry }) => !set.has(entry.value)).map(({ entry }) => entry);
  const remove = [...set.values()].filter(({ value }) => !listed.has(value));
  return {
    mode,
    add,
    remove,
    unchanged: entries.length - add.length,
    invalid: [...modeProblem(document, current), ...invalidLines(document)],
    duplicates,
    contained: containedIn(entries),
    warnings: warningsOf({ mode, before: [...set.values()], after: entries.map(({ entry }) => entry), around }),
  };
}

function invalidLines({ lines }: Document): InvalidLine[] {
  return lines.flatMap(({ number, text, reason }) => (reason === null ? [] : [invalidLine(number, text, reason)]));
}

function modeProblem(document: Document, current: SplitTunnel): InvalidLine[] {
  if (document.mode === null || current.mode === null || document.mode === current.mode) return [];
  const why = message('the split tunnel is in %s mode, and warp-cli has no command to change that', current.mode);
  return [invalidLine(1, `mode ${document.mode}`, why)];
}

function invalidLine(line: number, text: string, why: Message): InvalidLine {
  return { line, text, reason: wordMessage(why, english), message: why };
}

/** Finds contained entries in one pass: in sorted order, the widest range contains all ranges that begin in it. */
function containedIn(entries: readonly { entry: Entry; line: number }[]): Preview['contained'] {
  const ranges = entries
    .flatMap(({ entry, line }) => (entry.range ? [{ entry, line, range: entry.range }] : []))
    .sort((a, b) => byPosition(a.range, b.range));
  const contained: Preview['contained'] = [];
  let widest: (typeof ranges)[number] | undefined;
  for (const each of ranges) {
    if (widest && contains(widest.range, each.range))
      contained.push({ line: each.line, value: each.entry.value, in: widest.entry.value });
    else widest = each;
  }
  return contained;
}

interface Change {
  mode: Mode | null;
  before: readonly Entry[];
  after: readonly Entry[];
  around: Surroundings;
}

function warningsOf({ mode, before, after, around }: Change): Warning[] {
  const [was, will] = [tunneled(mode, before), tunneled(mode, after)];
  const moves = (address: string) => was(address) !== will(address);
  const enters = (address: string) => !was(address) && will(address);
  const about = (code: Warning['code'], addresses: readonly string[], warns: (address: string) => boolean) =>
    [...new Set(addresses)].filter(warns).map((value): Warning => ({ code, value }));
  const hosts = after.some(({ kind }) => kind === 'host') && around.clientMode === 'tunnel_only';
  return [
    // while the tunnel is up, a session breaks in either direction: its packets change their source address
    ...about('ssh-peer', around.sshPeer === null ? [] : [around.sshPeer], around.connected ? moves : enters),
    ...about('gateway', around.gateways, enters),
    ...about('printer', around.printers, enters),
    ...about('resolver', around.resolvers, moves),
    // the client keeps its endpoints out of the tunnel, because a list that tunnels them would cause a loop
    ...about('endpoint', around.endpoints, enters),
    ...wholeFamilies(after.flatMap(({ kind, value }) => (kind === 'host' ? [] : value))).map(
      family => ({ code: 'everything', value: family === 'IPv4' ? '0.0.0.0/0' : '::/0' }) as const,
    ),
    ...(hosts ? [{ code: 'hosts-need-dns', value: after.find(({ kind }) => kind === 'host')!.value } as const] : []),
  ];
}

/** Returns a test for addresses that use the tunnel. It is false for text that is not an address. */
export function tunneled(mode: Mode | null, entries: readonly Entry[]): (address: string) => boolean {
  const ranges = entries.flatMap(({ range }) => range ?? []);
  return address => {
    const range = parseRange(address);
    if (typeof range === 'string') return false;
    const listed = ranges.some(each => contains(each, range));
    return mode === 'include' ? listed : !listed;
  };
}
