// Defines the interface of a tool, and reads and sets keys in settings files with bracketed sections and one key per line.
import { existsSync } from 'node:fs';
import type { Message } from '../../api/values.ts';
import { findProgram } from '../../core/run-helper.ts';
import type { SystemList } from '../certificates.ts';
import { textOf } from '../journal.ts';
import type { Command, Target } from '../probe.ts';

/** The environment, directories and system list that a tool uses. */
export interface Look {
  /** The environment of the next session: the present environment plus the variables that Culvert set. */
  env: NodeJS.ProcessEnv;
  home: string;
  /** XDG_CONFIG_HOME. */
  config: string;
  /** A directory in place of `/`, or an empty string. */
  root: string;
  system: SystemList | null;
  /** Returns a program's output if it succeeds, or null. */
  ask(program: string, ...args: string[]): Promise<string | null>;
}

/** The authorities that a tool uses now. */
export interface List {
  /** Files that the tool reads. */
  files: string[];
  /** True if the tool has a built-in list. */
  ownList: boolean;
  /** Certificates from a store such as a database. */
  text?: string;
  /** Certificates in any of the tool's stores. */
  someText?: string;
}

/** Name of one of Culvert's two lists. */
export type ListName = 'extra' | 'bundle';

/** A change that makes a tool trust the organization. */
export type Wanted =
  | { kind: 'variable'; name: string; list: ListName }
  /** Directories of NSS databases. */
  | { kind: 'nss'; directories: string[] }
  | {
      kind: 'setting';
      path: string;
      section: string | null;
      key: string;
      list: ListName;
      /** Returns the line for the path of the list. */
      line(path: string): string;
    };

export interface Tool {
  /** Stable identifier, such as `node`. */
  id: string;
  title: string;
  /** Names of the tool's program. The first installed program counts. Empty for a tool without a program. */
  programs: readonly string[];
  /** Returns the tool's list, or null if the tool is missing although the program exists. */
  list(program: string, look: Look): Promise<List | null>;
  /** Returns a command that sends a request to an address. A tool without this method is judged by its list alone. */
  connect?(target: Target, look: Look): Omit<Command, 'program' | 'env'> & { env?: NodeJS.ProcessEnv };
  /** Leading arguments for a tool that finds the user's settings even without its environment. */
  noSettings?: readonly string[];
  /** Makes the same command use this file in place of its list. */
  instead?(file: string, list: List): Instead;
  /** Returns the change. It is absent or null if this user can't make a change. */
  wanted?(look: Look, list: List): Wanted | null;
  /** Returns commands for an administrator. @param file the certificate's file @param name the certificate's name */
  administrator?(file: string, name: string, look: Look): string[];
  /** Advice if verification is off. */
  offHint: Message | null;
}

/** The part of a command that names a list. */
export interface Instead {
  env?: NodeJS.ProcessEnv;
  args?: readonly string[];
}

/** Returns the path of the first of these programs in PATH, or null. */
export function firstProgram(names: readonly string[], { PATH = '' }: NodeJS.ProcessEnv): string | null {
  return names.map(name => findProgram(name, PATH)).find(file => file !== null) ?? null;
}

/** Returns the list of OpenSSL and of tools that read the same list. */
export const opensslList = ({ env, system }: Look): List => ({
  files: [env.SSL_CERT_FILE || system?.path || ''].filter(Boolean),
  ownList: false,
});

/** Returns a list with the first of these files, or else the fallback. */
export const named = (files: (string | null | undefined)[], fallback: string | undefined): List => ({
  files: [files.find(Boolean) ?? fallback ?? ''].filter(Boolean),
  ownList: false,
});

export const variable = (name: string, list: ListName): Wanted => ({ kind: 'variable', name, list });

/** Returns the value of a setting in a file, or null if it is not set. */
export const setIn = (path: string, setting: { section: string | null; key: string }): string | null =>
  valueIn(textOf(path) ?? '', setting);

/** Returns the first existing file, or else the last path. */
export const firstThere = (paths: string[]) => paths.find(path => existsSync(path)) ?? paths.at(-1)!;

/** Returns the list of Node, which adds files to a built-in list. @param program path of Node */
export async function nodeList(program: string | null, look: Look): Promise<List> {
  const { env, system } = look;
  const usesSystem =
    /--use-(system|openssl)-ca\b/.test(env.NODE_OPTIONS ?? '') ||
    (env.NODE_USE_SYSTEM_CA === '1' && program !== null && (await readsSystemVariable(program, look)));
  return {
    files: [env.NODE_EXTRA_CA_CERTS, usesSystem ? env.SSL_CERT_FILE || system?.path : null].flatMap(path => path || []),
    ownList: true,
  };
}

/** True if Node reads NODE_USE_SYSTEM_CA (22.19 and newer, 24.6 and newer). */
async function readsSystemVariable(program: string, look: Look): Promise<boolean> {
  const [major = 0, minor = 0] = ((await look.ask(program, '-p', 'process.versions.node')) ?? '')
    .split('.')
    .map(Number);
  return major > 24 || (major === 24 && minor >= 6) || (major === 22 && minor >= 19);
}

/** Returns a change that adds a line with Culvert's list to a settings file. */
export const setting = (
  path: string,
  { section = null, key }: { section?: string | null; key: string },
  line: (path: string) => string,
): Wanted => ({ kind: 'setting', path, section, key, list: 'bundle', line });

/** A setting's key, in a section or outside all sections. */
export interface Setting {
  section: string | null;
  key: string;
}

/** Returns a setting's value without quotes, or null. The last value counts, as in the tools themselves. */
export function valueIn(text: string, setting: Setting): string | null {
  const value = linesOf(text, setting).values.at(-1);
  return value === undefined ? null : value.trim().replace(/^(["'])(.*)\1$/, '$2');
}

/**
 * Returns the path in a setting's value for display. Hides any other text, because it is from the user's file.
 */
export function shownPath(value: string): string {
  if (existsSync(value)) return value;
  const [path] = /^(?:~|\$\w+)?\.{0,2}\/[^\s:@]*(?=\s|$)/.exec(value) ?? [];
  return path === value ? path : `${path ?? ''}…`;
}

/** Returns the text with a new line in its section. The setting must not exist yet. */
export function withLine(text: string, { section, key }: Setting, line: string): string {
  const lines = text === '' ? [] : ended(text).split('\n').slice(0, -1);
  const { header } = linesOf(text, { section, key });
  // settings outside all sections come before the first section
  if (section === null) {
    const first = lines.findIndex(each => HEADER.test(each));
    lines.splice(first < 0 ? lines.length : first, 0, line);
  } else if (header === null) lines.push(`[${section}]`, line);
  else lines.splice(header + 1, 0, line);
  return `${lines.join('\n')}\n`;
}

const HEADER = /^\s*\[([^\]]*)\]/;
const ended = (text: string) => (text.endsWith('\n') ? text : `${text}\n`);

function linesOf(text: string, { section, key }: Setting): { header: number | null; values: string[] } {
  const pattern = new RegExp(`^\\s*-{0,2}${key.replace(/[^\w]/g, '\\$&')}\\s*[=: \\t]\\s*(.*)$`, 'i');
  let current: string | null = null;
  let header: number | null = null;
  const values: string[] = [];
  for (const [at, line] of text.split('\n').entries()) {
    const name = HEADER.exec(line)?.[1]?.trim();
    if (name !== undefined) {
      current = name;
      if (name.toLowerCase() === section?.toLowerCase()) header ??= at;
      continue;
    }
    const value = current?.toLowerCase() === section?.toLowerCase() ? pattern.exec(line)?.[1] : undefined;
    if (value !== undefined) values.push(value);
  }
  return { header, values };
}
