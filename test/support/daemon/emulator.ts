// A fixture: the emulator as an executable with its own state.
import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundledOnce } from '../built.ts';
import { removeTree } from '../temporary.ts';
import { client, SERVICE, serve } from './emulator-service.ts';

export interface Result {
  stdout: string;
  stderr: string;
  exitCode: number | null;
  signal: NodeJS.Signals | null;
}

export interface Emulator {
  /** Absolute path of an executable that is spawned like `warp-cli`; its name is `warp-cli`, its folder holds nothing else. */
  bin: string;
  /** Pass it to what spawns `bin`: HOME, PATH and the `CULVERT_EMULATOR_*` variables. */
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
 * @param options.faults as `CULVERT_EMULATOR_FAULTS` takes them; those set by `control` can be removed again
 * @param options.connectMs how long connecting takes (default 0)
 * @param options.program `bin` is the program for every command; without it, only for commands that take a process
 * @param options.proxy proxy mode really listens; without it, it doesn't, so that tests in parallel need no ports
 */
export async function emulator(
  options: { version?: string; faults?: string; connectMs?: number; proxy?: boolean; program?: boolean } = {},
): Promise<Emulator> {
  const bundle = bundled();
  const home = await mkdtemp(join(tmpdir(), 'culvert-emulator-'));
  const bin = join(home, 'bin/warp-cli');
  const stateFile = join(home, 'state/emulator.json');
  await mkdir(join(home, 'bin'));
  const socket = join(home, 'service');
  const service = options.program ? null : serve(socket);
  const text = service ? client(process.execPath, bundle) : `#!/bin/sh\nexec '${process.execPath}' '${bundle}' "$@"\n`;
  // synchronously: a process that forks while the file is open for writing can keep it so, and it can't be run (ETXTBSY)
  writeFileSync(bin, text, { mode: 0o755 });
  const env: NodeJS.ProcessEnv = {
    HOME: home,
    PATH: process.env.PATH,
    CULVERT_EMULATOR_STATE: stateFile,
    [SERVICE]: socket,
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
    remove: async () => {
      service?.close();
      removeTree(home);
    },
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

/** The program, bundled. */
export function bundled(): string {
  return join(bundledOnce('emulator'), 'main.cjs');
}
