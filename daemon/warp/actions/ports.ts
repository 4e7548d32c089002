// Inspects local ports: probes whether one answers as a proxy, and names the process that listens on one.
import { readdir, readFile, readlink } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { readTable } from '../../core/peer.ts';

export interface Answers {
  /** The port is open. */
  open: boolean;
  /** It accepts SOCKS5 without a login (RFC 1928). */
  socks5: boolean;
  /** It answers CONNECT (RFC 9110, section 9.3.6), whatever the answer is. */
  http: boolean;
}

/** The tunnel client's own check inside the tunnel: an address that is always there, and that it asks anyway. */
const INSIDE = '162.159.197.4:443';

/**
 * Asks 127.0.0.1:`port`. Never rejects.
 * @param limitMs for each of the two questions, which are asked at the same time
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

/** The first `length` bytes of an answer; fewer when no more came in time, null without a listener. */
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

/** Ports on which 127.0.0.1, 0.0.0.0 or :: accepts connections, by the kernel's tables (proc(5)). */
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
