// Loads the program; behind a shim from code that V8 compiled in an earlier run, because compiling takes a sixth of a start.
// The build puts this into `main.cjs`, and `main.ts` with all that it needs to begin into a file named by its digest.
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import { digest } from '../daemon/core/hash.ts';
import { stateDirectory } from './store/paths.ts';
import { assertPrivate, writeAtomic } from './system/files.ts';

declare const __PROGRAM__: string;

/** Files of other versions that are kept: a home may be shared between machines. */
const KEPT = 8;
const DIGEST_BYTES = 32;

const filename = join(__dirname, __PROGRAM__);
const text = readFileSync(filename, 'utf8');
const isWrapped = process.env.CULVERT_WRAP_SHIM && process.argv[2] === 'shim';
const script = isWrapped ? compiled(join(stateDirectory(process.env), 'code')) : new Script(text, { filename });
// the build has made a function of the text
script.runInThisContext().call(module.exports, module.exports, require, module, __filename, __dirname);

function compiled(directory: string): Script {
  const file = join(directory, `${__PROGRAM__}.${process.versions.v8}-${process.arch}`);
  const cachedData = readCode(file);
  // V8 refuses what other flags made, and compiles the text
  if (cachedData) return new Script(text, { filename, cachedData });
  // every function now, so that what is stored does not depend on the functions that this run calls
  setFlagsFromString('--no-lazy');
  const script = new Script(text, { filename });
  setFlagsFromString('--lazy');
  process.on('exit', () => saveCode(file, script));
  return script;
}

/** The code in a file, or `undefined` where it is missing or damaged, or others than its user and root could write it. */
function readCode(file: string): Buffer | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    const { uid, mode } = fstatSync(fd);
    if ((uid !== 0 && uid !== process.geteuid?.()) || (mode & 0o022) !== 0) return undefined;
    const content = readFileSync(fd);
    const code = content.subarray(DIGEST_BYTES);
    // V8 itself crashes on damaged code
    return digest(code).equals(content.subarray(0, DIGEST_BYTES)) ? code : undefined;
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Stores the code of a script behind its digest. It never fails: the next run then compiles again. */
function saveCode(file: string, script: Script): void {
  try {
    const directory = dirname(file);
    // a home in which nothing of the wrapper's is: it may be meant to stay empty
    if (!existsSync(dirname(directory))) return;
    for (const dir of [dirname(directory), directory]) assertPrivate(dir);
    const code = script.createCachedData();
    writeAtomic(file, Buffer.concat([digest(code), code]));
    removeOld(directory);
  } catch {
    // This is a service; it must not stop a command.
  }
}

function removeOld(directory: string): void {
  const files = readdirSync(directory).map(name => join(directory, name));
  const age = (file: string) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  for (const file of files.sort((a, b) => age(b) - age(a)).slice(KEPT)) rmSync(file, { force: true });
}
