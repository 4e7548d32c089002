// The daemon's side against the real root service, and against what is left where that one is missing or dead.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { installCommand } from '../../../../daemon/killswitch/client/published-state.ts';
import { askWithoutDaemon, readWithoutDaemon } from '../../../../daemon/killswitch/client/without-daemon.ts';
import { parseOwn, wantedEndpoints } from '../../../../daemon/killswitch/rules/endpoints.ts';
import { NO_TUNNEL } from '../../../../daemon/state/store.ts';
import { onStage, type Stage, which } from '../../../support/killswitch/stage.ts';
import { until } from '../../../support/until.ts';
import { createSide } from './side.ts';

onStage('turns on and off, and remembers it for the next start', async (stage, t) => {
  await stage.serve();
  const { control, context, killSwitch } = await createSide(t, stage);
  control.start();
  const on = await control.set({ enabled: true, allowLan: true });
  assert.deepEqual([on.enabled, on.allowLan, on.active, on.installed, on.command], [true, true, true, true, null]);
  assert.deepEqual(killSwitch(), on);
  assert.deepEqual(JSON.parse(readFileSync(stage.path('config/config.json'), 'utf8')), {
    warp: { killSwitch: true, allowLan: true },
  });
  assert.match((await stage.table())!, /meta skuid 0 ip daddr \{ [^}]*162\.159\.197\.0[^}]* \} udp dport \{ 443,/);
  const off = await control.set({ enabled: false, allowLan: false });
  assert.deepEqual([off.enabled, off.active], [false, false]);
  assert.equal(context.settings.config.warp.killSwitch, false);
  assert.equal(await stage.table(), null);
});

onStage('while it is off, the choice of the local network needs nobody’s permission', async (stage, t) => {
  await stage.serve();
  const { control } = await createSide(t, stage);
  const chosen = await control.set({ enabled: false, allowLan: true });
  assert.deepEqual([chosen.enabled, chosen.allowLan, chosen.active], [false, true, false]);
  assert.doesNotMatch(readFileSync(stage.path('calls'), 'utf8'), /Disable/);
});

onStage('hears without asking what another one changed, and that the service died', async (stage, t) => {
  await stage.serve();
  const { control, killSwitch } = await createSide(t, stage);
  control.start();
  await until(() => killSwitch().installed && killSwitch().active === false);
  const asked = readFileSync(stage.path('calls'), 'utf8');
  await stage.call('Enable', ['ba(ssaq)', 'false', '0']);
  await until(() => killSwitch().active === true && killSwitch().protection !== 'none');
  await stage.call('Pause', ['u', '60']);
  await until(() => killSwitch().pausedUntil !== null && killSwitch().active === false);
  await stage.call('Pause', ['u', '0']);
  await until(() => killSwitch().pausedUntil === null && killSwitch().active === true);
  assert.equal(readFileSync(stage.path('calls'), 'utf8'), asked, 'by the file alone');

  await stage.kill();
  rmSync(stage.path('run/state.json')); // as systemd does after each end of the service
  await until(() => killSwitch().active === null);
  assert.equal(killSwitch().enabled, true);
  assert.match(killSwitch().detail!, /not running/);
  await stage.serve();
  await until(() => killSwitch().active === true);
});

onStage('a report of a dead process says nothing about now', async (stage, t) => {
  await stage.serve();
  await stage.call('Enable', ['ba(ssaq)', 'false', '0']);
  await stage.kill();
  const { control } = await createSide(t, stage);
  const read = await control.read();
  assert.equal(read.active, null);
  const text = readFileSync(stage.path('run/state.json'), 'utf8');
  assert.equal(JSON.parse(text).active, true, 'though the file still says so');
  for (const torn of ['', text.slice(0, 50), '{}', 'null']) {
    writeFileSync(stage.path('run/state.json'), torn);
    assert.equal((await control.read()).active, null);
  }
  assert.notEqual(await stage.table(), null);
});

onStage(
  'applies the stored choice at the start; a refusal says so, and a broken file turns nothing off',
  async (stage, t) => {
    await stage.serve();
    mkdirSync(stage.path('config'));
    writeFileSync(stage.path('config/config.json'), '{"warp": {"killSwitch": true}}');
    const denied = await createSide(t, stage, { uid: 1 });
    denied.control.start();
    await until(() => denied.killSwitch().detail !== null);
    assert.deepEqual([denied.killSwitch().enabled, denied.killSwitch().active], [true, false]);
    const { detail, wording } = denied.killSwitch();
    assert.match(detail!, /turned on but not in force\. This needs the permission of an administrator\.$/);
    assert.deepEqual(
      wording!.map(({ text }) => text),
      ['It is turned on but not in force.', 'This needs the permission of an administrator.'],
    );
    await denied.control.stop();

    stage.allow('enable');
    const allowed = await createSide(t, stage, { uid: 1 });
    allowed.control.start();
    await until(() => allowed.killSwitch().active === true);
    await allowed.control.stop();

    writeFileSync(stage.path('config/config.json'), '{"warp": {"killSw');
    const broken = await createSide(t, stage, { uid: 1 });
    broken.control.start();
    await until(() => broken.killSwitch().installed);
    await until(() => broken.killSwitch().active === true);
    assert.equal(broken.killSwitch().enabled, true);
    assert.notEqual(await stage.table(), null);
  },
);

onStage('a configuration that cannot be written does not keep it from blocking', async (stage, t) => {
  await stage.serve();
  const { control, context, said } = await createSide(t, stage);
  writeFileSync(stage.path('config/config.json'), 'not JSON');
  assert.equal((await control.set({ enabled: true, allowLan: false })).active, true);
  assert.equal(context.settings.config.warp.killSwitch, true, 'until the daemon ends');
  assert.match(said.join('\n'), /config\.json/);
  assert.equal(readFileSync(stage.path('config/config.json'), 'utf8'), 'not JSON');
});

onStage('a denied call changes nothing and says what to do', async (stage, t) => {
  await stage.serve();
  const { control } = await createSide(t, stage, { uid: 2 });
  stage.allow('enable');
  await control.set({ enabled: true, allowLan: false });
  const before = await stage.table();
  for (const attempt of [
    () => control.set({ enabled: false, allowLan: false }),
    () => control.pause(60),
    () => control.set({ enabled: true, allowLan: true }),
  ])
    await assert.rejects(attempt, { code: 'killswitch-denied', status: 403 });
  assert.equal(await stage.table(), before);
  assert.match(
    readFileSync(stage.path('questions'), 'utf8'),
    /^system-bus-name 2 org\.culvert\.killswitch\.pause 1$/m,
    'the user may be asked',
  );
});

onStage('a pause is the service’s, and ends by it', async (stage, t) => {
  await stage.serve();
  const { control, killSwitch } = await createSide(t, stage);
  control.start();
  await assert.rejects(control.pause(60), { code: 'killswitch-failed', message: /nothing to pause/ });
  await control.set({ enabled: true, allowLan: false });
  const began = Date.now();
  const paused = await control.pause(5);
  assert.deepEqual([paused.enabled, paused.active], [true, false]);
  assert.ok(Date.parse(paused.pausedUntil!) >= began + 4_000); // in whole seconds
  await until(() => killSwitch().pausedUntil === null && killSwitch().active === true);
});

const configOf = (stage: Stage) =>
  existsSync(stage.path('config/config.json'))
    ? JSON.parse(readFileSync(stage.path('config/config.json'), 'utf8'))
    : {};

onStage('an unconfirmed change is one of the changes, and remembered only once it is confirmed', async (stage, t) => {
  await stage.serve();
  const { control, context, killSwitch } = await createSide(t, stage);
  control.start();
  const changes = () => context.state.snapshot().changes;
  const on = await control.set({ enabled: true, allowLan: true, confirmWithin: 600 });
  assert.deepEqual([on.enabled, on.active, on.unconfirmed?.previous.enabled], [true, true, false]);
  const { setAt, confirmBy } = on.unconfirmed!;
  assert.deepEqual(changes(), [
    {
      subject: 'killSwitch',
      value: 'on-lan',
      previous: 'off',
      setAt,
      confirmBy,
      endsAt: null,
      endingSoon: false,
      problem: null,
    },
  ]);
  assert.deepEqual(configOf(stage), {}, 'the next start would turn it on again');
  await control.decide('revert');
  assert.deepEqual([killSwitch().enabled, changes(), configOf(stage)], [false, [], {}]);
  await assert.rejects(control.decide('confirm'), { code: 'nothing-pending' });

  await control.set({ enabled: true, allowLan: false, confirmWithin: 600 });
  assert.equal((await control.decide('confirm')).unconfirmed, null);
  assert.deepEqual([changes(), configOf(stage)], [[], { warp: { killSwitch: true, allowLan: false } }]);

  await control.set({ enabled: false, allowLan: false, confirmWithin: 1 });
  assert.deepEqual([killSwitch().enabled, changes()[0]?.value], [false, 'off']);
  await until(() => killSwitch().enabled && killSwitch().active === true && changes().length === 0);
  assert.deepEqual(configOf(stage), { warp: { killSwitch: true, allowLan: false } });
});

onStage('a daemon that is killed and started again leaves an unconfirmed change as it is', async (stage, t) => {
  await stage.serve();
  const first = await createSide(t, stage);
  await first.control.set({ enabled: true, allowLan: false });
  await first.control.set({ enabled: false, allowLan: false, confirmWithin: 600 });
  await first.control.stop();

  const second = await createSide(t, stage);
  assert.equal(second.context.settings.config.warp.killSwitch, true);
  second.control.start();
  await until(() => second.context.state.snapshot().changes.length === 1);
  await until(() => /Status/.test(readFileSync(stage.path('calls'), 'utf8')));
  assert.equal((await second.control.read()).enabled, false);
  assert.doesNotMatch(readFileSync(stage.path('calls'), 'utf8'), /Enable/);
  // turning it off without a time is a separate choice, though it is off
  assert.equal((await second.control.set({ enabled: false, allowLan: false })).unconfirmed, null);
  assert.equal(configOf(stage).warp.killSwitch, false);
  assert.equal(await stage.table(), null);
});

onStage('the rules follow the tunnel without confirming anything', async (stage, t) => {
  await stage.serve();
  const { control, context, killSwitch } = await createSide(t, stage);
  control.start();
  await control.set({ enabled: true, allowLan: false, confirmWithin: 600 });
  const { confirmBy } = killSwitch().unconfirmed!;
  context.state.set('tunnel', { ...NO_TUNNEL, endpoints: ['104.16.1.2'] });
  await until(async () => /104\.16\.1\.2 udp dport/.test((await stage.table())!));
  await until(() => /SetEndpoints/.test(readFileSync(stage.path('calls'), 'utf8')));
  assert.equal((await control.read()).unconfirmed?.confirmBy, confirmBy);
  await control.decide('revert');
  assert.equal(await stage.table(), null);
});

onStage('an older root service is recognized before anything changes', async (stage, t) => {
  const { control, service } = await createSide(t, stage);
  writeFileSync(
    service.busctl,
    '#!/bin/sh\ncase "$*" in *Try*) echo "Call failed: No such method “TryEnable”" >&2; exit 1;; esac\n' +
      `echo '{"type":"s","data":["{\\"enabled\\":false,\\"allowLan\\":false,\\"active\\":false,\\"protection\\":\\"none\\",` +
      `\\"bootGuard\\":false,\\"backend\\":null,\\"detail\\":null,\\"pausedUntil\\":null}"]}'\n`,
  );
  assert.deepEqual([(await control.read()).confirmable, (await control.read()).active], [false, false]);
  await assert.rejects(control.set({ enabled: true, allowLan: false, confirmWithin: 30 }), {
    code: 'killswitch-failed',
    message: /older than this program/,
    status: 502,
  });
});

onStage('where the tunnel goes beyond the shipped endpoints, the rules follow it', async (stage, t) => {
  await stage.serve();
  const { control, context } = await createSide(t, stage);
  control.start();
  await control.set({ enabled: true, allowLan: false });
  context.state.set('tunnel', { ...NO_TUNNEL, endpoints: ['162.159.193.8', '104.16.1.2', '10.0.0.1'] });
  await until(async () => /104\.16\.1\.2 udp dport/.test((await stage.table())!));
  assert.doesNotMatch((await stage.table())!, /10\.0\.0\.1/);
  assert.equal(readFileSync(stage.path('calls'), 'utf8').match(/ Enable /g)?.length, 2);
});

onStage('custom endpoints that need an administrator do not keep it from blocking at the start', async (stage, t) => {
  await stage.serve();
  mkdirSync(stage.path('config'));
  writeFileSync(
    stage.path('config/config.json'),
    '{"warp": {"killSwitch": true, "endpoints": "104.20.0.0/16 udp 443"}}',
  );
  stage.allow('enable');
  const { control, killSwitch, said } = await createSide(t, stage, { uid: 1 });
  control.start();
  await until(() => killSwitch().active === true);
  assert.match(said.join('\n'), /warp\.endpoints needs an administrator/);
  assert.doesNotMatch((await stage.table())!, /104\.20\.0\.0/);
  await assert.rejects(control.set({ enabled: true, allowLan: false }), { code: 'killswitch-denied' });
  stage.allow('enable', 'disable');
  await control.set({ enabled: true, allowLan: false });
  assert.match((await stage.table())!, /104\.20\.0\.0\/16/);
});

onStage('the demo neither blocks a machine nor lets anything through', async (stage, t) => {
  await stage.serve();
  const { control } = await createSide(t, stage, { emulated: true });
  const demo = { status: 409, message: /demo/ };
  await assert.rejects(control.set({ enabled: true, allowLan: false }), demo);
  assert.equal(await stage.table(), null);
  const real = await createSide(t, stage);
  await real.control.set({ enabled: true, allowLan: false, confirmWithin: 600 });
  const table = await stage.table();
  assert.ok(table);
  await assert.rejects(control.set({ enabled: false, allowLan: false }), demo);
  for (const seconds of [60, 0]) await assert.rejects(control.pause(seconds), demo);
  for (const decision of ['confirm', 'revert'] as const) await assert.rejects(control.decide(decision), demo);
  assert.equal(await stage.table(), table);
});

onStage('where the service is not installed it says so, with the command that installs it', async (stage, t) => {
  const { control, service, context } = await createSide(t, stage);
  // a server's package has its files, and not the program that runs it
  writeFileSync(service.units[0]!, '[Service]\nExecStart=/absent/gjs -m killswitch.js\n');
  assert.deepEqual([(await control.read()).installed, (await control.read()).command], [false, 'sudo install-it']);
  writeFileSync(service.units[0]!, `[Service]\nExecStart=${process.execPath} -m killswitch.js\n`);
  rmSync(service.activation[0]!);
  const read = await control.read();
  assert.deepEqual([read.installed, read.active, read.command, read.backend], [false, null, 'sudo install-it', null]);
  await assert.rejects(control.set({ enabled: true, allowLan: false }), {
    code: 'killswitch-not-installed',
    status: 409,
  });
  assert.equal(context.settings.config.warp.killSwitch, false);
  assert.equal(existsSync(stage.path('config/config.json')), false);
  // there is nothing to turn off or to pause, so both succeed
  for (const done of [
    await control.set({ enabled: false, allowLan: false }),
    await control.pause(60),
    await control.pause(0),
  ])
    assert.deepEqual([done.installed, done.enabled, done.active, done.pausedUntil], [false, false, null, null]);
  writeFileSync(service.activation[0]!, '');
  await assert.rejects(control.set({ enabled: true, allowLan: false }), {
    code: /^killswitch-(not-installed|failed)$/,
  });
});

onStage(
  'without systemd it says that the service can’t run, in place of a command that installs it',
  async (stage, t) => {
    const { control, service } = await createSide(t, stage, { systemd: stage.path('none') });
    rmSync(service.activation[0]!);
    for (const read of [await readWithoutDaemon(service), await control.read()])
      assert.deepEqual(
        [read.installed, read.command, read.detail],
        [false, null, 'The kill switch needs systemd, which does not run here.'],
      );
    const { extras } = await control.set({ enabled: true, allowLan: false }).then(
      () => assert.fail('it was turned on'),
      error => error,
    );
    assert.equal(extras.hint, 'It needs systemd, which does not run here.');
  },
);

onStage('state and way out are there without a daemon', async (stage, t) => {
  const { service } = await createSide(t, stage);
  await stage.serve();
  await stage.call('Enable', ['ba(ssaq)', 'true', '0']);
  const on = await readWithoutDaemon(service);
  assert.deepEqual([on.enabled, on.active, on.allowLan, on.installed], [true, true, true, true]);
  assert.equal(readFileSync(stage.path('calls'), 'utf8'), '', 'by the file alone');
  rmSync(stage.path('run/state.json'));
  assert.equal((await readWithoutDaemon(service)).active, true, 'or over the bus');
  assert.equal((await askWithoutDaemon({ method: 'Disable' }, service)).active, false);
  assert.equal(await stage.table(), null);
  await stage.kill();
  const dead = await readWithoutDaemon(service);
  assert.equal(dead.active, null);
  assert.match(dead.detail!, /has died/);
  rmSync(service.activation[0]!);
  const absent = await readWithoutDaemon(service);
  assert.deepEqual([absent.installed, absent.command], [false, 'sudo install-it']);
});

onStage('a bus that does not answer does not keep the state from readers', async (stage, t) => {
  const { service, control } = await createSide(t, stage);
  await stage.serve();
  await stage.call('Enable', ['ba(ssaq)', 'true', '0']);
  const hold = stage.path('hold');
  const wait = `while [ -e '${hold}' ]; do sleep 0.05; done`;
  writeFileSync(service.busctl, `#!/bin/sh\n${wait}\nexec '${which('busctl')}' "$@"\n`);
  writeFileSync(hold, '');
  const asked = performance.now();
  const read = await control.read();
  const ms = performance.now() - asked;
  assert.deepEqual([read.enabled, read.active, read.allowLan], [true, true, true]);
  assert.ok(ms < 15_000, `${ms} ms; a call on the bus is given up after 25 s`);
  t.diagnostic(`${ms.toFixed()} ms`);
  rmSync(stage.path('run/state.json'));
  const answer = control.read();
  rmSync(hold);
  assert.equal((await answer).active, true, 'where nothing is published, the answer is waited for');
});

test('the shipped endpoints, the reported ones and the user’s own come together, each checked', () => {
  const { endpoints: shipped, beyondShipped } = wantedEndpoints([], '');
  assert.equal(beyondShipped, false);
  assert.equal(
    wantedEndpoints(['162.159.198.2', '162.159.193.8:2408', '[2606:4700:103::2]:443'], '').beyondShipped,
    false,
  );
  const own = wantedEndpoints(
    ['::', 'x'],
    '162.159.239.0/24, 172.64.98.1 tcp 443 , 10.0.0.0/8,,1.1.1.1 udp 53,8.0.0.0/8',
  );
  assert.deepEqual(
    own.endpoints.slice(shipped.length).map(({ cidr, protocol, ports }) => `${cidr} ${protocol} ${ports.length}`),
    ['162.159.239.0/24 udp 8', '162.159.239.0/24 tcp 1', '172.64.98.1 tcp 1'],
  );
  assert.equal(own.refused.length, 5);
  for (const wrong of ['1.1.1.1 udp', '1.1.1.1 icmp 1', '1.1.1.1 udp 443 9', '1.1.1.1 udp 4x', 'udp 443'])
    assert.equal(typeof parseOwn(wrong), 'string', wrong);
});

test('the command that installs it names the program of this installation', () => {
  assert.equal(installCommand('/opt/culvert/bin/culvert'), '/opt/culvert/bin/culvert killswitch installer | sudo sh');
  assert.equal(
    installCommand("/home/me/My App's/C.AppImage"),
    String.raw`'/home/me/My App'\''s/C.AppImage' killswitch installer | sudo sh`,
  );
});
