// Makes one HTTP request, and follows redirects to hosts that are named in advance.
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { errno } from '../../system/errno.ts';
import { printable } from '../../system/printable.ts';
import { wordMessage } from '../../view/message.ts';
import { networkFailure } from '../../view/network-errors.ts';
import { english } from '../../view/translator.ts';
import { UpdateRefused } from '../errors.ts';
import { tlsContext } from './tls-context.ts';

/** Dependencies of requests. */
export interface Client {
  env: NodeJS.ProcessEnv;
  /** The `User-Agent`. */
  agent: string;
  /** Hosts (`name` or `name:port`) that the source may redirect to; without them, no redirect is followed. */
  redirectHosts?: readonly string[];
}

/** GitHub takes two redirects to an asset, GitLab up to three. */
const MOST_REDIRECTS = 5;

/** Follows redirects to hosts that are named in advance; the signature decides about what comes from there. */
export async function open(first: URL, signal: AbortSignal, by: Client): Promise<IncomingMessage> {
  let url = first;
  for (let redirects = 0; ; redirects++) {
    const response = await requestOnce(url, signal, by);
    const next = redirectOf(url, response);
    if (next === null) return response;
    response.destroy();
    const allowed =
      next.url !== null &&
      by.redirectHosts?.includes(next.url.host) &&
      (next.url.protocol === 'https:' || url.protocol === 'http:');
    if (!allowed || redirects === MOST_REDIRECTS)
      throw new UpdateRefused('redirected', `${url.origin} redirects to another address (${next.shown}).`);
    url = next.url!;
  }
}

function redirectOf(url: URL, { statusCode = 0, headers }: IncomingMessage) {
  if (statusCode < 300 || statusCode >= 400) return null;
  const { location } = headers;
  if (location === undefined) return { url: null, shown: 'which it does not name' };
  return { url: URL.canParse(location, url.href) ? new URL(location, url) : null, shown: shown(location) };
}

const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

type Request = (url: URL, options: RequestOptions) => ClientRequest;

async function requestOnce(url: URL, signal: AbortSignal, { env, agent }: Client): Promise<IncomingMessage> {
  const secure = url.protocol === 'https:';
  if (!secure && !(url.protocol === 'http:' && LOOPBACK.has(url.hostname)))
    throw new UpdateRefused('source-insecure', `${url.origin} is neither https nor this machine.`);
  const { request } = (secure ? await import('node:https') : await import('node:http')) as { request: Request };
  const options = {
    agent: false, // its own connection, and none of the proxies that variables name
    headers: { 'accept-encoding': 'identity', 'user-agent': agent, connection: 'close' },
    maxHeaderSize: 16_384,
    signal,
    // explicit, so that NODE_TLS_REJECT_UNAUTHORIZED does not count
    ...(secure ? { secureContext: tlsContext(env), rejectUnauthorized: true } : {}),
    ...(url.hostname === 'localhost' ? { lookup: loopback } : {}),
  } as RequestOptions;
  return responseTo(request(url, options), url);
}

/** `localhost` is this machine, whatever a resolver says. */
const loopback: RequestOptions['lookup'] = (_host, options, done) => {
  const ipv4 = { address: '127.0.0.1', family: 4 };
  if (options.all) (done as unknown as (e: null, all: object[]) => void)(null, [ipv4, { address: '::1', family: 6 }]);
  else done(null, ipv4.address, ipv4.family);
};

function responseTo(call: ClientRequest, url: URL): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let response: IncomingMessage | undefined;
    call.on('response', incoming => {
      response = incoming;
      resolve(incoming);
    });
    call.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(new UpdateRefused('response-malformed', `${url.origin} answered in another protocol.`));
    });
    // an error of the protocol within a body is reported here only; the body just ends
    call.on('error', error => (response ? response.destroy(error) : reject(error)));
    call.end();
  });
}

/** Reports whether an error is one of the network or of the protocol. */
export function isNetwork(error: unknown): boolean {
  return typeof errno(error) === 'string';
}

/** Codes of Node's HTTP parser. */
export function isNotHttp(error: unknown): boolean {
  return errno(error)?.startsWith('HPE_') === true;
}

/** The refusal for an error of the network. */
export function unreachable(url: URL, error: NodeJS.ErrnoException): UpdateRefused {
  const { code = '', message } = error;
  const why = shown(message || code); // an AggregateError of several addresses has only a code
  if (isNotHttp(error))
    return new UpdateRefused('response-malformed', `${url.origin} does not answer in HTTP: ${why}.`, error);
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(code))
    return new UpdateRefused('certificate-invalid', `The certificate of ${url.origin} is not trusted: ${why}.`, error);
  if (/^(EPROTO|ERR_SSL|ERR_TLS)/.test(code))
    return new UpdateRefused('tls-failed', `No secure connection to ${url.origin}: ${why}.`, error);
  const failure = networkFailure(error, url.hostname);
  const what = failure ? `${wordMessage(failure, english)} (${code})` : why;
  return new UpdateRefused('network-failed', `${url.origin} can't be reached: ${what}.`, error);
}

/** Text from a source, on one line and at most 200 characters. */
export function shown(text: string): string {
  return printable(text).slice(0, 200);
}
