// Counters of the tunnel across reconnects: bytes, reasons, attempts and time connected.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectionState, Tunnel } from '../../../daemon/api/schema.ts';
import { createTunnelCounters } from '../../../daemon/metrics/samples.ts';
import { NO_TUNNEL } from '../../../daemon/state/store.ts';

function figures(second: number, bytesReceived: number | null, bytesSent: number | null = 0): Tunnel {
  return { ...NO_TUNNEL, bytesReceived, bytesSent, at: new Date(second * 1000).toISOString() };
}
const from = (state: ConnectionState, tunnel: Tunnel = NO_TUNNEL) => createTunnelCounters({ state, tunnel, now: 0 });

test('bytes go on across reconnects and are never counted twice', () => {
  const counters = from('connected', figures(1, 5_000, 700));
  const received = () => counters.counts(0).receivedBytes;
  const steps: [Tunnel, number, string][] = [
    [figures(1, 5_000, 700), 0, 'bytes before the first request are not counted'],
    [figures(2, 6_000, 800), 1_000, 'what came since'],
    [figures(2, 9_000, 900), 1_000, 'the same reading published again'],
    [figures(3, 6_000, 800), 1_000, 'nothing came'],
    [NO_TUNNEL, 1_000, 'figures of a tunnel that is down'],
    [figures(9, 400, 10), 1_400, 'a new connection: all its bytes came since'],
    [figures(10, null, null), 1_400, 'a version that does not report bytes'],
    [figures(11, 500, 10), 1_500, 'and goes on after it'],
    [figures(12, 600, 5), 2_100, 'a new connection that received more and sent less'],
  ];
  for (const [tunnel, expected, what] of steps) {
    const before = received();
    counters.figures(tunnel);
    assert.equal(received(), expected, what);
    assert.ok(received() >= before, what);
  }
  assert.equal(counters.counts(0).sentBytes, 100 + 10 + 5);
});

test('a tunnel that was seen down has all its bytes counted', () => {
  const counters = from('disconnected');
  counters.state('connecting', null, 0);
  counters.state('connected', null, 0);
  counters.figures(figures(3, 250, 50));
  assert.deepEqual([counters.counts(0).receivedBytes, counters.counts(0).sentBytes], [250, 50]);
  const unknown = from('unknown');
  unknown.state('connected', null, 0);
  unknown.figures(figures(3, 250, 50));
  assert.equal(unknown.counts(0).receivedBytes, 0, 'a connection that was there before may have sent them long ago');
  const seenDown = from('unknown');
  seenDown.state('disconnected', null, 0);
  seenDown.state('connected', null, 0);
  seenDown.figures(figures(3, 250, 50));
  assert.equal(seenDown.counts(0).receivedBytes, 250);
});

test('changes are counted by reason, attempts once each, and the time connected goes on', () => {
  const counters = from('disconnected');
  const states: [ConnectionState, string | null, number][] = [
    ['disconnected', 'Manual', 0],
    ['connecting', 'EstablishingConnection', 1_000],
    ['connecting', 'PerformingHappyEyeballs', 1_500],
    ['connected', null, 2_000],
    ['unable', 'NoNetwork', 12_000],
    ['connecting', 'EstablishingConnection', 13_000],
    ['connected', undefined as never, 14_000],
  ];
  for (const [state, reason, now] of states) counters.state(state, reason, now);
  const { changes, attempts, connectedSeconds } = counters.counts(15_500);
  assert.equal(attempts, 2);
  assert.equal(connectedSeconds, 11.5);
  assert.deepEqual(Object.fromEntries(changes), { EstablishingConnection: 2, '': 2, NoNetwork: 1 });
  assert.equal(from('connected').counts(3_000).connectedSeconds, 3);
  assert.equal(from('connected').counts(-5).connectedSeconds, 0);
});

test('a reason is a plain name, and there are not more than a hundred and one other', () => {
  const counters = from('disconnected');
  counters.state('unable', 'my-router at 10.0.0.1 is down', 0);
  for (let i = 0; i < 500; i++) counters.state(i % 2 ? 'unable' : 'connecting', `Reason${i}`, 0);
  const { changes } = counters.counts(0);
  assert.equal(changes.get(''), 1);
  assert.equal(changes.size, 101);
  assert.equal(changes.get('other'), 500 - 99);
  assert.equal(changes.get('Reason0'), 1);
});
