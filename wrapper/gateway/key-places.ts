/**
 * Finds the places of a request in which the provider expects its key, and puts the key there. Anywhere else a placeholder stays:
 * otherwise a program could make the provider send the key on, for example in an address that the provider is to read.
 */
import type { IncomingMessage } from 'node:http';
import { isRecord } from '../../daemon/core/shape.ts';
import type { HttpProvider } from '../catalog/programs.ts';
import { parseJson } from '../run/rules/classify.ts';
import { JsonPass } from './json-pass.ts';

/** The value of the key's header. */
export function keyValue({ key_header, key_scheme }: HttpProvider, key: string): string {
  return key_header === 'authorization' ? `${key_scheme} ${key}` : key;
}

/** Reports whether a header, in small letters, may hold a key of a person. Programs of one provider use several. */
export function isKeyHeader(name: string): boolean {
  return name === 'authorization' || name.endsWith('api-key');
}

/** Reports whether an address is that of the provider's MCP server, with or without a key in it. */
export function isForMcp(target: string, { mcp }: Pick<HttpProvider, 'mcp'>, key: string): boolean {
  if (!mcp) return false;
  const own = partsIn(mcp.address).filter(part => part !== '{key}');
  const asked = partsIn(target).filter(part => part !== key);
  return own.length === asked.length && own.every((part, index) => part === asked[index]);
}

/** The text in place of `{key}` in an address of the MCP server, or `''` for none. */
export function keyIn(target: string, { mcp }: Pick<HttpProvider, 'mcp'>): string {
  if (!mcp) return '';
  const [parts, own] = [partsIn(target), partsIn(mcp.address)];
  const place = own.indexOf('{key}');
  const name = parameterOf(mcp.address);
  const inPath = parts.length === own.length ? parts[place] : undefined;
  const inQuery = queryOf(target).find(text => name !== '' && text.startsWith(name));
  const key = inPath ?? inQuery?.slice(name.length) ?? '';
  return isForMcp(target, { mcp }, key) ? key : '';
}

/**
 * The address with a key where the MCP server's address has it: in a path in place of the placeholder, in a parameter in place of any
 * text, which may be an old key.
 */
export function withKeyInAddress(target: string, http: HttpProvider, placeholder: string, key: string): string {
  const [path = ''] = target.split('?', 1);
  const name = parameterOf(http.mcp?.address ?? '');
  if (name !== '') {
    if (path === target || !isForMcp(target, http, placeholder)) return target;
    return `${path}?${queryOf(target)
      .map(text => (text.startsWith(name) ? `${name}${key}` : text))
      .join('&')}`;
  }
  if (!path.includes(placeholder) || keyIn(target, http) !== placeholder) return target;
  const parts = path.split('/').map(part => (part === placeholder ? key : part));
  return `${parts.join('/')}${target.slice(path.length)}`;
}

/** The body with a key in the field at its top that the provider reads, in place of any text, which may be an old key. */
export function withKeyInBody(body: Buffer, { key_field: field }: HttpProvider, key: string): Buffer {
  if (field === undefined || !isRecord(documentIn(body))) return body;
  const json = new JsonPass([field], () => key);
  return Buffer.concat([json.write(body), json.end()]);
}

/** Reports whether a header, a parameter or an option has a name that stands for a key, whatever the provider. */
export function isKeyPlace(name: string): boolean {
  return isKeyHeader(name.toLowerCase()) || KEY_PARAMETER.test(name);
}

/** Parameters in which a key is sent, whatever the provider. */
const KEY_PARAMETER = /^(?:key|token)$|authorization$|(?:api|auth|access).?(?:key|token)$/i;

/** A request of a program, and the key with which it goes out. */
interface Keyed {
  /** `undefined` where it was not read whole. */
  body: Buffer | undefined;
  http: HttpProvider;
  placeholder: string;
  key: string;
}

/**
 * Reports whether a provider may find another key in a request than the account's. Its refusal then says nothing about that account,
 * which other programs need.
 */
export function mayHoldOtherKey({ url = '/', headers }: IncomingMessage, keyed: Keyed): boolean {
  const { http, placeholder, key } = keyed;
  const encoded = encodeURIComponent(key);
  const inAddress = new URLSearchParams(queryOf(withKeyInAddress(url, http, placeholder, encoded)).join('&'));
  if ([...inAddress].some(([name, value]) => KEY_PARAMETER.test(name) && value !== key)) return true;
  const protocols = headers.upgrade ? (headers['sec-websocket-protocol'] ?? '') : '';
  return isOtherInBody(headers, keyed) || protocolsIn(protocols).some(text => isOtherKey(text, keyed));
}

function isOtherInBody(headers: IncomingMessage['headers'], { body, http, key }: Keyed): boolean {
  const { key_field: field } = http;
  if (field === undefined || body?.length === 0) return false;
  const value = body && !isForm(headers) ? documentIn(withKeyInBody(body, http, key)) : undefined;
  return value === undefined || (isRecord(value) && Object.hasOwn(value, field) && value[field] !== key);
}

/** Reports whether a subprotocol is a key by its form, and not the placeholder. */
function isOtherKey(protocol: string, { http: { key_prefix: prefix }, placeholder }: Keyed): boolean {
  const texts = textsIn(protocol);
  const isKey = texts.some(text => prefix !== '' && text.startsWith(prefix)) || isKeyHeader(protocol.split('.', 1)[0]!);
  return isKey && !texts.includes(placeholder);
}

/** Reports whether a body is a form, whatever it looks like. */
export function isForm(headers: IncomingMessage['headers']): boolean {
  return /^(?:application\/x-www-form-urlencoded|multipart\/)/i.test(headers['content-type'] ?? '');
}

/** A JSON document, which some programs begin with a byte order mark. */
function documentIn(body: Buffer): unknown {
  return parseJson(body.toString().replace(/^\uFEFF/, ''));
}

/** The subprotocols of a websocket with a key in place of the placeholder, alone or behind a word and a dot. */
export function withKeyInProtocols(protocols: string, placeholder: string, key: string): string {
  const own = protocolsIn(protocols).map(text =>
    textsIn(text).includes(placeholder) ? `${text.slice(0, text.length - placeholder.length)}${key}` : text,
  );
  return own.join(', ');
}

/** Texts that may be the placeholder in the subprotocols of a websocket: programs in which no header can be set send it there. */
export function keysInProtocols(protocols: string): string[] {
  return protocolsIn(protocols).flatMap(textsIn);
}

function protocolsIn(protocols: string): string[] {
  return protocols.split(',').map(text => text.trim());
}

/** A protocol may have a word and a dot before the key. */
function textsIn(protocol: string): string[] {
  return [protocol, protocol.slice(protocol.indexOf('.') + 1)];
}

function partsIn(target: string): string[] {
  return target.split('?', 1)[0]!.split('/').filter(Boolean);
}

function queryOf(target: string): string[] {
  const start = target.indexOf('?');
  return start < 0 ? [] : target.slice(start + 1).split('&');
}

/** Start of the parameter of an address that holds the key, such as `tavilyApiKey=`. */
function parameterOf(address: string): string {
  return /[?&]([^&]+=)\{key\}/.exec(address)?.[1] ?? '';
}
