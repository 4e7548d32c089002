// The model against a real stream over a real socket: order, loss, resumption, pending actions.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { request as send } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ApiError, type Transport, Unreachable } from '../../../../daemon/api/client.ts';
import type { StalePart } from '../../../../daemon/api/schema.ts';
import { createModel, type Model, type Pace } from '../../../../daemon/view/client/model.ts';
import { createDaemon, type FakeDaemon, problem } from '../../../support/gnome/daemon.ts';
import { until } from '../../../support/until.ts';

const QUICK: Partial<Pace> = { backOffMs: [5, 20], idleTimeoutMs: 60_000, settleMs: 60_000 };

async function open(
  t: TestContext,
  pace: Partial<Pace> = {},
): Promise<{ daemon: FakeDaemon; model: Model; attempts: () => number }> {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-model-'));
  const daemon = createDaemon(join(directory, 'api.sock'));
  await daemon.listen();
  const transport = overNode(join(directory, 'api.sock'));
  let attempts = 0;
  const counted: Transport = {
    ...transport,
    stream(...args) {
      attempts++;
      return transport.stream(...args);
    },
  };
  const model = createModel(counted, { ...QUICK, ...pace });
  t.after(async () => {
    model.close();
    await daemon.stop();
    rmSync(directory, { recursive: true });
  });
  await until(() => model.state().offline === null, 'the snapshot');
  return { daemon, model, attempts: () => attempts };
}

test('the snapshot comes first, then what changes', async t => {
  const { daemon, model } = await open(t);
  assert.equal(model.state().snapshot!.status.state, 'disconnected');
  daemon.set('status', { state: 'connected' });
  daemon.set('settings', { Mode: 'doh' });
  daemon.set('tunnel', { latencyMs: 12 });
  await until(() => model.state().snapshot!.tunnel.latencyMs === 12, 'the last event');
  assert.equal(model.state().snapshot!.status.state, 'connected');
  assert.equal(model.state().snapshot!.settings.Mode, 'doh');
  daemon.setConfig({ ui: { theme: 'dark' } });
  await until(() => model.state().config?.config.ui.theme === 'dark', 'the configuration');
});

test('a part that two answers in a row call stale is old, until an answer does not', async t => {
  const { daemon, model } = await open(t);
  const asked = async (...parts: [StalePart['part'], number | null][]) => {
    daemon.snapshot = { ...daemon.snapshot, stale: parts.map(([part, ageSeconds]) => ({ part, ageSeconds })) };
    await model.refresh('stale');
    return model.state().old;
  };
  assert.deepEqual(await asked(['settings', 12]), [], 'it may only be late');
  assert.deepEqual(await asked(['settings', 17], ['account', 3], ['options', null]), ['settings']);
  assert.deepEqual(await asked(['account', 8], ['options', null]), ['account']);
  assert.deepEqual(await asked(), []);
});

test('a broken stream ends the state immediately, and is resumed where it broke', async t => {
  const { daemon, model } = await open(t);
  daemon.set('status', { state: 'connecting' });
  await until(() => model.state().snapshot!.status.state === 'connecting', 'the event');
  const reasons: (string | undefined)[] = [];
  model.subscribe(() => reasons.push(model.state().offline?.code));
  daemon.cut();
  daemon.set('status', { state: 'connected' });
  await until(() => model.state().snapshot!.status.state === 'connected', 'the missed event');
  assert.equal(reasons[0], 'not-running');
  assert.equal(model.state().offline, null);
  assert.ok(Number(daemon.resumed.at(-1)) > 0, 'the last id was sent');
});

test('a stream that resumes with nothing missed is not reported as offline', async t => {
  const { daemon, model } = await open(t);
  daemon.set('status', { state: 'connected' });
  await until(() => model.state().snapshot!.status.state === 'connected', 'the event');
  const reasons: (string | undefined)[] = [];
  model.subscribe(() => reasons.push(model.state().offline?.code));
  daemon.cut();
  await until(() => reasons.includes('not-running') && model.state().offline === null, 'the break and the recovery');
  assert.equal(daemon.resumed.length, 2);
});

test('reports a goodbye, and starts over with the snapshot of another daemon on the socket', async t => {
  const { daemon, model, attempts } = await open(t);
  await daemon.stop();
  await until(() => model.state().offline?.code === 'stopped', 'the goodbye');
  const before = attempts();
  await until(() => attempts() > before + 2, 'further attempts, which fail');
  assert.equal(model.state().offline!.code, 'stopped');
  daemon.snapshot = { ...daemon.snapshot, status: { ...daemon.snapshot.status, state: 'unable' } };
  await daemon.listen();
  await until(() => model.state().offline === null, 'the snapshot');
});

test('a hung daemon shows by its silence', async t => {
  const { model } = await open(t, { idleTimeoutMs: 80 });
  await until(() => model.state().offline?.code === 'not-responding', 'the offline reason');
});

test('an action is pending until its event, not until its reply', async t => {
  const { daemon, model } = await open(t);
  let done = false;
  const performed = model.requestAction({ action: 'connect' }).then(() => {
    done = true;
  });
  assert.equal(model.state().pending, 'connect');
  await until(() => daemon.actions.length === 1, 'the request');
  daemon.set('tunnel', { latencyMs: 1 });
  await until(() => model.state().snapshot!.tunnel.latencyMs === 1, 'an event of another kind');
  const accepted = { code: 'ConnectAccepted', text: '' };
  daemon.set('status', { state: 'disconnected', reason: accepted });
  await until(() => model.state().snapshot!.status.reason?.code === accepted.code, 'no effect yet');
  assert.equal(done, false);
  assert.equal(model.state().pending, 'connect');
  daemon.set('status', { state: 'connecting' });
  await performed;
  assert.deepEqual([model.state().pending, daemon.reads], [null, 0], 'by the event, not by a later read');
});

test('an event that comes before the reply counts', async t => {
  const { daemon, model } = await open(t);
  daemon.onAction = () => daemon.set('status', { state: 'connected' });
  await model.requestAction({ action: 'connect' });
  assert.equal(model.state().snapshot!.status.state, 'connected');
});

test('without an event everything is read again after a while, and the action is over', async t => {
  const { daemon, model } = await open(t, { settleMs: 30 });
  await model.requestAction({ action: 'connect' });
  assert.equal(daemon.reads, 1);
  assert.equal(model.state().pending, null);
});

test('a refusal is thrown with its problem and nothing stays pending', async t => {
  const { daemon, model } = await open(t);
  daemon.onAction = () => {
    throw problem('not-registered', 409, 'This device is not registered.', { hint: 'Register it.' });
  };
  await assert.rejects(
    model.requestAction({ action: 'connect' }),
    (error: unknown) => error instanceof ApiError && error.problem.code === 'not-registered',
  );
  assert.equal(model.state().pending, null);
});

test('a second action waits for the first', async t => {
  const { daemon, model } = await open(t);
  const first = model.requestAction({ action: 'connect' });
  await assert.rejects(model.requestAction({ action: 'disconnect' }), /connect is not finished/);
  daemon.set('status', { state: 'connected' });
  await first;
  assert.equal(daemon.actions.length, 1);
});

test('without a daemon it is lost from the first attempt, and retry does not wait', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-model-'));
  const socket = join(directory, 'api.sock');
  const model = createModel(overNode(socket), { ...QUICK, backOffMs: [60_000, 60_000] });
  const daemon = createDaemon(socket);
  t.after(async () => {
    model.close();
    await daemon.stop();
    rmSync(directory, { recursive: true });
  });
  assert.equal(model.state().offline!.code, 'starting');
  await until(() => model.state().offline?.code === 'not-running', 'the offline reason');
  await daemon.listen();
  model.retry();
  await until(() => model.state().offline === null, 'the snapshot');
});

/** The transport of Node's own client, as the command line has it. */
function overNode(socketPath: string): Transport {
  const ask = (method: string, path: string, headers: Record<string, string>, body?: string) =>
    new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
      const asked = send({ socketPath, method, path, headers, agent: false }, resolve);
      asked.on('error', error => reject(new Unreachable(error.message, error)));
      asked.end(body);
    });
  return {
    async request(method, path, headers, body) {
      const response = await ask(method, path, headers, body);
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += chunk;
      return { status: response.statusCode!, etag: null, body: text };
    },
    async stream(path, headers) {
      const response = await ask('GET', path, headers);
      return { status: response.statusCode!, chunks: response.setEncoding('utf8'), close: () => response.destroy() };
    },
  };
}

test('an event of another part does not end an action on a list', async t => {
  const { daemon, model } = await open(t, { settleMs: 600_000 });
  const performed = model.requestAction({ action: 'addSplitHost', value: 'example.com' });
  await until(() => daemon.actions.length === 1, 'the request');
  daemon.set('status', { network: 'unstable' });
  await until(() => model.state().snapshot!.status.network === 'unstable', 'the event');
  assert.equal(model.state().pending, 'addSplitHost');
  daemon.setRoutes({ mode: 'exclude', ips: [], hosts: [{ value: 'example.com', description: null }] });
  await performed;
  assert.equal(model.state().pending, null);
});

test('a proof is asked for once, and kept until the connection changes', async t => {
  const { daemon, model } = await open(t);
  let answer = () => {};
  daemon.onAsked = () =>
    new Promise(resolve => {
      const seen = { text: 'seen', values: [] };
      const at = new Date().toISOString();
      answer = () =>
        resolve({ ok: true, through: true, answered: true, seen, address: '104.28.0.1', dataCenter: 'FRA', at });
    });
  const shows = (what: string, holds: (state: ReturnType<Model['state']>) => boolean) =>
    until(() => holds(model.state()), what);
  const connect = async () => {
    daemon.set('tunnel', { colo: 'FRA' });
    daemon.set('settings', { Mode: 'warp' });
    daemon.set('status', { state: 'connected', since: '2025-01-01T00:00:00.000Z' });
    await shows('the connection', ({ snapshot }) => {
      const { status, settings, tunnel } = snapshot!;
      return [status.state, status.since.slice(0, 4), settings.Mode, tunnel.colo].join() === 'connected,2025,warp,FRA';
    });
  };
  await connect();
  const first = model.prove();
  await until(() => daemon.asked.length === 1, 'the request');
  await model.prove();
  assert.equal(daemon.asked.length, 1, 'one at a time');
  assert.equal(model.state().proof!.result, null);
  answer();
  await first;
  daemon.set('tunnel', { latencyMs: 7 });
  await shows('figures', ({ snapshot }) => snapshot!.tunnel.latencyMs === 7);
  assert.equal(model.state().proof!.result!.address, '104.28.0.1');
  for (const change of [
    () => daemon.set('tunnel', { colo: 'AMS' }),
    () => daemon.set('settings', { Mode: 'doh' }),
    () => daemon.set('status', { since: '2026-01-01T00:00:00.000Z' }),
    () => daemon.set('status', { state: 'disconnected' }),
  ]) {
    await connect();
    const before = daemon.asked.length;
    const proving = model.prove();
    await until(() => daemon.asked.length === before + 1, 'the request');
    assert.equal(model.state().proof!.result, null);
    change();
    await shows('its end', ({ proof }) => proof === null);
    answer();
    await proving;
    assert.equal(model.state().proof, null, 'an answer about the connection before');
  }
});

test('a proof that failed is forgotten, and its failure is thrown', async t => {
  const { daemon, model } = await open(t);
  daemon.onAsked = () => {
    throw problem('busy', 503, 'It failed.');
  };
  await assert.rejects(model.prove(), ApiError);
  assert.equal(model.state().proof, null);
});
