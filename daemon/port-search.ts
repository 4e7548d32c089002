// Finds a free port, or this user's Culvert that already answers on a port.
import { get } from 'node:http';
import type { Health } from './api/schema.ts';
import { errno, reason } from './core/errors.ts';
import { listenerOf, readTable } from './core/peer.ts';
import { parseJson } from './core/shape.ts';

const PORTS_TRIED = 30;
/** Limits for one listener's answer and for all answers together: the start waits for them. */
const ANSWER_MS = 1_000;
const ANSWERS_MS = 2_000;

/** The part of another daemon's health that identifies it. */
export type OtherCulvert = Pick<Health, 'pid' | 'port' | 'version'> & { demo: boolean };

/**
 * Takes the first free port of the 30 ports from `first` upward.
 * @param take listens on a port, or rejects with EADDRINUSE.
 * @returns the port taken, or this user's daemon that answers on a port.
 * @throws Error if no port can be used.
 */
export async function searchPort(
  first: number,
  take: (port: number) => Promise<void>,
  uid = process.getuid!(),
): Promise<{ taken: number } | { running: OtherCulvert }> {
  const askPort = createAsker(uid);
  for (const port of portsFrom(first)) {
    try {
      await take(port);
      return { taken: port };
    } catch (error) {
      const code = errno(error);
      if (code === 'EADDRNOTAVAIL') throw new Error(`server.bind is not an address of this machine: ${reason(error)}.`);
      if (code !== 'EADDRINUSE')
        throw new Error(`Port ${port} can't be used: ${reason(error)}. Choose another with --port.`);
    }
    const running = await askPort(port);
    if (running) return { running };
  }
  throw new Error(`The ports ${first} to ${portsFrom(first).at(-1)} are all in use. Choose another with --port.`);
}

/** Returns this user's first daemon that answers on the ports tried from `first` upward, or null. */
export async function findOnPorts(first: number, uid = process.getuid!()): Promise<OtherCulvert | null> {
  const askPort = createAsker(uid);
  for (const port of portsFrom(first)) {
    const running = await askPort(port);
    if (running) return running;
  }
  return null;
}

function portsFrom(first: number): number[] {
  return Array.from({ length: Math.min(PORTS_TRIED, 65_536 - first) }, (_, index) => first + index);
}

/**
 * Returns a function that asks listeners of one user for their health. It skips listeners of other users, which could
 * claim to be Culvert and keep the real daemon from starting.
 */
function createAsker(uid: number): (port: number) => Promise<OtherCulvert | null> {
  let leftMs = ANSWERS_MS;
  return async port => {
    if (leftMs <= 0 || listenerOf(await readTable('tcp'), port) !== uid) return null;
    const asked = performance.now();
    const health = await healthOn(port, Math.ceil(Math.min(ANSWER_MS, leftMs)));
    leftMs -= performance.now() - asked;
    return health;
  };
}

/** Returns the health of the Culvert on a port, or null. */
function healthOn(port: number, limitMs: number): Promise<OtherCulvert | null> {
  const signal = AbortSignal.timeout(limitMs); // not the timeout of `get`, which restarts with every byte
  return new Promise(resolve => {
    const request = get({ host: '127.0.0.1', port, path: '/api/health', signal, agent: false }, response => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
        if (text.length > 10_000) response.destroy();
      });
      response.on('error', () => resolve(null));
      response.on('close', () => resolve(response.statusCode === 200 ? healthIn(text) : null));
    });
    request.on('error', () => resolve(null));
  });
}

function healthIn(text: string): OtherCulvert | null {
  const { app, pid, port, version, tunnelCli } = (parseJson(text) ?? {}) as { [K in keyof Health]?: unknown };
  if (app !== 'culvert' || typeof pid !== 'number' || !Number.isInteger(pid) || typeof version !== 'string')
    return null;
  const demo = (tunnelCli as Partial<Health['tunnelCli']> | null | undefined)?.emulated === true;
  return { pid, port: typeof port === 'number' ? port : null, version, demo };
}
