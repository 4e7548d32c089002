// The recording and its lease, against a stand-in for nft that remembers what it was asked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRecorder, listOf } from '../../../../daemon/killswitch/recorder.ts';
import { parseRecording, type Recorded, unitOf } from '../../../../daemon/killswitch/recording.ts';
import type { RuleOptions } from '../../../../daemon/killswitch/rules/rules.ts';
import type { Kernel } from '../../../../daemon/killswitch/table.ts';
import { until } from '../../../support/until.ts';

const RULES: RuleOptions = { allowLan: false, endpoints: [] };

function createStage() {
  const asked: string[] = [];
  const troubles: string[] = [];
  const packets = new Map<number, number>();
  let isLoaded = false;
  let refusal: string | null = null;
  const nft = {
    async ask(commands: string): Promise<string[]> {
      asked.push(commands);
      if (refusal) return [`Error: ${refusal}`];
      if (commands.startsWith('delete')) {
        const was = isLoaded;
        isLoaded = false;
        return was ? [] : ['Error: No such file or directory'];
      }
      if (!commands.startsWith('list')) {
        isLoaded = true;
        return [];
      }
      if (!isLoaded) return ['Error: No such file or directory; did you mean'];
      const elem = [...packets].map(([port, count]) => ({
        elem: { val: { concat: [1000, 'tcp', '203.0.113.5', port] }, expires: 600, counter: { packets: count } },
      }));
      return [
        JSON.stringify({ nftables: [{ table: { name: 'culvert_blocked' } }, { set: { name: 'user4_port', elem } }] }),
      ];
    },
    end: () => void asked.push('end'),
  };
  const recorder = createRecorder({
    nft,
    programsIn: () => [],
    now: Date.now,
    report: trouble => void troubles.push(trouble),
  });
  const kernel = recorder.followSwitch({ replace: async () => null, remove: async () => {} } as unknown as Kernel);
  return {
    asked,
    troubles,
    packets,
    recorder,
    kernel,
    flush() {
      isLoaded = false;
    },
    refuse(why: string | null) {
      refusal = why;
    },
    isLoaded: () => isLoaded,
    renderings: () => asked.filter(text => text.startsWith('table ')),
  };
}

test('asks the kernel for nothing until someone looks', async () => {
  const { asked, kernel } = createStage();
  await kernel.replace(RULES);
  await kernel.remove();
  assert.deepEqual(asked, []);
});

test('ends some time after the last reader', async () => {
  const { asked, kernel, recorder, isLoaded } = createStage();
  await kernel.replace(RULES);
  await recorder.read(1000, 60);
  assert.ok(isLoaded());
  await recorder.end();
  assert.deepEqual([isLoaded(), asked.at(-1)], [false, 'end']);
  await recorder.read(1000, 0.3);
  assert.ok(isLoaded());
  await until(() => !isLoaded());
  assert.deepEqual(asked.slice(-2), ['delete table inet culvert_blocked', 'end']);
});

test('follows the rules that are in force, and keeps its records', async () => {
  const { asked, kernel, recorder, renderings } = createStage();
  await recorder.read(1000, 60);
  assert.doesNotMatch(renderings()[0]!, /goto note_own/);
  await kernel.replace(RULES);
  await until(() => renderings().length === 2);
  assert.match(renderings()[1]!, /goto note_own/);
  await kernel.remove(); // as in a pause
  await until(() => renderings().length === 3);
  assert.equal(renderings()[2], renderings()[0]);
  assert.equal(asked.filter(text => text.startsWith('delete')).length, 0);
  await recorder.end();
});

test('is made again after another program flushed it', async () => {
  const { flush, kernel, recorder, isLoaded } = createStage();
  await kernel.replace(RULES);
  await recorder.read(1000, 60);
  flush();
  await recorder.read(1000, 60);
  assert.ok(isLoaded());
  await recorder.end();
});

test('remembers when a destination was first blocked', async () => {
  const { packets, kernel, recorder } = createStage();
  await kernel.replace(RULES);
  const { recordingSince } = await recorder.read(1000, 60);
  packets.set(443, 1);
  const since = (await recorder.read(1000, 60)).entries[0]!.since;
  assert.ok(since >= recordingSince!);
  packets.set(443, 9);
  // several packets between two looks: not before the earlier one
  packets.set(80, 2);
  const before = new Date().toISOString();
  const { entries } = await recorder.read(1000, 60);
  assert.equal(entries.find(({ port }) => port === 443)?.since, since);
  assert.ok(entries.find(({ port }) => port === 80)!.since <= before);
  await recorder.end();
});

test('says why nft refused, and tries again at the next look', async () => {
  const { refuse, kernel, recorder } = createStage();
  await kernel.replace(RULES);
  refuse('syntax error');
  await assert.rejects(recorder.read(1000, 60), { code: 'Failed', message: /could not be read: nft: syntax error/ });
  refuse(null);
  assert.deepEqual((await recorder.read(1000, 60)).entries, []);
  await recorder.end();
});

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

test('a user sees the blocked packets of that user, and how many others there are; root sees all', () => {
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
