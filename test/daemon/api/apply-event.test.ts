// Applying the events of a stream gives the snapshot that the daemon has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyEvent, PARTS } from '../../../daemon/api/apply-event.ts';
import type { Event } from '../../../daemon/api/client.ts';
import { events } from '../../../daemon/api/contract.ts';
import type { Snapshot } from '../../../daemon/api/schema.ts';
import { createState } from '../../../daemon/state/store.ts';

const state = createState({ available: true, path: '/usr/bin/warp-cli', version: '2026.7.0', emulated: false });
const first = state.snapshot();
const event = (name: string, data: unknown, id = '7') => ({ event: name, id, data }) as Event;

test('starts with the whole snapshot', () => {
  assert.equal(applyEvent(null, event('snapshot', first)), first);
  assert.equal(applyEvent(null, event('status', first.status)), null, 'nothing is known before it');
});

for (const part of PARTS)
  test(`replaces ${part} on the event of this name, and takes its revision`, () => {
    const value = { changed: part };
    assert.deepEqual(applyEvent(first, event(part, value)), { ...first, [part]: value, revision: 7 });
  });

test('returns the same object for events that change no part', () => {
  const parts = new Set<string>([...PARTS, 'snapshot']);
  const others = Object.keys(events).filter(name => !parts.has(name));
  assert.ok(others.includes('log') && others.includes('bye'));
  for (const name of others) assert.equal(applyEvent(first, event(name, {})), first);
});

test('follows what the daemon publishes', () => {
  let seen: Snapshot | null = first;
  const unsubscribe = state.subscribe(({ event: name, data, revision }) => {
    seen = applyEvent(seen, event(name, data, String(revision)));
  });
  state.set('status', { ...first.status, state: 'connected' });
  state.set('splitTunnel', { mode: 'include', ips: [], hosts: [] });
  state.set('tunnel', { ...first.tunnel, latencyMs: 12 });
  unsubscribe();
  assert.deepEqual(
    { ...seen, generatedAt: '', commands: null },
    { ...state.snapshot(), generatedAt: '', commands: null },
  );
});
