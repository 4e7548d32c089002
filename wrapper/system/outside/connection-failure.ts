// Says in words why a server or a proxy could not be asked.
import { errno, reason } from '../errors.ts';

const WHY: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'it closed the connection',
  EPIPE: 'it closed the connection',
  ENOTFOUND: 'its name was not found',
  EAI_AGAIN: 'its name was not found, because DNS gave no answer',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'connection timed out',
};

/** OpenSSL's words for bytes that are not TLS. */
const NOT_TLS = /wrong version number|packet length too long|http request|unknown protocol|record layer failure/;

/** Node's codes for an authority that is not trusted. */
const UNTRUSTED = /^(?:UNABLE_TO_(?:VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT.*)|.*SELF_SIGNED_CERT.*)$/;

/**
 * Why a connection failed. OpenSSL's own line has a number of the thread and a path of its sources.
 * @returns a clause such as "connection refused"
 */
export function whyNot(error: unknown): string {
  const code = errno(error) ?? '';
  if (code.startsWith('HPE_')) return 'it does not speak HTTP';
  const [, tls] = /:SSL routines:[^:]*:([^:\n]+)/.exec(reason(error)) ?? [];
  if (tls !== undefined) return NOT_TLS.test(tls) ? NO_TLS : `TLS failed: ${tls}`;
  if (UNTRUSTED.test(code))
    return `${reason(error)}; if a network inspects TLS, name the file of its authority in NODE_EXTRA_CA_CERTS`;
  return WHY[code] ?? reason(error);
}

export const NO_TLS = 'it does not speak TLS';
