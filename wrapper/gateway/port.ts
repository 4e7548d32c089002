// Finds the port of a gateway, which stays the same.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Context } from '../context.ts';
import { readGateway, updateGateway } from '../store/tokens.ts';
import { EXIT, WrapError } from '../system/errors.ts';

/** Below the ports that Linux gives to outgoing connections, so that it is free at the next start as well. */
const PORTS = [20_000, 32_768] as const;
const ATTEMPTS = 100;

/**
 * The given port, or the one of the last time, or a free one; it is kept for the next time.
 * @throws WrapError `bad-port`, `port-in-use`
 */
export async function portOf(cli: string, given: string | undefined, { paths }: Context): Promise<number> {
  const stored = readGateway(paths, cli).port;
  const port = given === undefined ? (stored ?? (await freePort())) : portFrom(given);
  if (port !== stored) {
    updateGateway(paths, cli, gateway => {
      gateway.port = port;
    });
  }
  return port;
}

async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(...PORTS);
    if (await isFree(port)) return port;
  }
  throw new WrapError('port-in-use', EXIT.unavailable, 'no free port was found', { hint: 'give one with --port' });
}

/** Reports whether nothing listens at a port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    server.close();
    return true;
  } catch {
    return false;
  }
}

function portFrom(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new WrapError('bad-port', EXIT.usage, `${JSON.stringify(text)} is not a port`, { hint: 'write 1 to 65535' });
}

/** The address of a gateway. */
export function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}
