// Finds the tests that a change can reach: by what they import, and by the folder of the programs that they start.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { build } from 'esbuild';
import type { Group } from './select.ts';

const root = resolve(import.meta.dirname, '../..');

/** Folders whose programs are tested elsewhere than in the folder of the same path below test/. */
const TESTED_IN: readonly [folder: string, tests: string][] = [['daemon/webui', 'test/e2e/webui']];

/** Files that each file imports, as paths below the root. */
export type Imports = ReadonlyMap<string, readonly string[]>;

/**
 * The files that differ from a commit, with those that git does not know yet, as paths below the root.
 * @param base a revision; by default the last commit, or its parent when nothing has changed since
 * @throws Error when git does not know the revision
 */
export function changedFiles(base?: string): string[] {
  const changed = base === undefined ? differences('HEAD') : differences(base);
  return changed.length > 0 || base !== undefined ? changed : differences('HEAD~1');
}

function differences(base: string): string[] {
  return [
    ...git('diff', '--name-only', '--no-renames', '-z', base, '--'),
    ...git('ls-files', '--others', '--exclude-standard', '-z'),
  ];
}

function git(...args: string[]): string[] {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
      .split('\0')
      .filter(Boolean);
  } catch (error) {
    const said = String((error as { stderr?: string }).stderr ?? (error as Error).message).split('\n')[0];
    throw new Error(`git ${args[0]} failed: ${said} Give a commit, such as: --changed HEAD~3`);
  }
}

/**
 * Reads the imports of test files and of all that these import, without packages, from the graph of the bundler.
 * @param files paths below the root
 */
export async function importsOf(files: readonly string[]): Promise<Imports> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [...files],
    outdir: join(root, 'build/test/graph'),
    outbase: root,
    bundle: true,
    write: false,
    metafile: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
  return new Map(
    Object.entries(metafile.inputs).map(([file, { imports }]) => [
      file,
      imports.filter(({ external }) => !external).map(({ path }) => path),
    ]),
  );
}

/**
 * The tests that a change can reach:
 * - those that import a changed file, directly or through others
 * - those that start programs and lie where the tests of a changed file lie
 * - those that name a changed file that is not TypeScript
 *
 * A program that another folder's tests start is not followed, or each change of the daemon would run half of them.
 * @param tests every test file, with its group
 */
export function testsReached(
  changed: readonly string[],
  tests: readonly { file: string; group: Group }[],
  imports: Imports,
  read = (file: string) => readFileSync(join(root, file), 'utf8'),
): string[] {
  const folders = new Set(tests.map(({ file }) => dirname(file)));
  const isSource = (file: string) => /\.tsx?$/.test(file);
  const places = new Set(changed.filter(isSource).flatMap(file => placesOf(file, folders)));
  const others = changed.filter(file => !isSource(file)).map(file => basename(file));
  return tests
    .filter(({ file, group }) => {
      const reached = reachedFrom(file, imports);
      if (changed.some(each => reached.has(each))) return true;
      if (group !== 'unit' && places.has(dirname(file))) return true;
      return others.length > 0 && namesOne(read(file), others);
    })
    .map(({ file }) => file);
}

/** The folders with the tests of the programs that a file belongs to. */
function placesOf(source: string, folders: ReadonlySet<string>): string[] {
  const elsewhere = TESTED_IN.filter(([folder]) => source.startsWith(`${folder}/`)).map(([, tests]) => tests);
  let folder = dirname(source.startsWith('test/') ? source : join('test', source));
  while (folder !== 'test' && !folders.has(folder)) folder = dirname(folder);
  return [...elsewhere, ...(folder === 'test' ? [] : [folder])];
}

function namesOne(text: string, names: readonly string[]): boolean {
  return names.some(name => text.includes(name));
}

function reachedFrom(file: string, imports: Imports): ReadonlySet<string> {
  const reached = new Set([file]);
  // a set also yields what is added while it is read
  for (const each of reached) for (const imported of imports.get(each) ?? []) reached.add(imported);
  return reached;
}
