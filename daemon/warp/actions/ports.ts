// Inspects local ports: tests if a proxy answers on a port, and names the process that listens on it.
import { readdir, readFile, readlink } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { readTable } from '../../core/peer.ts';

export interface Answers {
  /** True if the port is open. */
  open: boolean;
  /** True if the port accepts SOCKS5 without a login (RFC 1928). */
  socks5: boolean;
  /** True if the port gives any answer to CONNECT (RFC 9110, section 9.3.6). */
  http: boolean;
}

/** Address of the tunnel client's own check inside the tunnel, which always exists. */
const INSIDE = '162.159.197.4:443';

/**
 * Tests 127.0.0.1:`port` for both protocols in parallel. Never rejects.
 * @param limitMs time limit of each test
 */
export async function probeProxy(port: number, limitMs: number): Promise<Answers> {
  const connectLine = `CONNECT ${INSIDE} HTTP/1.1\r\nHost: ${INSIDE}\r\n\r\n`;
  const [greeting, status] = await Promise.all([
    answerTo(port, Buffer.from([5, 1, 0]), 2, limitMs),
    answerTo(port, Buffer.from(connectLine), 7, limitMs),
  ]);
  return {
    open: greeting !== null || status !== null,
    socks5: greeting?.equals(Buffer.from([5, 0])) ?? false,
    http: status?.toString('latin1') === 'HTTP/1.',
  };
}

/** Resolves with the first `length` bytes of an answer, or fewer after the time limit; null without a listener. */
function answerTo(port: number, question: Buffer, length: number, limitMs: number): Promise<Buffer | null> {
  return new Promise(resolve => {
    let answer: Buffer | null = null;
    const socket: Socket = connect({ host: '127.0.0.1', port });
    const done = () => {
      clearTimeout(limit);
      socket.destroy();
      resolve(answer?.subarray(0, length) ?? null);
    };
    const limit = setTimeout(done, limitMs);
    socket.once('connect', () => {
      answer = Buffer.alloc(0);
      socket.write(question);
    });
    socket.on('data', piece => {
      answer = Buffer.concat([answer ?? Buffer.alloc(0), piece]);
      if (answer.length >= length) done();
    });
    socket.once('error', done);
    socket.once('close', done);
  });
}

export interface Listener {
  uid: number;
  /** Distinguishes listening sockets on the same port. */
  inode: string;
}

/** Returns the listeners on 127.0.0.1, 0.0.0.0 or :: by port, from the kernel's tables (proc(5)). */
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
/** 127.0.0.1, 0.0.0.0, :: and ::ffff:127.0.0.1 in the format of the tables. */
const REACHABLE = new Set(['0100007F', '00000000', '0'.repeat(32), `${'0'.repeat(16)}FFFF00000100007F`]);

/**
 * Names a listener: `python3 (process 4711, user 1000)`, or only the user if the process belongs to another user.
 * Reads /proc/PID/fd of every accessible process, so call it only after a failure.
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
