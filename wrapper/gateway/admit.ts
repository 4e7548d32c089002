// Decides whether a request comes from a program with a placeholder. The functions have no side effects.
import { timingSafeEqual } from 'node:crypto';
import { digest } from '../../daemon/core/hash.ts';
import type { HttpProvider } from '../catalog/programs.ts';
import { isKeyHeader, keyIn, keysInProtocols, parameterIn } from './key-places.ts';

/** An answer of the gateway itself, to a request that is not forwarded. */
export interface OwnAnswer {
  status: number;
  message: string;
}

/** The answer to `OPTIONS *` with a placeholder, which `doctor` sends. The request has no path, so it is never forwarded. */
export const ACCEPTED: OwnAnswer = { status: 200, message: 'This gateway accepts the placeholder.' };

/** Reasons to turn a request away. */
export type TurnedAway = 'other-name' | 'web-page' | 'no-path' | 'no-placeholder' | 'other-user';

/** A program that may use the gateway. */
export interface Consumer {
  name: string;
  /** Digest of the placeholder. */
  digest: Buffer;
}

/** The answer to a request that is turned away. */
interface Refusal extends OwnAnswer {
  why: TurnedAway;
}

/** An admitted request: its program, and the placeholder that it sent. */
interface Admitted {
  consumer: Consumer;
  placeholder: string;
}

/** The facts that decide whether a request is admitted. */
export interface Admission {
  consumers: readonly Consumer[];
  port: number;
  /** Places where the provider's programs send their key. */
  http: Pick<HttpProvider, 'key_header' | 'key_parameter' | 'mcp'>;
}

type Headers = NodeJS.Dict<string[]>;

/**
 * Admits a request with a placeholder. It refuses requests that may come from a web page (another host name, an origin).
 * @param headers each header with all its values
 */
export function admit(target: string, headers: Headers, { consumers, port, http }: Admission): Admitted | Refusal {
  const { host = [], origin, 'sec-fetch-site': site } = headers;
  if (host.length !== 1 || host[0] !== `127.0.0.1:${port}`)
    return { why: 'other-name', status: 421, message: `This gateway has one address only: 127.0.0.1:${port}.` };
  if (origin || site?.some(value => value !== 'none'))
    return { why: 'web-page', status: 403, message: 'A web page may not use this gateway.' };
  if (!target.startsWith('/') && target !== '*')
    return { why: 'no-path', status: 400, message: 'The request names no path.' };
  for (const placeholder of placeholdersIn(target, headers, http)) {
    // digests have one length, which the comparison needs; comparing all of them reveals nothing by its duration
    const sent = digest(Buffer.from(placeholder));
    const [consumer] = consumers.filter(each => timingSafeEqual(sent, each.digest));
    if (consumer) return { consumer, placeholder };
  }
  return { why: 'no-placeholder', status: 401, message: 'The key is not a placeholder of this gateway.' };
}

/**
 * Returns the texts that may be a placeholder. Programs that can't set a websocket's headers send their key as a subprotocol, and
 * clients of an MCP server, or of a provider with a parameter for the key, may send it in the address.
 */
function placeholdersIn(target: string, headers: Headers, http: Admission['http']): string[] {
  const others = () => Object.keys(headers).filter(isKeyHeader);
  const names = headers[http.key_header] ? [http.key_header] : others();
  if (names.length > 0)
    return names.flatMap(name => (headers[name]!.length === 1 ? headers[name]![0]!.replace(/^[A-Za-z-]+ +/, '') : []));
  const protocols = headers.upgrade ? (headers['sec-websocket-protocol'] ?? []) : [];
  if (protocols.length > 0) return protocols.length === 1 ? keysInProtocols(protocols[0]!) : [];
  return [keyIn(target, http), ...parameterIn(target, http)];
}
