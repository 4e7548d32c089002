// Words errors of connections for people: what failed, by the name of the place, instead of Node's own message.
import type { Message } from '../api/values.ts';
import { message } from './message.ts';

/** Codes of Node's and the system's connection errors (getaddrinfo(3), errno(3)). */
const KINDS: readonly [codes: RegExp, sentence: (place: string) => Message][] = [
  [/^ENOTFOUND$/, place => message('the name %s isn’t found', place)],
  [/^EAI_/, place => message('the name %s can’t be looked up: DNS does not answer', place)],
  [/^ECONNREFUSED$/, place => message('%s refuses connections', place)],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, place => message('%s closed the connection', place)],
  [
    /^(ETIMEDOUT|ESOCKETTIMEDOUT|ABORT_ERR|UND_ERR_CONNECT_TIMEOUT)$/,
    place => message('%s did not answer in time', place),
  ],
  [/^(ENETUNREACH|EHOSTUNREACH|ENETDOWN|EADDRNOTAVAIL)$/, place => message('this network has no way to %s', place)],
  [/^(EACCES|EPERM)$/, place => message('this computer blocks connections to %s', place)],
  [/CERT|SELF_SIGNED|UNABLE_TO_/, place => message('the certificate of %s is not trusted', place)],
  [/^(EPROTO|ERR_SSL|ERR_TLS)/, place => message('no secure connection to %s is possible', place)],
  [/^HPE_/, place => message('%s does not answer in HTTP', place)],
];

/**
 * An error of a connection, to follow a colon; null for an error of another kind, whose message is our own.
 * @param place name or address of what was asked
 */
export function networkFailure(error: unknown, place: string): Message | null {
  // several addresses of one name fail together, as an AggregateError
  const errors = error instanceof AggregateError ? [error, ...error.errors] : [error];
  for (const each of errors) {
    const code = each instanceof Error && 'code' in each ? String(each.code) : '';
    const found = KINDS.find(([codes]) => codes.test(code));
    if (found) return found[1](place);
  }
  return null;
}
