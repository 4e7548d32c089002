// Opens connections to providers: with the certificates that the caller trusts, and through the proxy that the caller names.
import { readdirSync } from 'node:fs';
import { type AgentOptions, Agent as HttpAgent, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { stampAt } from '../../daemon/core/file-version.ts';
import { readOptional } from '../../daemon/core/files.ts';
import { addressOf, loginOf, type NamedProxy, openTunnel, proxyFor, type Trust } from './proxy.ts';

/** Variables that decide how a program reaches a provider. */
export const WAY_VARIABLES = [
  'HTTPS_PROXY',
  'https_proxy',
  'HTTP_PROXY',
  'http_proxy',
  'ALL_PROXY',
  'all_proxy',
  'NO_PROXY',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
] as const;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** Time for a proxy to open a tunnel. */
const TUNNEL_MS = 30_000;

/** Beginning of a request for an address. */
export interface Way {
  options: Pick<RequestOptions, 'protocol' | 'hostname' | 'port' | 'agent'>;
  /** Put before the path: a proxy without a tunnel is asked for the whole address. */
  prefix: string;
  /** Further headers, for a proxy of plain HTTP. */
  headers: Record<string, string>;
  proxy: NamedProxy | undefined;
}

/** Connections to providers, for one environment. */
export class Connections {
  readonly #env: NodeJS.ProcessEnv;
  readonly #agents: { 'http:': HttpAgent; 'https:': HttpsAgent; proxy: HttpsAgent };

  /**
   * @param env that of the caller, as `callerEnvironment` gives it
   * @param options those of Node's agents, without TLS, and the time for a proxy to open a tunnel
   */
  constructor(env: NodeJS.ProcessEnv, { tunnelMs = TUNNEL_MS, ...options }: AgentOptions & { tunnelMs?: number } = {}) {
    this.#env = env;
    this.#agents = {
      'http:': new HttpAgent(options),
      'https:': new OutsideAgent(options, { env, tunnelMs, isTunneled: true }),
      proxy: new OutsideAgent(options, { env, tunnelMs, isTunneled: false }),
    };
  }

  /**
   * The way to an address.
   * @throws Error where a variable names no proxy that can be used; it does not repeat the variable's value
   */
  to(url: URL): Way {
    const proxy = proxyFor(url, this.#env);
    const { protocol } = url;
    if (proxy && protocol === 'http:') {
      const agent = proxy.url.protocol === 'https:' ? this.#agents.proxy : this.#agents['http:'];
      const headers = { ...loginOf(proxy.url) };
      return {
        options: { protocol: proxy.url.protocol, ...addressOf(proxy.url), agent },
        prefix: url.origin,
        headers,
        proxy,
      };
    }
    const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const agent = protocol === 'https:' ? this.#agents['https:'] : this.#agents['http:'];
    return { options: { protocol, hostname, port: url.port, agent }, prefix: '', headers: {}, proxy };
  }

  /** Node's agents behind it. */
  get agents(): readonly HttpAgent[] {
    return Object.values(this.#agents);
  }

  /** Ends all connections. */
  close(): void {
    for (const agent of this.agents) agent.destroy();
  }
}

interface Reaching {
  env: NodeJS.ProcessEnv;
  tunnelMs: number;
  /** Through the proxy of the address, if there is one. */
  isTunneled: boolean;
}

type Connecting = RequestOptions & { host?: string | null; port?: number | string | null };

/** Connections with TLS. Node's own agent has no proxies. */
class OutsideAgent extends HttpsAgent {
  readonly #reaching: Reaching;

  constructor(options: AgentOptions, reaching: Reaching) {
    super(options);
    this.#reaching = reaching;
  }

  override createConnection(options: Connecting, done?: (error: Error | null, socket: Duplex) => void): Duplex {
    const { env, tunnelMs, isTunneled } = this.#reaching;
    const trust = trustOf(env);
    const host = String(options.host ?? 'localhost');
    const url = new URL(`https://${host.includes(':') ? `[${host}]` : host}:${options.port ?? 443}`);
    const proxy = isTunneled ? proxyFor(url, env) : undefined;
    const begin = (more: object): Duplex =>
      super.createConnection({ ...options, ...trust, ...more } as object, done as never)!;
    if (!proxy) return begin({});
    const open = async () => {
      const socket = begin({ socket: await openTunnel(proxy, url, trust, tunnelMs) });
      // before then nothing has been sent, and the caller must be able to tell
      await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
      return socket.removeAllListeners('error');
    };
    open().then(
      socket => done?.(null, socket),
      (error: Error) => done?.(error, undefined as never),
    );
    // Node waits for `done` where there is no socket
    return undefined as never;
  }
}

/** Certificates that have been read, by their files. */
const contexts = new Map<string, { versions: string; secureContext: SecureContext }>();

/**
 * Trust in the authorities of `NODE_EXTRA_CA_CERTS`, `SSL_CERT_FILE` and `SSL_CERT_DIR` besides those of Node. Files that can't be read
 * are left out, as Node does. They are read with the first connection: Node itself would read them with each start.
 */
function trustOf(env: NodeJS.ProcessEnv): Trust {
  const files = authorityFiles(env);
  if (files.length === 0) return {};
  const key = files.join('\n');
  const versions = files.map(stampAt).join('\n');
  const known = contexts.get(key);
  if (known?.versions === versions) return { secureContext: known.secureContext };
  const extra = certificatesIn(files);
  const secureContext = extra.length > 0 ? contextWith(extra) : undefined;
  if (secureContext) contexts.set(key, { versions, secureContext });
  return secureContext ? { secureContext } : {};
}

/**
 * The authorities for a server with TLS that is no provider: those of the variables besides its own ones, or besides those of Node.
 * @param own text of the authorities that the server has in place of Node's
 * @returns `undefined` for those of Node alone
 */
export function authoritiesFor(own: string | undefined, env: NodeJS.ProcessEnv): string[] | undefined {
  const extra = readable(certificatesIn(authorityFiles(env)));
  if (own === undefined && extra.length === 0) return undefined;
  return [...(own === undefined ? rootCertificates : [own]), ...extra];
}

function certificatesIn(files: readonly string[]): string[] {
  return files.flatMap(file => (textOf(file) ?? '').match(CERTIFICATE) ?? []);
}

/** Names of variables with certificates that can't be read. */
export function unreadableAuthorities(env: NodeJS.ProcessEnv): string[] {
  const { NODE_EXTRA_CA_CERTS: extra, SSL_CERT_FILE: file, SSL_CERT_DIR: directories } = env;
  const isMissing = (each: string | undefined) => each !== undefined && each !== '' && textOf(each) === undefined;
  const names = [...(isMissing(extra) ? ['NODE_EXTRA_CA_CERTS'] : []), ...(isMissing(file) ? ['SSL_CERT_FILE'] : [])];
  return directories && directories.split(':').flatMap(filesIn).length === 0 ? [...names, 'SSL_CERT_DIR'] : names;
}

/** Files of authorities that the caller names, those of directories included. */
function authorityFiles(env: NodeJS.ProcessEnv): string[] {
  const { NODE_EXTRA_CA_CERTS: extra, SSL_CERT_FILE: file, SSL_CERT_DIR: directories } = env;
  const inDirectories = (directories ?? '').split(':').filter(Boolean).flatMap(filesIn);
  return [...new Set([extra, file, ...inDirectories].filter(each => each !== undefined && each !== ''))] as string[];
}

function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory).map(name => join(directory, name));
  } catch {
    return [];
  }
}

function textOf(file: string): string | undefined {
  try {
    return readOptional(file);
  } catch {
    return undefined;
  }
}

/** One certificate that OpenSSL does not read is left out, and the others stay. */
function contextWith(extra: readonly string[]): SecureContext {
  try {
    return createSecureContext({ ca: [...rootCertificates, ...extra] });
  } catch {
    return createSecureContext({ ca: [...rootCertificates, ...readable(extra)] });
  }
}

function readable(certificates: readonly string[]): string[] {
  return certificates.filter(ca => {
    try {
      return createSecureContext({ ca });
    } catch {
      return false;
    }
  });
}
