// Published changes reach the history while it is turned on.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { loadConfig } from '../../../daemon/config/layers.ts';
import type { HistoryControl } from '../../../daemon/controls.ts';
import { openHistory, type Pace } from '../../../daemon/history/index.ts';
import { createState, NO_TUNNEL } from '../../../daemon/state/store.ts';
import { paths } from '../../../daemon/system/paths.ts';
import { memoryTunnel } from '../../support/daemon/memory-tunnel.ts';
import { startTunnel } from '../../support/daemon/tunnel.ts';
import { type Ends, temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

const NEVER = 3_600_000;

async function setUp(t: Ends, pace: Partial<Pace> = {}, changing: 'lately' | null = null) {
  const home = temporary(t, 'history');
  const state = createState({ available: true, path: null, version: null, emulated: false });
  const settings = await loadConfig({ system: `${home}/system.json`, user: `${home}/user.json` }, {});
  const places = paths({ HOME: home });
  let reads = 0;
  const figures = (received: number) =>
    state.set('tunnel', {
      ...NO_TUNNEL,
      at: new Date().toISOString(),
      latencyMs: 9,
      bytesReceived: received,
      bytesSent: 0,
    });
  const tunnel = {
    ...memoryTunnel().tunnel,
    changing: () => changing,
    async readFigures() {
      reads += 1;
      figures(reads * 100);
    },
  };
  const history = openHistory(
    { state, settings, tunnel, paths: places, say: () => {} },
    { writeMs: NEVER, readMs: NEVER, ...pace },
  );
  t.after(() => history.stop());
  const status = (name: 'connected' | 'disconnected') =>
    state.set('status', { ...state.snapshot().status, state: name, raw: name });
  const enable = (enabled: boolean) => {
    settings.setSession({ history: { enabled } });
    state.publish('config', settings.response());
  };
  return { state, history, status, figures, enable, directory: places.history, reads: () => reads };
}

const kinds = async (history: Pick<HistoryControl, 'read'>) =>
  (await history.read({})).changes.map(({ kind, state }) => `${kind} ${state}`);

test('a daemon that was just started writes nothing immediately, and loses nothing', async t => {
  const { history, status, directory } = await setUp(t);
  history.start();
  status('connected');
  status('disconnected');
  assert.equal(existsSync(directory), false);
  assert.deepEqual(await kinds(history), ['start connected', 'state disconnected']);
  await history.stop();
  assert.deepEqual(await kinds(history), ['start connected', 'state disconnected', 'stop disconnected']);
});

test('published changes are written soon, without another event', async t => {
  const { history, status, directory } = await setUp(t, { writeMs: 10 });
  history.start();
  status('connected');
  await until(() => existsSync(directory));
});

test('a tunnel that no client reads is read while it is connected', async t => {
  const { history, status, reads } = await setUp(t, { readMs: 5 });
  history.start();
  status('connected');
  await until(() => reads() > 2);
  const { totals } = await history.read({ since: '1h', until: '0s' });
  assert.ok(totals!.received >= 100, `${totals!.received}`);
});

test('turned off, it records nothing, and earlier records stay', async t => {
  const { history, status, figures, enable } = await setUp(t);
  history.start();
  status('connected');
  figures(100);
  enable(false);
  await until(async () => (await history.read({})).changes.at(-1)?.kind === 'stop');
  status('disconnected');
  const off = await history.read({});
  assert.deepEqual([off.enabled, off.changes.length], [false, 2]);
  enable(true);
  assert.deepEqual(await kinds(history), ['start connected', 'stop connected', 'start disconnected']);
});

test('deleting notifies every client, and the present state begins the new history', async t => {
  const { history, status, state } = await setUp(t);
  const events: string[] = [];
  state.subscribe(({ event }) => events.push(event));
  history.start();
  status('disconnected');
  status('connected');
  assert.deepEqual(await history.handlers['POST /api/history/clear']({ body: {}, query: undefined }), { ok: true });
  assert.equal(events.at(-1), 'history');
  assert.deepEqual(await kinds(history), ['start connected']);
});

for (const by of ['an action', 'another program'] as const)
  test(`a switch of the mode by ${by} is no drop, and each row names its own mode`, async t => {
    const { tunnel, state, status, cli } = await startTunnel(t);
    const home = temporary(t, 'history');
    const settings = await loadConfig({ system: `${home}/system.json`, user: `${home}/user.json` }, {});
    const history = openHistory(
      { state, settings, tunnel, paths: paths({ HOME: home }), say: () => {} },
      { writeMs: NEVER, readMs: NEVER },
    );
    t.after(() => history.stop());
    const isUp = (mode: string) =>
      until(() => status().state === 'connected' && state.snapshot().settings.Mode === mode, mode);
    history.start();
    await until(() => state.snapshot().settings.Mode === 'warp');
    await tunnel.runAction({ action: 'connect' });
    await isUp('warp');
    for (const mode of ['doh', 'warp+doh', 'doh', 'warp'] as const) {
      const ups = () => events.filter(state => state === 'connected').length;
      const events: string[] = [];
      const unsubscribe = state.subscribe(({ event }) => {
        if (event === 'status') events.push(status().state);
      });
      if (by === 'an action') await tunnel.runAction({ action: 'setMode', value: mode });
      else await cli.run('mode', mode);
      await until(() => ups() > 0, 'connected again');
      await isUp(mode);
      await until(() => tunnel.changing() !== 'now', 'settled');
      unsubscribe();
    }
    const { totals, changes } = await history.read({});
    assert.deepEqual(totals!.drops, {});
    const modes = changes.filter(({ state }) => state === 'connected').map(({ mode }) => mode);
    assert.deepEqual(modes, ['warp', 'doh', 'warp+doh', 'doh', 'warp']);
    const order = changes.map(({ mode }) => mode);
    assert.deepEqual(
      order.filter((mode, i) => mode !== order[i - 1]),
      ['warp', 'doh', 'warp+doh', 'doh', 'warp'],
    );
  });

test('keeps what Culvert reverted, while the tunnel is up and while it is off', async t => {
  const { history, status, enable } = await setUp(t, {}, 'lately');
  history.start();
  status('connected');
  history.reverted('mode');
  status('disconnected');
  history.reverted('routes');
  enable(false);
  const { changes } = await history.read({});
  assert.deepEqual(
    changes.filter(({ kind }) => kind !== 'stop').map(({ state, reverted }) => [state, reverted]),
    [
      ['connected', undefined],
      ['connected', 'mode'],
      ['disconnected', undefined],
      ['disconnected', 'routes'],
    ],
  );
});

test('keeps each thing that a rule for networks did, also where the state stays', async t => {
  const { history, status, enable } = await setUp(t, {}, 'lately');
  history.start();
  status('connected');
  history.ruled({ subject: 'protocol', value: 'WireGuard', rule: 'cafes' });
  history.ruled({ subject: 'killSwitch', value: 'on', rule: 'cafes' });
  history.ruled({ subject: 'routes', value: 'lan', rule: 'lab' });
  status('disconnected');
  history.ruled({ subject: 'connection', value: 'off', rule: 'home' });
  history.ruled({ subject: 'connection', value: 'off', rule: 'home', ended: true });
  enable(false);
  history.ruled({ subject: 'mode', value: 'doh', rule: 'home' });
  const { changes } = await history.read({});
  assert.deepEqual(
    changes
      .filter(({ kind }) => kind !== 'stop')
      .map(({ state, effect }) => [state, effect && `${effect.rule} ${effect.subject}${effect.ended ? ' ended' : ''}`]),
    [
      ['connected', 'cafes protocol'],
      ['connected', 'cafes killSwitch'],
      ['connected', 'lab routes'],
      ['disconnected', 'home connection'],
      ['disconnected', 'home connection ended'],
    ],
  );
});
