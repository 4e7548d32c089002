// Determines whether a network has a login page, through plain requests to servers of three operators.
import { get, type RequestOptions } from 'node:http';
import { BlockList, connect as connectSocket, isIPv6, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { connect as startTls } from 'node:tls';
import { bytesOf } from '../../core/address.ts';
import { addressesOf } from '../../routes/explain.ts';

/** A page with a fixed answer. */
export interface Target {
  url: string;
  status: number;
  body: string;
}

/** The pages that Android, Firefox and GNOME request. A network may let a request through before the login. */
export const TARGETS: readonly Target[] = [
  { url: 'http://connectivitycheck.gstatic.com/generate_204', status: 204, body: '' },
  { url: 'http://detectportal.firefox.com/success.txt', status: 200, body: 'success' },
  { url: 'http://nmcheck.gnome.org/check_network_status.txt', status: 200, body: 'NetworkManager is online' },
];

/** A server with a certificate from a public authority, for a network on which no server answers plain HTTP. */
const SECURE = { host: 'connectivitycheck.gstatic.com', port: 443 } as const;

/** Limit that is longer than any expected answer; login pages are longer still. */
const MAX_BODY_BYTES = 1_024;

/** An answer from a page. `login`: another server answered in place of the page; `silent`: there was no answer, or an error. */
interface Answer {
  result: 'open' | 'login' | 'silent';
  /** Address of a redirect; null without a redirect. */
  location: string | null;
}

export interface Verdict {
  network: 'open' | 'login' | 'unreachable';
  loginPage: string | null;
}

export const UNREACHABLE: Verdict = { network: 'unreachable', loginPage: null };
const SILENT: Answer = { result: 'silent', location: null };

const LIMIT_MS = 5_000;
const HTTP_PORT = 80;

/** Opens a connection by another way than from this process. */
type Connect = (host: string, port: number) => Promise<Socket>;

/** Requests all pages in parallel. Never rejects. */
export async function probeNetwork(
  targets: readonly Target[] = TARGETS,
  limitMs = LIMIT_MS,
  connect?: Connect,
): Promise<Verdict> {
  return judge(await Promise.all(targets.map(target => askPage(target, limitMs, connect))));
}

/** Probes like `probeNetwork`. If no server answers plain HTTP, a network with another certificate also has a login page. */
export async function findLogin(connect?: Connect): Promise<Verdict> {
  const verdict = await probeNetwork(TARGETS, LIMIT_MS, connect);
  return verdict.network === 'unreachable' ? askSecurely(SECURE.host, SECURE.port, connect) : verdict;
}

/** Checks for a login page over TLS: a network that replaces the host's certificate has one. Never rejects. */
export async function askSecurely(host: string, port: number, connect: Connect = connectTo): Promise<Verdict> {
  try {
    const socket = await connect(host, port);
    const isTrusted = await new Promise<boolean>((resolve, reject) => {
      const secure = startTls({ socket, servername: host, rejectUnauthorized: false });
      secure.setTimeout(LIMIT_MS, () => secure.destroy(new Error('no answer')));
      secure.once('secureConnect', () => resolve(secure.authorized)).once('error', reject);
    }).finally(() => socket.destroy());
    return isTrusted ? { network: 'open', loginPage: null } : { network: 'login', loginPage: `https://${host}/` };
  } catch {
    return UNREACHABLE;
  }
}

function connectTo(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectSocket({ host, port, signal: AbortSignal.timeout(LIMIT_MS) }, () => resolve(socket));
    socket.once('error', reject);
  });
}

/** Requests a page. A redirect to this machine does not count as a login page. */
async function askPage(target: Target, limitMs: number, connect?: Connect): Promise<Answer> {
  const answer = await answerFrom(target, limitMs, connect);
  if (answer.location === null || !(await leadsHere(answer.location, connect === undefined))) return answer;
  return { ...answer, location: null };
}

/**
 * True if a page that a network names is, or may be, on this machine: programs here trust pages that the user opens in a
 * browser. Addresses of the local network remain possible, because routers have login pages.
 * @param url http or https address, which a browser may read in many ways
 * @param looksUp true if a name may be looked up
 */
export async function leadsHere(url: string, looksUp: boolean): Promise<boolean> {
  if (!URL.canParse(url)) return true;
  // resolvers ignore trailing dots, and without the dots a number may be an address: 127.1..
  const name = new URL(url).hostname.replace(/\.+$/, '');
  if (!URL.canParse(`http://${name}`)) return true;
  const host = new URL(`http://${name}`).hostname.replace(/^\[|\]$/g, '');
  if (/^(.*\.)?localhost$/.test(host)) return true;
  const own = ownAddresses();
  const isHere = (address: string) =>
    isIPv6(address)
      ? own.check(address, 'ipv6') || ipv4In(address).some(inner => own.check(inner, 'ipv4'))
      : own.check(address, 'ipv4');
  if (isIPv6(host) || /^[\d.]+$/.test(host)) return isHere(host);
  if (!looksUp) return false;
  // the browser may get an answer that this lookup did not, and may use any of the addresses
  const { addresses } = await addressesOf(host);
  return addresses.length === 0 || addresses.some(isHere);
}

/**
 * Returns IPv4 addresses that an IPv6 address may stand for, wherever it contains them: compatible and mapped (RFC 4291,
 * 2.5.5), translated (RFC 2765, 2.1), NAT64 (RFC 6052, RFC 8215) and 6to4 (RFC 3056).
 */
function ipv4In(address: string): string[] {
  const bytes = bytesOf(address.replace(/%.*/, '')) ?? [];
  const start = Buffer.from(bytes.slice(0, 12)).toString('hex');
  const isLast = /^(?:0064ff9b|0{16}(?:0{8}|0{4}f{4}|f{4}0{4})$)/.test(start);
  const found = [...(isLast ? [bytes.slice(12)] : []), ...(start.startsWith('2002') ? [bytes.slice(2, 6)] : [])];
  return found.map(each => each.join('.'));
}

/** Returns loopback, addresses that mean no other machine, and the addresses of every link. IPv4 inside IPv6 is included. */
function ownAddresses(): BlockList {
  const own = new BlockList();
  own.addSubnet('127.0.0.0', 8);
  own.addSubnet('0.0.0.0', 8);
  own.addSubnet('::', 127, 'ipv6');
  for (const { address, family } of Object.values(networkInterfaces()).flatMap(each => each ?? []))
    own.addAddress(address.replace(/%.*/, ''), family === 'IPv6' ? 'ipv6' : 'ipv4');
  return own;
}

function answerFrom(target: Target, limitMs: number, connect?: Connect): Promise<Answer> {
  return new Promise(resolve => {
    const signal = AbortSignal.timeout(limitMs);
    // no cookies, no proxy, and no connection left open by an earlier answer
    const way = connect ? { createConnection: by(connect) } : { agent: false };
    const request = get(target.url, { ...way, signal }, response => {
      const { statusCode = 0, headers } = response;
      let body = '';
      const done = () => resolve(answerOf(target, { status: statusCode, body, location: headers.location ?? null }));
      response.setEncoding('latin1');
      response.on('data', (piece: string) => {
        body += piece;
        if (body.length <= MAX_BODY_BYTES) return;
        done();
        request.destroy();
      });
      response.on('end', done);
      response.on('error', () => resolve(SILENT));
    });
    request.on('error', () => resolve(SILENT));
  });
}

/** Adapts `connect` for Node: an agent would open its own connections. */
function by(connect: Connect): NonNullable<RequestOptions['createConnection']> {
  return ({ host, port }, created) => {
    connect(host ?? '', Number(port ?? HTTP_PORT)).then(
      socket => created(null, socket),
      (error: Error) => created(error, undefined as never),
    );
    return undefined;
  };
}

interface Reply {
  status: number;
  body: string;
  location: string | null;
}

/** RFC 6585: Network Authentication Required. */
const NETWORK_LOGIN = 511;
const ENOUGH = 2;

/** Judges the answers: one unexpected answer shows a login page, while an open network takes two expected answers. */
export function judge(answers: readonly Answer[]): Verdict {
  const logins = answers.filter(({ result }) => result === 'login');
  if (logins.length > 0) {
    return { network: 'login', loginPage: logins.find(({ location }) => location !== null)?.location ?? null };
  }
  const open = answers.filter(({ result }) => result === 'open').length;
  return open >= ENOUGH ? { network: 'open', loginPage: null } : UNREACHABLE;
}

/** Compares status and body exactly, except for the line end. */
export function answerOf(target: Target, { status, body, location }: Reply): Answer {
  if (status === target.status && body.trimEnd() === target.body) return { result: 'open', location: null };
  const isLogin = status === NETWORK_LOGIN || (status >= 200 && status < 400);
  return isLogin ? { result: 'login', location: httpAddress(location) } : SILENT;
}

/** Returns an address only if it is a web page's, because the network chose it. */
function httpAddress(location: string | null): string | null {
  return location !== null && /^https?:\/\/[\x21-\x7e]{1,2000}$/i.test(location) ? location : null;
}
