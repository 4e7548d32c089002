// Loads the program. Behind a shim, it uses code that V8 compiled in an earlier run, because compiling takes a sixth of a start.
// The build writes this module to `main.cjs`, and `main.ts` with its initial imports to a file with its digest as name.
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

/** Number of files to keep. Machines that share a home directory may use different versions. */
const KEPT = 8;
const DIGEST_BYTES = 32;

const filename = join(__dirname, __PROGRAM__);
const text = readFileSync(filename, 'utf8');
const isWrapped = process.env.CULVERT_WRAP_SHIM && ['shim', 'run'].includes(process.argv[2] ?? '');
const script = isWrapped ? compiled(join(stateDirectory(process.env), 'code')) : new Script(text, { filename });
// the build has wrapped the text in a function
script.runInThisContext().call(module.exports, module.exports, require, module, __filename, __dirname);

function compiled(directory: string): Script {
  const file = join(directory, `${__PROGRAM__}.${process.versions.v8}-${process.arch}`);
  const cachedData = readCode(file);
  // V8 rejects code compiled with other flags, and compiles the text
  if (cachedData) return new Script(text, { filename, cachedData });
  // compile every function, because the stored code must not depend on the functions that this run calls
  setFlagsFromString('--no-lazy');
  const script = new Script(text, { filename });
  setFlagsFromString('--lazy');
  process.on('exit', () => saveCode(file, script));
  return script;
}

/** Reads code from a file. It returns `undefined` if the file is missing or damaged, or if other users could write it. */
function readCode(file: string): Buffer | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    const { uid, mode } = fstatSync(fd);
    if ((uid !== 0 && uid !== process.geteuid?.()) || (mode & 0o022) !== 0) return undefined;
    const content = readFileSync(fd);
    const code = content.subarray(DIGEST_BYTES);
    // V8 would crash on damaged code
    return digest(code).equals(content.subarray(0, DIGEST_BYTES)) ? code : undefined;
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Stores a script's code after its digest. A failure is ignored, and the next run compiles again. */
function saveCode(file: string, script: Script): void {
  try {
    const directory = dirname(file);
    // a home directory without files of the wrapper may be meant to stay empty
    if (!existsSync(dirname(directory))) return;
    for (const dir of [dirname(directory), directory]) assertPrivate(dir);
    const code = script.createCachedData();
    writeAtomic(file, Buffer.concat([digest(code), code]));
    removeOld(directory);
  } catch {
    // The cache is optional, so its failure must not stop a command.
  }
}

function removeOld(directory: string): void {
  const files = readdirSync(directory).map(name => join(directory, name));
  const age = (file: string) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  for (const file of files.sort((a, b) => age(b) - age(a)).slice(KEPT)) rmSync(file, { force: true });
}
