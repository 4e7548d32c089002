// Starts several machines of a pool, each a process with its own home and clock, and collects what they saw.
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { type Ends, temporary } from '../temporary.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const HOUR = 3_600_000;

export interface Seen {
  machine: string;
  id?: string;
  none?: boolean;
  fence?: string;
  fp?: string;
  /** Microseconds of the machine's monotonic clock, which all processes share. */
  begun?: number;
  got?: number;
  done?: string;
  ended?: number;
  code?: number;
  held?: boolean;
  unreachable?: string;
}

interface Options {
  url: string;
  api: string;
  keys: readonly string[];
  machines: number;
  leases: number;
  strategy?: string;
  max?: number;
  ttl?: number;
  /** Time limit of a command of the store. A lease whose answer was lost keeps its credit until it ends. */
  timeoutMs?: number;
}

export interface Fleet {
  children: ChildProcess[];
  /** The output so far. */
  seen: Seen[];
  /** Waits until all have ended. */
  ended: Promise<void>;
}

export function machines(t: Ends, { url, api, keys, ...options }: Options): Fleet {
  const directory = temporary(t, 'machines');
  const program = join(directory, 'machine.mjs');
  buildSync({
    entryPoints: [join(root, 'test/support/wrapper/pool-machine.ts')],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // iovalkey is CommonJS
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    define: { 'import.meta.dirname': JSON.stringify(directory) },
    logLevel: 'warning',
  });
  copyFileSync(join(root, 'wrapper/pool/pool.lua'), join(directory, 'pool.lua'));
  const seen: Seen[] = [];
  const accounts = keys.map(fp => ({ fp, name: `name-${fp}` }));
  const { machines: count, strategy = 'most-remaining', ttl = 90_000, timeoutMs = 10_000, ...rest } = options;
  const runs = Array.from({ length: count }, (_, i) => {
    const home = join(directory, `home${i}`);
    mkdirSync(home);
    const task = {
      name: `m${i}`,
      url,
      api,
      accounts,
      strategy,
      ttl,
      timeoutMs,
      clockMs: ((i % 3) - 1) * HOUR,
      ...rest,
    };
    const child = spawn(process.execPath, [program, JSON.stringify(task)], {
      env: { HOME: home, PATH: process.env.PATH ?? '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return { child, ended: collect(child, seen) };
  });
  t.after(() => {
    for (const { child } of runs) child.kill('SIGKILL');
  });
  return {
    children: runs.map(({ child }) => child),
    seen,
    ended: Promise.all(runs.map(({ ended }) => ended)).then(() => {}),
  };
}

function collect(child: ChildProcess, seen: Seen[]): Promise<void> {
  let rest = '';
  let errors = '';
  child.stderr?.on('data', chunk => {
    errors += chunk;
  });
  child.stdout?.on('data', chunk => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    for (const line of lines) seen.push(JSON.parse(line));
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exit, signal) => {
      if (exit === 0 || signal === 'SIGKILL') resolve();
      else reject(new Error(`A machine ended with ${exit ?? signal}: ${errors}`));
    });
  });
}

/** The leases in the order in which they were given; throws when a fence came twice or did not rise. */
export function assertFencesRise(seen: readonly Seen[]): void {
  const leases = seen.filter(({ fence }) => fence !== undefined);
  const byEnd = [...leases].sort((a, b) => a.got! - b.got!);
  let highest = 0;
  let done = 0;
  for (const lease of [...leases].sort((a, b) => a.begun! - b.begun!)) {
    // a run that begins after another got its lease gets a higher fence
    for (; done < byEnd.length && byEnd[done]!.got! < lease.begun!; done++) {
      highest = Math.max(highest, Number(byEnd[done]!.fence));
    }
    if (Number(lease.fence) <= highest) throw new Error(`the fence ${lease.fence} came after ${highest}`);
  }
  if (new Set(leases.map(({ fence }) => fence)).size !== leases.length) throw new Error('a fence was given twice');
}
