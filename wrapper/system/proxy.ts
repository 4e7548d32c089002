// Finds the proxy for an address in the environment, by curl's rules, opens tunnels through it, and explains its failures.
import * as http from 'node:http';
import * as https from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { errno, reason } from '../../daemon/core/errors.ts';
import { decoded } from '../../daemon/core/printable.ts';

/** Authorities of a TLS connection; by default, Node's. */
export interface Trust {
  secureContext?: SecureContext;
}

export interface NamedProxy {
  url: URL;
  /** The variable that names the proxy. */
  variable: string;
}

/**
 * Returns the proxy for an address. Prefers lowercase names, and ignores `HTTP_PROXY` in CGI, where a header may set it.
 * @throws Error without the variable's value, which may hold a password
 */
export function proxyFor(url: URL, env: NodeJS.ProcessEnv): NamedProxy | undefined {
  const names =
    url.protocol === 'https:'
      ? ['https_proxy', 'HTTPS_PROXY']
      : ['http_proxy', ...(env.REQUEST_METHOD === undefined ? ['HTTP_PROXY'] : [])];
  const variable = names.find(each => env[each] !== undefined) ?? forAll(env);
  const value = variable === undefined ? '' : env[variable]!.trim();
  if (variable === undefined || value === '' || isExcluded(hostOf(url), env.no_proxy ?? env.NO_PROXY ?? ''))
    return undefined;
  const text = value.includes('://') ? value : `http://${value}`;
  const proxy = URL.canParse(text) ? new URL(text) : undefined;
  // a reserved character ends the host, and the rest of the login becomes a path
  if (text.includes('@') && !(proxy && !/@/.test(proxy.pathname + proxy.search + proxy.hash)))
    throw new Error(
      `the login in ${variable} can't be read; write / as %2F, # as %23, ? as %3F, : as %3A and @ as %40`,
    );
  if (proxy?.hostname && (proxy.protocol === 'http:' || proxy.protocol === 'https:')) return { url: proxy, variable };
  throw new Error(`${variable} is not the address of an HTTP proxy, such as http://proxy.example.com:3128`);
}

/** Returns the set variable for all protocols. Ignores SOCKS proxies, as Node does. */
function forAll(env: NodeJS.ProcessEnv): string | undefined {
  const variable = ['all_proxy', 'ALL_PROXY'].find(each => env[each] !== undefined);
  return variable !== undefined && /^\s*socks/i.test(env[variable]!) ? undefined : variable;
}

/**
 * Reports whether `NO_PROXY` names a host: `*`, names that cover their subdomains, addresses, and networks (`10.0.0.0/8`),
 * separated by commas or blanks.
 */
function isExcluded(host: string, list: string): boolean {
  const entries = list.split(/[\s,]+/).filter(Boolean);
  if (entries.length === 1 && entries[0] === '*') return true;
  return entries.some(entry => covers(entry.toLowerCase().replace(/^\[(.*)\]$/, '$1'), host));
}

function covers(entry: string, host: string): boolean {
  if (isIP(host) === 0) {
    const name = entry.replace(/^\./, '').replace(/\.$/, '');
    return name !== '' && (host === name || host.endsWith(`.${name}`));
  }
  if (!entry.includes('/'))
    return isIP(entry) !== 0 && ipaddr.process(entry).toString() === ipaddr.process(host).toString();
  if (!ipaddr.isValidCIDR(entry)) return false;
  const address = ipaddr.process(host);
  const network = ipaddr.parseCIDR(entry);
  return address.kind() === network[0].kind() && address.match(network);
}

/** Returns the host without IPv6 brackets and without a trailing dot. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

/** Returns a proxy's address and TLS name; an agent would use the `Host` header, which names the provider. */
export function addressOf(proxy: URL): { hostname: string; port: number; servername: string } {
  const hostname = hostOf(proxy);
  return {
    hostname,
    port: Number(proxy.port || (proxy.protocol === 'https:' ? 443 : 80)),
    servername: isIP(hostname) === 0 ? hostname : '',
  };
}

export function loginOf({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const login = `${decoded(username)}:${decoded(password)}`;
  return { 'Proxy-Authorization': `Basic ${Buffer.from(login).toString('base64')}` };
}

/** Opens a tunnel. @throws Error that names the proxy without its login */
export function openTunnel(proxy: NamedProxy, url: URL, trust: Trust, timeoutMs: number): Promise<Socket> {
  const target = `${url.hostname}:${url.port || 443}`;
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`the proxy ${proxy.url.host} ${why}`));
    const { request: start } = proxy.url.protocol === 'https:' ? https : http;
    const headers = { Host: target, ...loginOf(proxy.url) };
    const request = start({
      ...addressOf(proxy.url),
      method: 'CONNECT',
      path: target,
      headers,
      agent: false,
      ...trust,
    });
    const limit = setTimeout(() => {
      fail(`gave no answer within ${timeoutMs / 1_000} s`);
      request.destroy();
    }, timeoutMs);
    request.on('connect', ({ statusCode = 0 }, socket) => {
      clearTimeout(limit);
      if (statusCode >= 200 && statusCode < 300) resolve(socket);
      else {
        socket.destroy();
        fail(refusal(statusCode));
      }
    });
    // A proxy that does not support CONNECT may send a normal response.
    request.on('response', ({ statusCode = 0 }) => {
      clearTimeout(limit);
      request.destroy();
      fail(refusal(statusCode));
    });
    request.on('error', error => {
      clearTimeout(limit);
      reject(proxyFailure(proxy, error));
    });
    request.end();
  });
}

/** Returns an error that says why a proxy failed and what to do. */
export function proxyFailure({ url, variable }: NamedProxy, cause: unknown): Error {
  const why = whyNot(cause);
  const next = why === NO_TLS ? `write it as http:// in ${variable}` : `start it, or correct ${variable}`;
  return new Error(`the proxy ${url.host} can't be used: ${why}; ${next}`, { cause });
}

/** Describes a refusal by the proxy, which does not concern the account's credential. */
export function refusal(status: number): string {
  return status === 407 ? 'asks for another login (HTTP status 407)' : `answered with HTTP status ${status}`;
}

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

/** OpenSSL's messages about data that is not TLS. */
const NOT_TLS =
  /^TLS failed: .*(?:wrong version number|packet length too long|http request|unknown protocol|record layer failure)/;

/** Node's error codes for an untrusted authority. */
const UNTRUSTED = /^(?:UNABLE_TO_(?:VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT.*)|.*SELF_SIGNED_CERT.*)$/;

/**
 * Explains why a connection failed. Omits the thread number and source path in OpenSSL's message.
 * @returns a clause such as "connection refused"
 */
export function whyNot(error: unknown): string {
  const code = errno(error) ?? '';
  if (code.startsWith('HPE_')) return 'it does not speak HTTP';
  if (NOT_TLS.test(reason(error))) return NO_TLS;
  if (UNTRUSTED.test(code))
    return `${reason(error)}; if a network inspects TLS, name the file of its authority in NODE_EXTRA_CA_CERTS`;
  return WHY[code] ?? reason(error);
}

const NO_TLS = 'it does not speak TLS';
