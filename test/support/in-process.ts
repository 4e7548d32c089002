// Runs a bundled program in the process of the test: a start of Node takes longer than most commands. What the program sees of the
// process is its own: arguments, environment, streams, exit code.
import { EventEmitter } from 'node:events';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { Script } from 'node:vm';

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface Module {
  exports: unknown;
}
type Code = (scope: Record<string, unknown>) => void;

/** The files of the program, compiled once. */
const codes = new Map<string, Code>();

function codeOf(filename: string): Code {
  const known = codes.get(filename);
  if (known) return known;
  const text = fs.readFileSync(filename, 'utf8').replace(/^#!/, '//');
  const isFunction = text.startsWith('(function(exports,');
  const body = isFunction ? `(${text.trimEnd()})(exports,require,module,__filename,__dirname)` : text;
  const whole = `(function({process,exports,require,module,__filename,__dirname}){${body}\n})`;
  const code: Code = new Script(whole, { filename }).runInThisContext();
  codes.set(filename, code);
  return code;
}

/** The file that a loader would run as a program of its own. */
function behindLoader(main: string): string {
  const program = fs.readdirSync(dirname(main)).find(file => file.startsWith('program-'));
  return program ? join(dirname(main), program) : main;
}

interface InProcess {
  env: Record<string, string>;
  cwd: string;
  input: string | Buffer;
  /** Width of the terminal that it prints on; without, it prints into pipes. */
  columns?: number | undefined;
}

/**
 * Runs a program that exports `ended`, or sets its exit code last.
 * @param main CommonJS, with its other modules next to it
 */
export function runInProcess(
  main: string,
  words: readonly string[],
  { env, cwd, input, columns }: InProcess,
): Promise<Ended> {
  return new Promise(resolve => {
    const text = { stdout: '', stderr: '' };
    const sink = (name: keyof typeof text) => {
      const stream = new Writable({
        decodeStrings: false,
        write(piece: string | Buffer, _encoding, done) {
          text[name] += piece;
          done();
        },
      });
      return columns ? Object.assign(stream, { isTTY: true, columns }) : stream;
    };
    const end = (code: number) => setImmediate(() => resolve({ code, ...text }));
    const events = new EventEmitter();
    const streams = { stdout: sink('stdout'), stderr: sink('stderr') };
    const own = {
      ...streams,
      argv: [process.execPath, main, ...words],
      env: { ...env },
      stdin: Readable.from([Buffer.from(input)], { objectMode: false }),
      cwd: () => cwd,
      on: events.on.bind(events),
      once: events.once.bind(events),
      exit: end,
    };
    const seen = Object.create(process, Object.getOwnPropertyDescriptors(own));
    let exitCode = 0;
    let ended: Promise<void> | undefined;
    Object.defineProperty(seen, 'exitCode', {
      set(code?: number) {
        exitCode = code ?? 0;
        if (!ended) end(exitCode);
      },
    });
    const writeSync = (fd: number, data: string, ...rest: never[]) => {
      if (fd !== 1 && fd !== 2) return fs.writeSync(fd, data, ...rest);
      text[fd === 1 ? 'stdout' : 'stderr'] += data;
      return data.length;
    };
    const modules = new Map<string, Module>();
    const load = (filename: string): unknown => {
      const loaded = modules.get(filename);
      if (loaded) return loaded.exports;
      const module: Module = { exports: {} };
      modules.set(filename, module);
      const builtin = createRequire(filename);
      const require = (name: string) => {
        if (name.startsWith('.')) return load(join(dirname(filename), name));
        if (/^(node:)?process$/.test(name)) return seen;
        return /^(node:)?fs$/.test(name) ? { ...fs, writeSync } : builtin(name);
      };
      const { exports } = module;
      codeOf(filename === main ? behindLoader(main) : filename)({
        process: seen,
        exports,
        require,
        module,
        __filename: filename,
        __dirname: dirname(filename),
      });
      return module.exports;
    };
    ({ ended } = load(main) as { ended?: Promise<void> });
    void ended?.then(() => end(exitCode));
  });
}
