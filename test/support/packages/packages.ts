// Builds packages of this tree, and starts the programs of a package with the emulator.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { createHome, getJson, start } from '../e2e/culvert.ts';
import { freePort } from '../ports.ts';

const root = resolve(import.meta.dirname, '../../..');
export const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

/** A build that needs a download, and reached no server. */
export class Unavailable extends Error {}
/** Exit status of a build without a server: EX_UNAVAILABLE of sysexits.h. */
const UNAVAILABLE = 69;

/** Directory in which downloads stay for the next run: that of the fresh roots, or one of this tree. */
export function downloads(name: string): string {
  const shared = join(process.env.CULVERT_TEST_CACHE ?? '/var/cache/culvert-test', name);
  try {
    mkdirSync(shared, { recursive: true });
    accessSync(shared, constants.W_OK);
    return shared;
  } catch {
    const own = join(root, 'build/downloads', name);
    mkdirSync(own, { recursive: true });
    return own;
  }
}

/**
 * Runs a script of the project to its end, with the times of the last commit.
 * @throws Unavailable; Error with the script's output where it fails
 */
export async function build(script: string, args: string[], env: Record<string, string> = {}): Promise<void> {
  const epoch = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim();
  const child = spawn(join(root, script), args, {
    env: { ...process.env, SOURCE_DATE_EPOCH: epoch, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  console.log(script);
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => {
      said += piece;
      process.stdout.write(piece); // the runner ends a file that shows no progress
    });
  const [code] = await once(child, 'close');
  if (code === UNAVAILABLE) throw new Unavailable(said.trim().split('\n').at(-1));
  assert.equal(code, 0, `${script}: ${said}`);
}

/**
 * Declares the tests that every package passes: its programs tell the version, and its daemon answers.
 * @param command the command line of a program; asked when the tests run, since the package is built by then
 */
export function testPrograms(command: (program: string) => string[], env: Record<string, string> = {}): void {
  test('each program prints its version', t => {
    const home = createHome(t);
    for (const program of ['culvert', 'culvert-wrap', 'culvert-manifest']) {
      const [file, ...words] = command(program);
      const text = execFileSync(file!, [...words, '--version'], { env: { ...home.env, ...env }, encoding: 'utf8' });
      assert.match(text, new RegExp(`^(${program} )?${version.replaceAll('.', '\\.')}\\n$`), program);
    }
  });

  test('the daemon answers', async t => {
    const home = createHome(t);
    Object.assign(home.env, env);
    [home.program] = command('culvert');
    const { says } = start(home, '--demo', '--port', String(freePort()));
    const [, port] = await says(/answers on http:\/\/127\.0\.0\.1:(\d+)\//);
    const health: Record<string, unknown> = await getJson(Number(port), '/api/health');
    assert.equal(health.ok, true, JSON.stringify(health));
  });
}
