// Says where a program finds a gateway: its port, which stays the same, and the variables that lead there.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { HttpProvider } from '../catalog/programs.ts';
import type { Context } from '../context.ts';
import type { Plan } from '../store/plan.ts';
import { PLACEHOLDER_ID, readGateway, updateGateway } from '../store/tokens.ts';
import { EXIT, WrapError } from '../system/errors.ts';

/** Below the ports that Linux gives to outgoing connections, so that it is free at the next start as well. */
const PORTS = [20_000, 32_768] as const;
const ATTEMPTS = 100;

/**
 * The given port, the port of the last time, or a free one; it is kept for the next time.
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

/**
 * Variables for a program: the address, and the placeholder in place of a key.
 * @param caller the environment that they are laid over
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

/** An environment without a gateway's address and placeholder, which the user has not chosen: a program around this one has set them. */
export function withoutGateway(
  { provider: { http } }: Pick<Plan, 'provider'>,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  if (!http?.base_variable) return env;
  const { [http.base_variable]: base, [http.key_variable]: key, ...others } = env;
  const id = key?.startsWith(http.key_prefix) ? key.slice(http.key_prefix.length) : '';
  return base?.startsWith('http://127.0.0.1:') && PLACEHOLDER_ID.test(id) ? others : env;
}

/** Programs send requests for this machine to a proxy as well, unless it is named here. */
function directly(value = ''): string {
  return [...new Set([...value.split(',').filter(name => name !== ''), '127.0.0.1', 'localhost'])].join(',');
}
