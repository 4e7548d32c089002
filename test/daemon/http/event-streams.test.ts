// The event stream: what it starts with, what it replays, whom it drops, how it ends.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { decodeEvents } from '../../../daemon/api/client.ts';
import type { LogEntry, Snapshot, Status } from '../../../daemon/api/schema.ts';
import { OUTPUT, open, type Running, raw, request, startListeners } from '../../support/daemon/listeners.ts';
import { until } from '../../support/until.ts';

interface Received {
  event: string;
  id: string;
  data: unknown;
}

/** Opens a stream and gives its events one by one. */
async function follow(running: Running, headers: Record<string, string> = {}, version = '1.1', query = '') {
  const socket = open({ path: running.socket });
  socket.write(request(`GET /api/events${query}`, 'localhost', headers).replace('HTTP/1.1', `HTTP/${version}`));
  const events = decodeEvents(bodyOf(socket)) as AsyncGenerator<Received>;
  const next = async () => (await events.next()).value as Received;
  return {
    socket,
    next,
    /** The snapshot that a whole stream starts with; the configuration follows it. */
    async start() {
      const snapshot = await next();
      assert.deepEqual([snapshot.event, (await next()).event], ['snapshot', 'config']);
      return snapshot;
    },
    ended: async () => (await events.next()).done,
    close: () => socket.destroy(),
  };
}

/** The body's text: head cut off, chunked encoding taken apart. */
async function* bodyOf(socket: Socket): AsyncGenerator<string> {
  let head = '';
  let buffer = Buffer.alloc(0);
  for await (const piece of socket as AsyncIterable<Buffer>) {
    buffer = Buffer.concat([buffer, piece]);
    if (!head) {
      const end = buffer.indexOf('\r\n\r\n');
      if (end < 0) continue;
      head = buffer.subarray(0, end).toString();
      assert.match(head, /^HTTP\/1\.1 200 /);
      assert.match(head, /content-type: text\/event-stream/i);
      buffer = buffer.subarray(end + 4);
    }
    if (!/transfer-encoding: chunked/i.test(head)) {
      yield buffer.toString();
      buffer = Buffer.alloc(0);
      continue;
    }
    for (;;) {
      const line = buffer.indexOf('\r\n');
      if (line < 0) break;
      const size = Number.parseInt(buffer.subarray(0, line).toString(), 16);
      if (buffer.length < line + 2 + size + 2) break;
      if (size === 0) return;
      yield buffer.subarray(line + 2, line + 2 + size).toString();
      buffer = buffer.subarray(line + 2 + size + 2);
    }
  }
}

function connected(running: Running, text: string): Status {
  const status: Status = {
    ...running.daemon.state.snapshot().status,
    state: 'connected',
    reason: { code: null, text },
  };
  running.daemon.state.set('status', status);
  return status;
}

for (const version of ['1.1', '1.0'])
  test(`a stream over HTTP/${version} starts with the whole snapshot and goes on with what changes`, async t => {
    const running = await startListeners(t);
    const stream = await follow(running, {}, version);
    t.after(stream.close);
    const first = await stream.start();
    assert.deepEqual(first.data, running.daemon.state.snapshot());
    assert.equal(first.id, String((first.data as Snapshot).revision));
    const status = connected(running, 'one');
    const second = await stream.next();
    assert.deepEqual([second.event, second.data], ['status', status]);
    assert.ok(Number(second.id) > Number(first.id));
  });

test('a restricted stream has the present value of its parts, then only the named events', async t => {
  const running = await startListeners(t);
  const { state, settings } = running.daemon;
  const stream = await follow(running, {}, '1.1', '?only=status,config');
  t.after(stream.close);
  const first = await stream.next();
  assert.deepEqual([first.event, first.data], ['status', state.snapshot().status]);
  const config = await stream.next();
  assert.deepEqual([config.event, config.data], ['config', settings.response()]);
  state.set('account', { ...state.snapshot().account, registered: true });
  const status = connected(running, 'one');
  const second = await stream.next();
  assert.deepEqual([second.event, second.data], ['status', status]);
  state.set('account', { ...state.snapshot().account, registered: false });
  settings.watch(response => state.publish('config', response));
  settings.setSession({ ui: { theme: 'dark' } });
  assert.equal((await stream.next()).event, 'config');

  const again = await follow(running, { 'last-event-id': first.id }, '1.1', '?only=status,config');
  t.after(again.close);
  assert.deepEqual([(await again.next()).data, (await again.next()).event], [status, 'config']);
  const lost = await follow(running, { 'last-event-id': '1' }, '1.1', '?only=status');
  t.after(lost.close);
  assert.deepEqual([(await lost.next()).event, (await lost.next()).event], ['gap', 'status']);
});

test('setting an equal value publishes nothing', async t => {
  const running = await startListeners(t);
  const stream = await follow(running);
  t.after(stream.close);
  await stream.start();
  connected(running, 'same');
  connected(running, 'same');
  connected(running, 'other');
  assert.equal(((await stream.next()).data as Status).reason!.text, 'same');
  assert.equal(((await stream.next()).data as Status).reason!.text, 'other');
});

test('a reconnect with Last-Event-ID gets exactly what it missed', async t => {
  const running = await startListeners(t);
  const first = await follow(running);
  const { id } = await first.next();
  first.close();
  connected(running, 'a');
  running.daemon.settings.setSession({ ui: { theme: 'dark' } });
  connected(running, 'b');
  const again = await follow(running, { 'last-event-id': id });
  t.after(again.close);
  assert.equal(((await again.next()).data as Status).reason!.text, 'a');
  const last = await again.next();
  assert.equal((last.data as Status).reason!.text, 'b');
  const current = await follow(running, { 'last-event-id': last.id });
  t.after(current.close);
  connected(running, 'c');
  assert.equal(((await current.next()).data as Status).reason!.text, 'c');
});

test('an event id beyond the ring or of another run yields a gap and a fresh snapshot', async t => {
  const running = await startListeners(t);
  const first = await follow(running);
  const { id } = await first.next();
  first.close();
  for (let i = 0; i <= 1_000; i++) connected(running, String(i));
  for (const lastEventId of [id, '0', '1', String(Number(id) + 10_000_000), 'x', '-1']) {
    const stream = await follow(running, { 'last-event-id': lastEventId });
    t.after(stream.close);
    assert.equal((await stream.next()).event, 'gap', lastEventId);
    const snapshot = await stream.next();
    assert.equal(snapshot.event, 'snapshot');
    assert.equal((snapshot.data as Snapshot).status.reason!.text, '1000');
  }
  const edge = await follow(running, { 'last-event-id': String(Number(id) + 1) });
  t.after(edge.close);
  assert.equal(((await edge.next()).data as Status).reason!.text, '1', 'the oldest of the ring is still replayed');
});

test('a client that does not read is dropped at its backlog, and the others miss nothing', async t => {
  const running = await startListeners(t);
  const reader = await follow(running);
  t.after(reader.close);
  await reader.start();
  const stalled = open({ path: running.socket });
  t.after(() => stalled.destroy());
  stalled.write(request('GET /api/events', 'localhost'));
  await once(stalled, 'data');
  stalled.pause();
  const filler = 'x'.repeat(30_000);
  let sent = 0;
  while (running.listeners.streams.count() === 2) {
    assert.ok(sent < 200, 'never dropped');
    connected(running, `${sent} ${filler}`);
    const { data } = await reader.next();
    assert.ok((data as Status).reason!.text.startsWith(`${sent} `));
    sent++;
  }
  assert.equal(running.listeners.streams.count(), 1);
});

test('a client that reads gets more than the limit of unread bytes in one turn', async t => {
  const running = await startListeners(t);
  const reader = await follow(running);
  t.after(reader.close);
  await reader.start();
  const filler = 'x'.repeat(30_000);
  for (const number of [0, 1, 2, 3]) connected(running, `${number} ${filler}`);
  for (const number of [0, 1, 2, 3])
    assert.ok(((await reader.next()).data as Status).reason!.text.startsWith(`${number} `));
  assert.equal(running.listeners.streams.count(), 1);
});

test('closing says bye to every stream and ends it immediately', async t => {
  const running = await startListeners(t);
  const streams = await Promise.all(Array.from({ length: 64 }, () => follow(running)));
  for (const stream of streams) await stream.start();
  const started = performance.now();
  const closing = running.listeners.close('stopped', 60_000);
  for (const stream of streams) {
    const bye = await stream.next();
    assert.deepEqual([bye.event, bye.data], ['bye', { reason: 'stopped' }]);
    assert.equal(await stream.ended(), true);
  }
  await closing;
  assert.ok(performance.now() - started < 20_000);
});

test('a stream asked for behind other requests begins after their answers, and once per connection', async t => {
  let answer: () => void = () => {};
  const slow = new Promise<void>(resolve => {
    answer = resolve;
  });
  const running = await startListeners(t, { tunnel: { isFresh: () => false, refresh: () => slow } });
  const socket = open({ path: running.socket });
  t.after(() => socket.destroy());
  const events = request('GET /api/events', 'localhost');
  socket.write(request('GET /api/snapshot', 'localhost') + events + events);
  let text = '';
  socket.on('data', piece => {
    text += piece;
  });
  // the pipelined requests are read in one piece with the first, long before another connection is answered
  await raw({ path: running.socket }, request('GET /api/health', 'localhost'));
  answer();
  while (!text.includes('event: snapshot')) await once(socket, 'data');
  assert.match(text, /^HTTP\/1\.1 200 OK\r\ncontent-type: application\/json/i);
  assert.equal(running.listeners.streams.count(), 1);
  running.daemon.log.append({ source: 'read', ...OUTPUT });
  while (!text.includes('event: log')) await once(socket, 'data');
  assert.equal(text.match(/retry: 2000/g)?.length, 1);
  assert.equal(text.match(/event: log/g)?.length, 1);
});

test('a client that closes its sending direction gives its stream up', async t => {
  const running = await startListeners(t);
  const socket = open({ path: running.socket });
  socket.resume();
  socket.write(request('GET /api/events', 'localhost'));
  await once(socket, 'data');
  socket.end();
  await once(socket, 'close');
  const early = open({ port: running.port });
  early.resume();
  early.end(request('GET /api/events', `127.0.0.1:${running.port}`));
  await once(early, 'close');
  assert.equal(running.listeners.streams.count(), 0);
});

test('a brief stream leaves out of the snapshot what the tunnel CLI printed', async t => {
  const running = await startListeners(t);
  running.daemon.state.record('status', OUTPUT);
  const snapshot = running.daemon.state.snapshot();
  for (const query of ['?brief=1', '?only=snapshot,config&brief=1']) {
    const stream = await follow(running, {}, '1.1', query);
    t.after(stream.close);
    const { data } = await stream.start();
    assert.deepEqual(data, { ...snapshot, commands: { ...snapshot.commands, status: null } });
  }
  const whole = await follow(running);
  t.after(whole.close);
  assert.deepEqual((await whole.start()).data, snapshot);
});

test('a brief stream leaves out of the log what reads printed, also where it is replayed', async t => {
  const running = await startListeners(t);
  const { state } = running.daemon;
  const before = state.snapshot().revision;
  const live = await follow(running, {}, '1.1', '?brief=1');
  await live.start();
  state.publish('log', { ...OUTPUT, id: 1, source: 'read', stdout: 'read' });
  state.publish('log', { ...OUTPUT, id: 2, source: 'action', stdout: 'acted' });
  const missed = { 'last-event-id': String(before) };
  const streams = [live, await follow(running, missed, '1.1', '?brief=1'), await follow(running, missed)];
  for (const { close } of streams) t.after(close);
  const printed = await Promise.all(
    streams.map(async stream => {
      const texts: unknown[] = [];
      while (texts.length < 2) {
        const { event, data } = await stream.next();
        if (event === 'log') texts.push((data as LogEntry).stdout);
      }
      return texts;
    }),
  );
  assert.deepEqual(printed, [
    ['', 'acted'],
    ['', 'acted'],
    ['read', 'acted'],
  ]);
});

test('a comment every 15 s shows that the daemon runs, but not on a quiet stream', async t => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const running = await startListeners(t);
  const texts = await Promise.all(
    ['', '?quiet=1'].map(async query => {
      const socket = open({ path: running.socket });
      t.after(() => socket.destroy());
      const seen = { text: '' };
      socket.setEncoding('utf8').on('data', (piece: string) => (seen.text += piece));
      socket.write(request(`GET /api/events${query}`, 'localhost'));
      await until(() => seen.text.includes('event: config'), 'the beginning');
      return seen;
    }),
  );
  t.mock.timers.tick(15_000);
  await until(() => texts[0]!.text.includes(': still here'), 'the comment');
  // in the order of the streams, so what follows would come after the comment
  connected(running, 'one');
  await until(() => texts[1]!.text.includes('event: status'), 'the event');
  assert.doesNotMatch(texts[1]!.text, /still here/);
});
