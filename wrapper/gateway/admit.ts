// Decides whether a request is one of a program that was given the placeholder. Pure.
import { timingSafeEqual } from 'node:crypto';
import { digest } from '../system/hash.ts';

/** The answer to a request that is not forwarded. */
export interface Refusal {
  status: number;
  message: string;
}

export interface Door {
  /** Digest of the placeholder. */
  placeholder: Buffer;
  port: number;
  /** The header in which the provider's programs send their key. */
  keyHeader: string;
}

type Headers = NodeJS.Dict<string[]>;

/**
 * Refuses what a web page can send (another name for this address, an origin) and what has no placeholder.
 * @param headers each with all its values
 */
export function refuse(target: string, headers: Headers, { placeholder, port, keyHeader }: Door): Refusal | undefined {
  const { host = [], origin, 'sec-fetch-site': site } = headers;
  if (host.length !== 1 || host[0] !== `127.0.0.1:${port}`)
    return { status: 421, message: `This gateway has one address only: 127.0.0.1:${port}.` };
  if (origin || site?.some(value => value !== 'none'))
    return { status: 403, message: 'A web page may not use this gateway.' };
  if (!target.startsWith('/')) return { status: 400, message: 'The request names no path.' };
  const given = headers[keyHeader] ?? [];
  const value = given.length === 1 ? keyHeader === 'authorization' ? given[0]!.replace(/^Bearer +/i, '') : given[0]! : '';
  // digests have one length, as the comparison needs
  return timingSafeEqual(digest(Buffer.from(value)), placeholder)
    ? undefined
    : { status: 401, message: 'The key is not a placeholder of this gateway.' };
}
