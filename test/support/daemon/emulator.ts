// A fixture: the emulator as an executable with a state of its own, bundled once for all test files.
import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { removeTree } from '../temporary.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** All that the bundle is made from. */
const SOURCES = ['daemon/emulator', 'daemon/system', 'data/build'].map(directory => join(ROOT, directory));

export interface Result {
  stdout: string;
  stderr: string;
  exitCode: number | null;
  signal: NodeJS.Signals | null;
}

export interface Emulator {
  /** Absolute path of an executable that is spawned like `warp-cli`; its name is `warp-cli`, its folder holds nothing else. */
  bin: string;
  /** Give it to whoever spawns `bin`: HOME, PATH and the `CULVERT_EMULATOR_*` variables. */
  env: NodeJS.ProcessEnv;
  stateFile: string;
  /** Runs `warp-cli ARGV…` to its end. */
  run(...argv: string[]): Promise<Result>;
  /** As `run`, with further variables. */
  runWith(env: NodeJS.ProcessEnv, ...argv: string[]): Promise<Result>;
  /** `--emulate WORDS…`: `control('reset', 'fault=service-down')`. Rejects when it fails. */
  control(...words: string[]): Promise<string>;
  start(...argv: string[]): ChildProcessWithoutNullStreams;
  remove(): Promise<void>;
}

/**
 * A fresh emulator in a temporary home: registered, disconnected, terms accepted.
 * @param options.version the release to be, as `CULVERT_EMULATOR_VERSION` takes it
 * @param options.faults as `CULVERT_EMULATOR_FAULTS` takes them; those set by `control` can be taken back
 * @param options.connectMs how long connecting takes (default 0)
 * @param options.proxy proxy mode really listens; without it, it doesn't, so that tests in parallel need no ports
 */
export async function emulator(
  options: { version?: string; faults?: string; connectMs?: number; proxy?: boolean } = {},
): Promise<Emulator> {
  const bundle = await bundled();
  const home = await mkdtemp(join(tmpdir(), 'culvert-emulator-'));
  const bin = join(home, 'bin/warp-cli');
  const stateFile = join(home, 'state/emulator.json');
  await mkdir(join(home, 'bin'));
  await writeFile(bin, `#!/bin/sh\nexec '${process.execPath}' '${bundle}' "$@"\n`);
  await chmod(bin, 0o755);
  const env: NodeJS.ProcessEnv = {
    HOME: home,
    PATH: process.env.PATH,
    CULVERT_EMULATOR_STATE: stateFile,
    CULVERT_EMULATOR_CONNECT_MS: String(options.connectMs ?? 0),
    ...(options.version !== undefined && { CULVERT_EMULATOR_VERSION: options.version }),
    CULVERT_EMULATOR_FAULTS: [options.faults, options.proxy ? '' : 'proxy-silent'].filter(Boolean).join(','),
  };
  const runWith = (more: NodeJS.ProcessEnv, ...argv: string[]) => run(bin, argv, { ...env, ...more });
  return {
    bin,
    env,
    stateFile,
    runWith,
    run: (...argv) => runWith({}, ...argv),
    async control(...words) {
      const { stdout, stderr, exitCode } = await runWith({}, '--emulate', ...words);
      if (exitCode !== 0) throw new Error(`--emulate ${words.join(' ')}: ${stderr}`);
      return stdout;
    },
    start: (...argv) => spawn(bin, argv, { env }),
    remove: async () => removeTree(home),
  };
}

function run(bin: string, argv: string[], env: NodeJS.ProcessEnv): Promise<Result> {
  return new Promise((fulfil, reject) => {
    const child = execFile(bin, argv, { env, maxBuffer: 16 * 2 ** 20 }, (error, stdout, stderr) => {
      if (error && typeof error.code === 'string') return reject(error);
      fulfil({ stdout, stderr, exitCode: child.exitCode, signal: child.signalCode });
    });
    child.stdin?.end();
  });
}

/** The bundle under build/test, named by what it was made from: test files in parallel find it or make the same. */
export async function bundled(): Promise<string> {
  const hash = createHash('sha256');
  for (const directory of SOURCES) {
    const names = (await readdir(directory, { recursive: true })).filter(name => /\.m?ts$|\.mjs$/.test(name)).sort();
    for (const name of names) hash.update(`${name}\0`).update(await readFile(join(directory, name)));
  }
  const directory = join(ROOT, 'build/test', `emulator-${hash.digest('hex').slice(0, 16)}`);
  const bundle = join(directory, 'main.cjs');
  if (await stat(bundle).catch(() => null)) return bundle;
  const { bundleProgram } = await import('../../../data/build/bundle.mjs');
  const part = `${directory}.${process.pid}.part`;
  bundleProgram('emulator', part);
  // of test files that made it at once, the first one's stays
  await rename(part, directory).catch(() => rm(part, { recursive: true, force: true }));
  return bundle;
}
