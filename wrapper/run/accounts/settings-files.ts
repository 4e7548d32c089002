// Finds a CLI's host and credential settings in JSON on the command line and in files of the user and of a project.
import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'smol-toml';
import { errno } from '../../../daemon/core/errors.ts';
import { readOptional, readRegular } from '../../../daemon/core/files.ts';
import type { OwnFile, ValueFile, VariableFile } from '../../catalog/fields.ts';
import type { Hosts, Provider } from '../../catalog/provider.ts';
import { shortened } from '../../store/logins.ts';
import { expandHome } from '../../system/notation.ts';
import { at, parseJson } from '../rules/classify.ts';

/** Value that stands for a text that can't be read here, and that may contain any setting. */
export const UNREADABLE = '';

/** Returns the value at a path in JSON (comments allowed), or in a JSON file. @param pathOf makes a file's path absolute */
export function valueInJson(text: string, path: string, pathOf: (file: string) => string): string[] {
  if (text.trim().startsWith('{')) return valueAt(text, path);
  const document = textOf(pathOf(text));
  return document === undefined ? [] : valueAt(document, path);
}

function valueAt(text: string, path: string, isToml = false): string[] {
  const document = isToml ? parseToml(text) : (parseJson(text) ?? parseJson(withoutComments(text)));
  if (document === undefined) return [UNREADABLE];
  const value = at(document, path);
  return value === undefined || value === null ? [] : [String(value)];
}

function parseToml(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** Removes comments, and commas before a closing bracket, because some programs accept both in JSON. */
function withoutComments(text: string): string {
  // an unclosed string or comment extends to the end of the text, so that the time is linear in the length
  const plain = text.replace(
    /("(?:[^"\\]|\\[\s\S])*(?:"|$))|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g,
    (_, kept = ' ') => kept,
  );
  return plain.replace(/("(?:[^"\\]|\\[\s\S])*(?:"|$))|,(?=\s*[}\]])/g, (_, kept = '') => kept);
}

/** Context for finding a CLI's files and judging their values. */
export interface Place {
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Returns the values of an option or a variable. */
  valuesOf: (name: string) => readonly string[];
  /** Reports whether a variable precedes a file: an account sets it, or its value is a host of the entry. */
  isAbove: (variable: string) => boolean;
  isOther: (host: string) => boolean;
}

/** Returns the files that name another host, with `~` for the home directory. */
export function filesWithOtherHost({ env, files, env_files }: Hosts, place: Place): string[] {
  const found = [
    ...files
      .filter(({ below }) => !below.some(place.isAbove))
      .flatMap(file => pathsOf(file, place).filter(path => valuesOfFile(path, file).some(place.isOther))),
    ...env_files.flatMap(file => {
      const names = env.filter(name => file.before_env || !place.isAbove(name));
      return pathsOf(file, place).filter(path => names.some(name => valuesIn(path, name, file).some(place.isOther)));
    }),
  ];
  return [...new Set(found)].map(path => shortened(path, place.env));
}

/** A setting of the user in a file, described without its value: `GEMINI_API_KEY in ~/.gemini/.env`. */
export interface Setting {
  words: string;
  /** The variable, or the catalog's name for the value. */
  name: string;
  /** True if the setting precedes the environment. */
  isBeforeEnv: boolean;
}

/**
 * Returns the credentials and other choices of an account that a CLI reads from files.
 * @param names names of variables
 * @param counts reports whether a variable with this value chooses something
 */
export function choicesInFiles(
  { hosts, choice, stored }: Pick<Provider, 'hosts' | 'choice' | 'stored'>,
  names: readonly string[],
  counts: (name: string, value: string) => boolean,
  place: Place,
): Setting[] {
  const setting = (path: string, name: string, isBeforeEnv: boolean): Setting => ({
    words: `${name} in ${shortened(path, place.env)}`,
    name,
    isBeforeEnv,
  });
  const logins = stored.flatMap(({ file }) => pathsOf({ file, up: 'none', moved_by: [] }, place));
  const found = [
    ...hosts.env_files.flatMap(file =>
      pathsOf(file, place).flatMap(path =>
        names
          .filter(name => valuesIn(path, name, file).some(value => counts(name, value)))
          .map(name => setting(path, name, file.before_env)),
      ),
    ),
    ...choice.files.flatMap(file =>
      pathsOf(file, place)
        .filter(path => !logins.includes(path) && valuesOfFile(path, file).some(value => value !== UNREADABLE))
        .map(path => setting(path, file.name ?? file.key ?? '', false)),
    ),
  ];
  return found.filter(({ words }, index) => found.findIndex(each => each.words === words) === index);
}

/** Reports whether a file belongs to a project: its path is relative to the working directory or a parent directory. */
export function isOfProject(file: string): boolean {
  return !/^(?:[~/]|\{[^}]*:[~/])/.test(file);
}

/** Matches the names in a file's path: `{NAME:default}`, `{-e|--env|NAME}`. */
const NAMES = /\{([\w|-]+)(?::([^}]*))?\}/g;

/** Returns the options and variables that move an entry's files, or that their paths contain without a default. */
export function namesThatMove({ hosts, choice }: Pick<Provider, 'hosts' | 'choice'>): string[] {
  const all = [...hosts.files, ...hosts.env_files, ...choice.files].flatMap(({ file, moved_by }) => [
    ...moved_by,
    ...[...file.matchAll(NAMES)].flatMap(([, names = '', fallback]) =>
      fallback === undefined ? names.split('|') : [],
    ),
  ]);
  return [...new Set(all)];
}

function pathsOf({ file, up, moved_by: movedBy }: OwnFile, place: Place): string[] {
  const { env, cwd } = place;
  const moved = movedBy.flatMap(place.valuesOf).filter(value => value !== '');
  if (moved.length > 0) return moved.map(value => resolve(cwd, expandHome(value, env)));
  const files = filled(file, place);
  if (!isOfProject(file)) return files.map(each => resolve(cwd, expandHome(each, env)));
  return directoriesOf(resolve(cwd), up).flatMap(directory => files.map(each => join(directory, each)));
}

/** Returns a path for each value of the names in it. */
function filled(file: string, place: Place): string[] {
  const [text, names = '', fallback] = new RegExp(NAMES.source).exec(file) ?? [];
  if (text === undefined) return [file];
  const given = names.split('|').flatMap(place.valuesOf);
  const values = given.filter(value => value !== '');
  return (values.length === 0 && fallback !== undefined ? [fallback] : values).map(value =>
    file.replace(text, () => value),
  );
}

function directoriesOf(cwd: string, up: OwnFile['up']): string[] {
  const directories = [cwd];
  for (let last = cwd; up !== 'none' && last !== dirname(last); directories.push(last)) {
    if (up === 'repository' && existsSync(join(last, '.git'))) break;
    last = dirname(last);
  }
  return directories;
}

function valuesOfFile(path: string, { key, pattern }: Pick<ValueFile, 'key' | 'pattern'>): string[] {
  const text = textOf(path);
  if (text === undefined || text === UNREADABLE) return text === undefined ? [] : [text];
  if (key !== undefined) return valueAt(text, key, path.endsWith('.toml'));
  // if several lines match, programs differ in the line that counts
  return [...text.matchAll(new RegExp(pattern ?? '(?!)', 'g'))].flatMap(([, value]) => value ?? []);
}

/** Returns the values of a variable in a file. */
function valuesIn(path: string, name: string, { at: place }: Pick<VariableFile, 'at'>): string[] {
  const text = textOf(path);
  if (text === undefined || text === UNREADABLE) return text === undefined ? [] : [text];
  if (place !== undefined) return valueAt(text, `${place}.${name}`);
  const line = new RegExp(
    `(?:^|\\n)[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*[=:][ \\t]*(?:(["'\`])(.*?)\\1|([^\\s#]*))`,
    'g',
  );
  return [...text.matchAll(line)].map(([, , quoted, plain]) => quoted ?? plain ?? '').filter(value => value !== '');
}

/** Returns a file's text, or `undefined` if it is missing or empty. Does not read a pipe, because the CLI needs its text. */
function textOf(path: string): string | undefined {
  try {
    const file = ofWorktree(path);
    const stat = statSync(file, { throwIfNoEntry: false });
    if (!stat) return undefined;
    return stat.isFile() ? readOptional(file) || undefined : UNREADABLE;
  } catch (error) {
    return errno(error) === 'ENOTDIR' ? undefined : UNREADABLE;
  }
}

/** Resolves a path below `.git`: in a worktree, `.git` is a file that names the directory (gitrepository-layout(5)). */
function ofWorktree(path: string): string {
  const [, git, name = ''] = /^(.*\/\.git)\/(.*)$/.exec(path) ?? [];
  if (git === undefined || !statSync(git, { throwIfNoEntry: false })?.isFile()) return path;
  const directory = resolve(dirname(git), /^gitdir: (.*)/.exec(readOptional(git) ?? '')?.[1] ?? '.git');
  const common = readRegular(join(directory, 'commondir'))?.toString().trim() ?? '.';
  return join(resolve(directory, common), name);
}
