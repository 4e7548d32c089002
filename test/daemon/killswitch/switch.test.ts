// The state machine of the kill switch with a machine in memory, killed at each of its steps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLimit } from '../../../daemon/killswitch/pacing.ts';
import { ALL_ACTIONS } from '../../../daemon/killswitch/permission.ts';
import { parsePublished, type Report } from '../../../daemon/killswitch/report.ts';
import { render } from '../../../daemon/killswitch/rules/rules.ts';
import { checkEndpoints, checkSeconds, formatRules, parseRules } from '../../../daemon/killswitch/rules/wanted.ts';
import type { Switch } from '../../../daemon/killswitch/switch.ts';
import { message } from '../../../daemon/killswitch/wording.ts';
import { createMachine, dieAfter, FALLBACK, NARROW, WIDE } from '../../support/killswitch/machine.ts';

async function started() {
  const machine = createMachine();
  const control = machine.boot();
  await control.start();
  return { machine, control };
}

async function enabled(wanted = NARROW) {
  const { machine, control } = await started();
  await control.enable(wanted, ALL_ACTIONS);
  return { machine, control };
}

test('the wanted state holds after a restart of the service', async () => {
  const machine = createMachine();
  const first = machine.boot();
  assert.equal((await first.start()).enabled, false);
  assert.deepEqual(pick(await first.enable(WIDE, ALL_ACTIONS)), { enabled: true, allowLan: true, active: true });
  machine.table = null; // a reboot
  assert.deepEqual(pick(await machine.boot().start()), { enabled: true, allowLan: true, active: true });
  assert.equal(machine.table, render(WIDE));
});

/** A change killed at each of its steps, until it gets through: the machine that each death leaves, as it was before it. */
async function* deaths(begin: typeof enabled, change: (control: Switch) => Promise<unknown>) {
  for (let fatal = 0; ; fatal++) {
    const { machine, control } = await begin();
    const wasOpen = machine.table === null;
    const seen = dieAfter(machine, fatal);
    const ended = await change(control).then(
      () => true,
      () => false,
    );
    if (ended && seen.length <= fatal) return;
    yield { machine, wasOpen, at: `killed at ${seen.at(-1)}` };
  }
}

test('a change that dies at any step leaves its old or its new state in force, before the restart and after it', async () => {
  const changes: Record<string, (control: Switch) => Promise<unknown>> = {
    'enable with other options': control => control.enable(WIDE, ALL_ACTIONS),
    'enable again': control => control.enable(NARROW, ALL_ACTIONS),
    'end a pause': control => control.pause(0),
  };
  for (const [name, change] of Object.entries(changes)) {
    const begin = async () => {
      const world = await enabled();
      if (name === 'end a pause') await world.control.pause(60);
      return world;
    };
    for await (const { machine, wasOpen, at } of deaths(begin, change)) {
      if (!wasOpen) assert.ok([NARROW, WIDE].map(render).includes(machine.table!), `${name}, ${at}`);
      const report = await machine.boot().start();
      assert.equal(report.enabled, true, `${name}, ${at}`);
      if (report.pausedUntil === null) assert.ok(machine.table !== null, `${name}, ${at}`);
    }
  }
});

test('a first enabling that dies ends off or on, and on from the moment that the wish is stored', async () => {
  for await (const { machine, at } of deaths(started, control => control.enable(NARROW, ALL_ACTIONS))) {
    const stored = machine.files.has('rules.nft');
    const report = await machine.boot().start();
    assert.deepEqual([report.enabled, machine.table !== null], [stored, stored], at);
  }
});

test('turning off that dies never leaves the machine open while on is stored', async () => {
  for await (const { machine, at } of deaths(enabled, control => control.disable())) {
    assert.ok(machine.table !== null || !machine.files.has('rules.nft'), at);
    const report = await machine.boot().start();
    assert.equal(report.enabled, report.active, at);
  }
});

test('a failure at any step of a change is reported, and the previous state stays', async () => {
  for (const failing of ['write rules.nft', 'replace', 'unlink rules.nft', 'remove', 'arm', 'write trial.json']) {
    for (const change of ['enable', 'disable', 'pause'] as const) {
      const { machine, control } = await enabled();
      let failed = false;
      machine.before = step => {
        if (step !== failing || failed) return;
        failed = true;
        throw new Error(`no ${step}`);
      };
      const outcome = await {
        enable: () => control.enable(WIDE, ALL_ACTIONS),
        disable: control.disable,
        pause: () => control.pause(60),
      }
        [change]()
        .then(
          () => null,
          (error: { code: string; message: string }) => error,
        );
      if (!failed) continue;
      assert.equal(outcome?.code, 'Failed', `${change}, ${failing}`);
      assert.match(outcome!.message, new RegExp(`no ${failing}`));
      assert.equal(machine.table, render(NARROW), `${change}, ${failing}`);
      assert.deepEqual(parseRules(machine.files.get('rules.nft') ?? ''), { kind: 'wanted', wanted: NARROW });
    }
  }
});

test('rules that the kernel does not hold as given are not called active', async () => {
  const { machine, control } = await started();
  machine.before = step => {
    if (step === 'list' && machine.table) machine.table = machine.table.replace(/^ {4}counter.*reject.*\n/m, '');
  };
  await control.enable(NARROW, ALL_ACTIONS);
  const report = await control.check();
  assert.match(report.detail!, /put back/);
  assert.ok(report.detail!.includes(report.repairedAt!), 'the sentence names the time of the report');
});

test('a block that is due and fails is tried again until it holds', async () => {
  const { machine, control } = await enabled();
  await control.pause(60);
  machine.uptime += 60;
  machine.before = step => {
    if (step === 'replace') throw new Error('out of memory');
  };
  assert.deepEqual(pick(await control.check()), { enabled: true, allowLan: false, active: false });
  assert.match(machine.reports.at(-1)!.detail!, /out of memory/);
  machine.before = () => {};
  machine.ring!();
  assert.equal((await control.check()).active, true);
  assert.equal(machine.reports.at(-1)!.detail, null);

  machine.table = null; // another program
  machine.before = step => {
    if (step === 'replace') throw new Error('busy');
  };
  assert.equal((await control.check()).active, false);
  machine.before = () => {};
  machine.ring!();
  assert.equal((await control.check()).active, true);
});

test('unreadable stored rules keep the rules in force, or block everything without any, and say why', async () => {
  for (const text of [
    '',
    'x',
    '# culvert kill switch 1 {"allowLan":tr',
    '# culvert kill switch 1 {}\n',
    '# culvert kill switch 1 null\n',
    '# culvert kill switch 1 {"allowLan":false,"endpoints":[["10.0.0.0/8","udp",[1]]]}\n',
    formatRules(WIDE).slice(0, 40),
  ]) {
    for (const table of [render(WIDE), null]) {
      const machine = createMachine();
      machine.files.set('rules.nft', text);
      machine.table = table;
      const control = machine.boot();
      const report = await control.start();
      assert.deepEqual([report.enabled, report.active], [true, true], text);
      assert.equal(machine.table, table ?? render(FALLBACK));
      assert.match(report.detail!, /can't be read: .* stays blocked/);
      machine.table = null;
      await control.check();
      assert.equal(machine.table, render(FALLBACK), 'and they are put back as well');
      assert.match(
        control.permissions.toEnable(WIDE),
        /disable$/,
        'opening the local network needs an administrator then',
      );
      assert.deepEqual(pick(await control.enable(NARROW, ALL_ACTIONS)), {
        enabled: true,
        allowLan: false,
        active: true,
      });
    }
  }
  const machine = createMachine();
  machine.files.set('rules.nft', formatRules(NARROW));
  const control = machine.boot();
  machine.before = step => {
    if (step.startsWith('read rules')) throw new Error('Input/output error');
  };
  const report = await control.start();
  assert.deepEqual([report.enabled, machine.table], [true, render(FALLBACK)]);
  assert.match(report.detail!, /Input\/output error/);
});

test('rules in force without stored ones stay until they are turned off', async () => {
  const machine = createMachine();
  machine.table = render(NARROW);
  const control = machine.boot();
  assert.deepEqual(pick(await control.start()), { enabled: true, allowLan: false, active: true });
  assert.deepEqual(pick(await control.disable()), { enabled: false, allowLan: false, active: false });
  assert.equal(machine.table, null);
});

test('a pause ends in time, on request and with the boot; a crash neither ends nor lengthens it', async () => {
  const { machine, control } = await started();
  await assert.rejects(control.pause(60), { code: 'NotEnabled' });
  await control.enable(NARROW, ALL_ACTIONS);
  const paused = await control.pause(60);
  assert.deepEqual(
    [paused.enabled, paused.active, paused.pausedUntil],
    [true, false, new Date(1_060_000).toISOString()],
  );
  assert.equal(machine.armed, 60);

  machine.uptime += 20;
  const again = await machine.boot().start();
  assert.deepEqual([again.active, again.pausedUntil], [false, new Date(1_060_000).toISOString()]);
  machine.uptime += 39;
  const last = machine.boot();
  assert.equal((await last.start()).active, false);
  machine.uptime += 1;
  machine.ring?.();
  assert.equal((await last.check()).active, true);
  assert.equal(machine.files.has('trial.json'), false);

  await last.pause(60);
  assert.equal((await last.pause(0)).active, true);
  await last.pause(60);
  machine.table = render(NARROW); // the timer of systemd was first
  assert.deepEqual([(await last.check()).pausedUntil, machine.table], [null, render(NARROW)]);

  await last.pause(60);
  assert.equal((await machine.reboot().start()).active, true, 'a reboot ends it');
  assert.equal(machine.files.has('trial.json'), false);
});

test('a pause is neither confirmed nor reverted as an unconfirmed change is', async () => {
  const { machine, control } = await enabled(WIDE);
  const report = await control.pause(60);
  assert.deepEqual([pick(report), report.unconfirmed], [{ enabled: true, allowLan: true, active: false }, null]);
  for (const uid of [0, 1000]) {
    assert.equal(control.permissions.toDecide(uid), null);
    for (const act of [control.confirm, control.revert])
      await assert.rejects(act({ uid, granted: ALL_ACTIONS }), { code: 'NothingPending' });
  }
  await assert.rejects(control.setEndpoints([], ALL_ACTIONS), { code: 'NotEnabled' });
  assert.equal(control.idle(), false, 'the process has to stay');
  assert.deepEqual(pick(await control.enable(NARROW, ALL_ACTIONS)), { enabled: true, allowLan: false, active: true });
  assert.equal(machine.files.has('trial.json'), false, 'turning on ends the pause');
  machine.uptime += 60;
  machine.ring?.();
  assert.equal((await control.check()).repairedAt, null);
});

test('a jump of the wall clock neither ends a pause nor lengthens it', async () => {
  for (const jump of [-86_400_000, 86_400_000]) {
    const { machine, control } = await enabled();
    const { pausedUntil } = await control.pause(60);
    machine.wallMs += jump;
    assert.equal((await control.check()).pausedUntil, pausedUntil);
    machine.uptime += 59;
    assert.equal((await control.check()).active, false);
    machine.uptime += 1;
    machine.ring!();
    assert.equal((await control.check()).active, true);
  }
});

test('a second pause moves the end, and where it fails the first one goes on', async () => {
  const { machine, control } = await enabled();
  await control.pause(60);
  machine.uptime += 10;
  assert.equal((await control.pause(30)).pausedUntil, new Date(1_040_000).toISOString());
  machine.before = step => {
    if (step === 'write trial.json') throw new Error('disk full');
  };
  await assert.rejects(control.pause(600), { code: 'Failed', message: /disk full/ });
  machine.before = () => {};
  machine.uptime += 30;
  machine.ring!();
  assert.equal((await control.check()).active, true);
});

test('a pause that an older service wrote goes on to its end, in the file of this one', async () => {
  const former = (until: number, bootId = 'boot-1') => `{"bootId":"${bootId}","until":${until}}\n`;
  for (const [text, isPaused] of [
    [former(1020), true],
    [former(1000), false],
    [former(4601), false],
    [former(1020, 'boot-0'), false],
    ['', false],
    ['null', false],
    ['{"bootId":"boot-1"}', false],
    ['{"bootId":"boot-1","until":"1020"}', false],
    ['{"bootId":"boot-1","until":1e99}', false],
  ] as const) {
    const machine = createMachine();
    machine.files.set('rules.nft', formatRules(NARROW));
    machine.files.set('pause.json', text);
    const control = machine.boot();
    const report = await control.start();
    assert.deepEqual([report.enabled, report.active, report.pausedUntil !== null], [true, !isPaused, isPaused], text);
    assert.deepEqual([machine.files.has('pause.json'), machine.files.has('trial.json')], [false, isPaused], text);
    if (!isPaused) continue;
    assert.equal(report.pausedUntil, new Date(1_020_000).toISOString());
    assert.equal((await machine.boot().start()).pausedUntil, report.pausedUntil, 'after another death too');
    machine.uptime += 20;
    assert.equal((await machine.boot().start()).active, true);
    assert.equal(machine.files.has('trial.json'), false);
  }
});

test('a pause that failed does not begin with a later start, even where its undoing fails as well', async () => {
  const { machine, control } = await enabled();
  machine.before = step => {
    if (step === 'remove' || step === 'write rules.nft') throw new Error('No space left on device');
  };
  await assert.rejects(control.pause(60), { code: 'Failed' });
  assert.equal((await machine.boot().start()).active, true);
});

test('a former pause whose file cannot be moved ends it', async () => {
  const machine = createMachine();
  machine.files.set('rules.nft', formatRules(NARROW));
  machine.files.set('pause.json', '{"bootId":"boot-1","until":1020}');
  const control = machine.boot();
  machine.before = step => {
    if (step === 'write trial.json') throw new Error('No space left on device');
  };
  assert.equal((await control.start()).active, true);
  assert.equal((await machine.boot().start()).active, true, 'a later start does not begin it again');
});

test('a pause does not start unless systemd can end it', async () => {
  const { machine, control } = await enabled();
  machine.before = step => {
    if (step === 'arm') throw new Error('no systemd');
  };
  await assert.rejects(control.pause(60), /no systemd/);
  assert.equal(machine.table, render(NARROW));
  assert.equal(machine.steps.includes('remove'), false);
});

test('arguments are checked by what they are, and too many of them refused', () => {
  const right = ['162.159.193.0/24', 'udp', [2408]] as const;
  const endpoint = { cidr: right[0], protocol: 'udp', ports: [2408] };
  assert.deepEqual(checkEndpoints([right, right]), [endpoint], 'the same one counts once');
  for (const wrong of [
    [['8.0.0.0/8', 'udp', [1]]],
    [['162.159.193.0/24', 'icmp', [1]]],
    [['162.159.193.0/24', 'udp', []]],
    [['162.159.193.0/24', 'udp', [53]]],
    [['162.159.193.0/24', 'udp', Array.from({ length: 17 }, (_, i) => i + 1000)]],
    Array.from({ length: 129 }, () => right),
  ] as const)
    assert.equal(typeof checkEndpoints(wrong as never), 'string');
  for (const wrong of [3601, -1, 0.5, 4294967295, Number.NaN]) assert.equal(typeof checkSeconds(wrong), 'string');
});

test('one user alone cannot keep the service busy', () => {
  const limit = createLimit({ burst: 3, perSecond: 1 });
  assert.deepEqual(
    [1, 2, 3, 4].map(() => limit.take(1000, 0)),
    [true, true, true, false],
  );
  assert.equal(limit.take(1001, 0), true);
  assert.deepEqual([limit.take(1000, 1.5), limit.take(1000, 1.5)], [true, false]);
});

test('published state is read back only in its own form', () => {
  const report = {
    version: 1,
    pid: 1,
    startTime: '1',
    enabled: true,
    allowLan: false,
    active: null,
    protection: 'none',
    bootGuard: false,
    backend: null,
    detail: 'Another program changed the rules at 2026-01-01T10:00:00.000Z; they were put back.',
    wording: [
      message('Another program changed the rules at %s; they were put back.', { time: '2026-01-01T10:00:00.000Z' }),
    ],
    pausedUntil: null,
    repairedAt: '2026-01-01T10:00:00.000Z',
    confirmable: true,
    unconfirmed: {
      setAt: '2026-01-01T10:00:00.000Z',
      confirmBy: '2026-01-01T10:00:30.000Z',
      previous: { enabled: false, allowLan: false },
    },
  };
  assert.deepEqual(parsePublished(JSON.stringify(report)), report);
  for (const change of [
    { version: 2 },
    { pid: 'x' },
    { enabled: 1 },
    { active: 'yes' },
    { protection: 'x' },
    { detail: 1 },
    { pausedUntil: 'soon' },
    { unconfirmed: 'yes' },
    { unconfirmed: {} },
    { unconfirmed: { ...report.unconfirmed, confirmBy: 'soon' } },
    { unconfirmed: { ...report.unconfirmed, previous: { enabled: true } } },
  ])
    assert.equal(parsePublished(JSON.stringify({ ...report, ...change })), null, JSON.stringify(change));
  const odd = [1, 'text', [1], [{ text: 1, values: [] }], [{ text: 'a' }], [{ text: 'a', values: [null] }]];
  for (const wording of [...odd, [{ text: 'a', values: [1.5] }], [{ text: 'a', values: [{ time: 'soon' }] }]])
    assert.deepEqual(parsePublished(JSON.stringify({ ...report, wording })), { ...report, wording: [] });
  const { unconfirmed: _, confirmable: __, wording: ___, repairedAt: ____, ...older } = report;
  assert.deepEqual(
    parsePublished(JSON.stringify(older)),
    { ...older, wording: [], repairedAt: null, confirmable: false, unconfirmed: null },
    'of an older service',
  );
  for (const text of ['', 'null', '[]', '{', JSON.stringify(report).slice(0, 30)])
    assert.equal(parsePublished(text), null);
});

function pick({ enabled, allowLan, active }: Report) {
  return { enabled, allowLan, active };
}
