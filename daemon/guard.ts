// Who may ask: a request's facts -> nothing, or the problem that refuses it. Pure; the checks stand in their order.
import { Problem } from './problem.ts';

/** What the guard looks at. Header names and values alternate, as they arrived. */
export interface Facts {
  method: string;
  /** Request target as sent: `/api/logs?since=0`. */
  target: string;
  rawHeaders: readonly string[];
  /** Where it came in. */
  via: Via;
}
export type Via =
  | { kind: 'unix' }
  /** Loopback; `address` is our own end, `peerIsUser` what the kernel says of the other (null: it could not say). */
  | { kind: 'loopback'; port: number; address: string; peerIsUser: boolean | null }
  /** Another address, possible only with webui.allowRemote; `address` is our own end. */
  | { kind: 'remote'; port: number; address: string; admits: TokenCheck };

/** Whether a bearer token is the right one, in constant time. */
export type TokenCheck = (given: string) => boolean;

export const LIMITS = {
  targetBytes: 2048,
  headerBytes: 8192,
  headers: 64,
  bodyBytes: 65_536,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 15_000,
  connections: 256,
  /** Of these, how many another user can hold while the refusal is on its way. */
  strangers: 16,
  streams: 64,
  streamBacklogBytes: 65_536,
} as const;
export type Limits = { [K in keyof typeof LIMITS]: number };

/** Judges a request before its body is read; null admits it. */
export function judge({ method, target, rawHeaders, via }: Facts): Problem | null {
  if (via.kind === 'loopback' && via.peerIsUser === null)
    return new Problem('busy', 'The kernel did not tell whose connection this is; too many files may be open.');
  if (via.kind === 'loopback' && !via.peerIsUser)
    return new Problem('peer-not-allowed', 'This daemon answers only the user who started it.');

  const headers: Record<string, string | undefined> = {};
  let bytes = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name, value] = [rawHeaders[i]!.toLowerCase(), rawHeaders[i + 1]!];
    bytes += name.length + value.length + 4;
    // a second Host, Origin … is an attempt to be read in two ways: joined, it matches nothing
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }

  const host = headers.host ?? '';
  if (!hostAllowed(host, via))
    return new Problem('host-not-allowed', `The address "${printable(host)}" is not one of this daemon's own.`, {
      hint: via.kind === 'unix' ? 'Use http://localhost/ over the socket.' : `Use http://127.0.0.1:${via.port}/.`,
    });
  const { origin } = headers;
  if (origin !== undefined && !originAllowed(origin, via))
    return new Problem('origin-not-allowed', 'A web page of another origin may not use this API.');
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && !(site === 'none' && (method === 'GET' || method === 'HEAD')))
    return new Problem('fetch-site-not-allowed', 'A web page of another site may not use this API.');
  if (via.kind === 'remote' && !via.admits(/^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? ''))
    return new Problem('token-required', 'Requests from another address need the bearer token.', {
      hint: 'Run "culvert token" on the machine of the daemon, and send it as "Authorization: Bearer …".',
    });
  if (method === 'POST') {
    const type = headers['content-type'];
    if (type === undefined || !/^application\/json(\s*;\s*charset="?utf-8"?)?\s*$/i.test(type))
      return new Problem('unsupported-media-type', 'A request body has to be application/json in UTF-8.');
    if (headers['content-encoding'] !== undefined)
      return new Problem('unsupported-media-type', 'A request body has to come without content encoding.');
    if (Number(headers['content-length'] ?? 0) > LIMITS.bodyBytes) return tooLarge();
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

export function tooLarge(): Problem {
  return new Problem('payload-too-large', `A request body may have at most ${LIMITS.bodyBytes} bytes.`);
}

const NAMES = ['127.0.0.1', 'localhost', '[::1]'];

function hostAllowed(host: string, via: Via): boolean {
  if (via.kind === 'unix') return NAMES.includes(host);
  if (via.kind === 'loopback' && NAMES.some(name => host === `${name}:${via.port}`)) return true;
  // an address says itself where it leads, so no foreign name can be rebound to it
  return host === `${bracketed(via.address)}:${via.port}`;
}

function originAllowed(origin: string, via: Via): boolean {
  if (via.kind === 'unix') return false; // no browser speaks over a Unix socket
  const names = [...(via.kind === 'loopback' ? NAMES : []), bracketed(via.address)];
  return names.some(name => origin === `http://${name}:${via.port}`);
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 80);
}

/**
 * Reads a JSON body. @throws Problem malformed-json for text that is none, invalid-body for keys that reach prototypes.
 */
export function parseBody(bytes: Uint8Array): unknown {
  let forbidden: string | undefined;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes), (key, inner) => {
      if (key === '__proto__' || key === 'constructor' || key === 'prototype') forbidden ??= key;
      return inner;
    });
  } catch (error) {
    throw new Problem('malformed-json', 'The request body is not valid JSON in UTF-8.', {}, error);
  }
  if (forbidden !== undefined)
    throw new Problem('invalid-body', `The key "${forbidden}" is not allowed.`, {
      errors: [{ path: forbidden, message: 'not allowed' }],
    });
  return value;
}
