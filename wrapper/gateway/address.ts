// Chooses a gateway's port, which stays the same, and the variables that direct programs to it.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { HttpProvider } from '../catalog/programs.ts';
import type { Context } from '../context.ts';
import type { Plan } from '../store/plan.ts';
import { PLACEHOLDER_ID, readGateway, updateGateway } from '../store/tokens.ts';
import { EXIT, WrapError } from '../system/errors.ts';

/** Range below the ports of outgoing connections on Linux, so a port is likely to be free at the next start too. */
const PORTS = [20_000, 32_768] as const;
const ATTEMPTS = 100;

/**
 * Returns the given port, the stored port, or a free port, and stores it for the next start.
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

/** Returns the address of a gateway. */
export function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/**
 * Returns variables for a program: the gateway's address, and the placeholder instead of a key.
 * @param caller the environment to which they are added
 */
export function variablesFor(
  { base_variable, base_path, key_variable }: Pick<HttpProvider, 'base_variable' | 'base_path' | 'key_variable'>,
  { url, placeholder }: { url: string; placeholder: string },
  caller: NodeJS.ProcessEnv,
): Record<string, string> {
  const direct = directly(caller.NO_PROXY ?? caller.no_proxy);
  const env: Record<string, string> = { [key_variable]: placeholder, NO_PROXY: direct, no_proxy: direct };
  if (base_variable) env[base_variable] = `${url}${base_path}`;
  return env;
}

/** Removes a gateway's address and placeholder from an environment. A parent program has set them, and not the user. */
export function withoutGateway(
  { provider: { http } }: Pick<Plan, 'provider'>,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  if (!http?.base_variable) return env;
  const { [http.base_variable]: base, [http.key_variable]: key, ...others } = env;
  const id = key?.startsWith(http.key_prefix) ? key.slice(http.key_prefix.length) : '';
  return base?.startsWith('http://127.0.0.1:') && PLACEHOLDER_ID.test(id) ? others : env;
}

/** Adds this machine to a value of `NO_PROXY`, because programs would otherwise send its requests to a proxy. */
function directly(value = ''): string {
  return [...new Set([...value.split(',').filter(name => name !== ''), '127.0.0.1', 'localhost'])].join(',');
}
