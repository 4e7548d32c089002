// Says where tools look, for the table of tools: variables, settings in files, and the system's list.
import { existsSync } from 'node:fs';
import { valueIn } from '../write/edit-text.ts';
import { textOf } from '../write/files.ts';
import type { List, ListName, Look, Wanted } from './tool.ts';

/** OpenSSL, and what follows it. */
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

/** The first of the files that is there, or else the last. */
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
