// An indicator that was written from the manual page alone: the script of the documentation, over a real bus.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeHome, missing, startBus } from '../../support/gnome/bridge.ts';
import { createDaemon } from '../../support/gnome/daemon.ts';
import { change } from '../../support/gnome/initial.ts';
import { until } from '../../support/until.ts';

const script = /```python\n(.*?)```/s.exec(readFileSync('data/doc/eww.md', 'utf8'))![1]!;

test('the script has less than 60 lines', () => assert.ok(script.trim().split('\n').length < 60));

test('it shows each state, never one from before, and does what a click says', { skip: missing() }, async t => {
  const home = makeHome(t);
  const daemon = createDaemon(home.socket);
  await daemon.listen();
  t.after(() => daemon.stop());
  daemon.set('status', { state: 'connected' });
  const bus = await startBus(t, home);
  const file = join(home.directory, 'culvert-eww');
  writeFileSync(file, script);
  const run = (...words: string[]) => bus.start('/usr/bin/python3', ['-W', 'ignore', file, ...words]);
  const indicator = run();
  const last = () => JSON.parse(indicator.stdout().trim().split('\n').at(-1)!);
  const shows = (state: string) =>
    until(
      () => indicator.stdout().endsWith('\n') && last().state === state,
      () => `${state}: ${indicator.output()}`,
    );
  const click = async (...words: string[]) => {
    const program = run(...words);
    return [await program.exited, program.output().trim()];
  };

  await shows('connected');
  const shown = { sign: '●', text: 'Connected', pause_ends: 0, can_toggle: true, remedy: '', pending: '' };
  assert.deepEqual(last(), { state: 'connected', ...shown });
  daemon.onAction = ({ action }) =>
    daemon.set('status', { state: action === 'connect' ? 'connected' : 'disconnected' });
  assert.deepEqual(await click('toggle'), [0, '']);
  await shows('disconnected');
  assert.deepEqual(await click('toggle'), [0, '']);
  await shows('connected');
  const endsAt = new Date(Date.now() + 900_000).toISOString();
  daemon.onAction = () => {
    daemon.setChanges([change('connection', { value: 'off', endsAt })]);
    daemon.set('status', { state: 'disconnected' });
  };
  assert.deepEqual(await click('pause', '15'), [0, '']);
  await shows('paused');
  assert.equal(last().pause_ends, Math.floor(Date.parse(endsAt) / 1000));
  assert.deepEqual(daemon.actions, [
    { action: 'disconnect' },
    { action: 'connect' },
    { action: 'disconnect', forSeconds: 900 },
  ]);

  const { ask } = bus.caller();
  process.kill((await ask({ do: 'pid' })) as number, 'SIGKILL');
  await shows('unknown');
  assert.equal(last().text, 'Unavailable');
  await ask({ do: 'all' });
  await shows('paused');

  await daemon.crash();
  await shows('unknown');
  assert.deepEqual(await click('pause', '15'), [1, 'Culvert’s background service isn’t running.']);
});
