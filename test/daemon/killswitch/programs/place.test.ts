// Choice of the processes that are put into the place of programs that use the tunnel only; kernel and systemd are played.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProgramRules } from '../../../../daemon/killswitch/rules/tunnel-only.ts';
import { createPrograms, type Process } from '../../../../daemon/killswitch/tunnel-only.ts';

const USER = 1000;
const SHELL: Process = { pid: 10, uid: USER, startTime: '100', parent: 5 };
const NODE: Process = { pid: 11, uid: USER, startTime: '101', parent: 10 };
const BUSCTL: Process = { pid: 12, uid: USER, startTime: '102', parent: 11 };
const INIT: Process = { pid: 1, uid: 0, startTime: '0', parent: 0 };

/** @param duringMove what happens to the processes while systemd moves them */
function play(
  processes: readonly Process[],
  duringMove: (all: Map<number, Process>) => void = () => {},
  asked: readonly number[] = [SHELL.pid],
) {
  const all = new Map([INIT, ...processes].map(process => [process.pid, process]));
  const moved: number[][] = [];
  const released: number[] = [];
  let loaded: ProgramRules | null = null;
  const clock = { seconds: 0 };
  const programs = createPrograms({
    kernel: {
      backend: null,
      async replace(rules: ProgramRules) {
        loaded = rules;
        return { fingerprint: JSON.stringify(rules), dormant: false };
      },
      async remove() {
        loaded = null;
      },
      list: async () => loaded && { fingerprint: JSON.stringify(loaded), dormant: false },
      watch() {},
    } as unknown as Parameters<typeof createPrograms>[0]['kernel'],
    isSupported: () => true,
    processOf: pid => all.get(pid) ?? null,
    hasAsked: pid => asked.includes(pid),
    count: () => 0,
    cgroups: () => new Map(moved.length ? [[USER, '7']] : []),
    async startScope(_, pids) {
      moved.push([...pids]);
      duringMove(all);
    },
    async release(process) {
      released.push(process.pid);
    },
    now: () => clock.seconds,
    report: assert.fail,
  });
  return { programs, moved, released, clock, loaded: () => loaded };
}

test('the rules stay for a while after the last program, for what the kernel repeats', async () => {
  const { programs, moved, clock, loaded } = play([SHELL, NODE, BUSCTL]);
  await programs.place({ uid: USER, pid: BUSCTL.pid });
  clock.seconds = 100_000;
  assert.equal(programs.idle(), false);
  moved.length = 0; // it ends
  await programs.check();
  clock.seconds += 800;
  await programs.check();
  assert.deepEqual([loaded(), programs.idle()], [{ uids: [] }, false]);
  // a new service does not know when it ended
  await programs.start();
  clock.seconds += 800;
  await programs.check();
  assert.deepEqual([loaded(), programs.idle()], [{ uids: [] }, false]);
  clock.seconds += 101;
  await programs.check();
  assert.deepEqual([loaded(), programs.idle()], [null, true]);
  await programs.start();
  assert.deepEqual([loaded(), programs.idle()], [null, true]);
});

const NOT_OWN = { code: 'InvalidArgument', message: 'Only a process of your own can be kept in the tunnel.' };

test('the parent of the process that calls is put into the place, and the parent of that', async () => {
  const { programs, moved, released, loaded } = play([SHELL, NODE, BUSCTL]);
  assert.deepEqual(await programs.place({ uid: USER, pid: BUSCTL.pid }), { placed: true });
  assert.deepEqual([moved, released, loaded()], [[[NODE.pid, SHELL.pid]], [], { uids: [USER] }]);
});

test('nothing is moved if one of the three belongs to another user, to several or to none, or is init', async () => {
  const families: [who: string, processes: Process[], uid?: number][] = [
    ['the caller', [SHELL, NODE, { ...BUSCTL, uid: 0 }]],
    ['the parent', [SHELL, { ...NODE, uid: 1001 }, BUSCTL]],
    ['the shell', [{ ...SHELL, uid: 0 }, NODE, BUSCTL]],
    ['a setuid program', [{ ...SHELL, uid: null }, NODE, BUSCTL]],
    ['an orphan', [NODE, { ...BUSCTL, parent: 1 }]],
    ['a caller that has ended', [SHELL, NODE]],
    [
      'init, for root',
      [
        { ...NODE, uid: 0, parent: 1 },
        { ...BUSCTL, uid: 0 },
      ],
      0,
    ],
    [
      'another namespace, for root',
      [
        { ...NODE, uid: 0, parent: 0 },
        { ...BUSCTL, uid: 0 },
      ],
      0,
    ],
  ];
  for (const [who, processes, uid = USER] of families) {
    const { programs, moved } = play(processes);
    await assert.rejects(programs.place({ uid, pid: BUSCTL.pid }), NOT_OWN, who);
    assert.deepEqual(moved, [], who);
  }
});

test('nothing is moved if the process that would become the program did not ask for it', async () => {
  const { programs, moved } = play([SHELL, NODE, BUSCTL], () => {}, [NODE.pid, BUSCTL.pid]);
  await assert.rejects(programs.place({ uid: USER, pid: BUSCTL.pid }), {
    code: 'Refused',
    message: /Only culvert run/,
  });
  assert.deepEqual(moved, []);
});

test('a process that got the number of another during the move is taken out again', async () => {
  for (const uid of [0, 1001, USER]) {
    const { programs, released, loaded } = play([SHELL, NODE, BUSCTL], all =>
      all.set(SHELL.pid, { ...SHELL, uid, startTime: '999' }),
    );
    await assert.rejects(programs.place({ uid: USER, pid: BUSCTL.pid }), NOT_OWN);
    assert.deepEqual([released, loaded()], [[SHELL.pid], null]);
  }
});

test('also where systemd reports an error after it moved the process', async () => {
  const { programs, released } = play([SHELL, NODE, BUSCTL], all => {
    all.set(NODE.pid, { ...NODE, uid: 0, startTime: '999' });
    throw new Error('too late');
  });
  await assert.rejects(programs.place({ uid: USER, pid: BUSCTL.pid }));
  assert.deepEqual(released, [NODE.pid]);
});

test('a process that ends or becomes a setuid program during the move is refused', async () => {
  const changes: ((all: Map<number, Process>) => void)[] = [
    all => all.delete(SHELL.pid),
    all => all.set(SHELL.pid, { ...SHELL, uid: null }),
  ];
  for (const change of changes) {
    const { programs, released } = play([SHELL, NODE, BUSCTL], change);
    await assert.rejects(programs.place({ uid: USER, pid: BUSCTL.pid }), NOT_OWN);
    assert.deepEqual(released, []);
  }
});
