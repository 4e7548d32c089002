// Reads the start of HTTP messages, filters their headers, and finds their jobs, costs and destinations.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isRecord, isText } from '../../daemon/core/shape.ts';
import type { HttpProvider } from '../catalog/programs.ts';
import { at, parseJson } from '../run/rules/classify.ts';
import { REQUEST } from '../store/state.ts';
import { isForm, isKeyHeader } from './key-places.ts';

/** Headers of a single connection (RFC 9110), and headers that would reveal the provider and the program to each other. */
const OF_CONNECTION = ['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect', 'host'];
const OF_PERSON = ['cookie', 'set-cookie', 'accept-encoding', 'forwarded'];
const STAYING = new Set([...OF_CONNECTION, ...OF_PERSON]);
const GROUPS = /^(?:proxy-|x-forwarded-)/;

/** An error for the program. */
export interface Refused {
  status: number;
  headers: string[];
  body: Buffer;
}

/** Returns the headers to pass on, with names and values in turn. */
export function passedOn(raw: readonly string[], { key_header, account_headers }: HttpProvider): string[] {
  const ofHop: string[] = [];
  for (let index = 0; index < raw.length; index += 2)
    if (raw[index]!.toLowerCase() === 'connection')
      ofHop.push(...raw[index + 1]!.split(',').map(name => name.trim().toLowerCase()));
  const headers: string[] = [];
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]!.toLowerCase();
    const ofAccount = name === key_header || isKeyHeader(name) || account_headers.includes(name);
    if (!STAYING.has(name) && !ofAccount && !ofHop.includes(name) && !GROUPS.test(name))
      headers.push(raw[index]!, raw[index + 1]!);
  }
  return headers;
}

/** Sets the length of the body in headers. */
export function withLength(headers: readonly string[], bytes: number): string[] {
  return [...without(headers, /^content-length$/i), 'content-length', String(bytes)];
}

/** Removes headers with matching names. */
export function without(headers: readonly string[], names: RegExp): string[] {
  return headers.filter((_, index) => !names.test(headers[index - (index % 2)]!));
}

/**
 * Adds headers that ask the program not to repeat a request, because a repetition is useless for now or may be billed twice.
 * @param seconds time until a repetition may be useful, if the provider stated it
 */
export function withoutRetry(headers: readonly string[], seconds?: number): string[] {
  const kept = without(headers, seconds === undefined ? /^x-should-retry$/i : /^(?:x-should-retry|retry-after)$/i);
  return [...kept, 'x-should-retry', 'false', ...(seconds === undefined ? [] : ['retry-after', String(seconds)])];
}

/** Reports whether the provider billed a failed request. */
export function isBilled(body: string, { billed }: HttpProvider): boolean {
  return (
    billed !== undefined && ![undefined, null, ''].includes(at(parseJson(body), billed) as string | null | undefined)
  );
}

/** Returns the provider's address for a key, or the address of its MCP server. */
export function baseOf(
  { base, bases, mcp }: Pick<HttpProvider, 'base' | 'bases' | 'mcp'>,
  key: string,
  isMcp = false,
): string {
  if (mcp && isMcp) return mcp.base;
  return bases.find(({ key_ends: end }) => key.endsWith(end))?.base ?? base;
}

/** Returns the path of the provider's address that programs leave out: that of `base`, without `base_path` at its end. */
export function pathOfBase(base: string, { base_path: own }: Pick<HttpProvider, 'base_path'>): string {
  const path = /^https?:\/\/[^/]+(.*)$/.exec(base)?.[1] ?? '';
  return own !== '' && path.endsWith(own) ? path.slice(0, -own.length) : path;
}

/**
 * Normalizes a path for comparisons. Providers also accept other forms, such as `/V2/Crawl/`, and a request in such a form must
 * not pass for a cheaper request or for a request without a job.
 */
export function plainPath(path: string): string {
  // most paths need no parser
  if (/^(?:\/[\w-]+)+$/.test(path)) return path.toLowerCase();
  const read = path.replace(/%[2-7][\da-f]/gi, escaped => {
    const character = decodeURIComponent(escaped);
    return /[\w.~/-]/.test(character) ? character : escaped;
  });
  const { pathname } = new URL(read.replace(/[\\/]+/g, '/'), 'http://localhost');
  return pathname.toLowerCase().replace(/(?<=.)\/$/, '');
}

/** Finds the entry with a matching `request`, such as `POST /v2/crawl`, for a plain path. `*` stands for any part of a path. */
export function entryFor<T extends { request: string }>(
  entries: readonly T[],
  method: string,
  path: string,
): T | undefined {
  const parts = path.split('/');
  return entries.find(({ request }) => {
    const [wanted, pattern = ''] = request.split(' ');
    return wanted === method && pattern.split('/').length === parts.length && startsLike(parts, pattern);
  });
}

/** Reports whether a request only reads or ends a job: its path is that of an entry, or is below it. */
export function isAbout(creators: HttpProvider['creators'], method: string, path: string): boolean {
  if (!/^(?:GET|HEAD|OPTIONS|DELETE)$/.test(method) || entryFor(creators, method, path)) return false;
  const parts = path.split('/');
  return creators.some(({ request }) => startsLike(parts, request.split(' ')[1] ?? ''));
}

function startsLike(parts: readonly string[], pattern: string): boolean {
  const wanted = pattern.toLowerCase().split('/');
  return wanted.every((part, index) => (part === '*' ? parts[index] : parts[index] === part));
}

/** Finds the key in the catalog's `costs` for the last word of a request's plain path. */
export function commandOf(costs: Record<string, number>, path: string): string {
  const last = path.slice(path.lastIndexOf('/') + 1);
  return Object.keys(costs).find(command => command.toLowerCase() === last) ?? 'http';
}

/** Finds the job that a request names in a field of its query or body, which may be JSON or a form. */
export function namedIn(target: string, body: string, field: string): string[] {
  const [, query = ''] = target.split('?', 2);
  const value =
    at(parseJson(body), field) ?? new URLSearchParams(query).get(field) ?? new URLSearchParams(body).get(field);
  return typeof value === 'string' && value !== '' ? [value] : [];
}

/** Finds the tool that an MCP message calls, and the jobs that the message may name. */
export function toolCallIn(body: string): { tool: string; named: string[] } | undefined {
  const message = parseJson(body);
  const [method, tool, given] = ['method', 'params.name', 'params.arguments'].map(path => at(message, path));
  if (method !== 'tools/call' || typeof tool !== 'string') return undefined;
  const texts = isRecord(given) ? Object.values(given).filter(isText) : [];
  return { tool, named: texts.filter(text => /^(?=.*\d)[\w-]{8,64}$/.test(text)) };
}

interface Priced {
  http: HttpProvider;
  creator: HttpProvider['creators'][number] | undefined;
  isOfMcp: boolean;
  /** True if the request calls no tool, or a tool with a cost in the catalog. */
  isListed: boolean;
}

/** Explains why a request's cost, which may be higher than usual, can't be read. */
export function unclearIn(
  headers: IncomingHttpHeaders,
  { bytes, isWhole }: { bytes: Buffer; isWhole: boolean },
  { http, creator, isOfMcp, isListed }: Priced,
): string | undefined {
  if (!isListed) return 'a tool of an MCP server is called only if the catalog says what it costs';
  if (!isOfMcp && creator?.wants === undefined) return undefined;
  // a provider may read a form or a compressed body, but the gateway can't
  const value = isWhole && !isForm(headers) ? parseJson(bytes.toString()) : undefined;
  const needs = `needs a JSON body of at most ${http.replay_bytes} bytes`;
  if (isOfMcp) return isRecord(value) ? undefined : `a message to an MCP server ${needs}, with one call`;
  return value !== undefined || (isWhole && bytes.length === 0) ? undefined : `a job ${needs}`;
}

/** Reads the size of a job from a number or a list in the request's body. */
export function amountIn(body: string, path: string): number | undefined {
  const value = at(parseJson(body), path);
  const amount = Array.isArray(value) ? value.length : value;
  return typeof amount === 'number' && amount > 0 ? amount : undefined;
}

/** Returns the name that stores a brief job. */
export function briefly(id: string): string {
  return `${REQUEST}${id}`;
}

/** Returns the parts of a path that may be a job's id. */
export function partsOf(path: string): string[] {
  return path.split('/').filter(part => part.length >= 8);
}

/**
 * Converts an address of the provider to the gateway's, or returns `undefined` for another host. The protocol is ignored, because
 * providers answer with the request's host but always with `https:`.
 */
export function atGateway(text: string, http: HttpProvider, url: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { base, bases, mcp } = http;
  const { host, pathname, search } = new URL(text);
  const known = [base, ...bases.map(each => each.base), ...(mcp ? [mcp.base] : [])];
  const own = known.filter(each => new URL(each).host === host).map(each => pathOfBase(each, http));
  const path = own.find(each => pathname.startsWith(`${each}/`) || pathname === each);
  return path === undefined ? undefined : `${url}${pathname.slice(path.length)}${search}`;
}

/** Events after which a message has more to read, or has ended. */
const EVENTS = ['readable', 'end', 'close', 'error'] as const;

/** The start of a message. */
export interface Start {
  bytes: Buffer;
  /** True if `bytes` is the whole message, which can then be sent again. */
  isWhole: boolean;
}

/** Reads the start of a message, up to a limit in bytes and for at most `ms`. The rest stays in the stream. */
export async function readStart(message: IncomingMessage, limit: number, ms?: number): Promise<Start> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const end = ms === undefined ? undefined : Date.now() + ms;
  for (;;) {
    const chunk = message.read() as Buffer | null;
    if (chunk) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > limit) break;
    } else if (message.complete)
      return { bytes: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks), isWhole: true };
    else if (message.destroyed) break;
    else if (!(await isReadable(message, end && end - Date.now()))) break;
  }
  return { bytes: Buffer.concat(chunks), isWhole: false };
}

/** Waits for more data or the end. @returns false after `ms` */
function isReadable(message: IncomingMessage, ms: number | undefined): Promise<boolean> {
  return new Promise(resolve => {
    const settle = (more: boolean) => () => {
      clearTimeout(timer);
      for (const event of EVENTS) message.off(event, onMore);
      resolve(more);
    };
    const onMore = settle(true);
    const timer = ms === undefined ? undefined : setTimeout(settle(false), Math.max(0, ms));
    for (const event of EVENTS) message.once(event, onMore);
  });
}
