// The built program in a temporary home: started, asked, ended with the test.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { builtOnce } from '../built.ts';
import { client, SERVICE, serve } from '../daemon/emulator-service.ts';
import { freePort } from '../ports.ts';
import { removeTree } from '../temporary.ts';

export const prefix = resolve(process.env.CULVERT_TEST_PREFIX ?? 'build/prefix');
export const program = join(prefix, 'bin/culvert');

export interface Home {
  directory: string;
  env: Record<string, string>;
  /** `$XDG_RUNTIME_DIR/culvert`. */
  runtime: string;
  /** The program that starts the daemon; the built one by default. */
  program?: string;
  /** Runs before the directory is removed, last given first. */
  defer(end: () => unknown): void;
}

/** An empty home with a session directory; removed with the test. */
export function createHome(t: { after(end: () => Promise<void>): unknown }): Home {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-e2e-'));
  const ends: (() => unknown)[] = [];
  t.after(async () => {
    for (const end of ends.reverse()) await end();
    removeTree(directory);
  });
  const session = join(directory, 'session');
  mkdirSync(session, { mode: 0o700 });
  const env = {
    PATH: process.env.PATH!,
    HOME: directory,
    XDG_RUNTIME_DIR: session,
    LANG: 'C.UTF-8',
    CULVERT_UI_FIRST_STEPS: 'false',
  };
  return { directory, env, runtime: join(session, 'culvert'), defer: end => ends.push(end) };
}

export interface Started {
  child: ChildProcess;
  /** Everything on stderr so far. */
  said(): string;
  /** Waits until stderr matches. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  /** Exit code, or the signal's name. */
  ended: Promise<number | string>;
}

/** Starts the daemon without tray and panel; killed with the test. */
export function start({ env, defer, program: own }: Home, ...flags: string[]): Started {
  const child = spawn(own ?? program, ['--no-tray', '--no-panel', '--no-open', ...flags], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  child.stderr!.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    child.emit('said');
  });
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal);
  defer(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  });
  return {
    child,
    said: () => text,
    ended,
    async says(pattern) {
      const deadline = AbortSignal.timeout(60_000);
      for (;;) {
        const match = pattern.exec(text);
        if (match) return match;
        assert.equal(child.exitCode, null, `ended without saying ${pattern}: ${text}`);
        await Promise.race([once(child, 'said', { signal: deadline }), once(child, 'exit', { signal: deadline })]);
      }
    },
  };
}

/** The built program, with an emulator that answers from the process of the test. */
function withService(): string {
  const tree = builtOnce('prefix', directory => {
    cpSync(prefix, directory, { recursive: true, verbatimSymlinks: true });
    const emulator = join(directory, 'bin/culvert-emulator');
    rmSync(emulator);
    writeFileSync(emulator, client(`${prefix}/bin/culvert-emulator`), { mode: 0o755 });
  });
  return join(tree, 'bin/culvert');
}

/** Starts the demo daemon and waits until it answers. */
export async function startDemo(home: Home, ...flags: string[]) {
  if (!home.program) {
    home.program = withService();
    home.env[SERVICE] = join(home.directory, 'service');
    const service = serve(home.env[SERVICE]);
    home.defer(() => service.close());
  }
  const daemon = start(home, '--demo', ...(flags.includes('--port') ? [] : ['--port', String(freePort())]), ...flags);
  const [, port] = await daemon.says(/answers on http:\/\/127\.0\.0\.1:(\d+)\//);
  return { ...daemon, port: Number(port) };
}

/** Runs a control command to its end. */
export async function culvert({ env }: Pick<Home, 'env'>, ...words: string[]) {
  const child = spawn(program, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (stdout += piece));
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (stderr += piece));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

/** GETs JSON over TCP, as curl would. */
export function getJson(port: number, path: string): Promise<Record<string, never>> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent: false }, response => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => resolve(JSON.parse(text)));
    }).on('error', reject);
  });
}
