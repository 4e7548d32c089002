// Opens connections to providers with the caller's trusted certificates and through the caller's proxy.
import { type AgentOptions, Agent as HttpAgent, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { stampAt } from '../../daemon/core/file-version.ts';
import { namesIn, readText } from '../../daemon/core/files.ts';
import { addressOf, loginOf, type NamedProxy, openTunnel, proxyFor, type Trust } from './proxy.ts';

/** Variables that affect connections to a provider. */
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
/** Time limit for a proxy to open a tunnel. */
const TUNNEL_MS = 30_000;

/** Options for a request to an address. */
export interface Way {
  options: Pick<RequestOptions, 'protocol' | 'hostname' | 'port' | 'agent'>;
  /** Prefix of the path: a proxy without a tunnel needs the whole address. */
  prefix: string;
  /** Additional headers for a proxy of plain HTTP. */
  headers: Record<string, string>;
  proxy: NamedProxy | undefined;
}

/** Connections to providers in one environment. */
export class Connections {
  readonly #env: NodeJS.ProcessEnv;
  readonly #agents: { 'http:': HttpAgent; 'https:': HttpsAgent; proxy: HttpsAgent };

  /**
   * @param env the caller's environment, from `callerEnvironment`
   * @param options options of Node's agents, without TLS, and a proxy's time limit to open a tunnel
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
   * Returns the request options for an address.
   * @throws Error if a variable names no usable proxy; the message omits the variable's value
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

  /** Node's agents for these connections. */
  get agents(): readonly HttpAgent[] {
    return Object.values(this.#agents);
  }

  /** Closes all connections. */
  close(): void {
    for (const agent of this.agents) agent.destroy();
  }
}

interface Reaching {
  env: NodeJS.ProcessEnv;
  tunnelMs: number;
  /** True to tunnel through the address's proxy, if any. */
  isTunneled: boolean;
}

type Connecting = RequestOptions & { host?: string | null; port?: number | string | null };

/** HTTPS agent with proxies, which Node's agent lacks. */
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
      // an error before this event must show the caller that nothing was sent
      await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
      return socket.removeAllListeners('error');
    };
    open().then(
      socket => done?.(null, socket),
      (error: Error) => done?.(error, undefined as never),
    );
    // without a returned socket, Node waits for `done`
    return undefined as never;
  }
}

/** Cache of TLS contexts, by certificate files. */
const contexts = new Map<string, { versions: string; secureContext: SecureContext }>();

/**
 * Adds the authorities in `NODE_EXTRA_CA_CERTS`, `SSL_CERT_FILE` and `SSL_CERT_DIR` to Node's authorities. Skips unreadable
 * files, as Node does. Reads the files for the first connection, whereas Node would read them at each start.
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
 * Returns the authorities for a TLS server that is not a provider: `own` or Node's authorities, plus those in the variables.
 * @param own text of the server's authorities, which replace Node's
 * @returns `undefined` if Node's authorities suffice
 */
export function authoritiesFor(own: string | undefined, env: NodeJS.ProcessEnv): string[] | undefined {
  const extra = readable(certificatesIn(authorityFiles(env)));
  if (own === undefined && extra.length === 0) return undefined;
  return [...(own === undefined ? rootCertificates : [own]), ...extra];
}

function certificatesIn(files: readonly string[]): string[] {
  return files.flatMap(file => (readText(file) ?? '').match(CERTIFICATE) ?? []);
}

/** Returns the variables with unreadable certificates. */
export function unreadableAuthorities(env: NodeJS.ProcessEnv): string[] {
  const { NODE_EXTRA_CA_CERTS: extra, SSL_CERT_FILE: file, SSL_CERT_DIR: directories } = env;
  const isMissing = (each: string | undefined) => each !== undefined && each !== '' && readText(each) === null;
  const names = [...(isMissing(extra) ? ['NODE_EXTRA_CA_CERTS'] : []), ...(isMissing(file) ? ['SSL_CERT_FILE'] : [])];
  return directories && directories.split(':').flatMap(filesIn).length === 0 ? [...names, 'SSL_CERT_DIR'] : names;
}

/** Returns the caller's authority files, including files in directories. */
function authorityFiles(env: NodeJS.ProcessEnv): string[] {
  const { NODE_EXTRA_CA_CERTS: extra, SSL_CERT_FILE: file, SSL_CERT_DIR: directories } = env;
  const inDirectories = (directories ?? '').split(':').filter(Boolean).flatMap(filesIn);
  return [...new Set([extra, file, ...inDirectories].filter(each => each !== undefined && each !== ''))] as string[];
}

function filesIn(directory: string): string[] {
  return namesIn(directory).map(name => join(directory, name));
}

/** Creates a TLS context, without certificates that OpenSSL can't read. */
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
