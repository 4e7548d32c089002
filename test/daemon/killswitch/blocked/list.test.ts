// The list of what was blocked: from what nft 1.0.6 prints to what a reader sees.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecording, type Recorded, unitOf } from '../../../../daemon/killswitch/blocked/entries.ts';
import { listOf } from '../../../../daemon/killswitch/blocked/list.ts';

const SCOPE = 'user.slice/user-1000.slice/user@1000.service/app.slice/app-mail-1.scope';
const printed = (sets: Record<string, unknown[]>) =>
  JSON.stringify({
    nftables: [
      { metainfo: { version: '1.0.6' } },
      { table: { family: 'inet', name: 'culvert_blocked', handle: 1 } },
      { counter: { family: 'inet', name: 'missed', packets: 4, bytes: 204 } },
      ...Object.entries(sets).map(([name, elem]) => ({ set: { name, ...(elem.length > 0 && { elem }) } })),
    ],
  });
const element = (concat: unknown[], packets = 1, expires = 590) => ({
  elem: { val: { concat }, expires, counter: { packets, bytes: 30 } },
});

test('reads the elements of each set', () => {
  const recording = parseRecording(
    printed({
      unit4_port: [
        element([1000, SCOPE, 'tcp', '203.0.113.5', 443], 3),
        element([1000, 1234567, 'udp', '203.0.113.5', 53]),
      ],
      user6: [element([0, 'ipv6-icmp', '2001:db8::1'])],
      program4_port: [],
      forwarded4_port: [element(['172.17.0.2', 132, '203.0.113.5', 80])],
    }),
  );
  const shown = recording?.entries.map(({ key: _, ...entry }) => Object.values(entry));
  assert.deepEqual(shown, [
    ['unit', 1000, SCOPE, null, 'tcp', '203.0.113.5', 443, 3, 10],
    ['unit', 1000, null, null, 'udp', '203.0.113.5', 53, 1, 10],
    ['user', 0, null, null, 'ipv6-icmp', '2001:db8::1', null, 1, 10],
    ['forwarded', null, null, '172.17.0.2', '132', '203.0.113.5', 80, 1, 10],
  ]);
  assert.equal(recording?.missed, 4);
  assert.equal(parseRecording('{"nftables": []}'), null);
  assert.equal(parseRecording('not JSON'), null);
});

test('names the unit of a cgroup, which may have any name', () => {
  assert.equal(unitOf(SCOPE), 'app-mail-1.scope');
  assert.equal(unitOf('system.slice/ntp.service/a/b'), 'ntp.service');
  assert.equal(unitOf('user.slice/odd'), 'odd');
  assert.equal(unitOf('a/\x1b[31m\n.service'), '?[31m?.service');
  assert.equal(unitOf(`a/${'x'.repeat(300)}`).length, 200);
});

const NOW = Date.parse('2026-11-26T07:00:00Z');
const entry = (more: Partial<Recorded>): Recorded => ({
  key: JSON.stringify(more),
  origin: 'unit',
  uid: 1000,
  cgroup: SCOPE,
  source: null,
  protocol: 'tcp',
  address: '203.0.113.5',
  port: 443,
  packets: 1,
  age: 10,
  ...more,
});
const read = (entries: Recorded[], uid: number, first = new Map<string, number>()) =>
  listOf({ entries, missed: 0 }, { uid, began: NOW - 60_000, readAt: NOW, first, programsIn: () => ['mail'] });

test('a user sees what was blocked of that user, and how much more there is; root sees all', () => {
  const entries = [
    entry({}),
    entry({ uid: 0 }),
    entry({ uid: 1001 }),
    entry({ uid: null, origin: 'forwarded', source: '172.17.0.2', cgroup: null }),
  ];
  const own = read(entries, 1000);
  assert.deepEqual([own.entries.map(({ uid }) => uid), own.hidden], [[1000], 3]);
  assert.deepEqual(own.entries[0]?.programs, ['mail']);
  assert.equal(read(entries, 1002).entries.length, 0);
  assert.deepEqual([read(entries, 0).entries.length, read(entries, 0).hidden], [4, 0]);
});

test('says which rule blocked', () => {
  const rules = read(
    [
      entry({}),
      entry({ port: 53 }),
      entry({ port: 853 }),
      entry({ origin: 'program', port: 53, address: '203.0.113.6' }),
      entry({ origin: 'user', cgroup: null, port: null, protocol: 'icmp' }),
      entry({ origin: 'forwarded', uid: null, cgroup: null, source: '172.17.0.2', port: 53 }),
    ],
    0,
  ).entries.map(({ rule, port }) => `${rule} ${port}`);
  assert.deepEqual(rules.sort(), [
    'dns 53',
    'dns 853',
    'forwarded 53',
    'kill-switch 443',
    'kill-switch null',
    'tunnel-only 53',
  ]);
});

test('joins what a reader can’t tell apart, puts the latest first, and lists 256 at most', () => {
  const ended = [
    entry({ key: 'a', cgroup: null, packets: 2, age: 30 }),
    entry({ key: 'b', cgroup: null, packets: 3, age: 5 }),
  ];
  const first = new Map([
    ['a', NOW - 50_000],
    ['b', NOW - 20_000],
  ]);
  const { entries } = read([...ended, entry({ age: 1 })], 1000, first);
  assert.equal(entries.length, 2);
  assert.deepEqual(
    [entries[1]?.packets, entries[1]?.since, entries[1]?.last],
    [5, '2026-11-26T06:59:10.000Z', '2026-11-26T06:59:55.000Z'],
  );
  const many = Array.from({ length: 300 }, (_, port) => entry({ port, age: port }));
  const list = read(many, 1000);
  assert.deepEqual([list.entries.length, list.entries[0]?.port, list.hidden], [256, 0, 44]);
});
