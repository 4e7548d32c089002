// The recording and its lease, against a stand-in for nft that remembers what it was asked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRecorder } from '../../../../daemon/killswitch/blocked/recorder.ts';
import type { Kernel } from '../../../../daemon/killswitch/edges.ts';
import type { RuleOptions } from '../../../../daemon/killswitch/rules/rules.ts';
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

test('follows the rules that are in force, and keeps what was recorded', async () => {
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
