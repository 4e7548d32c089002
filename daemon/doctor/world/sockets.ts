// Finds the listeners on a port in the kernel's socket tables, and the process and unit that own a socket.
import type { World } from './world.ts';

export interface Listening {
  protocol: 'udp' | 'tcp';
  address: string;
  port: number;
  uid: number;
  inode: string;
}

const TCP_LISTEN = '0A';
const TABLE_LIMIT = 8 * 1024 * 1024;

/** Returns sockets that accept datagrams or connections on a port. @throws NoVerdict */
export async function listeningOn(world: World, port: number): Promise<Listening[]> {
  const tables = await Promise.all(
    (['udp', 'udp6', 'tcp', 'tcp6'] as const).map(async name => {
      const text = (await world.files.readText(`/proc/net/${name}`, TABLE_LIMIT)) ?? '';
      return rowsOf(text, name.startsWith('tcp') ? 'tcp' : 'udp');
    }),
  );
  return tables.flat().filter(row => row.port === port);
}

function rowsOf(table: string, protocol: 'udp' | 'tcp'): Listening[] {
  return table
    .split('\n')
    .slice(1)
    .flatMap(line => {
      const [, local = '', , state, , , , uid, , inode = ''] = line.trim().split(/\s+/);
      const [address = '', port = ''] = local.split(':');
      if (!port || (protocol === 'tcp' && state !== TCP_LISTEN)) return [];
      return [{ protocol, address: addressOf(address), port: Number.parseInt(port, 16), uid: Number(uid), inode }];
    });
}

/** Converts `0100007F` to 127.0.0.1: each group of four bytes has the machine's byte order (proc(5)). */
function addressOf(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap(word => (word.match(/../g) ?? []).reverse());
  const numbers = bytes.map(byte => Number.parseInt(byte, 16));
  if (numbers.length === 4) return numbers.join('.');
  if (numbers.slice(0, 10).every(n => n === 0) && numbers[10] === 255) return numbers.slice(12).join('.');
  const groups = (bytes.join('').match(/.{4}/g) ?? []).map(group => group.toLowerCase().replace(/^0{1,3}/, ''));
  return groups.join(':').replace(/(^|:)0(:0)+(:|$)/, '::');
}

export interface Owner {
  pid: number;
  name: string;
  /** The systemd unit of the process, or null. */
  unit: string | null;
}

/**
 * Returns the process that holds a socket; null if it belongs to another user, has ended, or can't be found.
 * Reads /proc/PID/fd of every process that this user may inspect.
 */
export async function ownerOf({ files }: World, inode: string, signal: AbortSignal): Promise<Owner | null> {
  const link = `socket:[${inode}]`;
  for (const pid of (await files.list('/proc')).filter(name => /^\d+$/.test(name))) {
    if (signal.aborted) return null;
    for (const descriptor of await files.list(`/proc/${pid}/fd`)) {
      if ((await files.readLink(`/proc/${pid}/fd/${descriptor}`)) !== link) continue;
      const [name, cgroup] = await Promise.all([
        files.readText(`/proc/${pid}/comm`).catch(() => null),
        files.readText(`/proc/${pid}/cgroup`).catch(() => null),
      ]);
      return { pid: Number(pid), name: name?.trim() || '?', unit: unitOf(cgroup ?? '') };
    }
  }
  return null;
}

/** Returns dnsmasq.service for `0::/system.slice/dnsmasq.service`. */
function unitOf(cgroup: string): string | null {
  return /\/([^/\s]+\.(?:service|scope|socket))\s*$/m.exec(cgroup)?.[1] ?? null;
}

/** Returns the pids of processes with this name in /proc/PID/comm (15 characters). */
export async function processesNamed(world: World, name: string): Promise<number[]> {
  const all = await world.once('processes', () => processes(world));
  return all.filter(process => process.name === name).map(({ pid }) => pid);
}

async function processes({ files }: World): Promise<{ pid: number; name: string }[]> {
  const pids = (await files.list('/proc')).filter(entry => /^\d+$/.test(entry));
  return Promise.all(
    pids.map(async pid => {
      const name = await files.readText(`/proc/${pid}/comm`).catch(() => null);
      return { pid: Number(pid), name: name?.trim() ?? '' };
    }),
  );
}
