// The model against a real stream over a real socket: order, loss, resumption, pending actions.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { request as send } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ApiError, type Transport, Unreachable } from '../../daemon/api/client.ts';
import { createModel, type Model, type Pace } from '../../gnome/model.ts';
import { createDaemon, type FakeDaemon, problem } from './daemon.ts';
import { until } from './desktop.ts';

const QUICK: Partial<Pace> = { backOffMs: [5, 20], silenceMs: 60_000, settleMs: 60_000 };

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
  await until('the snapshot', () => model.facts().loss === null);
  return { daemon, model, attempts: () => attempts };
}

test('the snapshot comes first, then what changes', async t => {
  const { daemon, model } = await open(t);
  assert.equal(model.facts().snapshot!.status.state, 'disconnected');
  daemon.set('status', { state: 'connected' });
  daemon.set('settings', { Mode: 'doh' });
  daemon.set('tunnel', { latencyMs: 12 });
  await until('the last event', () => model.facts().snapshot!.tunnel.latencyMs === 12);
  assert.equal(model.facts().snapshot!.status.state, 'connected');
  assert.equal(model.facts().snapshot!.settings.Mode, 'doh');
  daemon.setConfig({ ui: { theme: 'dark' } });
  await until('the configuration', () => model.facts().config?.config.ui.theme === 'dark');
});

test('a broken stream is a loss at once, and is resumed where it broke', async t => {
  const { daemon, model } = await open(t);
  daemon.set('status', { state: 'connecting' });
  await until('the event', () => model.facts().snapshot!.status.state === 'connecting');
  const losses: (string | undefined)[] = [];
  model.subscribe(() => losses.push(model.facts().loss?.code));
  daemon.cut();
  daemon.set('status', { state: 'connected' });
  await until('the missed event', () => model.facts().snapshot!.status.state === 'connected');
  assert.equal(losses[0], 'not-running');
  assert.equal(model.facts().loss, null);
  assert.ok(Number(daemon.resumed.at(-1)) > 0, 'the last id was sent');
});

test('a stream that resumes with nothing missed is no loss', async t => {
  const { daemon, model } = await open(t);
  daemon.set('status', { state: 'connected' });
  await until('the event', () => model.facts().snapshot!.status.state === 'connected');
  const losses: (string | undefined)[] = [];
  model.subscribe(() => losses.push(model.facts().loss?.code));
  daemon.cut();
  await until('the loss and the recovery', () => losses.includes('not-running') && model.facts().loss === null);
  assert.equal(daemon.resumed.length, 2);
});

test('a goodbye is told as such, and another daemon on the socket starts over with its snapshot', async t => {
  const { daemon, model, attempts } = await open(t);
  await daemon.stop();
  await until('the goodbye', () => model.facts().loss?.code === 'stopped');
  const before = attempts();
  await until('further attempts, which fail', () => attempts() > before + 2);
  assert.equal(model.facts().loss!.code, 'stopped');
  daemon.snapshot = { ...daemon.snapshot, status: { ...daemon.snapshot.status, state: 'unable' } };
  await daemon.listen();
  await until('the snapshot', () => model.facts().loss === null);
});

test('a hung daemon shows by its silence', async t => {
  const { model } = await open(t, { silenceMs: 80 });
  await until('the loss', () => model.facts().loss?.code === 'silent');
});

test('an action is pending until its event, not until its reply', async t => {
  const { daemon, model } = await open(t);
  let done = false;
  const performed = model.perform('connect').then(() => {
    done = true;
  });
  assert.equal(model.facts().pending, 'connect');
  await until('the request', () => daemon.actions.length === 1);
  daemon.set('tunnel', { latencyMs: 1 });
  await until('an event of another kind', () => model.facts().snapshot!.tunnel.latencyMs === 1);
  assert.equal(done, false);
  assert.equal(model.facts().pending, 'connect');
  daemon.set('status', { state: 'connecting' });
  await performed;
  assert.equal(model.facts().pending, null);
});

test('an event that comes before the reply counts', async t => {
  const { daemon, model } = await open(t);
  daemon.onAction = () => daemon.set('status', { state: 'connected' });
  await model.perform('connect');
  assert.equal(model.facts().snapshot!.status.state, 'connected');
});

test('without an event everything is read again after a while, and the action is over', async t => {
  const { daemon, model } = await open(t, { settleMs: 30 });
  await until('the first read', () => daemon.reads === 1);
  await model.perform('connect');
  assert.equal(daemon.reads, 2);
  assert.equal(model.facts().pending, null);
});

test('a refusal is thrown with its problem and nothing stays pending', async t => {
  const { daemon, model } = await open(t);
  daemon.onAction = () => {
    throw problem('not-registered', 409, 'This device is not registered.', { hint: 'Register it.' });
  };
  await assert.rejects(
    model.perform('connect'),
    (error: unknown) => error instanceof ApiError && error.problem.code === 'not-registered',
  );
  assert.equal(model.facts().pending, null);
});

test('a second action waits for the first', async t => {
  const { daemon, model } = await open(t);
  const first = model.perform('connect');
  await assert.rejects(model.perform('disconnect'), /connect is not finished/);
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
  assert.equal(model.facts().loss!.code, 'starting');
  await until('the loss', () => model.facts().loss?.code === 'not-running');
  await daemon.listen();
  model.retry();
  await until('the snapshot', () => model.facts().loss === null);
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
