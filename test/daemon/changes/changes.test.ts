// Changes that revert automatically: unless they are confirmed, when their time is up, and after a kill.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ActionRequest } from '../../../daemon/api/actions.ts';
import type { ChangeOptions } from '../../../daemon/api/changes.ts';
import { Problem } from '../../../daemon/problem.ts';
import { createState } from '../../../daemon/state/store.ts';
import { failureIn, problemOf } from '../../../daemon/warp/cli/failures.ts';
import { stoppedClock as machine } from '../../support/changes/stopped-clock.ts';
import { type MemoryTunnel, memoryTunnel } from '../../support/daemon/memory-tunnel.ts';
import { until } from '../../support/until.ts';

type LimitedRequest = ActionRequest & ChangeOptions;

const doh: LimitedRequest = { action: 'setMode', value: 'doh', confirmWithin: 30 };

test('shows an unconfirmed change with its deadline, and keeps it once it is confirmed', async t => {
  const { boot, paths } = machine(t);
  const memory = memoryTunnel();
  const service = boot(memory);
  await service.runWithLimit(doh);
  assert.deepEqual(memory.state.snapshot().changes, [
    {
      subject: 'mode',
      value: 'doh',
      previous: 'warp',
      setAt: '2026-01-01T10:00:00.000Z',
      endsAt: null,
      confirmBy: '2026-01-01T10:00:30.000Z',
      endingSoon: false,
      problem: null,
    },
  ]);
  service.confirm('mode');
  assert.deepEqual(
    [memory.state.snapshot().changes, memory.values.mode, existsSync(paths.changes)],
    [[], 'doh', false],
  );
  assert.throws(() => service.confirm(), { code: 'nothing-pending' });
});

/** Each subject with what it is set to, and what memory has before and after. */
const SUBJECTS: [LimitedRequest, (memory: MemoryTunnel) => unknown][] = [
  [{ action: 'disconnect' }, ({ values }) => values.connected],
  [{ action: 'setMode', value: 'proxy' }, ({ values }) => values.mode],
  [{ action: 'setProtocol', value: 'WireGuard' }, ({ values }) => values.protocol],
  [{ action: 'enableLocalProxy' }, ({ values }) => values.mode],
  [{ action: 'setMasqueOptions', value: 'h2-only' }, ({ values }) => values.masque],
  [{ action: 'setFamilies', value: 'full' }, ({ values }) => values.families],
  [{ action: 'addFallbackDomain', value: 'lan' }, ({ values }) => values.fallback],
  [{ action: 'removeFallbackDomain', value: 'corp' }, ({ values }) => values.fallback],
];
const LIMITS: [string, ChangeOptions, (m: ReturnType<typeof machine>) => void][] = [
  ['not confirmed', { confirmWithin: 30 }, m => m.pass(31)],
  ['not confirmed before a reboot', { confirmWithin: 600 }, m => m.reboot(1)],
  ['over', { forSeconds: 900 }, m => m.pass(901)],
  ['over after a reboot', { forSeconds: 900 }, m => m.reboot(901)],
];

for (const [title, options, wait] of LIMITS)
  test(`reverts a change that is ${title}, in a daemon that was killed and started again`, async t => {
    for (const [request, read] of SUBJECTS) {
      const m = machine(t);
      const memory = memoryTunnel();
      const before = read(memory);
      await m.boot(memory).runWithLimit({ ...request, ...options });
      assert.notDeepEqual(read(memory), before, request.action);
      wait(m);
      m.boot(memory);
      await until(() => memory.state.snapshot().changes.length === 0);
      assert.deepEqual([read(memory), existsSync(m.paths.changes)], [before, false], request.action);
    }
  });

test('the port of the local proxy returns in proxy mode; elsewhere it is not reported, and so not limited', async t => {
  const m = machine(t);
  const memory = memoryTunnel({ mode: 'proxy' });
  await m.boot(memory).runWithLimit({ action: 'setProxyPort', value: '41000', confirmWithin: 30 });
  assert.equal(memory.values.proxyPort, 41_000);
  m.pass(31);
  m.boot(memory);
  await until(() => memory.values.proxyPort === 40_000);
  const other = memoryTunnel();
  const service = m.boot(other);
  await assert.rejects(service.runWithLimit({ action: 'setProxyPort', value: '41000', confirmWithin: 30 }), {
    code: 'previous-unknown',
    message: 'The tunnel client reports this value only in proxy mode, so it could not be restored.',
  });
  assert.equal(other.values.proxyPort, 40_000);
});

test('a change that can’t be limited says when its previous value is reported, if only the settings hide it', async t => {
  const change = { action: 'setMasqueOptions', value: 'h2-only', confirmWithin: 30 } as const;
  for (const [values, why] of [
    [{ protocol: 'WireGuard', masque: 'none' }, 'reports this value only with the protocol MASQUE'],
    [{ protocol: 'MASQUE', masque: 'none' }, 'does not report the current value'],
  ] as const)
    await assert.rejects(machine(t).boot(memoryTunnel(values)).runWithLimit(change), {
      message: `The tunnel client ${why}, so it could not be restored.`,
    });
});

test('MASQUE options that were printed in unknown words are not limited', async t => {
  const memory = memoryTunnel({ masque: 'h4' });
  const service = machine(t).boot(memory);
  await assert.rejects(service.runWithLimit({ action: 'setMasqueOptions', value: 'h2-only', confirmWithin: 30 }), {
    code: 'previous-unknown',
  });
  await service.runWithLimit({ action: 'setMasqueOptions', value: 'h2-only' });
  assert.equal(memory.values.masque, 'h2-only');
});

test('reverts a change in the daemon that made it, and after the machine was asleep', async t => {
  const m = machine(t);
  const memory = memoryTunnel();
  const service = m.boot(memory);
  await service.runWithLimit({ ...doh, confirmWithin: 1 });
  m.pass(3_600);
  await until(() => memory.values.mode === 'warp');
  await until(() => m.reverted.length > 0);
  assert.deepEqual(m.reverted, ['mode'], 'for the history');
});

test('a change that holds for a while goes on after a restart and a reboot, and ends by the clock of the wall', async t => {
  const m = machine(t);
  const memory = memoryTunnel();
  await m.boot(memory).runWithLimit({ action: 'disconnect', forSeconds: 3_600 });
  m.pass(1_000);
  m.boot(memory);
  m.reboot(1_000);
  m.boot(memory);
  const [change] = memory.state.snapshot().changes;
  assert.deepEqual(
    [change?.endsAt, change?.value, memory.values.connected],
    ['2026-01-01T11:00:00.000Z', 'off', false],
  );
});

test('is extended, shows its last minute, and ends early', async t => {
  const m = machine(t);
  const memory = memoryTunnel();
  let service = m.boot(memory);
  await service.runWithLimit({ action: 'disconnect', forSeconds: 120 });
  assert.throws(() => service.confirm(), { code: 'nothing-pending' }, 'there is nothing to confirm');
  m.pass(61);
  service = m.boot(memory);
  assert.equal(memory.state.snapshot().changes[0]?.endingSoon, true);
  service.extend(undefined, 900);
  const [change] = memory.state.snapshot().changes;
  assert.deepEqual([change?.endsAt, change?.endingSoon], ['2026-01-01T10:16:01.000Z', false]);
  await service.revert('connection');
  assert.deepEqual([memory.values.connected, memory.state.snapshot().changes], [true, []]);
});

test('the last value without a limit returns, after any values with one', async t => {
  const m = machine(t);
  const memory = memoryTunnel();
  const service = m.boot(memory);
  await service.runWithLimit({ action: 'setMode', value: 'doh', forSeconds: 900 });
  await service.runWithLimit({ action: 'setMode', value: 'proxy', confirmWithin: 30 });
  m.pass(31);
  m.boot(memory);
  await until(() => memory.state.snapshot().changes.length === 0);
  assert.equal(memory.values.mode, 'warp');
});

test('a choice without a limit replaces one with a limit', async t => {
  const m = machine(t);
  const memory = memoryTunnel();
  const service = m.boot(memory);
  await service.runWithLimit({ action: 'disconnect', forSeconds: 900 });
  await service.runWithLimit({ action: 'connect' });
  assert.deepEqual([memory.state.snapshot().changes, existsSync(m.paths.changes)], [[], false]);
});

test('a change that changes nothing is not reverted', async t => {
  const m = machine(t);
  const memory = memoryTunnel();
  await m.boot(memory).runWithLimit({ action: 'setMode', value: 'warp', forSeconds: 900 });
  assert.deepEqual(memory.state.snapshot().changes, []);
});

/** The problem of an action whose command ended with an output. */
function failed(stderr: string, exitCode = 1): Problem {
  const output = { ok: false, argv: [], exitCode, stdout: '', stderr, durationMs: 1, at: '' };
  const finished = { output, notStarted: false, timedOut: false };
  const shown = createState({ available: true, path: null, version: null, emulated: false }).snapshot();
  return problemOf('the action setMode', failureIn(finished)!, finished, shown);
}

const REFUSED: Record<string, Problem> = {
  'a value': failed("error: invalid value 'doh' for '<MODE>'\n", 2),
  'an unknown command': failed("error: unrecognized subcommand 'mode'\n", 2),
  'a policy': failed('Error: Operation not authorized in this context\n'),
  'a lost registration': failed('Error: Missing registration\n'),
  'a tunnel that is down': failed('Error: WARP is not connected\n'),
  'a missing CLI': new Problem('cli-missing', 'No CLI.'),
  'many waiting commands': new Problem('busy', 'Wait.'),
};

for (const [title, problem] of Object.entries(REFUSED))
  test(`a change that is refused for ${title} schedules no return, and the previous change stays`, async t => {
    const m = machine(t);
    const memory = memoryTunnel();
    const service = m.boot(memory);
    const refuse = () => {
      throw problem;
    };
    memory.before = refuse;
    await assert.rejects(service.runWithLimit(doh), { code: problem.code });
    assert.equal(existsSync(m.paths.changes), false);
    memory.before = () => {};
    await service.runWithLimit(doh);
    memory.before = refuse;
    await assert.rejects(service.runWithLimit({ action: 'setMode', value: 'proxy', confirmWithin: 30 }));
    assert.equal(memory.state.snapshot().changes[0]?.value, 'doh');
  });

const panic = "thread 'main' panicked at stdio.rs:1165:9: failed printing to stdout: Broken pipe (os error 32)\n";
const UNCLEAR: Record<string, Error> = {
  'was killed at its time limit': new Problem('tunnel-cli-timeout', 'No answer.'),
  crashed: failed(panic, 101),
  'lost its service': failed('Error: Unable to connect to the CloudflareWARP daemon: daemon is not running\n'),
  'failed without a known reason': failed('Error: something new\n', 7),
  'left a part behind': Object.assign(new Problem('not-registered', 'No.'), { uncertain: true }),
  'failed in Culvert itself': new TypeError('x is not a function'),
};

for (const [title, error] of Object.entries(UNCLEAR))
  for (const limit of [{ confirmWithin: 30 }, { forSeconds: 900 }])
    test(`a change whose command ${title} may be made, and is reverted (${Object.keys(limit)})`, async t => {
      for (const [request, read] of SUBJECTS) {
        const m = machine(t);
        const memory = memoryTunnel();
        const before = read(memory);
        const service = m.boot(memory);
        const apply = memory.tunnel.runAction;
        memory.tunnel.runAction = async given => {
          await apply(given);
          throw error;
        };
        await assert.rejects(service.runWithLimit({ ...request, ...limit }), error);
        assert.equal(memory.state.snapshot().changes.length, 1, request.action);
        memory.tunnel.runAction = apply;
        m.pass(901);
        m.boot(memory);
        await until(() => memory.state.snapshot().changes.length === 0);
        assert.deepEqual(read(memory), before, request.action);
      }
    });

test('says why a value does not return, and tries until it does', async t => {
  const m = machine(t);
  const memory = memoryTunnel();
  await m.boot(memory).runWithLimit(doh);
  memory.before = () => {
    throw new Problem('service-stopped', 'The service does not run.');
  };
  m.pass(31);
  m.boot(memory);
  await until(() => memory.state.snapshot().changes[0]?.problem === 'The service does not run.');
  assert.equal(memory.state.snapshot().changes[0]?.problemCode, 'service-stopped');
  memory.before = () => {};
  m.pass(60);
  m.boot(memory);
  await until(() => memory.state.snapshot().changes.length === 0);
  assert.equal(memory.values.mode, 'warp');
});

test('reverts a change that a kill interrupted, at the next start', async t => {
  const m = machine(t);
  for (const done of [true, false]) {
    const memory = memoryTunnel();
    memory.before = () => {
      if (done) memory.values.mode = 'doh';
      return new Promise(() => {}); // the daemon is killed here
    };
    void m.boot(memory).runWithLimit(doh);
    await until(() => memory.performed.length === 1);
    memory.before = () => {};
    m.boot(memory);
    await until(() => !existsSync(m.paths.changes));
    assert.equal(memory.values.mode, 'warp');
  }
});

test('refuses a limit where the value before is not known, and for an action without a value', async t => {
  const m = machine(t);
  const memory = memoryTunnel();
  memory.values.mode = 'from the future';
  const service = m.boot(memory);
  await assert.rejects(service.runWithLimit(doh), { code: 'previous-unknown' });
  await assert.rejects(async () => service.runWithLimit({ action: 'rotateKeys', forSeconds: 60 } as LimitedRequest), {
    code: 'argument-rejected',
  });
  assert.deepEqual(memory.performed, []);
});

test('makes no change whose return cannot be written down', async t => {
  const m = machine(t);
  const memory = memoryTunnel();
  mkdirSync(dirname(dirname(m.paths.changes)), { recursive: true });
  writeFileSync(dirname(m.paths.changes), 'in the way');
  await assert.rejects(m.boot(memory).runWithLimit(doh), { code: 'state-not-writable' });
  assert.deepEqual([memory.performed, memory.state.snapshot().changes], [[], []]);
});

test('puts a file aside that it does not understand, and says so', t => {
  const m = machine(t);
  mkdirSync(dirname(m.paths.changes), { recursive: true });
  for (const text of [
    '',
    '{',
    '{"version":2}',
    '{"version":1,"pending":[{"previous":{"subject":"mode","value":"x"}}]}',
  ]) {
    writeFileSync(m.paths.changes, text);
    const memory = memoryTunnel();
    m.boot(memory);
    assert.deepEqual(memory.state.snapshot().changes, []);
    assert.equal(readFileSync(`${m.paths.changes}.broken`, 'utf8'), text);
  }
  assert.match(m.said[0] ?? '', /can't be read/);
});

/** A machine whose daemon found a file that it does not understand, and was started again since. */
function machineWithLostChanges(t: TestContext) {
  const m = machine(t);
  mkdirSync(dirname(m.paths.changes), { recursive: true });
  writeFileSync(m.paths.changes, '{"version":2}');
  m.boot(memoryTunnel());
  const memory = memoryTunnel();
  const service = m.boot(memory);
  const lost = () => memory.state.snapshot().lostChanges;
  assert.deepEqual(lost(), { file: m.paths.brokenChanges });
  const isReportedAgain = () => {
    const next = memoryTunnel();
    m.boot(next);
    return next.state.snapshot().lostChanges !== null;
  };
  return { service, lost, isReportedAgain, m };
}

test('reports lost changes over a restart, until they are acknowledged', t => {
  const { service, lost, isReportedAgain, m } = machineWithLostChanges(t);
  assert.throws(() => service.confirm('mode'), { code: 'nothing-pending' });
  assert.notEqual(lost(), null);
  service.confirm();
  assert.equal(lost(), null);
  assert.throws(() => service.confirm(), { code: 'nothing-pending' });
  assert.equal(isReportedAgain(), false);
  assert.equal(readFileSync(`${m.paths.changes}.acknowledged`, 'utf8'), '{"version":2}');
});

for (const [limit, options] of [
  ['with a limit', { confirmWithin: 30 }],
  ['without a limit', {}],
] as const)
  test(`reports lost changes until the next change is made, ${limit}`, async t => {
    const { service, lost, isReportedAgain } = machineWithLostChanges(t);
    await service.runWithLimit({ action: 'setMode', value: 'doh', ...options });
    assert.equal(lost(), null);
    assert.equal(isReportedAgain(), false);
  });

test('a daemon that ends reverts what is not confirmed, and leaves what holds for a while', async t => {
  const { boot, said } = machine(t);
  const memory = memoryTunnel();
  const service = boot(memory);
  await service.runWithLimit({ action: 'setFamilies', value: 'full', forSeconds: 600 });
  await service.runWithLimit(doh);
  await service.revertUnconfirmed();
  assert.deepEqual([memory.values.mode, memory.values.families], ['warp', 'full']);
  assert.deepEqual(
    memory.state.snapshot().changes.map(({ subject }) => subject),
    ['families'],
  );
  assert.match(said.join(), /The change of mode was reverted/);
});

test('a pipe or a directory in place of the file is put aside, too', t => {
  for (const make of ['mkfifo', 'mkdir']) {
    const { paths, boot, said } = machine(t);
    mkdirSync(dirname(paths.changes), { recursive: true });
    execFileSync(make, [paths.changes]);
    // a reader of the pipe gets its end
    const writer = make === 'mkfifo' ? spawn('sh', ['-c', ': > "$0"', paths.changes]) : null;
    t.after(() => writer?.kill());
    boot(memoryTunnel());
    assert.match(said[0]!, /It is not a file\. The file is kept as .*\.broken/);
  }
});

test('an unreadable file of changes that cannot be renamed blocks no action', async t => {
  const { boot, paths, said } = machine(t);
  mkdirSync(dirname(paths.changes), { recursive: true });
  writeFileSync(paths.changes, '{"version":2,"pending":[]}');
  mkdirSync(`${paths.changes}.broken`); // a file can't replace it
  const memory = memoryTunnel();
  await boot(memory).runWithLimit({ action: 'setMode', value: 'doh' });
  assert.equal(memory.values.mode, 'doh');
  assert.match(said.join(), /another version of Culvert wrote it.*could not be renamed either.*check mode/);
  assert.ok(said.every(line => !line.includes('\n')));
});
