// Whose socket is at the other end of a loopback connection: the kernel's socket tables know.
import { readFile } from 'node:fs/promises';

export interface Ends {
  /** Our end. */
  localAddress: string;
  localPort: number;
  /** The peer's end. */
  remoteAddress: string;
  remotePort: number;
}

/**
 * A check of connections against a user id. Connections that arrive while the tables are being read share the next
 * read, so that ten thousand of them cost a few reads (one takes 5 ms with few sockets, 60 ms with thousands).
 */
export function createPeerCheck(
  uid: number,
  read: () => Promise<string> = readTables,
): (ends: Ends) => Promise<boolean> {
  let next: Promise<string> | null = null;
  let current: Promise<unknown> = Promise.resolve();
  return async ends => {
    next ??= current.then(() => {
      const tables = read();
      current = tables.catch(() => {});
      next = null;
      return tables;
    });
    return ownedBy(await next, ends, uid);
  };
}

/**
 * Whether the tables show the peer's socket as this user's. A row with inode 0 is a socket that its owner has
 * closed: its uid reads 0 then, which is nobody's and above all not root's (measured on Linux 6).
 * @param tables text of /proc/net/tcp and /proc/net/tcp6 (proc(5)).
 */
export function ownedBy(tables: string, ends: Ends, uid: number): boolean {
  for (const encode of [ipv4Hex, ipv6Hex]) {
    const [peer, us] = [encode(ends.remoteAddress), encode(ends.localAddress)];
    if (peer === null || us === null) continue;
    const at = tables.indexOf(` ${peer}:${portHex(ends.remotePort)} ${us}:${portHex(ends.localPort)} `);
    if (at < 0) continue;
    // after "local remote": state, queues, timer, retransmits, uid, timeout, inode
    const fields = tables.slice(at + 1, tables.indexOf('\n', at)).split(/ +/);
    return Number(fields[6]) === uid && fields[8] !== '0' && fields[8] !== undefined;
  }
  return false;
}

async function readTables(): Promise<string> {
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map(f => readFile(f, 'latin1').catch(() => '')));
  return tables.join('\n');
}

const portHex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
const byteHex = (byte: number) => byte.toString(16).toUpperCase().padStart(2, '0');

/** As in /proc/net/tcp: the address as a little-endian word (hosts with big-endian words are not supported). */
function ipv4Hex(address: string): string | null {
  const v4 = address.startsWith('::ffff:') ? address.slice(7) : address;
  const parts = v4.split('.');
  return parts.length === 4
    ? parts
        .reverse()
        .map(p => byteHex(Number(p)))
        .join('')
    : null;
}

/** As in /proc/net/tcp6: four little-endian words; an IPv4 address as mapped. */
function ipv6Hex(address: string): string | null {
  const v4 = ipv4Hex(address);
  if (v4 !== null) return `0000000000000000FFFF0000${v4}`;
  const [head = '', tail] = address.split('%')[0]!.split('::');
  const groups = (text: string) => (text ? text.split(':') : []);
  const [left, right] = [groups(head), groups(tail ?? '')];
  const all = tail === undefined ? left : [...left, ...Array(8 - left.length - right.length).fill('0'), ...right];
  if (all.length !== 8) return null;
  const bytes = all.flatMap(g => [Number.parseInt(g, 16) >> 8, Number.parseInt(g, 16) & 255]);
  return [0, 4, 8, 12]
    .map(i =>
      bytes
        .slice(i, i + 4)
        .reverse()
        .map(byteHex)
        .join(''),
    )
    .join('');
}
