/**
 * Finds the places of a request in which the provider expects its key, and puts the key there. Anywhere else a placeholder stays what
 * it is: a program could otherwise have the provider send the key on, for example in an address that it asks the provider to read.
 */
import type { HttpProvider } from '../catalog/provider.ts';
import { parseJson } from '../run/rules/classify.ts';
import { isRecord } from '../system/shape.ts';
import { JsonPass } from './json-pass.ts';

/** The value of the key's header. */
export function keyValue({ key_header, key_scheme }: HttpProvider, key: string): string {
  return key_header === 'authorization' ? `${key_scheme} ${key}` : key;
}

/** Reports whether a header, in small letters, may hold a key of a person. Programs of one provider use several. */
export function isKeyHeader(name: string): boolean {
  return name === 'authorization' || name.endsWith('api-key');
}

/** Reports whether an address is the one of the provider's MCP server, with or without a key in it. */
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

/** The address with a key in place of the placeholder, if that is where the MCP server's address has it. */
export function withKeyInAddress(target: string, http: HttpProvider, placeholder: string, key: string): string {
  if (!target.includes(placeholder) || keyIn(target, http) !== placeholder) return target;
  const [path = ''] = target.split('?', 1);
  const name = parameterOf(http.mcp!.address);
  const replaced = (text: string, own: string) => (text === `${own}${placeholder}` ? `${own}${key}` : text);
  if (name === '')
    return `${path
      .split('/')
      .map(part => replaced(part, ''))
      .join('/')}${target.slice(path.length)}`;
  return `${path}?${queryOf(target)
    .map(text => replaced(text, name))
    .join('&')}`;
}

/** The body with a key in place of the placeholder, if that is the value of the field at its top that the provider reads. */
export function withKeyInBody(body: Buffer, { key_field: field }: HttpProvider, placeholder: string, key: string) {
  if (field === undefined || !body.includes(placeholder)) return body;
  if (!isRecord(parseJson(body.toString()))) return body;
  const json = new JsonPass([field], (_path, value) => (value === placeholder ? key : undefined));
  return Buffer.concat([json.write(body), json.end()]);
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
