// The life of the bridge: started by a call, kept by its callers, and true to a daemon that comes and goes.
import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { builtBridge, makeHome, missing, startBus, VERSION } from '../../support/gnome/bridge.ts';
import { createDaemon } from '../../support/gnome/daemon.ts';
import type { Ask } from '../../support/gnome/desktop.ts';
import { until } from '../../support/until.ts';

const skip = missing();

type Values = Record<string, unknown>;

/** A connected daemon, and a bus with one program that uses the bridge. */
async function setUp(t: TestContext) {
  const home = makeHome(t);
  const daemon = createDaemon(home.socket);
  daemon.set('status', { state: 'connected' });
  daemon.answers['GET /api/version'] = { version: VERSION };
  await daemon.listen();
  t.after(() => daemon.stop());
  const bus = await startBus(t, home);
  const { ask, program } = bus.caller();
  return { home, daemon, bus, ask, program };
}

const all = (ask: Ask) => ask({ do: 'all' }) as Promise<Values>;
const owner = (ask: Ask) => ask({ do: 'owner' }) as Promise<string | null>;
const shows = (ask: Ask, state: string) => until(async () => (await all(ask)).State === state, state);

test('it runs when a call needs it, and ends when its last caller has left', { skip }, async t => {
  const { bus, ask, program, daemon } = await setUp(t);
  const { ask: watch } = bus.caller();
  assert.equal(await owner(watch), null);
  const other = bus.caller();
  await all(ask);
  await all(other.ask);
  const name = await owner(watch);
  assert.notEqual(name, null);
  await program.kill();
  assert.equal((await all(other.ask)).State, 'connected');
  assert.equal(await owner(watch), name);
  await other.program.kill();
  await until(async () => (await owner(watch)) === null, 'the bridge to end');
  await until(() => daemon.streams() === 0, 'its stream to end');
  assert.equal((await all(watch)).State, 'connected');
});

test('a bridge that is killed leaves no name behind, and the next call starts one', { skip }, async t => {
  const { ask } = await setUp(t);
  await all(ask);
  const name = await owner(ask);
  process.kill((await ask({ do: 'pid' })) as number, 'SIGKILL');
  await until(async () => (await owner(ask)) === null, 'the name to be free');
  assert.equal((await all(ask)).State, 'connected');
  assert.notEqual(await owner(ask), name);
});

test('a daemon that is killed reads as unknown, and as it is once it is back', { skip }, async t => {
  const { ask, daemon } = await setUp(t);
  await shows(ask, 'connected');
  await ask({ do: 'changes' });
  await daemon.crash();
  await shows(ask, 'unknown');
  const values = await all(ask);
  assert.deepEqual(
    [
      values.Reason,
      values.Mode,
      values.Since,
      values.Latency,
      values.ToggleAction,
      values.CanToggle,
      values.KillSwitch,
    ],
    ['not-running', '', 0, 0, '', false, 'unknown'],
  );
  const seen = (await ask({ do: 'changes' })) as Values[];
  assert.equal(seen.find(({ State }) => State !== undefined)?.State, 'unknown');
  daemon.set('status', { state: 'connecting' });
  await daemon.listen();
  await shows(ask, 'connecting');
});

test('it starts without a daemon, and finds a daemon that starts later', { skip }, async t => {
  const home = makeHome(t);
  const bus = await startBus(t, home);
  const { ask } = bus.caller();
  assert.equal((await all(ask)).State, 'unknown');
  assert.deepEqual(await ask({ do: 'call', method: 'Connect' }), {
    name: 'org.culvert.Error.NotRunning',
    text: 'Culvert’s background service isn’t running.',
  });
  const daemon = createDaemon(home.socket);
  await daemon.listen();
  t.after(() => daemon.stop());
  await shows(ask, 'disconnected');
});

test('it goes on after a restart of the daemon, and gives way after an update', { skip }, async t => {
  const { ask, daemon } = await setUp(t);
  await shows(ask, 'connected');
  const pid = await ask({ do: 'pid' });
  await daemon.stop();
  await shows(ask, 'unknown');
  await daemon.listen();
  await shows(ask, 'connected');
  assert.equal(await ask({ do: 'pid' }), pid);
  await daemon.stop();
  daemon.answers['GET /api/version'] = { version: '9.9.9' };
  await daemon.listen();
  await until(async () => (await owner(ask)) === null, 'the old version to end');
  await shows(ask, 'connected');
  assert.notEqual(await ask({ do: 'pid' }), pid);
});

test('it ends with its daemon when Culvert is removed', { skip }, async t => {
  const home = makeHome(t);
  const prefix = join(home.directory, 'prefix');
  cpSync(builtBridge(), prefix, { recursive: true });
  const daemon = createDaemon(home.socket);
  await daemon.listen();
  t.after(() => daemon.stop());
  const { ask } = (await startBus(t, home, prefix)).caller();
  await shows(ask, 'disconnected');
  await daemon.stop();
  await shows(ask, 'unknown');
  rmSync(prefix, { recursive: true });
  await until(async () => (await owner(ask)) === null, 'the bridge to end');
});

test('two sessions of one user have a bridge each, and both follow the one daemon', { skip }, async t => {
  const { home, daemon, ask } = await setUp(t);
  const second = await startBus(t, home);
  const { ask: other } = second.caller();
  await shows(ask, 'connected');
  await shows(other, 'connected');
  assert.notEqual(await ask({ do: 'pid' }), await other({ do: 'pid' }));
  daemon.onAction = () => daemon.set('status', { state: 'disconnected' });
  assert.equal(await other({ do: 'call', method: 'Disconnect' }), null);
  await shows(ask, 'disconnected');
  await shows(other, 'disconnected');
});

test('a second bridge on the same bus gives way', { skip }, async t => {
  const { bus, ask } = await setUp(t);
  await all(ask);
  const name = await owner(ask);
  const second = bus.startBridge();
  assert.equal(await second.exited, 0);
  assert.match(second.output(), /another process owns org\.culvert\.Client1/);
  assert.equal(await owner(ask), name);
});

test('texts follow the language that the user chose', { skip }, async t => {
  const { ask, daemon } = await setUp(t);
  await shows(ask, 'connected');
  daemon.setConfig({ ui: { locale: 'de' } });
  await until(async () => (await all(ask)).StatusText === 'Verbunden', 'German');
  assert.equal((await all(ask)).State, 'connected');
});
