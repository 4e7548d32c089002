// Records that the history makes of changes of the state and of the byte counters.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status, Tunnel } from '../../../daemon/api/schema.ts';
import { createObserver, type Left, type Seen } from '../../../daemon/history/observe.ts';
import { NO_TUNNEL } from '../../../daemon/state/store.ts';

const T0 = Date.parse('2026-11-21T12:00:00Z');
const NOTHING: Left = { counters: null, lastAt: null };
let at = T0;

function seen(state: Status['state'], code: string | null = null, tunnel: Partial<Tunnel> = {}, mode = 'warp'): Seen {
  at += 5_000;
  const reason = code === null ? null : { code, text: 'to 162.159.198.1:443' };
  const status: Status = {
    state,
    reason,
    network: null,
    blocked: null,
    raw: 'x',
    since: new Date(at).toISOString(),
  };
  return { at, status, mode, tunnel: { ...NO_TUNNEL, ...tunnel } };
}
const figures = (received: number | null, sent: number | null, more: Partial<Tunnel> = {}): Partial<Tunnel> => ({
  bytesReceived: received,
  bytesSent: sent,
  latencyMs: 11.4,
  loss: 0.0002,
  colo: 'AMS',
  at: new Date(at + 5_000).toISOString(),
  endpoints: ['162.159.198.2'],
  ...more,
});

test('a state is recorded when it changes, with its reason, mode and data center', () => {
  const observer = createObserver(NOTHING);
  const steps: [Seen, string[]][] = [
    [seen('disconnected', 'Manual'), ['start disconnected Manual warp -']],
    [seen('disconnected', 'Manual'), []],
    [seen('disconnected', 'ConnectAccepted'), []],
    [seen('connecting', 'PerformingHappyEyeballs'), ['state connecting PerformingHappyEyeballs warp -']],
    [seen('connecting', 'EstablishingConnection'), []],
    [seen('connected'), ['state connected - warp -']],
    [seen('connected', null, figures(1, 1)), ['state connected - warp AMS']],
    [seen('connected', null, { ...figures(1, 1), colo: 'FRA' }), ['state connected - warp FRA']],
    [seen('disconnected', 'NoNetwork', figures(9, 9)), ['state disconnected NoNetwork warp -']],
    [seen('disconnected', 'NoNetwork', {}, 'doh'), ['state disconnected NoNetwork doh -']],
  ];
  for (const [step, expected] of steps) {
    const { changes } = observer.observe(step);
    assert.deepEqual(
      changes.map(({ kind, state, reason, mode, colo }) => [kind, state, reason ?? '-', mode, colo ?? '-'].join(' ')),
      expected,
    );
  }
});

test('records once that a tunnel did not connect, however often it is asked to', () => {
  const observer = createObserver(NOTHING);
  const codes = ['NoNetwork', 'ConnectAccepted', 'ConnectIgnored', 'ConnectAccepted', 'ConnectIgnored'];
  const recorded = codes.flatMap(code => observer.observe(seen('disconnected', code)).changes);
  assert.deepEqual(
    recorded.map(({ reason }) => reason),
    ['NoNetwork', 'ConnectIgnored'],
  );
  observer.observe(seen('connecting', 'EstablishingConnection'));
  const [back] = observer.observe(seen('disconnected', 'ConnectAccepted')).changes;
  assert.equal(back?.reason, 'ConnectAccepted', 'nobody has turned it off');
});

test('no address and no host name is recorded, wherever it appears', () => {
  const observer = createObserver(NOTHING);
  const hostile = seen('unable', 'host.example', { ...figures(1, 1), colo: '10.0.0.1' }, 'proxy.example:443');
  hostile.status.raw = 'raw.example';
  const text = JSON.stringify([observer.observe(hostile), observer.observe(seen('connected', null, figures(2, 2)))]);
  assert.doesNotMatch(text, /example|\d+\.\d+\.\d+|162/);
});

test('bytes are counted between reads, and never run back', () => {
  const observer = createObserver(NOTHING);
  const read = (received: number | null, sent: number | null) => {
    const { sample } = observer.observe(seen('connected', null, figures(received, sent)));
    return sample && [sample.received, sample.sent, sample.span];
  };
  assert.deepEqual(read(1_000, 100), [0, 0, 0], 'what came before the first read is not known');
  assert.deepEqual(read(1_500, 110), [500, 10, 5]);
  assert.deepEqual(read(null, null), [0, 0, 0]);
  assert.deepEqual(read(1_600, 120), [100, 10, 10], 'a read without counters loses nothing');
  observer.observe(seen('disconnected', 'Manual'));
  assert.deepEqual(read(40, 4), [40, 4, 10], 'a new connection counts from zero');
  assert.deepEqual(read(40, 5), [0, 1, 5]);
});

test('a clock that was set back gives no negative time', () => {
  const observer = createObserver(NOTHING);
  observer.observe(seen('connected', null, figures(10, 10)));
  at -= 3_600_000;
  const { sample } = observer.observe(seen('connected', null, figures(30, 20)));
  assert.deepEqual([sample?.received, sample?.sent, sample?.span], [20, 10, 0]);
});

test('one read makes one sample; figures without any value make none', () => {
  const observer = createObserver(NOTHING);
  const read = seen('connected', null, figures(10, 10));
  assert.ok(observer.observe(read).sample);
  assert.equal(observer.observe(read).sample, null);
  const none = seen('connected', null, figures(null, null, { latencyMs: null, loss: null }));
  assert.equal(observer.observe(none).sample, null);
  assert.equal(observer.observe(seen('connected', null, figures(1, 1, { at: 'x' }))).sample, null);
});

test('after a restart the counting goes on where it was, and the connection is known to be the same', () => {
  const counters = { at: T0 / 1000 - 60, received: 500, sent: 50 };
  const again = createObserver({ counters, lastAt: T0 - 60_000 });
  at = T0;
  const first = again.observe(seen('connected', null, figures(700, 60)));
  assert.deepEqual(
    first.changes.map(({ kind, lastAt }) => [kind, lastAt]),
    [
      ['start', T0 - 60_000],
      ['same', undefined],
    ],
  );
  assert.deepEqual([first.sample?.received, first.sample?.sent, first.sample?.span], [200, 10, 65]);
  const other = createObserver({ counters, lastAt: T0 - 60_000 });
  const reconnected = other.observe(seen('connected', null, figures(30, 3)));
  assert.deepEqual(
    reconnected.changes.map(({ kind }) => kind),
    ['start'],
  );
  assert.deepEqual([reconnected.sample?.received, reconnected.sample?.sent], [30, 3]);
});

test('a tunnel that Culvert turned off, or that was off before, is not recorded as turned off by its user', () => {
  for (const byUser of [true, undefined] as const) {
    const off = seen('disconnected', 'Manual');
    const reason = { code: 'Manual', text: '', ...(byUser && { byUser }) };
    const observer = createObserver(NOTHING);
    const pending = { ...seen('disconnected', 'ConnectAccepted'), mode: 'doh' };
    for (const state of [{ ...off, status: { ...off.status, reason } }, pending]) {
      const [change] = observer.observe(state).changes;
      assert.deepEqual([change?.reason, change?.byUser], ['Manual', byUser ? undefined : false]);
    }
  }
});
