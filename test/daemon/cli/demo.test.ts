// A demo says that it is one wherever a statement about this machine would be believed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startTime } from '../../../daemon/core/process.ts';
import { bundledOnce } from '../../support/built.ts';
import { createHome, culvert, type Home, startDaemon } from '../../support/daemon/command.ts';
import { memoryTunnel, showIn } from '../../support/daemon/memory-tunnel.ts';
import { freePort } from '../../support/ports.ts';

/** A daemon with values in memory, which its record and its snapshot describe as a demo, or not. */
async function setUp(t: TestContext, demo: boolean) {
  const home = createHome(t);
  const memory = memoryTunnel({});
  const { daemon } = await startDaemon(t, home, undefined, { tunnel: memory.tunnel });
  showIn(daemon.state, memory);
  daemon.state.set('tunnelCli', { ...daemon.state.snapshot().tunnelCli, emulated: demo });
  const record = { pid: process.pid, port: null, version: '9.9.9', started: startTime(process.pid), demo };
  writeFileSync(join(home.path, 'run/culvert/daemon.json'), JSON.stringify(record));
  return { home, memory };
}

const STATEMENTS = [
  ['mode'],
  ['protocol'],
  ['proxy'],
  ['split', 'list'],
  ['routes'],
  ['why', '192.0.2.1'],
  ['killswitch'],
  ['apps'],
  ['history'],
  ['settings', 'export'],
  ['logs'],
  ['wait'],
  ['connect'],
  ['doctor', 'check', '--only', 'display'],
];

test('each command that states something about the machine names the demo once, on stderr', async t => {
  const { home } = await setUp(t, true);
  for (const words of STATEMENTS) {
    const { stdout, stderr } = await culvert(home, words);
    assert.equal(stderr.match(/^Demo: /gm)?.length, 1, `${words.join(' ')}: ${stderr}`);
    assert.doesNotMatch(stdout, /^Demo: /m, words.join(' '));
  }
});

test('a command that states nothing about the machine is not marked', async t => {
  const { home } = await setUp(t, true);
  for (const words of [['status'], ['config'], ['version'], ['explain'], ['actions'], ['doctor', 'list']])
    assert.doesNotMatch((await culvert(home, words)).stderr, /^Demo: /m, words.join(' '));
  assert.match((await culvert(home, ['status'])).stdout, /demo: no tunnel/);
});

test('a JSON document of a demo has demo: true, and stderr stays empty', async t => {
  const { home } = await setUp(t, true);
  for (const words of [...STATEMENTS, ['status']]) {
    const { stdout, stderr } = await culvert(home, [...words, '--json']);
    assert.equal(stderr, '', words.join(' '));
    assert.equal(JSON.parse(stdout).demo, true, words.join(' '));
  }
});

test('the real daemon is not marked', async t => {
  const { home } = await setUp(t, false);
  for (const words of STATEMENTS) assert.doesNotMatch((await culvert(home, words)).stderr, /demo/i, words.join(' '));
  assert.equal('demo' in JSON.parse((await culvert(home, ['mode', '--json'])).stdout), false);
});

test('in a demo, why does not compare the forecast with the kernel', async t => {
  const { home } = await setUp(t, true);
  const { stdout } = await culvert(home, ['why', '1.1.1.1']);
  assert.match(stdout, /The demo routes nothing/);
  assert.doesNotMatch(stdout, /disagree|kernel sends/);
});

test('a real daemon applies settings of a demo only after an explicit word', async t => {
  const demo = await setUp(t, true);
  const file = join(demo.home.path, 'settings.toml');
  const exported = await culvert(demo.home, ['settings', 'export', file]);
  assert.equal(exported.code, 0, exported.stderr);
  const text = readFileSync(file, 'utf8');
  assert.match(text, /^# Settings of a demo/);

  const real = await setUp(t, false);
  writeFileSync(file, text.replace(/^mode = .*/m, 'mode = "dot"'));
  const refused = await culvert(real.home, ['settings', 'apply', file]);
  assert.equal(refused.code, 1, refused.stderr);
  assert.match(refused.stderr, /from a demo.*\n.*--demo-file/);
  assert.equal(real.memory.values.mode, 'warp');
  const applied = await culvert(real.home, ['settings', 'apply', '--demo-file', '--yes', file]);
  assert.equal(applied.code, 0, applied.stderr);
  assert.equal(real.memory.values.mode, 'dot');
});

test('a second start says whether the demo or the real Culvert runs', async t => {
  const program = join(bundledOnce('daemon'), 'main.cjs');
  const home = createHome(t);
  const launch = (user: Home, port: number, demo: string[]) => {
    const words = [...demo, '--no-open', '--no-tray', '--no-panel', '--port', String(port)];
    const child = spawn(process.execPath, [program, ...words], { env: user.env });
    t.after(() => child.kill('SIGKILL'));
    child.stderr.setEncoding('utf8');
    return child;
  };
  const port = freePort();
  const first = launch(home, port, ['--demo']);
  for await (const text of first.stderr) if (/answers on/.test(text)) break;
  // found by its record, and by the port that it listens on
  for (const user of [home, createHome(t)]) {
    const again = launch(user, port, ['--demo']);
    const [said] = await Promise.all([again.stderr.toArray(), once(again, 'close')]);
    assert.match(said.join(''), /The demo of Culvert .* is already running on port \d+/);
    assert.doesNotMatch(said.join(''), /stop it first/);
  }
  const real = launch(home, port, []);
  const [said] = await Promise.all([real.stderr.toArray(), once(real, 'close')]);
  assert.match(said.join(''), /The demo of Culvert .* is already running/);
  assert.match(said.join(''), /for the real one, stop it first/);
});
