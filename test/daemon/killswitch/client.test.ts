// The daemon's side against the real root service, and against what is left where that one is missing or dead.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import type { KillSwitch } from '../../../daemon/api/schema.ts';
import { loadConfig } from '../../../daemon/config.ts';
import type { Ground } from '../../../daemon/features.ts';
import { createKillSwitch } from '../../../daemon/killswitch/client.ts';
import { installCommand, type Places } from '../../../daemon/killswitch/published.ts';
import { parseOwn, wantedEndpoints } from '../../../daemon/killswitch/wish.ts';
import { createState, NO_TUNNEL } from '../../../daemon/state.ts';
import { missing, type Stage, setStage, until, which } from './stage.ts';

interface Side {
  ground: Ground;
  places: Places;
  said: string[];
  control: ReturnType<typeof createKillSwitch>;
  killSwitch(): KillSwitch;
}

/** A daemon's ground, as far as the kill switch stands on it. */
async function createSide(
  t: TestContext,
  stage: Stage,
  more: { emulated?: boolean; uid?: number } = {},
): Promise<Side> {
  const said: string[] = [];
  const user = stage.path('config/config.json');
  mkdirSync(stage.path('config'), { recursive: true });
  const settings = await loadConfig({ system: stage.path('none'), user }, {});
  const state = createState({ available: true, path: null, version: null, emulated: more.emulated === true });
  const busctl = stage.path('busctl');
  const as = more.uid === undefined ? '' : `setpriv --reuid=${more.uid} --regid=${more.uid} --clear-groups `;
  writeFileSync(busctl, `#!/bin/sh\necho "$@" >>'${stage.path('calls')}'\nexec ${as}${which('busctl')} "$@"\n`);
  chmodSync(busctl, 0o755);
  writeFileSync(stage.path('calls'), '');
  chmodSync(stage.path('calls'), 0o666);
  const places: Places = {
    run: stage.path('run'),
    activation: [stage.path('activation')],
    busctl,
    bus: stage.env.DBUS_SYSTEM_BUS_ADDRESS,
    install: 'sudo install-it',
  };
  writeFileSync(stage.path('activation'), '');
  const ground = { state, settings, env: {}, say: (line: string) => void said.push(line) } as unknown as Ground;
  const control = createKillSwitch(ground, places);
  t.after(() => control.stop());
  return { ground, places, said, control, killSwitch: () => state.snapshot().killSwitch };
}

function onStage(title: string, act: (stage: Stage, t: TestContext) => Promise<void>): void {
  test(title, { skip: missing }, async t => {
    const stage = await setStage();
    try {
      await act(stage, t);
    } finally {
      await stage.end();
    }
  });
}

onStage('turns on and off, and remembers it for the next start', async (stage, t) => {
  await stage.serve();
  const { control, ground, killSwitch } = await createSide(t, stage);
  control.start();
  const on = await control.set({ enabled: true, allowLan: true });
  assert.deepEqual([on.enabled, on.allowLan, on.active, on.installed, on.command], [true, true, true, true, null]);
  assert.deepEqual(killSwitch(), on);
  assert.deepEqual(JSON.parse(readFileSync(stage.path('config/config.json'), 'utf8')), {
    warp: { killSwitch: true, allowLan: true },
  });
  assert.match((await stage.table())!, /meta skuid 0 ip daddr 162\.159\.197\.0\/24 udp dport \{ 443,/);
  const off = await control.set({ enabled: false, allowLan: false });
  assert.deepEqual([off.enabled, off.active], [false, false]);
  assert.equal(ground.settings.config.warp.killSwitch, false);
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
  'what is wanted is applied at the start; a refusal says so, and a broken file turns nothing off',
  async (stage, t) => {
    await stage.serve();
    mkdirSync(stage.path('config'));
    writeFileSync(stage.path('config/config.json'), '{"warp": {"killSwitch": true}}');
    const denied = await createSide(t, stage, { uid: 1 });
    denied.control.start();
    await until(() => denied.killSwitch().detail !== null);
    assert.deepEqual([denied.killSwitch().enabled, denied.killSwitch().active], [true, false]);
    assert.match(denied.killSwitch().detail!, /wanted but not in force: .*administrator/);
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

onStage('a configuration that cannot be written is no reason not to block', async (stage, t) => {
  await stage.serve();
  const { control, ground, said } = await createSide(t, stage);
  writeFileSync(stage.path('config/config.json'), 'not JSON');
  assert.equal((await control.set({ enabled: true, allowLan: false })).active, true);
  assert.equal(ground.settings.config.warp.killSwitch, true, 'until the daemon ends');
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
  const paused = await control.pause(1);
  assert.deepEqual([paused.enabled, paused.active], [true, false]);
  assert.ok(Date.parse(paused.pausedUntil!) > Date.now());
  await until(() => killSwitch().pausedUntil === null && killSwitch().active === true);
});

onStage('where the tunnel goes beyond the shipped endpoints, the rules follow it', async (stage, t) => {
  await stage.serve();
  const { control, ground } = await createSide(t, stage);
  control.start();
  await control.set({ enabled: true, allowLan: false });
  ground.state.set('tunnel', { ...NO_TUNNEL, endpoints: ['162.159.193.8', '104.16.1.2', '10.0.0.1'] });
  await until(async () => /104\.16\.1\.2 udp dport/.test((await stage.table())!));
  assert.doesNotMatch((await stage.table())!, /10\.0\.0\.1/);
  assert.equal(readFileSync(stage.path('calls'), 'utf8').match(/ Enable /g)?.length, 2);
});

onStage('the demo never blocks a machine', async (stage, t) => {
  await stage.serve();
  const { control } = await createSide(t, stage, { emulated: true });
  await assert.rejects(control.set({ enabled: true, allowLan: false }), { code: 'killswitch-failed', message: /demo/ });
  assert.equal(await stage.table(), null);
});

onStage('where the service is not installed it says so, with the command that installs it', async (stage, t) => {
  const { control, places, ground } = await createSide(t, stage);
  rmSync(places.activation[0]!);
  const read = await control.read();
  assert.deepEqual([read.installed, read.active, read.command, read.backend], [false, null, 'sudo install-it', null]);
  await assert.rejects(control.set({ enabled: true, allowLan: false }), {
    code: 'killswitch-not-installed',
    status: 409,
  });
  assert.equal(ground.settings.config.warp.killSwitch, false);
  assert.equal(existsSync(stage.path('config/config.json')), false);
  writeFileSync(places.activation[0]!, '');
  await assert.rejects(control.set({ enabled: true, allowLan: false }), {
    code: /^killswitch-(not-installed|failed)$/,
  });
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
