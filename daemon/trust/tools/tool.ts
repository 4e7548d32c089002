// Defines a row of the table of tools, and reads and sets one key in a text of settings: sections in brackets, one key a line.
import { existsSync } from 'node:fs';
import type { Message } from '../../api/values.ts';
import { findProgram } from '../../core/run-helper.ts';
import type { SystemList } from '../certificates.ts';
import { textOf } from '../journal.ts';
import type { Command, Target } from '../probe.ts';

/** Surroundings of a tool, and places of its settings. */
export interface Look {
  /** The environment of the next session: this environment, with the variables that Culvert has set. */
  env: NodeJS.ProcessEnv;
  home: string;
  /** XDG_CONFIG_HOME. */
  config: string;
  /** A directory that stands for `/`, or empty. */
  root: string;
  system: SystemList | null;
  /** Output of a program that succeeded; null otherwise. */
  ask(program: string, ...args: string[]): Promise<string | null>;
}

/** Places where a tool looks for authorities now. */
export interface List {
  /** Files that it reads. */
  files: string[];
  /** It also has Mozilla's list. */
  ownList: boolean;
  /** Certificates of a store that is not a file of certificates. */
  text?: string;
  /** Certificates that only some of its stores have. */
  someText?: string;
}

/** One of the two lists of Culvert. */
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
      /** The line, for the path of the list. */
      line(path: string): string;
    };

export interface Tool {
  /** Stable: `node`. */
  id: string;
  title: string;
  /** Names of its program, of which the first installed one counts; empty for a tool without a program. */
  programs: readonly string[];
  /** Its list; null if the program is there and the tool is not. */
  list(program: string, look: Look): Promise<List | null>;
  /** A command that connects to an address and sends a request; without one, its list is only read. */
  connect?(target: Target, look: Look): Omit<Command, 'program' | 'env'> & { env?: NodeJS.ProcessEnv };
  /** Words that come first, for a tool that looks for the user's settings in more places than its environment names. */
  noSettings?: readonly string[];
  /** Has the same command use this file where it uses its list now. */
  instead?(file: string, list: List): Instead;
  /** The change; absent or null if this user can make none. */
  wanted?(look: Look, list: List): Wanted | null;
  /** Commands for an administrator. @param file holds a certificate @param name a word for it */
  administrator?(file: string, name: string, look: Look): string[];
  /** Advice where verification is off. */
  offHint: Message | null;
}

/** Part of a command that names a list. */
export interface Instead {
  env?: NodeJS.ProcessEnv;
  args?: readonly string[];
}

/** The first of these programs that PATH has; null without any. */
export function firstProgram(names: readonly string[], { PATH = '' }: NodeJS.ProcessEnv): string | null {
  return names.map(name => findProgram(name, PATH)).find(file => file !== null) ?? null;
}

/** OpenSSL, and tools that read its list. */
export const opensslList = ({ env, system }: Look): List => ({
  files: [env.SSL_CERT_FILE || system?.path || ''].filter(Boolean),
  ownList: false,
});

/** The first of these files; without one, the fallback. */
export const named = (files: (string | null | undefined)[], fallback: string | undefined): List => ({
  files: [files.find(Boolean) ?? fallback ?? ''].filter(Boolean),
  ownList: false,
});

export const variable = (name: string, list: ListName): Wanted => ({ kind: 'variable', name, list });

/** The value of a setting in a file; null if it is not set. */
export const setIn = (path: string, setting: { section: string | null; key: string }): string | null =>
  valueIn(textOf(path) ?? '', setting);

/** The first existing file, or else the last. */
export const firstThere = (paths: string[]) => paths.find(path => existsSync(path)) ?? paths.at(-1)!;

/** Node adds files to its own list. @param program Node itself */
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

/** True if it reads NODE_USE_SYSTEM_CA: from 22.19 and 24.6 on. */
async function readsSystemVariable(program: string, look: Look): Promise<boolean> {
  const [major = 0, minor = 0] = ((await look.ask(program, '-p', 'process.versions.node')) ?? '')
    .split('.')
    .map(Number);
  return major > 24 || (major === 24 && minor >= 6) || (major === 22 && minor >= 19);
}

/** A line of settings that names Culvert's list. */
export const setting = (
  path: string,
  { section = null, key }: { section?: string | null; key: string },
  line: (path: string) => string,
): Wanted => ({ kind: 'setting', path, section, key, list: 'bundle', line });

/** Place of a setting: in a section, or outside all of them. */
export interface Setting {
  section: string | null;
  key: string;
}

/** The value of a setting, without quotes; null if it is not set. The last one counts, as for the tools themselves. */
export function valueIn(text: string, setting: Setting): string | null {
  const value = linesOf(text, setting).values.at(-1);
  return value === undefined ? null : value.trim().replace(/^(["'])(.*)\1$/, '$2');
}

/**
 * The value of a setting for certificates, fit to show: a path. Hides any other text, because it is from the user's file.
 */
export function shownPath(value: string): string {
  if (existsSync(value)) return value;
  const [path] = /^(?:~|\$\w+)?\.{0,2}\/[^\s:@]*(?=\s|$)/.exec(value) ?? [];
  return path === value ? path : `${path ?? ''}…`;
}

/** The text with one more line, in its section. The setting must not be there yet. */
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
