// Reads what settings of a CLI say of its host and credential: JSON of the command line, files of the user, and files of a project.
import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Hosts } from '../../catalog/provider.ts';
import { expandHome, expandVariables, readText } from '../../system/files.ts';
import { at, parseJson } from '../rules/classify.ts';

/** Value of a text that can't be read here, which may say anything. */
export const UNREADABLE = '';

/** The value at a path in JSON with or without comments, or in a file of it. @param pathOf makes the path of a file absolute */
export function valueInJson(text: string, path: string, pathOf: (file: string) => string): string[] {
  if (text.trim().startsWith('{')) return valueAt(text, path);
  const document = textOf(pathOf(text));
  return document === undefined ? [] : valueAt(document, path);
}

function valueAt(text: string, path: string): string[] {
  const document = parseJson(text) ?? parseJson(withoutComments(text));
  if (document === undefined) return [UNREADABLE];
  const value = at(document, path);
  return value === undefined || value === null ? [] : [String(value)];
}

/** JSON without comments and without commas before a bracket, which some programs accept. */
function withoutComments(text: string): string {
  // strings and comments that do not end reach to the end, so that the time is in proportion to the length
  const plain = text.replace(
    /("(?:[^"\\]|\\[\s\S])*(?:"|$))|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g,
    (_, kept = ' ') => kept,
  );
  return plain.replace(/("(?:[^"\\]|\\[\s\S])*(?:"|$))|,(?=\s*[}\]])/g, (_, kept = '') => kept);
}

/** Place in which the files of a CLI are looked for, and how their hosts are judged. */
interface Place {
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Reports whether a variable counts before a file: it is set to a host of the entry, or an account brings it. */
  isAbove: (variable: string) => boolean;
  isOther: (host: string) => boolean;
}

/** The files that name another host, as a person would write them. */
export function filesWithOtherHost({ env, files, env_files }: Hosts, place: Place): string[] {
  const found = [
    ...files
      .filter(({ below }) => !below.some(place.isAbove))
      .flatMap(({ file, ...what }) => pathsOf(file, place).filter(path => hostsIn(path, what).some(place.isOther))),
    ...env_files
      .flatMap(file => pathsOf(file, place))
      .filter(path =>
        valuesIn(
          path,
          env.filter(name => !place.isAbove(name)),
        ).some(place.isOther),
      ),
  ];
  const { HOME = '' } = place.env;
  return [...new Set(found)].map(path =>
    HOME !== '' && path.startsWith(`${HOME}/`) ? `~${path.slice(HOME.length)}` : path,
  );
}

/** Reports whether a file belongs to a project: it is in the working directory, or in one above it up to the repository. */
export function isOfProject(file: string): boolean {
  return !/^[~/{]/.test(file);
}

function pathsOf(file: string, { env, cwd }: Place): string[] {
  if (!isOfProject(file)) return [resolve(cwd, expandHome(expandVariables(file, env), env))];
  const paths: string[] = [];
  for (let directory = resolve(cwd); ; directory = dirname(directory)) {
    paths.push(join(directory, file));
    if (directory === dirname(directory) || existsSync(join(directory, '.git'))) return paths;
  }
}

function hostsIn(path: string, { key, pattern }: Pick<Hosts['files'][number], 'key' | 'pattern'>): string[] {
  const text = textOf(path);
  if (text === undefined || text === UNREADABLE) return text === undefined ? [] : [text];
  if (key !== undefined) return valueAt(text, key);
  // programs differ in which of several lines counts
  return [...text.matchAll(new RegExp(pattern ?? '(?!)', 'g'))].flatMap(([, host]) => host ?? []);
}

function valuesIn(path: string, names: readonly string[]): string[] {
  const text = textOf(path);
  if (text === undefined || text === UNREADABLE) return text === undefined ? [] : [text];
  return names.flatMap(name => {
    const line = new RegExp(
      `(?:^|\\n)[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*[=:][ \\t]*(?:(["'\`])(.*?)\\1|([^\\s#]*))`,
      'g',
    );
    return [...text.matchAll(line)].map(([, , quoted, plain]) => quoted ?? plain ?? '').filter(value => value !== '');
  });
}

/** The text of a file, or `undefined` for a missing or empty one. Reading a pipe would take its text from the CLI. */
function textOf(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  if (!stat.isFile()) return UNREADABLE;
  try {
    return readText(file) || undefined;
  } catch {
    return UNREADABLE;
  }
}
