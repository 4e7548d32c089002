// Runs small programs of the system (`ip`, `nft`, `busctl`) that only print, with limits on time and output.
import { setMaxListeners } from 'node:events';
import { reason } from '../../core/errors.ts';
import { afterExit, findProgram, signalGroup } from '../../core/run-helper.ts';
import { message } from '../../view/message.ts';
import { startChild } from '../../warp/cli/run.ts';
import { NoVerdict } from '../errors.ts';

interface Printed {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

interface RunLimits {
  limitMs?: number;
  input?: string;
  /** Maximum output of each stream. */
  mebibytes?: number;
}

export interface Tools {
  /**
   * Runs a program, with `input` on stdin if given, and resolves when the program has ended.
   * @throws NoVerdict if it is not installed, does not start, does not end in time, or prints too much
   */
  run(program: string, args: readonly string[], options?: RunLimits): Promise<Printed>;
  /** Returns true if a program is installed. */
  has(program: string): boolean;
  /** Number of started processes. */
  started(): number;
}

interface ToolsOptions {
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
  /** Words before every command, such as `nsenter …` for another network namespace. */
  prefix?: readonly string[];
  /** Default time limit of a program, in ms. */
  usualMs?: number;
}

const LIMIT_MS = 2_000;
/** Wait for a grandchild that still holds stdout after the program's end, in ms. */
const GRACE_MS = 250;
/** Directories that PATH often lacks for users; Debian has `ip` and `nft` there. */
const SYSTEM_DIRECTORIES = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

export function createTools({ env, signal, prefix = [], usualMs = LIMIT_MS }: ToolsOptions): Tools {
  let started = 0;
  setMaxListeners(0, signal); // each running program adds a listener
  const directories = [...(env.PATH ?? '').split(':').filter(path => path.startsWith('/'))];
  // a test or a user may narrow PATH to one directory on purpose
  if (directories.length > 1) directories.push(...SYSTEM_DIRECTORIES);
  const { NODE_OPTIONS: _, ...rest } = env;
  const path = directories.join(':');
  const childEnv = { ...rest, LC_ALL: 'C', PATH: path };

  return {
    has: program => findProgram(program, path) !== null,
    started: () => started,
    async run(program, args, { limitMs = usualMs, input, mebibytes = 1 } = {}) {
      const file = findProgram(program, path);
      if (!file) throw new NoVerdict(message('%s is not installed.', program));
      if (signal.aborted) throw new NoVerdict(message('It was interrupted.'));
      const [first = file, ...rest] = [...prefix, file, ...args];
      started += 1;
      return collect(startChild(first, rest, childEnv, input), { program, limitMs, mebibytes, signal });
    },
  };
}

function collect(
  child: ReturnType<typeof startChild>,
  {
    program,
    limitMs,
    mebibytes,
    signal,
  }: Required<Omit<RunLimits, 'input'>> & { program: string; signal: AbortSignal },
): Promise<Printed> {
  const text = { stdout: '', stderr: '' };
  return new Promise((resolve, reject) => {
    const end = (error?: NoVerdict) => {
      clearTimeout(limit);
      signal.removeEventListener('abort', interrupted);
      child.stdout?.destroy();
      child.stderr?.destroy();
      if (!error) return resolve({ exitCode: child.exitCode, ...text });
      signalGroup(child, 'SIGKILL');
      reject(error);
    };
    const interrupted = () => end(new NoVerdict(message('It was interrupted.')));
    const limit = setTimeout(
      () => end(new NoVerdict(message('%s did not answer within %s s.', program, String(limitMs / 1000)))),
      limitMs,
    );
    signal.addEventListener('abort', interrupted, { once: true });
    for (const name of ['stdout', 'stderr'] as const)
      child[name]?.setEncoding('utf8').on('data', (piece: string) => {
        text[name] += piece;
        if (text[name].length > mebibytes * 1024 * 1024)
          end(new NoVerdict(message('%s printed more than %s MiB.', program, String(mebibytes))));
      });
    child.once('error', error => end(new NoVerdict(message('%s did not start: %s', program, reason(error)), error)));
    child.once('exit', () => afterExit(GRACE_MS, end).unref());
    child.once('close', () => end());
  });
}
