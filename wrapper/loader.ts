// Loads the program; behind a shim from code that V8 compiled in an earlier run, because compiling takes 4 ms of a start.
// The build puts this into `main.cjs`, and `main.ts` with all that it needs at once into a file named by its digest.
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Script } from 'node:vm';
import type { UnsavedCode } from './store/compiled-code.ts';
import { stateDirectory } from './store/paths.ts';

declare const __PROGRAM__: string;

/** What a wrapped command with a pool loads as well. */
const POOL = /^\.\/pooled-run-\w+\.cjs$/;
/** This file, as others of the bundle name it. */
const MAIN = './main.cjs';

const wrapped = process.env.CULVERT_WRAP_SHIM && process.argv[2] === 'shim';
const directory = wrapped && join(stateDirectory(process.env), 'code');
const unsaved: UnsavedCode[] = [];

if (directory) process.on('exit', () => module.exports.saveCode?.(unsaved));
const program = join(__dirname, __PROGRAM__);
evaluate(program, readFileSync(program, 'utf8'), module);

/** What the program, and its part for a pool, require with: for Node to find these two would take 0.9 ms. */
function required(id: string): unknown {
  if (id === MAIN) return module.exports;
  if (!directory || !POOL.test(id)) return require(id);
  const file = join(__dirname, id);
  const loaded = require.cache[file];
  if (loaded) return loaded.exports;
  const pool: Pick<NodeModule, 'exports' | 'loaded'> = { exports: {}, loaded: true };
  evaluate(file, readFileSync(file, 'utf8'), pool);
  // Node loads the other parts of the program, and these must get the same classes
  require.cache[file] = pool as NodeModule;
  return pool.exports;
}

/** Runs the text of a file as the body of a module; the build has made a function of it. */
function evaluate(file: string, text: string, target: { exports: unknown }): void {
  const script = directory ? compiled(file, text, directory) : new Script(text, { filename: file });
  script.runInThisContext().call(target.exports, target.exports, required, target, __filename, __dirname);
}

function compiled(filename: string, text: string, directory: string): Script {
  const file = join(directory, `${basename(filename)}.${process.versions.v8}-${process.arch}`);
  const cachedData = readCode(file);
  // V8 refuses what other flags made, and compiles the text
  if (cachedData) return new Script(text, { filename, cachedData });
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  // every function now, so that what is stored does not depend on what this run comes to need
  setFlagsFromString('--no-lazy');
  const script = new Script(text, { filename });
  setFlagsFromString('--lazy');
  unsaved.push({ file, script });
  return script;
}

/** The code in a file, or `undefined` where there is none, it is damaged, or others than its user and root could write it. */
function readCode(file: string): Buffer | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    const { uid, mode, size } = fstatSync(fd);
    if ((uid !== 0 && uid !== process.geteuid?.()) || (mode & 0o022) !== 0) return undefined;
    const twice = Buffer.allocUnsafeSlow(size);
    const code = twice.subarray(0, size / 2);
    return readSync(fd, twice) > 0 && code.equals(twice.subarray(code.length)) ? code : undefined;
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
