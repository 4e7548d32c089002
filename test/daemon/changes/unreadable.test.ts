// Changes revert although the tunnel CLI answers no question since they were made, or fails at first: what can't be read is not known.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ActionRequest, SUBJECTS, type TunnelSubject } from '../../../daemon/api/actions.ts';
import type { ChangeOptions } from '../../../daemon/api/changes.ts';
import { Problem } from '../../../daemon/problem.ts';
import { stoppedClock, turns } from '../../support/changes/stopped-clock.ts';
import { type MemoryTunnel, memoryTunnel, type Values } from '../../support/daemon/memory-tunnel.ts';
import { until } from '../../support/until.ts';

type Machine = ReturnType<typeof stoppedClock>;
type Service = ReturnType<Machine['boot']>;

/** Each subject with a change of it. */
const CHANGES: Record<TunnelSubject, ActionRequest | 'document'> = {
  connection: { action: 'disconnect' },
  mode: { action: 'setMode', value: 'doh' },
  protocol: { action: 'setProtocol', value: 'WireGuard' },
  endpoint: { action: 'setEndpoint', value: '192.0.2.1:2408' },
  masque: { action: 'setMasqueOptions', value: 'h2-only' },
  proxyPort: { action: 'setProxyPort', value: '24000' },
  families: { action: 'setFamilies', value: 'full' },
  gatewayId: { action: 'setGatewayId', value: 'abc' },
  fallback: { action: 'removeFallbackDomain', value: 'corp' },
  routes: 'document',
};
const SUBJECTS_OF_TUNNEL = SUBJECTS.filter(subject => subject !== 'killSwitch');
/** Subjects that are set one entry at a time, for which the present list is needed. */
const LISTS: readonly TunnelSubject[] = ['fallback', 'routes'];

interface End {
  options: ChangeOptions;
  end(machine: Machine, service: Service, memory: MemoryTunnel, subject: TunnelSubject): unknown;
}

const ENDS: Record<string, End> = {
  'the deadline': {
    options: { confirmWithin: 30 },
    end(machine, _, memory) {
      machine.pass(31);
      machine.boot(memory);
    },
  },
  'the end of its time': {
    options: { forSeconds: 900 },
    end(machine, _, memory) {
      machine.pass(901);
      machine.boot(memory);
    },
  },
  'a request to revert it': {
    options: { confirmWithin: 600 },
    end: (_, service, __, subject) => service.revert(subject).catch(() => {}),
  },
  'the stop of the daemon': {
    options: { confirmWithin: 600 },
    end: (_, service) => service.revertUnconfirmed(),
  },
};

function valuesOf({ values }: MemoryTunnel): Values {
  const { split, ...others } = structuredClone(values);
  const sorted = <T extends { value: string }>(list: T[]) => list.sort((a, b) => a.value.localeCompare(b.value));
  return { ...others, split: { ...split, ips: sorted(split.ips), hosts: sorted(split.hosts) } };
}

async function change(service: Service, subject: TunnelSubject, options: ChangeOptions): Promise<void> {
  const request = CHANGES[subject];
  if (request === 'document') await service.routes.apply({ document: 'new.example\n', ...options });
  else await service.runWithLimit({ ...request, ...options } as ActionRequest);
}

for (const [title, { options, end }] of Object.entries(ENDS))
  for (const subject of SUBJECTS_OF_TUNNEL.filter(each => each !== 'routes' || !options.forSeconds)) {
    test(`${title} sets the value of ${subject} again, although nothing can be read`, async t => {
      const machine = stoppedClock(t);
      const memory = memoryTunnel({ mode: 'proxy' });
      const before = valuesOf(memory);
      const service = machine.boot(memory);
      memory.before = () => {
        memory.readable = LISTS.includes(subject);
      };
      await change(service, subject, options);
      assert.notDeepEqual(valuesOf(memory), before);
      memory.readable = false;
      await end(machine, service, memory, subject);
      if (LISTS.includes(subject)) {
        await until(() => memory.state.snapshot().changes[0]?.problem, `${subject} is pending`);
        assert.ok(!machine.said.some(line => /was reverted/.test(line)), machine.said.join('\n'));
        memory.before = () => {};
        memory.readable = true;
        machine.pass(601); // longer than the limit, and than a pause between two attempts
        machine.boot(memory);
      }
      await until(() => memory.state.snapshot().changes.length === 0);
      assert.deepEqual(valuesOf(memory), before);
    });

    test(`${title} leaves the change of ${subject} pending while the tunnel CLI refuses, over a restart`, async t => {
      const machine = stoppedClock(t);
      const memory = memoryTunnel({ mode: 'proxy' });
      const before = valuesOf(memory);
      const service = machine.boot(memory);
      await change(service, subject, options);
      const { length } = memory.performed;
      memory.before = () => {
        throw new Problem('tunnel-cli-failed', 'It hangs.');
      };
      await end(machine, service, memory, subject);
      await until(() => memory.state.snapshot().changes[0]?.problem === 'It hangs.');
      assert.ok(memory.performed.length > length);
      memory.before = () => {};
      machine.pass(title === 'the stop of the daemon' ? 601 : 0);
      machine.boot(memory);
      await until(() => memory.state.snapshot().changes.length === 0);
      assert.deepEqual(valuesOf(memory), before);
    });
  }

test('a request to revert everything also reverts what follows a change that could not be reverted', async t => {
  const machine = stoppedClock(t);
  const memory = memoryTunnel();
  const service = machine.boot(memory);
  for (const subject of ['mode', 'protocol', 'families'] as const) await change(service, subject, { forSeconds: 900 });
  memory.before = ({ action }) => {
    if (action === 'setMode') throw new Problem('tunnel-cli-failed', 'It hangs.');
  };
  await assert.rejects(service.revert(), /It hangs/);
  assert.deepEqual(
    memory.state.snapshot().changes.map(({ subject, problem }) => [subject, problem]),
    [['mode', 'It hangs.']],
  );
});

for (const subject of SUBJECTS_OF_TUNNEL)
  test(`tries to revert the change of ${subject} one attempt at a time, and again as soon as the tunnel CLI answers`, async t => {
    const machine = stoppedClock(t);
    const memory = memoryTunnel({ mode: 'proxy' });
    const before = valuesOf(memory);
    await change(machine.boot(memory), subject, { confirmWithin: 30 });
    const tries = () => machine.said.filter(line => line === `Reverting the change of ${subject}.`).length;
    let fail = () => {};
    memory.before = () =>
      new Promise<never>((_, reject) => {
        fail = () => reject(new Problem('service-stopped', 'It is down.'));
      });
    const { length } = memory.performed;
    machine.pass(31);
    machine.boot(memory);
    await until(() => memory.performed.length > length);
    await turns();
    assert.deepEqual([tries(), memory.performed.length - length], [1, 1]);
    memory.before = () => {
      throw new Problem('service-stopped', 'It is down.');
    };
    fail();
    await until(() => memory.state.snapshot().changes[0]?.problem === 'It is down.');
    await turns();
    assert.equal(tries(), 1, 'no try in the pause after a failure');
    memory.before = () => {};
    const { status } = memory.state.snapshot();
    memory.state.set('status', { ...status, blocked: 'service-stopped' });
    await turns();
    assert.equal(tries(), 1);
    memory.state.set('status', status);
    await until(() => memory.state.snapshot().changes.length === 0);
    assert.deepEqual([valuesOf(memory), tries()], [before, 2]);
  });

test('tries again without any request after a pause, until a try succeeds', async t => {
  const machine = stoppedClock(t);
  const memory = memoryTunnel();
  await change(machine.boot(memory), 'mode', { confirmWithin: 30 });
  memory.before = () => {
    throw new Problem('tunnel-cli-failed', 'It fails.');
  };
  machine.pass(31);
  machine.boot(memory);
  await until(() => memory.state.snapshot().changes[0]?.problem === 'It fails.');
  memory.before = () => {};
  machine.pass(1);
  await until(() => memory.state.snapshot().changes.length === 0);
  assert.equal(memory.values.mode, 'warp');
});
