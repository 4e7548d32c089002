/**
 * Inserts the key in the places of a request where the provider expects it. A placeholder in any other place stays, because a
 * program could otherwise make the provider pass the key on, for example in an address that it fetches.
 */
import type { IncomingMessage } from 'node:http';
import { isRecord } from '../../daemon/core/shape.ts';
import type { HttpProvider } from '../catalog/programs.ts';
import { parseJson } from '../run/rules/classify.ts';
import { JsonPass } from './json-pass.ts';

/** Returns the value of the header that carries the key. */
export function keyValue({ key_header, key_scheme }: HttpProvider, key: string): string {
  return key_header === 'authorization' ? `${key_scheme} ${key}` : key;
}

/** Reports whether a header, in lowercase, may contain a user's key. A provider's programs use several headers. */
export function isKeyHeader(name: string): boolean {
  return name === 'authorization' || name.endsWith('api-key');
}

/** Reports whether an address belongs to the provider's MCP server, with or without a key. */
export function isForMcp(target: string, { mcp }: Pick<HttpProvider, 'mcp'>, key: string): boolean {
  if (!mcp) return false;
  const own = partsIn(mcp.address).filter(part => part !== '{key}');
  const asked = partsIn(target).filter(part => part !== key);
  return own.length === asked.length && own.every((part, index) => part === asked[index]);
}

/** Returns the text at the place of `{key}` in an address of the MCP server, or `''` if there is no such text. */
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

/** Returns the values of the parameter that carries a program's key in an address of the provider, decoded. */
export function parameterIn(target: string, { key_parameter: name }: Pick<HttpProvider, 'key_parameter'>): string[] {
  return name === undefined ? [] : new URLSearchParams(queryOf(target).join('&')).getAll(name);
}

/**
 * Inserts a key in an address of the provider or of its MCP server. In the path, it replaces the placeholder; in a parameter, it
 * replaces any text, which may be an old key.
 * @param key the key, encoded for an address
 */
export function withKeyInAddress(target: string, http: HttpProvider, placeholder: string, key: string): string {
  const [path = ''] = target.split('?', 1);
  const isOfMcp = isForMcp(target, http, placeholder);
  const name = isOfMcp ? parameterOf(http.mcp?.address ?? '') : `${http.key_parameter ?? ''}=`;
  if (name.length > 1) {
    if (path === target) return target;
    return `${path}?${queryOf(target)
      .map(text => (nameIn(text) === name ? `${name}${key}` : text))
      .join('&')}`;
  }
  if (!path.includes(placeholder) || keyIn(target, http) !== placeholder) return target;
  const parts = path.split('/').map(part => (part === placeholder ? key : part));
  return `${parts.join('/')}${target.slice(path.length)}`;
}

/** Inserts a key in the body's top-level key field. It replaces any text there, which may be an old key. */
export function withKeyInBody(body: Buffer, { key_field: field }: HttpProvider, key: string): Buffer {
  if (field === undefined || !isRecord(parseJson(body.toString()))) return body;
  const json = new JsonPass([field], () => key);
  return Buffer.concat([json.write(body), json.end()]);
}

/** Reports whether the name of a header, a parameter or an option suggests a key, for any provider. */
export function isKeyPlace(name: string): boolean {
  return isKeyHeader(name.toLowerCase()) || KEY_PARAMETER.test(name);
}

/** Matches names of parameters that carry a key, for any provider. */
const KEY_PARAMETER = /^(?:key|token)$|authorization$|(?:api|auth|access).?(?:key|token)$/i;

/** Data of a program's request, and the key for the provider. */
interface Keyed {
  /** The body, or `undefined` if it was not read completely. */
  body: Buffer | undefined;
  http: HttpProvider;
  placeholder: string;
  key: string;
}

/**
 * Reports whether a request may contain a key besides the account's. A refusal then says nothing about the account, which must
 * stay available to other programs.
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
  const value = body && !isForm(headers) ? parseJson(withKeyInBody(body, http, key).toString()) : undefined;
  return value === undefined || (isRecord(value) && Object.hasOwn(value, field) && value[field] !== key);
}

/** Reports whether a subprotocol has the form of a key and does not contain the placeholder. */
function isOtherKey(protocol: string, { http: { key_prefix: prefix }, placeholder }: Keyed): boolean {
  const texts = textsIn(protocol);
  const isKey = texts.some(text => prefix !== '' && text.startsWith(prefix)) || isKeyHeader(protocol.split('.', 1)[0]!);
  return isKey && !texts.includes(placeholder);
}

/** Reports whether the content type of a body is a form. */
export function isForm(headers: IncomingMessage['headers']): boolean {
  return /^(?:application\/x-www-form-urlencoded|multipart\/)/i.test(headers['content-type'] ?? '');
}

/** Replaces the placeholder with a key in a websocket's subprotocols, either alone or after a word and a dot. */
export function withKeyInProtocols(protocols: string, placeholder: string, key: string): string {
  const own = protocolsIn(protocols).map(text =>
    textsIn(text).includes(placeholder) ? `${text.slice(0, text.length - placeholder.length)}${key}` : text,
  );
  return own.join(', ');
}

/** Returns possible placeholders in a websocket's subprotocols, for programs that can't set a header. */
export function keysInProtocols(protocols: string): string[] {
  return protocolsIn(protocols).flatMap(textsIn);
}

function protocolsIn(protocols: string): string[] {
  return protocols.split(',').map(text => text.trim());
}

/** Returns a subprotocol, and its part after a dot, because a word and a dot may precede the key. */
function textsIn(protocol: string): string[] {
  return [protocol, protocol.slice(protocol.indexOf('.') + 1)];
}

/** Returns the name of a parameter with its `=`, decoded: `api%5Fkey=x` means `api_key=`. */
function nameIn(parameter: string): string {
  const [name = ''] = new URLSearchParams(parameter).keys();
  return `${name}=`;
}

function partsIn(target: string): string[] {
  return target.split('?', 1)[0]!.split('/').filter(Boolean);
}

function queryOf(target: string): string[] {
  const start = target.indexOf('?');
  return start < 0 ? [] : target.slice(start + 1).split('&');
}

/** Returns the start of the parameter with the key in an address, such as `tavilyApiKey=`. */
function parameterOf(address: string): string {
  return /[?&]([^&]+=)\{key\}/.exec(address)?.[1] ?? '';
}
