// Finds the test files that an invocation names, and sorts them into groups by the helpers that they import.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/**
 * A group follows from what a test file imports, directly or through other helpers, so a new file needs no entry here:
 * - `display`: opens windows on its own X server
 * - `kernel`: makes network namespaces and packet filters, and needs root; also a file of the name `kernel.test.ts`
 * - `browser`: drives the page of the built programs in a browser
 * - `built`: drives the programs in build/prefix, or package tools
 * - `programs`: bundles a program itself and starts it, or starts a server of the distribution
 * - `unit`: everything else; needs Node and the npm packages only
 */
export type Group = 'display' | 'kernel' | 'browser' | 'built' | 'programs' | 'unit';

const MARKS: [Group, RegExp][] = [
  ['display', /^test\/support\/gnome\/(desktop|inside|stage)\.ts$/],
  ['kernel', /^test\/(support\/killswitch\/stage\.ts|leak\/machine\.ts|.*\/kernel\.test\.ts)$/],
  ['browser', /^test\/support\/e2e\/(browser|firefox)\.ts$/],
  ['built', /^test\/(support\/e2e|e2e|packages)\//],
  ['programs', /^(data\/build\/bundle\.mjs|test\/support\/wrapper\/store-server\.ts)$/],
];

/** Every test file, as a path below the root, in alphabetical order. */
export function allTestFiles(): string[] {
  return (readdirSync(join(root, 'test'), { recursive: true }) as string[])
    .filter(name => name.endsWith('.test.ts'))
    .map(name => join('test', name))
    .sort();
}

/**
 * The files that the words of a command line name: a file, a folder, or a part of a path. Without words, all of them.
 * @throws Error when a word names no test file
 */
export function select(words: readonly string[], files = allTestFiles()): string[] {
  if (words.length === 0) return files;
  const chosen = words.flatMap(word => {
    const path = relative(root, resolve(word));
    const exact = files.filter(file => file === path || file.startsWith(`${path}/`));
    const found = exact.length > 0 ? exact : files.filter(file => file.includes(word));
    if (found.length === 0)
      throw new Error(`No test file is named ${word}. Give a file, a folder or a part of a path.`);
    return found;
  });
  return files.filter(file => chosen.includes(file));
}

/** The group of a test file. */
export function groupOf(file: string): Group {
  const reached = imports(file);
  return MARKS.find(([, mark]) => [...reached].some(path => mark.test(path)))?.[0] ?? 'unit';
}

/** Marks of what reaches beyond one file: other processes, sockets, and the state that all of a process shares. */
const SHARED: readonly RegExp[] = [
  /^import (?!type )[^;]*'node:(child_process|cluster|dgram|https?|inspector|net|tls|worker_threads)'/m,
  /process\.(chdir|exit|exitCode|kill|on|once|umask)\b|delete process\.env|process\.env\S+ (\?\?)?= |globalThis[.[][^=]*= /,
  /\b(after|afterEach|before|beforeEach|mock)\b[^;]* from 'node:test'|\bt\.mock\b/,
];

/** True for a file whose tests can share a process with those of others, by its own text and that of its helpers. */
export function isPure(file: string): boolean {
  const texts = [...imports(file)].filter(path => path.startsWith('test/')).map(textOf);
  return groupOf(file) === 'unit' && !SHARED.some(mark => texts.some(text => mark.test(text)));
}

/** A test file, every helper below test/ that it reaches, and what these import, as paths below the root. */
function imports(file: string, reached = new Set<string>()): Set<string> {
  if (reached.has(file)) return reached;
  reached.add(file);
  if (!file.startsWith('test/')) return reached;
  for (const [, path] of textOf(file).matchAll(/(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+\.(?:ts|mjs))'/g))
    imports(join(dirname(file), path!), reached);
  return reached;
}

function textOf(file: string): string {
  const path = join(root, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
