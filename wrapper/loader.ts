// Loads the program; behind a shim from code that V8 compiled in an earlier run, because compiling takes 4 ms of a start.
// The build puts this into `main.cjs`, and `main.ts` with all that it needs at once into a file named by its digest; into
// another one also with what a pool needs.
import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Script } from 'node:vm';
import type { UnsavedCode } from './store/compiled-code.ts';
import { POOL_FILE, stateDirectory } from './store/paths.ts';

declare const __PROGRAM__: string;
declare const __PROGRAM_WITH_POOL__: string;

const wrapped = process.env.CULVERT_WRAP_SHIM && process.argv[2] === 'shim';
const state = wrapped && stateDirectory(process.env);
const unsaved: UnsavedCode[] = [];

if (state) process.on('exit', () => module.exports.saveCode?.(unsaved));
// only a guess, which saves time: either program runs commands with a pool and without
const usesPool = state && existsSync(join(state, POOL_FILE));
const program = join(__dirname, usesPool ? __PROGRAM_WITH_POOL__ : __PROGRAM__);
const text = readFileSync(program, 'utf8');
const script = state ? compiled(program, text, join(state, 'code')) : new Script(text, { filename: program });
// the build has made a function of the text
script.runInThisContext().call(module.exports, module.exports, require, module, __filename, __dirname);

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
