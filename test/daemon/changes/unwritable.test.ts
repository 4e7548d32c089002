// Changes that are made or reverted while their file can't be written or removed: memory counts, and the file follows later.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { suite, test } from 'node:test';
import { Problem } from '../../../daemon/problem.ts';
import { stoppedClock, turns } from '../../support/changes/stopped-clock.ts';
import { type MemoryTunnel, memoryTunnel } from '../../support/daemon/memory-tunnel.ts';
import { until } from '../../support/until.ts';

type Machine = ReturnType<typeof stoppedClock>;

const doh = { action: 'setMode', value: 'doh', confirmWithin: 30 } as const;

/** Puts a file in the place of the directory while the next action runs. @returns puts the directory back */
function block({ paths }: Machine, memory: MemoryTunnel, then = () => {}): () => void {
  const directory = dirname(paths.changes);
  memory.before = () => {
    memory.before = () => {};
    renameSync(directory, `${directory}.aside`);
    writeFileSync(directory, '');
    then();
  };
  return () => {
    rmSync(directory);
    renameSync(`${directory}.aside`, directory);
  };
}

/** @param problem the file, and why it can't be written */
function assertSaid({ said }: Machine, problem: string): void {
  assert.deepEqual(
    said.filter(line => line.includes('written')),
    [`${problem}. Until it can be written, a restart of Culvert reverts the change of mode.`],
  );
}

for (const error of [null, new Problem('tunnel-cli-timeout', 'No answer.')])
  test(`a change that ${error ? 'may be' : 'is'} made, but not written down, keeps its limit, also over a later restart`, async t => {
    const machine = stoppedClock(t);
    const memory = memoryTunnel();
    const unblock = block(machine, memory, () => {
      if (!error) return;
      memory.values.mode = 'doh';
      throw error;
    });
    const made = machine.boot(memory).runWithLimit({ ...doh, confirmWithin: 1 });
    if (error) await assert.rejects(made, error);
    else await made;
    const changes = () =>
      memory.state.snapshot().changes.map(({ subject, confirmBy, problem }) => [subject, confirmBy, problem]);
    const expected = [['mode', '2026-01-01T10:00:01.000Z', null]];
    assert.deepEqual(changes(), expected);
    assertSaid(machine, `${dirname(machine.paths.changes)} can't be written: A file is in its place`);
    unblock();
    await until(() => readFileSync(machine.paths.changes, 'utf8').includes('"making":false'));
    machine.boot(memory);
    await turns();
    assert.deepEqual([changes(), memory.values.mode], [expected, 'doh']);
  });

test('a change that is made, but not written down, reverts at its deadline', async t => {
  const machine = stoppedClock(t);
  const memory = memoryTunnel();
  block(machine, memory);
  await machine.boot(memory).runWithLimit({ ...doh, confirmWithin: 1 });
  machine.pass(2);
  await until(() => memory.state.snapshot().changes.length === 0);
  assert.equal(memory.values.mode, 'warp');
});

/** Each reverts the change of the mode, and calls `prepare` before. */
const REVERTS: Record<string, (machine: Machine, memory: MemoryTunnel, prepare: () => void) => unknown> = {
  async 'at its deadline'(machine, memory, prepare) {
    await machine.boot(memory).runWithLimit({ ...doh, confirmWithin: 1 });
    prepare();
    machine.pass(2);
  },
  async 'on request'(machine, memory, prepare) {
    const service = machine.boot(memory);
    await service.runWithLimit(doh);
    prepare();
    await service.revert('mode');
  },
  async 'before the daemon ends'(machine, memory, prepare) {
    const service = machine.boot(memory);
    await service.runWithLimit(doh);
    prepare();
    await service.revertUnconfirmed();
  },
  async 'after a kill'(machine, memory, prepare) {
    memory.before = () => {
      memory.values.mode = 'doh';
      return new Promise(() => {}); // the daemon is killed here
    };
    void machine.boot(memory).runWithLimit(doh);
    await until(() => memory.performed.length === 1);
    prepare();
    machine.boot(memory);
  },
};

suite('a change that was reverted', { concurrency: true }, () => {
  for (const [when, revert] of Object.entries(REVERTS))
    test(`${when}, but not written down, is not reverted again, nor after a later restart`, async t => {
      const machine = stoppedClock(t);
      const memory = memoryTunnel();
      let unblock = () => {};
      await revert(machine, memory, () => {
        unblock = block(machine, memory);
      });
      await until(() => memory.performed.length === 2);
      await turns();
      const now = () => [memory.performed.length, memory.values.mode, memory.state.snapshot().changes];
      assert.deepEqual(now(), [2, 'warp', []]);
      assertSaid(machine, `${machine.paths.changes} can't be written: Not a directory`);
      unblock();
      await until(() => !existsSync(machine.paths.changes));
      memory.values.mode = 'doh';
      machine.boot(memory);
      await turns();
      assert.deepEqual(now(), [2, 'doh', []]);
    });
});
