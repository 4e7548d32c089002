// Has programs connect to a TLS server of our own, whose authority lives for one run, and sees whether they do.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterExit, signalGroup, startChild } from '../warp/cli/child.ts';

const run = promisify(execFile);
/** Time for one program to start and connect. */
const PROBE_MS = 30_000;
const GRACE_MS = 100;

/** A command with the environment in which it runs. */
export interface Command {
  program: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  input?: string;
}

export interface Probe {
  /** The authority that signed the server's certificate. No program knows it. */
  authority: string;
  /** A directory for copies of lists, deleted at the end. */
  directory: string;
  /** Runs the command that `make` builds for an address. @returns whether its request got through TLS */
  connects(make: (target: Target) => Command): Promise<boolean>;
  close(): void;
}

/** An address of the server that only one program was given. */
export interface Target {
  url: string;
  host: string;
  port: number;
  path: string;
  /** A directory for what a program downloads. */
  directory: string;
}

/** @throws Error without openssl, or where the server can't listen */
export async function openProbe(signal: AbortSignal): Promise<Probe> {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-trust-'));
  try {
    const files = await makeAuthority(directory);
    const asked = new Set<string>();
    const server = createServer(files, (request, reply) => {
      asked.add(/^\/([0-9a-f]{16})/.exec(request.url ?? '')?.[1] ?? '');
      reply.writeHead(404, { connection: 'close' }).end();
    });
    const port = await listen(server);
    return {
      authority: files.ca,
      directory,
      async connects(make) {
        const key = randomBytes(8).toString('hex');
        const path = `/${key}`;
        const command = make({ url: `https://localhost:${port}${path}`, host: 'localhost', port, path, directory });
        await runToEnd(command, signal, () => asked.has(key));
        return asked.has(key);
      },
      close() {
        server.close();
        server.closeAllConnections();
        rmSync(directory, { recursive: true, force: true });
      },
    };
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
}

/** Node makes no certificates. Where a system has a list of authorities, openssl made it. */
async function makeAuthority(directory: string) {
  const file = (name: string) => join(directory, name);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const openssl = (...args: string[]) => run('openssl', ['req', '-x509', ...key, ...args], { timeout: PROBE_MS });
  await openssl('-keyout', file('ca.key'), '-out', file('ca.pem'), '-subj', '/CN=Culvert probe');
  await openssl(
    '-keyout',
    file('server.key'),
    '-out',
    file('server.pem'),
    '-subj',
    '/CN=localhost',
    '-CA',
    file('ca.pem'),
    '-CAkey',
    file('ca.key'),
    '-addext',
    'subjectAltName=DNS:localhost,IP:127.0.0.1',
    '-addext',
    'basicConstraints=critical,CA:FALSE',
  );
  const text = (name: string) => readFileSync(file(name), 'utf8');
  const files = { key: text('server.key'), cert: text('server.pem'), ca: text('ca.pem') };
  // the probe keeps no keys on disk
  for (const name of ['ca.key', 'server.key']) rmSync(file(name));
  return files;
}

async function listen(server: Server): Promise<number> {
  server.on('tlsClientError', () => {}); // that is what most programs are to do
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Resolves when the program has ended, has done what it is for, or is out of time. */
function runToEnd({ program, args, env, input }: Command, signal: AbortSignal, isDone: () => boolean): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const child = startChild(program, args, { ...env, ...DIRECT }, input);
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(limit);
      clearInterval(watch);
      signal.removeEventListener('abort', end);
      child.stdout?.destroy();
      child.stderr?.destroy();
      signalGroup(child, 'SIGKILL');
      resolve();
    };
    const limit = setTimeout(end, PROBE_MS);
    const watch = setInterval(() => isDone() && end(), 50);
    signal.addEventListener('abort', end, { once: true });
    child.stdout?.resume();
    child.stderr?.resume();
    child.once('error', end);
    child.once('exit', () => afterExit(GRACE_MS, end));
    child.once('close', end);
  });
}

/** A proxy can't reach this machine's loopback; LC_ALL and the like do not matter, because only the server decides. */
const DIRECT = { NO_PROXY: 'localhost,127.0.0.1', no_proxy: 'localhost,127.0.0.1' };

export interface Printed {
  code: number | null;
  stdout: string;
}

/** Runs a program that prints; null if it is not there or does not end in time. */
export async function ask({ program, args, env }: Command, signal: AbortSignal): Promise<Printed | null> {
  const options = { env, signal, timeout: PROBE_MS, killSignal: 'SIGKILL', maxBuffer: 4 * 1024 * 1024 } as const;
  try {
    const { stdout } = await run(program, args, options);
    return { code: 0, stdout };
  } catch (error) {
    const { code, stdout } = error as { code?: unknown; stdout?: unknown };
    return typeof code === 'number' ? { code, stdout: String(stdout ?? '') } : null;
  }
}
