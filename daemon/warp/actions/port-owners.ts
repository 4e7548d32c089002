// Finds the process that listens on a TCP port, so that the error can name it.
import { readdir, readFile, readlink } from 'node:fs/promises';
import { readTable } from '../../../wrapper/system/peer.ts';

export interface Listener {
  uid: number;
  /** Distinguishes listening sockets on the same port. */
  inode: string;
}

/** Ports on which connections to 127.0.0.1 are accepted, also by way of 0.0.0.0 and ::, by the kernel's tables (proc(5)). */
export async function listeners(): Promise<Map<number, Listener>> {
  const listeners = new Map<number, Listener>();
  for (const table of [await readTable('tcp6').catch(() => ''), await readTable('tcp').catch(() => '')])
    for (const row of table.split('\n').slice(1)) {
      const [, local = '', , state, , , , uid, , inode = ''] = row.trim().split(/\s+/);
      const [address = '', port = ''] = local.split(':');
      if (state === LISTEN && REACHABLE.has(address))
        listeners.set(Number.parseInt(port, 16), { uid: Number(uid), inode });
    }
  return listeners;
}

const LISTEN = '0A';
/** 127.0.0.1, 0.0.0.0, :: and ::ffff:127.0.0.1 as the tables have them. */
const REACHABLE = new Set(['0100007F', '00000000', '0'.repeat(32), `${'0'.repeat(16)}FFFF00000100007F`]);

/**
 * A listener in words: `python3 (process 4711, user 1000)`, or only the user where the process belongs to another user.
 * Reads /proc/PID/fd of every process that it may, so call it only after a failure.
 */
export async function nameListener({ uid, inode }: Listener): Promise<string> {
  const link = `socket:[${inode}]`;
  for (const pid of (await readdir('/proc')).filter(name => /^\d+$/.test(name))) {
    const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
    for (const descriptor of descriptors)
      if ((await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => '')) === link) {
        const name = (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim() || 'a program';
        return `${name} (process ${pid}, user ${uid})`;
      }
  }
  return `a program of user ${uid}`;
}
