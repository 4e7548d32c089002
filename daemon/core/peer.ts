// Finds the user at the other end of a loopback connection in the kernel's socket tables.
import { open } from 'node:fs/promises';
import { bytesOf } from './address.ts';

export interface Ends {
  /** Our end. */
  localAddress: string;
  localPort: number;
  /** The peer's end. */
  remoteAddress: string;
  remotePort: number;
}

type Table = 'tcp' | 'tcp6';

/**
 * Creates a lookup of the user id at the other end of a connection: null without an owner, undefined without a socket.
 * Reading a table costs the kernel 4 ms with few sockets and 60 ms with thousands, so the lookup reads only tables that
 * can hold the peer, and connections that arrive during a read share the next read.
 */
export function createPeerLookup(
  read: (table: Table) => Promise<string> = readTable,
): (ends: Ends) => Promise<number | null | undefined> {
  const [tcp, tcp6] = (['tcp', 'tcp6'] as const).map(table => shareReads(async () => ownersIn(await read(table))));
  return async ends => {
    if (ipv4Hex(ends.remoteAddress) !== null) {
      const owner = (await tcp!())(ends);
      if (owner !== undefined) return owner;
    }
    // an IPv6 peer, or an IPv4 peer with an IPv6 socket
    return (await tcp6!())(ends);
  };
}

/** Shares reads: a request during a read gets the next read, which begins after the request. */
function shareReads<T>(read: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | null = null;
  let current: Promise<unknown> = Promise.resolve();
  return () => {
    next ??= current.then(() => {
      const result = read();
      current = result.catch(() => {});
      next = null;
      return result;
    });
    return next;
  };
}

/**
 * Indexes a table, because another user can open thousands of connections: as many rows, and as many lookups.
 * @param table text of /proc/net/tcp or /proc/net/tcp6 (proc(5)).
 * @returns the user id of the peer's socket: null for a socket without an owner, undefined without a socket. A row with inode 0
 *   is a socket that its owner has closed: its uid then reads 0, but it does not belong to root (measured on
 *   Linux 6).
 */
export function ownersIn(table: string): (ends: Ends) => number | null | undefined {
  const rows = new Map<string, string>();
  for (const row of table.split('\n')) {
    const at = row.indexOf(': ') + 2;
    const end = row.indexOf(' ', row.indexOf(' ', at) + 1);
    const key = row.slice(at, end);
    if (end > at && !rows.has(key)) rows.set(key, row.slice(end + 1));
  }
  return ends => {
    for (const encode of [ipv4Hex, ipv6Hex]) {
      const [peer, us] = [encode(ends.remoteAddress), encode(ends.localAddress)];
      if (peer === null || us === null) continue;
      const row = rows.get(`${peer}:${portHex(ends.remotePort)} ${us}:${portHex(ends.localPort)}`);
      if (row === undefined) continue;
      // after "local remote": state, queues, timer, retransmits, uid, timeout, inode
      const [, , , , uid, , inode] = row.split(/ +/);
      return !inode || inode === '0' ? null : Number(uid);
    }
    return undefined;
  };
}

/**
 * Returns the id of the user who listens on a port of 127.0.0.1 or 0.0.0.0; undefined without a listener.
 * @param table text of /proc/net/tcp.
 */
export function listenerOf(table: string, port: number): number | undefined {
  for (const address of ['127.0.0.1', '0.0.0.0']) {
    const at = table.indexOf(` ${ipv4Hex(address)}:${portHex(port)} 00000000:0000 0A `);
    if (at >= 0) return Number(table.slice(at + 1).split(/ +/, 7)[6]);
  }
  return undefined;
}

/**
 * Size of a read: Linux returns at most one page of whole rows, of up to 64 KiB, and serves one read after the other, even for
 * several threads.
 */
const PAGE_BYTES = 65_536;
const MAX_READS = 16;

/**
 * Reads a table with several reads at a time, because each waits for a turn of the event loop, and thousands of sockets take
 * hundreds of reads. The header comes first, and the rows are in any order.
 * @throws NodeJS.ErrnoException if the table exists but can't be opened or read (EMFILE).
 */
export async function readTable(table: Table): Promise<string> {
  const file = await open(`/proc/net/${table}`, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null; // no IPv6
    throw error;
  });
  if (file === null) return '';
  try {
    let text = '';
    for (const pages: Buffer[] = []; ; ) {
      const more = Math.min(Math.max(1, pages.length), MAX_READS - pages.length);
      for (let i = 0; i < more; i++) pages.push(Buffer.allocUnsafe(PAGE_BYTES));
      // no read may be in progress when the file is closed
      const reads = await Promise.allSettled(pages.map(page => file.read(page, 0, PAGE_BYTES, null)));
      const rows = reads.map((read, i) => {
        if (read.status === 'rejected') throw read.reason;
        return pages[i]!.toString('latin1', 0, read.value.bytesRead);
      });
      // end each read with a line break: on a kernel that cuts rows, halves of two rows must not join
      for (const page of rows) text += `${page}\n`;
      if (rows.some(row => row === '')) return text;
    }
  } finally {
    await file.close();
  }
}

const portHex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
const byteHex = (byte: number) => byte.toString(16).toUpperCase().padStart(2, '0');

/** Formats an address as in /proc/net/tcp; null for an IPv6 address that maps no other. */
function ipv4Hex(address: string): string | null {
  const bytes = bytesOf(address.startsWith('::ffff:') ? address.slice(7) : address);
  return bytes?.length === 4 ? hexWords(bytes) : null;
}

/** Formats an address as in /proc/net/tcp6, with IPv4 addresses mapped. */
function ipv6Hex(address: string): string | null {
  const v4 = ipv4Hex(address);
  if (v4 !== null) return `0000000000000000FFFF0000${v4}`;
  const bytes = bytesOf(address.split('%')[0]!);
  return bytes && hexWords(bytes);
}

/** Formats bytes as little-endian words (hosts with big-endian words are not supported). */
function hexWords(bytes: readonly number[]): string {
  const words = [0, 4, 8, 12].map(at => bytes.slice(at, at + 4).reverse());
  return words.flat().map(byteHex).join('');
}
