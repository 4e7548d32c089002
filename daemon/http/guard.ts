// Decides whether a request is admitted, from its method, target, headers and connection. Pure; the order of the checks is part
// of the contract.
import { bodyLimit } from '../api/requests.ts';
import type { ProblemCode } from '../api/schema.ts';
import { printable } from '../core/printable.ts';
import { Problem } from '../problem.ts';
import type { RemoteAccess } from './token.ts';

export interface RequestInfo {
  method: string;
  /** Request target as sent: `/api/logs?since=0`. */
  target: string;
  /** Alternating names and values, in the order received. */
  rawHeaders: readonly string[];
  /** The connection that carries the request. */
  via: Via;
}
export type Via =
  | { kind: 'unix' }
  /** Loopback; `address` is this end, `peerIsUser` what the kernel says about the other end (null: unknown). */
  | { kind: 'loopback'; port: number; address: string; peerIsUser: boolean | null }
  /** Another machine, or a reverse proxy of another user; possible only with webui.allowRemote. `address` is this end. */
  | { kind: 'remote'; port: number; address: string; access: RemoteAccess };

export const LIMITS = {
  targetBytes: 2048,
  headerBytes: 8192,
  headers: 64,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 15_000,
  /** Connections of this user over TCP. */
  connections: 256,
  unixConnections: 256,
  /** Connections from other machines, and from reverse proxies of other users. */
  remoteConnections: 128,
  /** TCP connections that other users can hold while being refused; a single user can hold half of them. */
  strangers: 16,
  streams: 64,
  streamBacklogBytes: 65_536,
  /** Bytes of unread answers in total. Above this, the connection with the most unread bytes is closed. */
  unreadBytes: 33_554_432,
} as const;
export type Limits = { [K in keyof typeof LIMITS]: number };

/** Checks a request before its body is read. Returns null to admit it. */
export function checkRequest({ method, target, rawHeaders, via }: RequestInfo): Problem | null {
  const stranger = checkPeer(via);
  if (stranger) return stranger;

  const headers: Record<string, string | undefined> = {};
  let bytes = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name, value] = [rawHeaders[i]!.toLowerCase(), rawHeaders[i + 1]!];
    bytes += name.length + value.length + 4;
    // a repeated Host or Origin is ambiguous; joined, it matches nothing
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }

  if (via.kind === 'loopback' && FORWARDED.some(name => headers[name] !== undefined))
    return new Problem('peer-not-allowed', 'A proxy sends this request on behalf of somebody else.', {
      hint: 'Let the reverse proxy run as a user of its own, with webui.allowRemote and webui.address set.',
    });

  const host = headers.host ?? '';
  if (!hostAllowed(host, via))
    return new Problem(
      'host-not-allowed',
      `The address "${printable(host).slice(0, 80)}" is not an address of this daemon.`,
      {
        hint: via.kind === 'unix' ? 'Use http://localhost/ over the socket.' : `Use http://127.0.0.1:${via.port}/.`,
      },
    );
  const { origin } = headers;
  if (origin !== undefined && !originAllowed(origin, via))
    return new Problem('origin-not-allowed', 'A web page of another origin may not use this API.');
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && !(site === 'none' && (method === 'GET' || method === 'HEAD')))
    return new Problem('fetch-site-not-allowed', 'A web page of another site may not use this API.');
  // a link, a redirect or a login page can make the browser open any address; the page itself only fetches
  if (headers['sec-fetch-mode'] === 'navigate' && isApi(target) && `${method} ${target}` !== API_ADDRESS)
    return new Problem('fetch-site-not-allowed', 'A browser may not open an address of this API.', {
      hint: 'Open the page of Culvert in place of it, or read it with: curl',
    });
  if (via.kind === 'remote' && !isPage(method, target) && tokenOf(headers, via.access) === null)
    return new Problem('token-required', 'The token is missing or wrong.', {
      hint:
        'On the machine of the daemon, run "culvert token". Enter the token in the page, or send it as ' +
        '"Authorization: Bearer …".',
    });
  if (method === 'POST') {
    const type = headers['content-type'];
    if (type === undefined || !/^application\/json(\s*;\s*charset="?utf-8"?)?\s*$/i.test(type))
      return new Problem('unsupported-media-type', 'A request body has to be application/json in UTF-8.');
    if (headers['content-encoding'] !== undefined)
      return new Problem('unsupported-media-type', 'A request body has to come without content encoding.');
    if (Number(headers['content-length'] ?? 0) > bodyLimit(target)) return tooLarge(target);
  }
  if (target.length > LIMITS.targetBytes)
    return new Problem('uri-too-long', `The address is longer than ${LIMITS.targetBytes} bytes.`);
  if (rawHeaders.length / 2 > LIMITS.headers || bytes > LIMITS.headerBytes)
    return new Problem(
      'headers-too-large',
      `At most ${LIMITS.headers} headers of ${LIMITS.headerBytes} bytes are read.`,
    );
  if (!target.startsWith('/') || /[^\x21-\x7e]/.test(target))
    return new Problem('malformed-request', 'The request target has to be a path.');
  return null;
}

/** Checks the owner of a connection before anything is read from it. Returns null to admit it. */
export function checkPeer(via: Via): Problem | null {
  if (via.kind === 'loopback' && via.peerIsUser === null)
    return new Problem(
      'busy',
      'The owner of this connection could not be read from the kernel; too many files may be open.',
    );
  if (via.kind === 'loopback' && !via.peerIsUser)
    return new Problem('peer-not-allowed', 'This daemon answers only the user who started it.');
  return null;
}

/** Codes of problems with the client itself: its next request would fail too, so the connection is closed. */
export const CLOSING: ReadonlySet<ProblemCode> = new Set([
  'peer-not-allowed',
  'host-not-allowed',
  'origin-not-allowed',
  'fetch-site-not-allowed',
  'token-required',
]);

/** The address of the API, which the daemon prints. People open it in a browser, and nothing is there to read. */
export const API_ADDRESS = 'GET /api/';

/** The cookie in which a browser keeps the token. */
export const TOKEN_COOKIE = 'culvert-token';

/** Returns the valid token that a remote request carries in its header or cookie; null if there is none. */
export function tokenOf(
  { authorization, cookie }: { authorization?: string | undefined; cookie?: string | undefined },
  { token }: RemoteAccess,
): string | null {
  const bearer = /^Bearer (\S+)$/.exec(authorization ?? '')?.[1];
  const kept = new RegExp(`(?:^|;\\s*)${TOKEN_COOKIE}=([\\w-]+)(?:;|$)`).exec(cookie ?? '')?.[1];
  return [bearer, kept].find(given => given !== undefined && token(given)) ?? null;
}

/** True if the API answers the path, not the browser page. */
export function isApi(target: string): boolean {
  return /^\/api(?:[/?]|$)/.test(target);
}

/** True for the files of the browser page, which asks for the token and holds no state. */
function isPage(method: string, target: string): boolean {
  return (method === 'GET' || method === 'HEAD') && !target.startsWith('/api');
}

/** Returns the problem for a body over the limit of its target. */
export function tooLarge(target: string): Problem {
  return new Problem('payload-too-large', `A request body may have at most ${bodyLimit(target)} bytes here.`);
}

/** Headers of reverse proxies: a proxy that runs as this user must not give its clients this user's rights. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];

const NAMES = ['127.0.0.1', 'localhost', '[::1]'];

function hostAllowed(host: string, via: Via): boolean {
  if (via.kind === 'unix') return NAMES.includes(host);
  if (via.kind === 'loopback' && NAMES.some(name => host === `${name}:${via.port}`)) return true;
  // others can't rebind a name that the user configured
  if (via.kind === 'remote' && via.access.address && host === new URL(via.access.address).host) return true;
  // DNS can't rebind an IP address
  return host === `${bracketed(via.address)}:${via.port}`;
}

function originAllowed(origin: string, via: Via): boolean {
  if (via.kind === 'unix') return false; // no browser speaks over a Unix socket
  if (via.kind === 'remote' && origin === via.access.address) return true;
  const names = [...(via.kind === 'loopback' ? NAMES : []), bracketed(via.address)];
  return names.some(name => origin === `http://${name}:${via.port}`);
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
