// Reaches providers through the proxy that HTTPS_PROXY, HTTP_PROXY and ALL_PROXY name, by the rules of curl, and says why one fails.
import * as http from 'node:http';
import * as https from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { errno, reason } from '../../daemon/core/errors.ts';

/** Authorities of a connection with TLS; without any, those of Node. */
export interface Trust {
  secureContext?: SecureContext;
}

export interface NamedProxy {
  url: URL;
  /** The variable that names it. */
  variable: string;
}

/**
 * The proxy for an address: lower case first, and `HTTP_PROXY` not where a web server may have set it from a header.
 * @throws Error that does not repeat the variable's value: it may hold a password
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
  // a reserved character ends the host, and the rest of the login counts as a path
  if (text.includes('@') && !(proxy && !/@/.test(proxy.pathname + proxy.search + proxy.hash)))
    throw new Error(
      `the login in ${variable} can't be read; write / as %2F, # as %23, ? as %3F, : as %3A and @ as %40`,
    );
  if (proxy?.hostname && (proxy.protocol === 'http:' || proxy.protocol === 'https:')) return { url: proxy, variable };
  throw new Error(`${variable} is not the address of an HTTP proxy, such as http://proxy.example.com:3128`);
}

/** A SOCKS proxy for everything is one for other programs: Node's own pass it over as well. */
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

/** The host without the brackets of IPv6 and the dot of a full name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

/** With the name for TLS: an agent would take that from the `Host` header, which is the provider's. */
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

/** A login with a percent sign that encodes nothing is meant as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @throws Error that names the proxy without its login */
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
    // A proxy that does not know CONNECT may answer as a web server does.
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

/** The error for a proxy that could not be used, with what to do. */
export function proxyFailure({ url, variable }: NamedProxy, cause: unknown): Error {
  const why = whyNot(cause);
  const next = why === NO_TLS ? `write it as http:// in ${variable}` : `start it, or correct ${variable}`;
  return new Error(`the proxy ${url.host} can't be used: ${why}; ${next}`, { cause });
}

/** Reason for a refusal by the proxy, which says nothing about the account's credential. */
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

const NO_TLS = 'it does not speak TLS';
