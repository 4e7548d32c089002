// Points a client's entry for a provider's HTTP MCP server at the gateway, and restores it.

import { sha256 } from '../../daemon/core/hash.ts';
import { isRecord, isText } from '../../daemon/core/shape.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { HttpProvider } from '../catalog/programs.ts';
import { isForMcp, keyIn } from '../gateway/key-places.ts';
import { accountIn, isKey } from '../store/key-texts.ts';
import type { Original, Originals } from './record.ts';

/** Fields in which clients keep a server's address; programs such as `mcp-remote` take the address as an argument. */
export const FIELDS = ['url', 'serverUrl', 'httpUrl'];
const ARGUMENT = /^\d+$/;
/** A header as an argument: its name and its value. */
export const HEADER = /^([^:]+):\s*(.*)$/;
/** Stand-ins for a key and for a placeholder in output. */
const KEY = '<key>';
export const PLACEHOLDER = '<placeholder>';

/** Address of a gateway, and the placeholder that one client sends instead of a key. */
export interface Door {
  url: string;
  placeholder: string;
}

/** The parts of an entry that change. */
interface Address {
  url: string;
  headers?: Record<string, string>;
}

/** A change of an address as people see it, without keys and placeholders. */
export interface AddressChange {
  before: Address;
  after: Address;
  /** The tool whose gateway it is. */
  cli: string;
  /** `['key']` if the change moves a key itself, and not only a client's variable for it. */
  keys: string[];
}

/** A header of an entry. `place`: its index, if it is an argument. */
interface Header {
  name: string;
  value: string;
  place?: string;
}

/** A provider's address in an entry, with its keys. */
interface Remote extends Original {
  field: string;
  header: Header | undefined;
}

/**
 * Points an entry at a gateway if it has an address from the catalog and a key. The arguments of a program also count as an
 * entry, with their indexes as names.
 * @param doorOf returns a tool's gateway with a placeholder for this entry, or `undefined` if the entry keeps its key
 */
export function putBehind(
  entry: Record<string, unknown>,
  { providers }: Pick<Catalog, 'providers'>,
  doorOf: (cli: string, original: Original) => Door | undefined,
): AddressChange | undefined {
  for (const [cli, { http }] of Object.entries(providers)) {
    const remote = http && find(entry, http);
    if (!remote) continue;
    const { field, header, url, inUrl, inHeader } = remote;
    const door = doorOf(cli, { url, inUrl, inHeader });
    if (!door) return undefined;
    const at = (base: string, text: string): Address => ({
      url: replaced(`${base}${targetOf(url)}`, inUrl, text),
      ...headers(header, inHeader, text),
    });
    assign(entry, field, at(door.url, door.placeholder));
    return {
      before: at(originOf(url), KEY),
      after: at(door.url, PLACEHOLDER),
      cli,
      keys: isKey(inUrl || inHeader) ? ['key'] : [],
    };
  }
  return undefined;
}

/** Finds the tool whose MCP server an entry connects to, and the place of a key there. */
export function toolOf(
  entry: Record<string, unknown>,
  { providers }: Pick<Catalog, 'providers'>,
): { cli: string; place: string } | undefined {
  const origins = fieldsOf(entry).map(field => originOf(String(entry[field])).toLowerCase());
  for (const [cli, { http }] of Object.entries(providers)) {
    if (!http?.mcp || !origins.includes(http.mcp.base)) continue;
    const { base, address } = http.mcp;
    const place = address.includes('{key}') ? `as in ${base}${address}` : `in the header ${http.key_header}`;
    return { cli, place };
  }
  return undefined;
}

/**
 * Restores an entry that `putBehind` changed.
 * @param swapKey returns the key for a reference to an account
 */
export function takeOut(
  entry: Record<string, unknown>,
  originals: Originals,
  swapKey: (text: string) => string,
): AddressChange | undefined {
  const all = headersIn(entry);
  for (const field of fieldsOf(entry)) {
    const now = entry[field];
    if (!isText(now) || !now.startsWith('http://127.0.0.1:')) continue;
    const words = [now, ...all.map(({ value }) => value)].flatMap(text => text.split(/[ /?&=]/));
    const placeholder = words.find(word => Object.hasOwn(originals, sha256(word)));
    if (placeholder === undefined) continue;
    const kept = originals[sha256(placeholder)]!;
    const { cli, url, inUrl, inHeader } = withKeys(kept, swapKey);
    const header = all.find(({ value }) => value.includes(placeholder));
    const at = (text: string, own: string): Address => ({ url: text, ...headers(header, placeholder, own) });
    assign(entry, field, at(url, inHeader));
    const before = at(replaced(now, placeholder, PLACEHOLDER), PLACEHOLDER);
    return {
      before,
      after: at(replaced(url, inUrl, KEY), KEY),
      cli,
      keys: accountIn(kept.inUrl || kept.inHeader) ? ['key'] : [],
    };
  }
  return undefined;
}

/** Replaces the keys of an original with references to accounts, or such references with their keys. */
export function withKeys<T extends Original>(original: T, swap: (text: string) => string): T {
  const [inUrl, inHeader] = [swap(original.inUrl), swap(original.inHeader)];
  return { ...original, url: replaced(original.url, original.inUrl, inUrl), inUrl, inHeader };
}

function fieldsOf(entry: Record<string, unknown>): string[] {
  return [...FIELDS, ...Object.keys(entry).filter(name => ARGUMENT.test(name))];
}

function find(entry: Record<string, unknown>, http: HttpProvider): Remote | undefined {
  const header = headersIn(entry).find(({ name }) => name.toLowerCase() === http.key_header);
  const inHeader = header?.value.replace(/^[A-Za-z-]+ +/, '') ?? '';
  for (const field of fieldsOf(entry)) {
    const url = entry[field];
    if (!http.mcp || !isText(url) || originOf(url).toLowerCase() !== http.mcp.base) continue;
    const inUrl = keyIn(targetOf(url), http);
    if ((inUrl || inHeader) && isForMcp(targetOf(url), http, inUrl)) return { field, header, url, inUrl, inHeader };
  }
  return undefined;
}

/** Scheme and host of an address, which may contain variables of the client. */
export function originOf(url: string): string {
  return /^https?:\/\/[^/?#]+/i.exec(url)?.[0] ?? '';
}

/** Path and query of an address. */
export function targetOf(url: string): string {
  return url.slice(originOf(url).length);
}

function headersIn(entry: Record<string, unknown>): Header[] {
  const all = isRecord(entry.headers) ? Object.entries(entry.headers) : [];
  return [...all.flatMap(([name, value]) => (isText(value) ? { name, value } : [])), ...headersInArguments(entry)];
}

/** Headers of `mcp-remote`: `--header NAME:VALUE`. */
function headersInArguments(entry: Record<string, unknown>): Header[] {
  return Object.entries(entry).flatMap(([place, text]) => {
    if (!ARGUMENT.test(place) || entry[Number(place) - 1] !== '--header' || !isText(text)) return [];
    const [, name, value] = HEADER.exec(text) ?? [];
    return name === undefined || value === undefined ? [] : { name, value, place };
  });
}

function headers(header: Header | undefined, old: string, own: string): Pick<Address, 'headers'> {
  return header ? { headers: { [header.name]: replaced(header.value, old, own) } } : {};
}

/** Changes values in place, so that the entry keeps its order. */
function assign(entry: Record<string, unknown>, field: string, { url, headers: own }: Address): void {
  entry[field] = url;
  if (isRecord(entry.headers)) Object.assign(entry.headers, own);
  for (const { name, value, place } of headersInArguments(entry)) {
    const text = String(entry[place!]);
    if (own?.[name] !== undefined) entry[place!] = `${text.slice(0, text.length - value.length)}${own[name]}`;
  }
}

function replaced(text: string, old: string, own: string): string {
  return old === '' ? text : text.replaceAll(old, () => own);
}
