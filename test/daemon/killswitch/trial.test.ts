// Changes of the kill switch that need confirmation: when they revert, permissions, and no kill prevents a revert.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Action, ALL_ACTIONS } from '../../../daemon/killswitch/permission.ts';
import type { Report } from '../../../daemon/killswitch/report.ts';
import { render } from '../../../daemon/killswitch/rules/rules.ts';
import { checkConfirmSeconds, formatTrial, parseTrial, type Wanted } from '../../../daemon/killswitch/rules/wanted.ts';
import type { Switch } from '../../../daemon/killswitch/switch.ts';
import { createMachine, dieAfter, NARROW, WIDE } from '../../support/killswitch/machine.ts';
import { STRIDE } from '../../support/thoroughness.ts';

type Machine = ReturnType<typeof createMachine>;

const ALICE = { uid: 1000, granted: ALL_ACTIONS };
const ENABLE: Action = 'org.culvert.killswitch.enable';
/** May turn it on, and nothing else. */
const BOB = { uid: 1001, granted: [ENABLE] };
const SECONDS = 30;
/** An address that warp-svc may switch to. */
const MOVED = { cidr: '104.16.1.2', protocol: 'udp', ports: [443] } as const;

/** The value before, and the tried value. */
const CHANGES: [string, Wanted | null, Wanted | null][] = [
  ['on', null, NARROW],
  ['on with the local network', NARROW, WIDE],
  ['on without the local network', WIDE, NARROW],
  ['off', NARROW, null],
];

const text = (wanted: Wanted | null) => wanted && render(wanted);
const wantedOf = ({ enabled, allowLan }: Pick<Report, 'enabled' | 'allowLan'>) => (enabled ? { allowLan } : null);

async function startedWith(previous: Wanted | null): Promise<{ machine: Machine; control: Switch }> {
  const machine = createMachine();
  const control = machine.boot();
  await control.start();
  if (previous) await control.enable(previous, ALL_ACTIONS);
  return { machine, control };
}

async function trying(previous: Wanted | null, wanted: Wanted | null) {
  const { machine, control } = await startedWith(previous);
  return { machine, control, report: await control.try(wanted, SECONDS, ALICE) };
}

/** The previous value is in force, and nothing is pending anymore. */
function assertReturned({ machine, report }: { machine: Machine; report: Report }, previous: Wanted | null, at = '') {
  assert.equal(machine.table, text(previous), at);
  assert.equal(report.unconfirmed, null, at);
  assert.deepEqual(wantedOf(report), previous && { allowLan: previous.allowLan }, at);
  assert.equal(machine.files.has('trial.json'), false, at);
}

for (const [variant, [name, previous, wanted]] of CHANGES.entries()) {
  test(`turned ${name}: shows its deadline, returns at it, and stays once it is confirmed`, async () => {
    const { machine, control, report } = await trying(previous, wanted);
    assert.equal(machine.table, text(wanted));
    assert.deepEqual(report.unconfirmed, {
      setAt: new Date(1_000_000).toISOString(),
      confirmBy: new Date(1_030_000).toISOString(),
      previous: { enabled: previous !== null, allowLan: previous?.allowLan ?? false },
    });
    assert.equal(machine.rings, 1030);
    machine.uptime += SECONDS - 1;
    assert.equal((await control.check()).unconfirmed?.confirmBy, report.unconfirmed?.confirmBy);
    assert.equal(machine.table, text(wanted));
    machine.uptime += 1;
    machine.ring!();
    assertReturned({ machine, report: await control.check() }, previous);
    await assert.rejects(control.confirm(ALICE), { code: 'NothingPending' });

    await control.try(wanted, SECONDS, ALICE);
    const kept = await control.confirm(ALICE);
    assertReturned({ machine, report: kept }, wanted, 'what is confirmed is what holds');
    machine.uptime += SECONDS;
    machine.ring?.();
    assert.equal((await control.check()).unconfirmed, null);
    assertReturned({ machine, report: await machine.reboot().start() }, wanted);
  });

  test(`turned ${name}: reverts immediately when the user asks`, async () => {
    const { machine, control } = await trying(previous, wanted);
    assertReturned({ machine, report: await control.revert(ALICE) }, previous);
    await assert.rejects(control.revert(ALICE), { code: 'NothingPending' });
  });

  test(`turned ${name}: returns after a reboot, and by a service that was dead at the deadline`, async () => {
    for (const restart of ['at once', 'late', 'reboot'] as const) {
      const { machine } = await trying(previous, wanted);
      if (restart === 'late') machine.uptime += SECONDS + 5;
      const control = restart === 'reboot' ? machine.reboot() : machine.boot();
      const first = await control.start();
      if (restart !== 'at once') {
        assertReturned({ machine, report: first }, previous, restart);
        continue;
      }
      assert.equal(machine.table, text(wanted), 'it goes on');
      assert.equal(first.unconfirmed?.confirmBy, new Date(1_030_000).toISOString());
      machine.uptime += SECONDS;
      machine.ring!();
      assertReturned({ machine, report: await control.check() }, previous, restart);
    }
  });

  test(`turned ${name}: a jump of the wall clock neither confirms nor reverts it`, async () => {
    for (const jump of [-86_400_000, 86_400_000]) {
      const { machine, control } = await trying(previous, wanted);
      machine.wallMs += jump;
      await control.check();
      const again = machine.boot();
      assert.notEqual((await again.start()).unconfirmed, null);
      assert.equal(machine.table, text(wanted));
      machine.uptime += SECONDS;
      machine.ring!();
      assertReturned({ machine, report: await again.check() }, previous, String(jump));
    }
  });

  test(`turned ${name}: a plain choice replaces it`, async () => {
    for (const choice of [NARROW, WIDE, null]) {
      const { machine, control } = await trying(previous, wanted);
      const report = await (choice ? control.enable(choice, ALL_ACTIONS) : control.disable());
      assertReturned({ machine, report }, choice);
      machine.uptime += SECONDS;
      machine.ring?.();
      assertReturned({ machine, report: await control.check() }, choice);
    }
  });

  test(`turned ${name}: wherever the service is killed, the old value or the new one holds, and the deadline counts`, async () => {
    await killedEverywhere(previous, wanted);
  });

  test(`turned ${name}: a step that fails leaves the former value, and says so`, async () => {
    // in a short run each step of an act fails in one of the changes
    for (const act of acts(wanted))
      for (let failing = variant % STRIDE; ; failing += STRIDE) {
        const { machine, control } = await (act.begins ? startedWith(previous) : trying(previous, wanted));
        const before = machine.table;
        let steps = 0;
        let failed = '';
        machine.before = step => {
          if (steps++ !== failing) return;
          failed = step;
          throw new Error(`no ${step}`);
        };
        const code = await act.run(control).then(
          () => null,
          (error: { code: string }) => error.code,
        );
        machine.before = () => {};
        if (failed === '') break;
        const report = await control.check();
        if (code === null) continue; // reads, and what may fail
        assert.equal(code, 'Failed', `${act.name}, ${failed}`);
        // an act may fail after the revert, which then holds
        const holds = [before, ...(act.begins ? [] : [text(previous)])];
        assert.ok(holds.includes(machine.table), `${act.name}, ${failed}: ${machine.table}`);
        machine.uptime += SECONDS;
        machine.ring?.();
        assertReturned({ machine, report: await control.check() }, previous, `${act.name}, ${failed}`);
        assert.ok(report.detail === null || !/undefined/.test(report.detail));
      }
  });
}

interface Act {
  name: string;
  run(control: Switch): Promise<unknown>;
  /** Value that it sets for good, where it is acknowledged; undefined: the previous value is back, or will be. */
  sets?: Wanted | null;
  begins?: true;
}

function acts(wanted: Wanted | null): Act[] {
  return [
    { name: 'begin', run: control => control.try(wanted, SECONDS, ALICE), begins: true },
    { name: 'confirm', run: control => control.confirm(ALICE), sets: wanted },
    { name: 'revert', run: control => control.revert(ALICE) },
    { name: 'try again', run: control => control.try(wanted, SECONDS, ALICE) },
    { name: 'enable', run: control => control.enable(NARROW, ALL_ACTIONS), sets: NARROW },
    { name: 'enable with the local network', run: control => control.enable(WIDE, ALL_ACTIONS), sets: WIDE },
    { name: 'disable', run: control => control.disable(), sets: null },
  ];
}

async function killedEverywhere(previous: Wanted | null, wanted: Wanted | null): Promise<void> {
  const due: Act = { name: 'the deadline', run: control => control.check() };
  // in a short run each step is fatal before one of the restarts
  for (const act of [...acts(wanted), due])
    for (const [index, restart] of (['at once', 'late', 'reboot'] as const).entries())
      for (let fatal = index % STRIDE; ; fatal += STRIDE) {
        const { machine, control } = await (act.begins ? startedWith(previous) : trying(previous, wanted));
        if (act === due) machine.uptime += SECONDS;
        const seen = dieAfter(machine, fatal);
        const acknowledged = await act.run(control).then(
          () => seen.length <= fatal,
          () => false,
        );
        const at = `${act.name}, killed at ${seen.at(-1)}, restarted ${restart}`;
        const values = [previous, wanted, ...(act.sets === undefined ? [] : [act.sets])].map(text);
        assert.ok(values.includes(machine.table), `${at}: ${machine.table}`);
        if (restart === 'late') machine.uptime += SECONDS + 5;
        const next = restart === 'reboot' ? machine.reboot() : machine.boot();
        await next.start();
        assert.ok(values.includes(machine.table), `${at}: ${machine.table}`);
        machine.uptime += SECONDS + 5;
        machine.ring?.();
        const report = await next.check();
        const ends = 'sets' in act ? [act.sets!, ...(acknowledged ? [] : [previous])] : [previous];
        const end = ends.find(value => text(value) === machine.table);
        assert.notEqual(end, undefined, `${at}: ${machine.table}`);
        assertReturned({ machine, report }, end!, at);
        assertReturned({ machine, report: await machine.reboot().start() }, end!, `${at}, and rebooted`);
        if (acknowledged) break;
      }
}

test('a value that is tried in the place of another: the first one returns', async () => {
  const { machine, control } = await trying(NARROW, WIDE);
  machine.uptime += 20;
  const report = await control.try(null, SECONDS, ALICE);
  assert.equal(machine.table, null);
  assert.deepEqual(report.unconfirmed?.previous, { enabled: true, allowLan: false });
  assert.equal(machine.armed, SECONDS, 'systemd blocks again, even if this process dies');
  machine.uptime += 29;
  assert.equal((await control.check()).enabled, false, 'the time starts over');
  machine.uptime += 1;
  assertReturned({ machine, report: await control.check() }, NARROW);
});

test('a value that would return anyway is set permanently', async () => {
  const { machine, control } = await trying(NARROW, WIDE);
  assertReturned({ machine, report: await control.try(NARROW, SECONDS, ALICE) }, NARROW);
  const { machine: off, control: idle } = await trying(null, NARROW);
  assertReturned({ machine: off, report: await idle.try(null, SECONDS, ALICE) }, null);
  assert.equal(idle.idle(), true);
});

test('systemd’s timer that was first ends an unconfirmed "off"', async () => {
  const { machine, control } = await trying(NARROW, null);
  assert.equal(control.idle(), false, 'the process has to stay');
  machine.table = render(NARROW);
  assertReturned({ machine, report: await control.check() }, NARROW);
});

test('no "off" is tried where systemd does not take the timer', async () => {
  const { machine, control } = await startedWith(NARROW);
  machine.before = step => {
    if (step === 'arm') throw new Error('no systemd');
  };
  await assert.rejects(control.try(null, SECONDS, ALICE), { code: 'Failed', message: /no systemd/ });
  assert.equal(machine.table, render(NARROW));
  assert.equal(machine.files.has('trial.json'), false);
});

test('a return that fails is tried again until it holds', async () => {
  for (const [, previous, wanted] of CHANGES) {
    const { machine, control } = await trying(previous, wanted);
    machine.uptime += SECONDS;
    machine.before = step => {
      if (step === 'replace' || step === 'remove') throw new Error('busy');
    };
    machine.ring!();
    const report = await control.check();
    assert.match(report.detail!, /busy/);
    assert.equal(machine.rings, machine.uptime + 2);
    await assert.rejects(control.confirm(ALICE), { code: 'NothingPending' }, 'it is too late');
    machine.before = () => {};
    machine.ring!();
    assertReturned({ machine, report: await control.check() }, previous);
  }
});

test('repairs a foreign change during a trial, and keeps the deadline', async () => {
  const { machine, control } = await trying(null, NARROW);
  machine.table = null;
  await control.check();
  assert.equal(machine.table, render(NARROW));
  assert.equal(machine.rings, 1030);
  machine.uptime += SECONDS;
  machine.ring!();
  assertReturned({ machine, report: await control.check() }, null);
});

test('in a pause, and where what is stored cannot be read, no change waits for a confirmation; nor does a pause begin in one', async () => {
  const { machine, control } = await startedWith(NARROW);
  await control.pause(60);
  for (const value of [WIDE, null])
    await assert.rejects(control.try(value, SECONDS, ALICE), { code: 'Unconfirmed', message: /pause/ });
  assert.equal((await control.pause(0)).active, true);
  await control.try(WIDE, SECONDS, ALICE);
  for (const seconds of [0, 60]) await assert.rejects(control.pause(seconds), { code: 'Unconfirmed' });
  assert.equal(machine.table, render(WIDE));

  machine.files.set('rules.nft', 'torn');
  machine.files.delete('trial.json');
  const closed = machine.boot();
  await closed.start();
  for (const value of [WIDE, null])
    await assert.rejects(closed.try(value, SECONDS, ALICE), { code: 'Unconfirmed', message: /cannot be read/ });
  assert.equal(machine.table, render(WIDE));
});

test('the user who made a change decides about it; others need the permission to turn off', async () => {
  const { machine, control } = await startedWith(NARROW);
  for (const value of [WIDE, null]) {
    await control.try(value, SECONDS, ALICE);
    assert.equal(control.permissions.toDecide(ALICE.uid), null);
    assert.match(control.permissions.toDecide(BOB.uid)!, /disable$/);
    const alice = { uid: ALICE.uid, granted: [] };
    for (const act of [control.confirm, control.revert]) await assert.rejects(act(BOB), { code: 'Denied' });
    assert.equal(machine.table, text(value));
    await control.revert(alice);
    assert.equal(machine.table, render(NARROW));
  }
  // nor can another user take it over with a change that needs less permission
  await control.enable(NARROW, ALL_ACTIONS);
  await control.try({ ...NARROW, endpoints: [...NARROW.endpoints, MOVED] }, SECONDS, ALICE);
  assert.match(control.permissions.toTry(NARROW, BOB.uid), /disable$/);
  for (const value of [NARROW, { ...NARROW, endpoints: [...NARROW.endpoints, MOVED] }])
    await assert.rejects(control.try(value, 600, BOB), { code: 'Denied' });
  assert.equal(machine.rings, machine.uptime + SECONDS);
  await control.try({ ...NARROW, endpoints: [...NARROW.endpoints, MOVED] }, SECONDS + 1, { ...BOB, uid: ALICE.uid });
  // an administrator
  await control.try(null, SECONDS, ALICE);
  await control.revert({ uid: BOB.uid, granted: ALL_ACTIONS });
  assert.equal(machine.table, render(NARROW));
});

test('another user confirms nothing by asking for the same, nor takes over what only an administrator can set', async () => {
  const own = { cidr: '104.20.0.0/16', protocol: 'udp', ports: [443] } as const;
  for (const value of [WIDE, { allowLan: false, endpoints: [...NARROW.endpoints, own] }]) {
    const { machine, control } = await trying(NARROW, value);
    assert.match(control.permissions.toEnable(value), /disable$/);
    await assert.rejects(control.enable(value, BOB.granted), { code: 'Denied' });
    await assert.rejects(control.try(value, 600, BOB), { code: 'Denied' });
    await assert.rejects(control.try(null, 600, BOB), { code: 'Denied' });
    machine.uptime += SECONDS;
    assertReturned({ machine, report: await control.check() }, NARROW);
  }
  // without an administrator, any user may turn it on again, which reverts the trial of off
  const { machine, control } = await trying(NARROW, null);
  await assert.rejects(control.enable(WIDE, BOB.granted), { code: 'Denied' }, 'the local network was not open before');
  assertReturned({ machine, report: await control.enable(NARROW, BOB.granted) }, NARROW);
});

test('a timer never leads to less protection than was confirmed', async () => {
  // a user turns it on for a moment, an administrator permanently, and then the user starts a change that would revert to off
  const { machine, control } = await startedWith(null);
  await control.try(NARROW, SECONDS, BOB);
  await control.enable(NARROW, ALL_ACTIONS);
  await control.try({ ...NARROW, endpoints: [...NARROW.endpoints, MOVED] }, 1, BOB);
  machine.uptime += SECONDS;
  assertReturned({ machine, report: await control.check() }, NARROW);
});

test('endpoints follow the tunnel without confirming anything', async () => {
  const moved = [...NARROW.endpoints, MOVED];
  const { machine, control } = await trying(null, NARROW);
  machine.uptime += 10;
  const report = await control.setEndpoints(moved, BOB.granted);
  assert.equal(machine.table, render({ ...NARROW, endpoints: moved }));
  assert.equal(report.unconfirmed?.confirmBy, new Date(1_030_000).toISOString());
  assert.equal(control.permissions.toDecide(ALICE.uid), null, 'it is still the same user’s');
  machine.uptime += 20;
  assertReturned({ machine, report: await control.check() }, null);
  await assert.rejects(control.setEndpoints(moved, ALL_ACTIONS), { code: 'NotEnabled' });

  await control.enable(WIDE, ALL_ACTIONS);
  const on = await control.setEndpoints(moved, BOB.granted);
  assert.deepEqual([on.unconfirmed, on.allowLan], [null, true]);
  assert.equal(machine.table, render({ allowLan: true, endpoints: moved }));
  const own = [{ cidr: '104.20.0.0/16', protocol: 'udp', ports: [443] } as const];
  await assert.rejects(control.setEndpoints(own, BOB.granted), { code: 'Denied' });
  await control.pause(60);
  await assert.rejects(control.setEndpoints(moved, ALL_ACTIONS), { code: 'NotEnabled' });
});

test('a trial that was stored counts only in its own form, and returns where its time makes no sense', () => {
  const trial = { bootId: 'b', until: 1010, by: 1000, setAt: 5, wanted: NARROW };
  const now = { bootId: 'b', uptime: 1000 };
  assert.deepEqual(parseTrial(formatTrial(trial), now), { trial, due: false });
  assert.deepEqual(parseTrial(formatTrial({ ...trial, wanted: null }), now), {
    trial: { ...trial, wanted: null },
    due: false,
  });
  for (const change of [{ until: 1000 }, { until: 1601 }, { bootId: 'a' }])
    assert.equal(parseTrial(formatTrial({ ...trial, ...change }), now)?.due, true, JSON.stringify(change));
  const pause = { ...trial, by: null, until: 4600, wanted: null };
  assert.deepEqual(parseTrial(formatTrial(pause), now), { trial: pause, due: false });
  for (const change of [{ until: 1000 }, { until: 4601 }, { bootId: 'a' }])
    assert.equal(parseTrial(formatTrial({ ...pause, ...change }), now)?.due, true, JSON.stringify(change));
  const object = JSON.parse(formatTrial(trial));
  for (const change of [
    { until: '1010' },
    { until: null },
    { bootId: 1 },
    { by: -1 },
    { by: 1.5 },
    { by: null }, // a pause is "off"
    { by: undefined },
    { setAt: 'now' },
    { wanted: {} },
    { wanted: 'on' },
    { wanted: undefined },
    { wanted: { allowLan: false, endpoints: [['10.0.0.0/8', 'udp', [1]]] } },
  ])
    assert.equal(parseTrial(JSON.stringify({ ...object, ...change }), now), null, JSON.stringify(change));
  for (const torn of ['', 'x', 'null', '[]', '{}', formatTrial(trial).slice(0, 40)])
    assert.equal(parseTrial(torn, now), null, torn);
  for (const wrong of [0, 601, -1, 0.5, Number.NaN, 4_294_967_295])
    assert.equal(typeof checkConfirmSeconds(wrong), 'string');
  assert.equal(checkConfirmSeconds(600), 600);
});
