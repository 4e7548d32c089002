// Runs a bundled program in the process of the test: a start of Node takes longer than most commands. The program sees its own
// arguments, environment, directory, streams and exit code, and its children inherit these.
import * as childProcess from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import * as tty from 'node:tty';
import { Script } from 'node:vm';

export interface Ended {
  code: number | null;
  /** The signal that the program sent to itself, to end as its child did. */
  signal?: NodeJS.Signals;
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

/** The file that a loader would run as the program. */
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
    const end = (code: number | null, signal?: NodeJS.Signals) =>
      setImmediate(() => resolve({ code, ...(signal && { signal }), ...text }));
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
      off: events.off.bind(events),
      removeAllListeners: events.removeAllListeners.bind(events),
      exit: end,
      kill: (pid: number, signal?: NodeJS.Signals) =>
        // Node ignores SIGPIPE, so a program goes on after it
        pid === process.pid && signal !== 'SIGPIPE' ? end(null, signal) : process.kill(pid, signal),
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
    const instead: Record<string, object> = {
      process: seen,
      fs: { ...fs, writeSync, fstatSync: withoutStdin },
      tty: { ...tty, isatty: () => false },
      child_process: { ...childProcess, spawn: spawner({ env: own.env, cwd, text }) },
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
        return instead[name.replace(/^node:/, '')] ?? builtin(name);
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

/** Descriptor 0 is the test's: programs find the null device there, which they leave alone. */
const withoutStdin = (fd: number, options?: fs.StatOptions) =>
  fd === 0 ? fs.statSync('/dev/null', options) : fs.fstatSync(fd, options);

/** `spawn` for a program in this process: the outputs that a child inherits go into files, and into `text` when the child ends. */
function spawner({
  env,
  cwd,
  text,
}: {
  env: NodeJS.ProcessEnv;
  cwd: string;
  text: Record<'stdout' | 'stderr', string>;
}) {
  return (
    file: string,
    args: readonly string[] = [],
    { stdio = 'pipe', ...options }: childProcess.SpawnOptions = {},
  ) => {
    const channels: Exclude<childProcess.StdioOptions, string> = Array.isArray(stdio)
      ? [...stdio]
      : [stdio, stdio, stdio];
    if (channels[0] === 'inherit') channels[0] = 'ignore';
    const files = ([1, 2] as const).flatMap(index => {
      const own = channels[index] === 'inherit' ? index : channels[index];
      if (own !== 1 && own !== 2) return [];
      const fd = unlinkedFile();
      channels[index] = fd;
      return { fd, name: own === 1 ? ('stdout' as const) : ('stderr' as const) };
    });
    const child = childProcess.spawn(file, args, {
      ...options,
      env: options.env ?? env,
      cwd: options.cwd ?? cwd,
      stdio: channels,
    });
    const collect = () => {
      for (const { fd, name } of files.splice(0)) {
        const bytes = Buffer.alloc(fs.fstatSync(fd).size);
        fs.readSync(fd, bytes, 0, bytes.length, 0);
        text[name] += bytes;
        fs.closeSync(fd);
      }
    };
    // before the program's own listeners, so that it prints after its child
    child.once('exit', collect).once('error', collect);
    return child;
  };
}

/** A descriptor of a file without a name, to which children append. */
function unlinkedFile(): number {
  const path = join(tmpdir(), `culvert-output-${randomUUID()}`);
  const fd = fs.openSync(path, 'ax+', 0o600);
  fs.unlinkSync(path);
  return fd;
}
