// A machine with an organization that inspects TLS: its authority, its list of authorities, and a server that it signed.
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import path from 'node:path';
import { rootCertificates } from 'node:tls';
import { paths } from '../../../daemon/system/paths.ts';
import { createTrust, type TrustOptions } from '../../../daemon/trust/trust.ts';
import { listen } from '../listen.ts';
import { type Ends, temporary } from '../temporary.ts';

export const MANAGED = '/usr/local/share/ca-certificates/managed-warp.pem';
/** The system's authorities: a few, because parsing them takes time. */
export const ROOTS = rootCertificates.slice(0, 12);
const SYSTEM = '/etc/ssl/certs/ca-certificates.crt';
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

export interface Site {
  /** Its name and port. */
  host: string;
  /** Requests that came, each with its headers. */
  heard: string[];
  /** Runs a program with an address of the site. @returns whether its request came */
  isReachedBy(env: NodeJS.ProcessEnv, program: string, args: (url: URL) => string[]): Promise<boolean>;
}

export interface Authority {
  pem: string;
  fingerprint: string;
  /**
   * Starts a server with a certificate of this authority.
   * @param answer in the place of a 404
   * @param name of the site, for programs that reach it through a proxy
   */
  serve(answer?: RequestListener, name?: string): Promise<Site>;
}

interface AuthorityOptions {
  subject?: string;
  /** Its end; without it, in 30 days. */
  until?: Date;
}

export function authority(
  t: Ends,
  { subject = '/CN=Gateway CA - Cloudflare Managed G1', until }: AuthorityOptions = {},
): Authority {
  const directory = temporary(t);
  const file = (name: string) => path.join(directory, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe', encoding: 'utf8' });
  if (!until)
    openssl('req', '-x509', ...KEY, '-days', '30', '-keyout', file('ca.key'), '-out', file('ca.pem'), '-subj', subject);
  else {
    writeFileSync(file('index'), '');
    writeFileSync(
      file('ca.cnf'),
      `[ca]\ndefault_ca=d\n[d]\ndatabase=${file('index')}\nnew_certs_dir=${directory}\nrand_serial=yes\ndefault_md=sha256\npolicy=p\nx509_extensions=x\n[p]\ncommonName=supplied\n[x]\nbasicConstraints=critical,CA:true\n`,
    );
    openssl('req', '-new', ...KEY, '-keyout', file('ca.key'), '-out', file('ca.csr'), '-subj', subject);
    openssl(
      'ca',
      '-batch',
      '-config',
      file('ca.cnf'),
      '-selfsign',
      '-keyfile',
      file('ca.key'),
      '-in',
      file('ca.csr'),
      '-startdate',
      '20200101000000Z',
      '-enddate',
      `${until.toISOString().slice(0, 19).replace(/\D/g, '')}Z`,
      '-notext',
      '-out',
      file('ca.pem'),
    );
  }
  const pem = readFileSync(file('ca.pem'), 'utf8');
  const fingerprint = openssl('x509', '-in', file('ca.pem'), '-noout', '-fingerprint', '-sha256').trim().split('=')[1]!;
  return {
    pem,
    fingerprint,
    async serve(answer = notFound, name = 'localhost') {
      openssl(
        'req',
        '-x509',
        ...KEY,
        '-days',
        '2',
        '-keyout',
        file('leaf.key'),
        '-out',
        file('leaf.pem'),
        '-subj',
        `/CN=${name}`,
        '-CA',
        file('ca.pem'),
        '-CAkey',
        file('ca.key'),
        '-addext',
        `subjectAltName=DNS:${name}`,
        '-addext',
        'basicConstraints=critical,CA:FALSE',
      );
      const text = (name: string) => readFileSync(file(name), 'utf8');
      const asked: string[] = [];
      const heard: string[] = [];
      const server = createServer({ key: text('leaf.key'), cert: text('leaf.pem') }, (request, reply) => {
        asked.push(request.url!);
        heard.push([request.url!, ...request.rawHeaders].join('\n'));
        answer(request, reply);
      });
      server.on('tlsClientError', () => {});
      const port = await listen(t, server);
      let count = 0;
      return {
        host: `localhost:${port}`,
        heard,
        async isReachedBy(env, program, args) {
          const url = new URL(`https://localhost:${port}/n${++count}/`);
          await runToEnd(env, program, args(url), `GET ${url.pathname} HTTP/1.0\r\n\r\n`);
          return asked.some(path => path.startsWith(url.pathname));
        },
      };
    },
  };
}

/** A client that has credentials for the site sends them then. */
export const askForPassword: RequestListener = (_, reply) =>
  void reply.writeHead(401, { 'www-authenticate': 'Basic realm="site"', connection: 'close' }).end();

const notFound: RequestListener = (_, reply) => void reply.writeHead(404, { connection: 'close' }).end();

/** A home, and a directory that stands for `/`. */
export function machine(t: Ends, more: NodeJS.ProcessEnv = {}) {
  const root = temporary(t);
  const home = temporary(t);
  const env: NodeJS.ProcessEnv = { PATH: process.env.PATH, HOME: home, SHELL: '/bin/bash', ...more };
  const place = { root, owner: process.getuid!() };
  const write = (file: string, text: string) => {
    mkdirSync(path.dirname(root + file), { recursive: true, mode: 0o755 });
    writeFileSync(root + file, text, { mode: 0o644 });
  };
  write(SYSTEM, `${ROOTS.join('\n')}\n`);
  return {
    root,
    home,
    env,
    write,
    /** Installs as WARP does: the file, and a link to it. */
    install(...authorities: Authority[]) {
      write(MANAGED, authorities.map(({ pem }) => pem).join(''));
      rmSync(root + MANAGED.replace(/pem$/, 'crt'), { force: true });
      symlinkSync('managed-warp.pem', root + MANAGED.replace(/pem$/, 'crt'));
    },
    /** Makes a file writable for every user. */
    open: (file: string) => chmodSync(root + file, 0o666),
    withdraw() {
      for (const end of ['pem', 'crt']) rmSync(root + MANAGED.replace(/pem$/, end), { force: true });
    },
    trust: (options: Partial<TrustOptions> = {}) =>
      createTrust({ env, paths: paths(env), signal: new AbortController().signal, place, ...options }),
    /** The environment of the next session. */
    session(): NodeJS.ProcessEnv {
      const file = path.join(home, '.config/environment.d/60-culvert-trust.conf');
      const lines = read(file).matchAll(/^(\w+)="(.*)"$/gm);
      return { ...env, ...Object.fromEntries([...lines].map(([, name, value]) => [name!, value!])) };
    },
  };
}

export function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function runToEnd(env: NodeJS.ProcessEnv, program: string, args: string[], input: string): Promise<void> {
  return new Promise(resolve => {
    const child = execFile(program, args, { env, timeout: 60_000, cwd: '/' }, () => resolve());
    child.stdin?.on('error', () => {}).end(input);
  });
}

export function isThere(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
