// `culvert status --format`, as a bar starts it.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { test } from 'node:test';
import { createHome, culvert, ended, prints, start, startDaemon, status } from '../../../support/daemon/command.ts';

test('a bar that starts before the daemon shows unknown, then the state, and unknown again when the daemon goes', async t => {
  const home = createHome(t);
  const child = await start(home, ['status', '--watch', '--format', 'plain']);
  await prints(child, 'stdout', /^\? Unavailable\n/);
  const first = await startDaemon(t, home);
  first.daemon.state.set('status', status('connected'));
  await prints(child, 'stdout', /● Connected\n$/);
  rmSync(home.socket);
  await first.listeners.close('restart', 0);
  await prints(child, 'stdout', /● Connected\n\? Unavailable\n$/);
  const second = await startDaemon(t, home);
  second.daemon.state.set('status', status('disconnected'));
  await prints(child, 'stdout', /○ Disconnected\n$/);
  child.kill('SIGINT');
  const { code, stderr } = await ended(child);
  assert.deepEqual([code, stderr], [0, ''], 'without a word beside the lines');
});

test('i3bar gets a line that it can parse for each change', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home);
  daemon.state.set('status', status('connected'));
  const child = await start(home, ['status', '--watch', '--format', 'i3bar']);
  await prints(child, 'stdout', /"connected".*\],\n$/);
  daemon.state.set('status', status('disconnected'));
  await prints(child, 'stdout', /"disconnected".*\],\n$/);
  child.kill('SIGTERM');
  const [header, ...array] = (await ended(child)).stdout.trim().split('\n');
  assert.equal(header, '{"version":1}');
  assert.equal((JSON.parse(`${array.join('').replace(/,$/, '')}]`) as unknown[]).length, 2);
});

test('changes that come together are one line, with the last of them', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home);
  daemon.state.set('status', status('disconnected'));
  const child = await start(home, ['status', '--watch', '--format', 'plain']);
  await prints(child, 'stdout', /^○ Disconnected\n$/);
  for (let i = 0; i < 200; i++) daemon.state.set('status', status(i % 2 === 0 ? 'connected' : 'connecting'));
  daemon.state.set('status', status('unable'));
  await prints(child, 'stdout', /× Can’t connect\n$/);
  child.kill('SIGINT');
  const lines = (await ended(child)).stdout.trim().split('\n');
  assert.ok(lines.length < 20, `${lines.length} lines`);
});

test('without --watch it prints one line, also without a daemon; a format that does not exist is refused', async t => {
  const home = createHome(t);
  assert.deepEqual(await culvert(home, ['status', '--format', 'plain']), {
    code: 0,
    stdout: '? Unavailable\n',
    stderr: '',
  });
  const { code, stderr } = await culvert(home, ['status', '--format', 'lemonbar']);
  assert.equal(code, 2);
  assert.match(stderr, /waybar, i3bar, i3status-rust, polybar, plain/);
});
