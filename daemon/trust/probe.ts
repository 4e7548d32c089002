// Tests whether programs accept the certificate of a real host, or of a local TLS server with an authority that exists for one
// run only.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import type { TrustOnline } from '../api/trust.ts';
import type { Message } from '../api/values.ts';
import { reason } from '../core/errors.ts';
import { decoded, printable } from '../core/printable.ts';
import { afterExit, signalGroup } from '../core/run-helper.ts';
import { redact } from '../state/redact.ts';
import { message } from '../view/message.ts';
import { startChild } from '../warp/cli/run.ts';
import { type Certificate, nameIn } from './certificates.ts';
import { trustFailure } from './journal.ts';

const run = promisify(execFile);
/** Time for one program to start and connect. */
const PROBE_MS = 30_000;
const GRACE_MS = 100;

/** A command with its environment. */
export interface Command {
  program: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  input?: string;
}

export interface Probe {
  /** The authority that signed the server's certificate, which is unknown to every program. */
  authority: string;
  /** A directory for copies of lists, which `close` deletes. */
  directory: string;
  /** Runs the command that `make` builds for an address. @returns true if its request reached the server */
  connects(make: (target: Target) => Command): Promise<boolean>;
  close(): void;
}

/** An address on the server for one program. */
export interface Target {
  url: string;
  host: string;
  port: number;
  path: string;
  /** A directory for a program's downloads. */
  directory: string;
}

/** Starts the server. @throws Error without openssl, or if the server can't listen */
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

/** Creates certificates with openssl, because Node can't. Systems with a list of authorities have openssl. */
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
  server.on('tlsClientError', () => {}); // most programs should reject the certificate
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Runs a program until it ends, `isDone` returns true, or the time is over. */
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

/** Bypasses a proxy, which can't reach this machine's loopback. */
const DIRECT = { NO_PROXY: 'localhost,127.0.0.1', no_proxy: 'localhost,127.0.0.1' };

interface Printed {
  code: number | null;
  stdout: string;
}

/** Runs a program and returns its output, or null if it is missing or does not end in time. */
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

const CONNECT_MS = 15_000;
const TOOL_MS = 30_000;
const LINE_LENGTH = 200;

export interface Site extends TrustOnline {
  /** Runs the command for the host. @param directory the directory for downloads */
  judge(make: (target: Target) => Command, directory: string): Promise<{ accepts: boolean | null; wording: Message }>;
}

/**
 * @param address a host, or a host and a port @param authorities the organization's certificates
 * @throws Failure if the host does not answer with TLS
 */
export async function openSite(
  address: string,
  authorities: readonly Certificate[],
  signal: AbortSignal,
): Promise<Site> {
  const { hostname: host, port: given } = new URL(`https://${address}`);
  const port = Number(given || 443);
  const { issuer, inspected } = await lookAt({ host, port }, authorities);
  return {
    host: address,
    issuer,
    inspected,
    async judge(make, directory) {
      const command = make({ url: `https://${address}`, host, port, path: '/', directory });
      const { code, output: raw } = await runAndRead(command, signal);
      // redact before the split, because a secret may span several lines
      const output = withoutSecrets(raw, command.env);
      const refusal = output.split('\n').find(line => REFUSALS.test(line));
      if (refusal !== undefined)
        return {
          accepts: false,
          wording: message('It refuses the certificate of %s: %s', address, shorten(refusal)),
        };
      if (code === 0 || ANSWERS.test(output))
        return { accepts: true, wording: message('It accepts the certificate of %s.', address) };
      const last = shorten(output.trim().split('\n').at(-1) ?? '');
      return {
        accepts: null,
        wording: message('It did not show whether it accepts the certificate of %s: %s', address, last),
      };
    },
  };
}

/** Messages of programs that reject a certificate, worded by OpenSSL, GnuTLS, Rustls, Node, Java or curl's layer over them. */
const REFUSALS =
  /certificate (?:OpenSSL )?verif|server verification failed|CERTIFICATE_VERIFY|certificate problem|verify error|UNABLE_TO_(?:GET|VERIFY)|SELF_SIGNED|cannot verify .* certificate|certificate .* is not trusted|invalid peer certificate|PKIX path|unknown (?:issuer|authority)/i;
/** Messages of programs that got an unexpected answer from the host. */
const ANSWERS =
  /\b(?:HTTP\/[\d.]+|error:?|got|list:|E) ?\(?[1-5]\d\d\b|repository '.*' not found|not found in registry|no matching distribution|not valid.*info\/refs/i;

function lookAt(
  { host, port }: { host: string; port: number },
  authorities: readonly Certificate[],
): Promise<Pick<TrustOnline, 'issuer' | 'inspected'>> {
  return new Promise((resolve, reject) => {
    // this connection sends no data, so it needs no verification
    const options = { host, port, servername: host, rejectUnauthorized: false, ca: authorities.map(({ pem }) => pem) };
    const socket: TLSSocket = connect(options, () => {
      const { issuer = {} } = socket.getPeerCertificate();
      const subject = Object.entries(issuer).map(([key, value]) => `${key}=${[value].flat().join(' ')}`);
      resolve({ issuer: nameIn(subject.join('\n')), inspected: authorities.length > 0 && socket.authorized });
      socket.destroy();
    });
    const fail = (why: string, cause?: unknown) => {
      socket.destroy();
      reject(trustFailure('failed', `${host} does not answer with TLS: ${why}`, undefined, cause));
    };
    socket.setTimeout(CONNECT_MS, () => fail(`no answer within ${CONNECT_MS / 1000} s`));
    socket.on('error', error => fail(reason(error), error));
  });
}

function runAndRead(
  { program, args, env, input }: Command,
  signal: AbortSignal,
): Promise<{ code: number | null; output: string }> {
  return new Promise(resolve => {
    // npm, uv and Cargo read settings from the working directory
    const options = {
      env: { ...env, LC_ALL: 'C' },
      cwd: '/',
      signal,
      timeout: TOOL_MS,
      killSignal: 'SIGKILL',
    } as const;
    const child = execFile(program, args, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code) || null, output: `${stdout}\n${stderr}` }),
    );
    child.stdin?.on('error', () => {}).end(input);
  });
}

/**
 * Redacts the output of a program, which may repeat a proxy's address and password in another form.
 * @param env the program's environment
 */
function withoutSecrets(output: string, env: NodeJS.ProcessEnv = {}): string {
  return redact(
    output,
    Object.entries(env).flatMap(([name, value]) => (/_proxy$/i.test(name) && value ? userIn(value) : [])),
  );
}

const shorten = (line: string) => printable(line.trim().slice(0, LINE_LENGTH));

/** Returns the user and password in a proxy's address: as written, decoded and in lower case. */
function userIn(address: string): string[] {
  const [, user] = /^(?:[a-z][a-z\d+.-]*:\/\/)?(.*)@/is.exec(address) ?? [];
  if (user === undefined) return [];
  const forms = [user, user.replace(/^[^:]*:/, ''), ...user.split(/[:@/]/)];
  return [...new Set([...forms, ...forms.map(decoded), ...forms.map(each => each.toLowerCase())])];
}
