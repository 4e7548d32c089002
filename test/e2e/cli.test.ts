// The command line of the built program against the real daemon with the emulator, as a user has it after installing.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createHome, program, type Started, startDemo } from '../support/e2e/culvert.ts';
import { until } from '../support/until.ts';

const home = createHome({ after });
Object.assign(home.env, { TZ: 'UTC' });
let daemon: Started;

before(async () => {
  daemon = await startDemo(home);
  for (const words of [
    ['account', 'accept-terms'],
    ['account', 'register'],
  ])
    await culvert(words);
});

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}
function start(words: string[], input = '') {
  const child = spawn(program, words, { env: home.env, cwd: home.directory });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', piece => (text[name] += piece));
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const ended: Promise<Ended> = once(child, 'close').then(([code]) => ({ code, ...text }));
  const prints = (pattern: RegExp) =>
    until(
      () => pattern.test(text.stdout + text.stderr),
      () => `${pattern} in ${JSON.stringify(text)}`,
    );
  return { child, ended, prints };
}
const culvert = (words: string[], input = '') => start(words, input).ended;
const json = async (words: string[]) => JSON.parse((await culvert([...words, '--json'])).stdout);

test('connect --wait connects, disconnect --wait disconnects, and every view of the state agrees', async () => {
  // the long form asks the daemon, which reads the settings then; the short one shows what has been read
  await until(
    async () => /MASQUE/.test((await culvert(['status', '--long'])).stdout.split('\n')[0]!),
    'the settings have been read',
  );
  for (const [verb, state, check] of [
    ['connect', 'connected', 0],
    ['disconnect', 'disconnected', 3],
  ] as const) {
    const { code, stdout, stderr } = await culvert([verb, '--wait']);
    assert.equal(code, 0, stderr);
    // answered by the shell, from the file that the daemon keeps; it names no mode while the settings are read again
    await until(async () => (await culvert(['status'])).stdout === stdout, `the status file says ${stdout}`);
    assert.match(stdout, /demo: no tunnel/);
    assert.equal((await culvert(['status', '--long'])).stdout.split('\n')[0], stdout.trim());
    assert.equal((await culvert(['status', '--check'])).code, check);
    assert.equal((await culvert(['status', '--check', '--json'])).code, check);
    const { status, port } = await json(['status']);
    assert.equal(status.state, state);
    const overTcp = await (await fetch(`http://127.0.0.1:${port}/api/snapshot`)).json();
    assert.deepEqual((overTcp as { status: unknown }).status, status);
  }
});

test('mode and protocol are as they were set', async () => {
  assert.equal((await culvert(['mode', 'WARP+DoH'])).code, 0);
  assert.equal((await culvert(['mode'])).stdout, 'warp+doh\n');
  assert.equal((await culvert(['protocol', 'wireguard'])).code, 0);
  assert.equal((await culvert(['protocol'])).stdout, 'WireGuard\n');
  assert.equal((await culvert(['mode', 'warp'])).code, 0);
  assert.equal((await culvert(['mode'])).stdout, 'warp\n');
});

test('an exported list can be imported after a reset, twice, and is the same', async () => {
  assert.equal((await culvert(['split', 'add', '192.0.2.7', '203.0.113.5/24', '*.example.com'])).code, 0);
  const file = join(home.directory, 'routes.txt');
  assert.equal((await culvert(['split', 'export', file])).code, 0);
  assert.match(readFileSync(file, 'utf8'), /^203\.0\.113\.0\/24\b/m);
  assert.equal((await culvert(['split', 'reset'])).code, 0);
  assert.doesNotMatch((await culvert(['split'])).stdout, /203\.0\.113/);
  const first = await json(['split', 'import', file]);
  assert.deepEqual([first.ok, first.added], [true, 3]);
  assert.equal((await json(['split', 'import', file])).added, 0);
  writeFileSync(file, '198.51.100.1\nnot a host\n');
  const refused = await culvert(['split', 'import', file]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^Line 2: /m);
  assert.equal((await culvert(['split', 'remove', '192.0.2.7'])).code, 0);
  assert.doesNotMatch((await culvert(['split', 'list'])).stdout, /198\.51|192\.0\.2\.7/);
});

test('a license is applied from a pipe and is in no log', async () => {
  const key = 'k3yk3y00-abcdefgh-ijklmnop';
  assert.equal((await culvert(['account', 'license'], `${key}\n`)).code, 0);
  assert.equal((await json(['account'])).license.endsWith('mnop'), true);
  assert.ok(!JSON.stringify(await json(['logs', '--limit', '1000'])).includes(key));
});

test('without a registration connect fails with the command that helps, and that command helps', async () => {
  assert.equal((await culvert(['account', 'delete', '--yes'])).code, 0);
  const { code, stderr } = await culvert(['connect', '--wait']);
  assert.equal(code, 1);
  assert.match(stderr, /Register this device with: culvert account register/);
  const broken = await json(['doctor', '--only', 'registration']);
  assert.equal(broken.results[0].verdict, 'problem');
  assert.equal((await culvert(['account', 'register'])).code, 0);
  assert.equal((await culvert(['doctor', '--only', 'registration'])).code, 0);
});

test('config set takes effect in the file and in the daemon', async () => {
  assert.equal((await culvert(['config', 'set', 'ui.theme', 'dark'])).code, 0);
  assert.deepEqual(JSON.parse(readFileSync(join(home.directory, '.config/culvert/config.json'), 'utf8')), {
    ui: { theme: 'dark' },
  });
  assert.equal((await culvert(['config', 'get', 'ui.theme'])).stdout, 'dark\n');
  assert.equal((await culvert(['config', 'set', 'warp.cli', 'sh'])).code, 1);
});

test('stop ends the daemon, whose watchers wait for the next one', async () => {
  const watcher = start(['status', '--watch']);
  const logs = start(['logs', '--follow']);
  await watcher.prints(/Disconnected/);
  await logs.prints(/culvert-emulator|warp-cli/);
  const { code, stdout } = await culvert(['stop']);
  assert.deepEqual([code, stdout], [0, `Stopped the daemon (pid ${daemon.child.pid}).\n`]);
  assert.equal(await daemon.ended, 0);
  for (const words of [['status'], ['status', '--json'], ['stop'], ['connect']])
    assert.equal((await culvert(words)).code, 5);
  await watcher.prints(/Waiting for it to come back\./);
  daemon = await startDemo(home);
  await watcher.prints(/The daemon is back\./);
  await logs.prints(/The daemon is back\./);
  for (const { child, ended } of [watcher, logs]) {
    child.kill('SIGINT');
    assert.equal((await ended).code, 0);
  }
});
