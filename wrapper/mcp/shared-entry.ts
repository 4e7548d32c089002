// Checks an entry that a project's authors wrote, and hides the keys in it for display.
import { isRecord, isText, listOf } from '../../daemon/core/shape.ts';
import type { Provider } from '../catalog/provider.ts';
import { isKeyPlace, keyIn } from '../gateway/key-places.ts';
import { accountIn } from '../store/key-texts.ts';
import { packageAt } from './entry.ts';
import { FIELDS, HEADER, originOf, targetOf } from './remote.ts';

const HIDDEN = '***';

const isTexts = listOf(isText);
const isTextTable = (value: unknown) => isRecord(value) && Object.values(value).every(isText);
const isSetting = (value: unknown) => !isRecord(value);

/**
 * Allowed fields of the clients' entries, with the form of their values. Other fields can start a program or read a file: the
 * `headersHelper` of Claude Code is a shell command, the `envFile` of VS Code and Cursor sets variables, npx searches the `cwd`
 * first, and clients may add more such fields.
 */
const HARMLESS = new Map<string, (value: unknown) => boolean>([
  ...[...FIELDS, 'type', 'transport', 'transportType', 'command', 'name', 'description'].map(
    field => [field, isText] as const,
  ),
  ['args', isTexts],
  ['env', isTextTable],
  ['headers', isTextTable],
  ...[
    'timeout',
    'disabled',
    'enabled',
    'trust',
    'includeTools',
    'excludeTools',
    'tools',
    'autoApprove',
    'alwaysAllow',
  ].map(field => [field, isSetting] as const),
]);

/** Fields that say what a client starts or connects to. A client may prefer a different field than Culvert does. */
const TARGETS = ['command', ...FIELDS];

/** The start of an address. `mcp-remote` connects to its first argument. */
const ADDRESS = /^\s*[a-z][a-z0-9+.-]*:\/\//i;

/**
 * Returns why an entry of a project gets no accounts, or `undefined` if nothing in it can start another program or lead elsewhere.
 * Only the tool's variables are harmless: a loader, a runtime, a package manager or a TLS library may read any other variable.
 */
export function refusalOf(entry: Record<string, unknown>, provider: Provider): string | undefined {
  const field = Object.keys(entry).find(name => !HARMLESS.has(name));
  if (field !== undefined)
    return `its "${field}" may start a program, which would get the key: remove it, then repeat this`;
  const odd = Object.keys(entry).find(name => !HARMLESS.get(name)!(entry[name]));
  if (odd !== undefined)
    return `its "${odd}" does not have the usual form, so a client may read something else there: correct it, then repeat this`;
  const variables = variablesOf(provider);
  const variable = Object.keys(isRecord(entry.env) ? entry.env : {}).find(name => !variables.includes(name));
  if (variable !== undefined)
    return `its variable ${variable} may choose another program or server, which would get the key: remove it from "env", then repeat this`;
  const targets = TARGETS.filter(name => Object.hasOwn(entry, name));
  if (targets.length > 1)
    return `it has ${targets.join(' and ')}, of which the client may use another one: remove all but one, then repeat this`;
  const line = [entry.command, ...(Array.isArray(entry.args) ? entry.args : [])].map(String);
  const at = packageAt(line, 'mcp-remote');
  const behind = at === undefined ? [] : line.slice(at + 1);
  const fields = Object.values(entry).filter(value => isText(value) && ADDRESS.test(value));
  if (fields.length + behind.filter(word => word.includes('://')).length > 1)
    return 'it has several addresses, of which the client may use another one: remove all but one, then repeat this';
  if (at !== undefined && !ADDRESS.test(behind[0] ?? ''))
    return 'its address is not the first word after the package: move it there, then repeat this';
  return undefined;
}

/** Returns the variables that a tool's server reads. A variable that names a host is checked when the key would be sent there. */
function variablesOf({ inject, credentials, hosts }: Provider): string[] {
  return [...inject, ...credentials, ...hosts.env];
}

/**
 * Returns an entry with its keys hidden: the values in places for a key, and any text that looks like a key. Nothing else is
 * hidden, because the project's authors chose the texts.
 */
export function withoutKeys(entry: Record<string, unknown>, provider: Provider): Record<string, unknown> {
  const { inject, credentials, http } = provider;
  const variables = [...inject, ...credentials];
  const prefix = http?.key_prefix;
  const key = prefix ? new RegExp(`(?<![\\w-])${prefix.replace(/\W/g, '\\$&')}[\\w-]{12,}`, 'g') : undefined;
  const hideText = (text: string) => {
    const shown = text.replace(/https?:\/\/[^\s"']+/gi, address => withoutKey(address, http));
    return key ? shown.replace(key, prefix + HIDDEN) : shown;
  };
  const hide = (value: unknown): unknown => {
    if (isText(value)) return hideText(value);
    if (Array.isArray(value)) return hiddenOptions(value).map(hide);
    return isRecord(value) ? hideIn(value, () => false) : value;
  };
  const hideIn = (record: Record<string, unknown>, isPlace: (name: string) => boolean): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        name,
        isText(value) && isPlace(name) ? hiddenValue(value) : hide(value),
      ]),
    );
  const shown = hideIn(entry, () => false);
  if (isRecord(entry.env)) shown.env = hideIn(entry.env, name => variables.includes(name));
  if (isRecord(entry.headers)) shown.headers = hideIn(entry.headers, isKeyPlace);
  return shown;
}

/** Returns a hidden value for a place for a key. A reference stays visible, because it contains no key. */
function hiddenValue(value: string): string {
  const [, scheme, text] = /^(\s*(?:bearer|basic|token)\s+)?(.*)$/is.exec(value)!;
  const isReference = text === '' || /^\$(?:\w+|\{[^{}]*\})$/.test(text!) || accountIn(text!) !== undefined;
  return isReference ? value : `${scheme ?? ''}${HIDDEN}`;
}

/** Hides the keys in options such as `--header "Authorization: …"`, `--header=…` and `--api-key …`. */
function hiddenOptions(words: readonly unknown[]): unknown[] {
  const isForHeader = (option: unknown) => option === '--header';
  const isForKey = (option: unknown) => isText(option) && /^--[\w-]+$/.test(option) && isKeyPlace(option.slice(2));
  return words.map((word, index) => {
    if (!isText(word)) return word;
    const before = words[index - 1];
    if (isForHeader(before)) return hiddenHeader(word);
    if (isForKey(before) && !word.startsWith('-')) return hiddenValue(word);
    const [, option = '', value = ''] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? [];
    if (isForHeader(option)) return `${option}=${hiddenHeader(value)}`;
    return isForKey(option) ? `${option}=${hiddenValue(value)}` : word;
  });
}

function hiddenHeader(text: string): string {
  const [, name, value] = HEADER.exec(text) ?? [];
  if (name === undefined || value === undefined || !isKeyPlace(name.trim())) return text;
  return `${text.slice(0, text.length - value.length)}${hiddenValue(value)}`;
}

/** Hides the keys in an address: in its parameters, and in the path if it leads to the provider's server or its gateway. */
function withoutKey(address: string, http: Provider['http']): string {
  const inQuery = address.replace(/(?<=[?&])([^=&#]+)=([^&#]+)/g, (all, name: string, value: string) =>
    isKeyPlace(name) ? `${name}=${hiddenValue(value)}` : all,
  );
  const origin = originOf(inQuery);
  const isOwn = origin.toLowerCase() === http?.mcp?.base || origin.startsWith('http://127.0.0.1:');
  const key = http && isOwn ? keyIn(targetOf(inQuery), http) : '';
  return key === '' ? inQuery : `${origin}${targetOf(inQuery).replaceAll(key, () => hiddenValue(key))}`;
}
