// Loads the program; behind a shim from code that V8 compiled in an earlier run, because compiling takes a sixth of a start.
// The build puts this into `main.cjs`, and `main.ts` with all that it needs to begin into a file named by its digest.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import { stateDirectory } from './store/paths.ts';
import { readCode, saveCode } from './system/compiled-code.ts';

declare const __PROGRAM__: string;

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
