// The page of networks with a NetworkManager that reports another network.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { NetworkLink } from '../../daemon/api/networks.ts';
import { createDaemon, type FakeDaemon } from '../support/gnome/daemon.ts';
import { type Desktop, missing, openDesktop, type Running, talk } from '../support/gnome/desktop.ts';
import { closeStage, type Stage, stageOf } from '../support/gnome/stage.ts';
import { standInForCulvert } from '../support/gnome/stand-in.ts';
import { link } from '../support/networks/mocks.ts';
import { until } from '../support/until.ts';

const NM = 'org.freedesktop.NetworkManager';
const ROOT = '/org/freedesktop/NetworkManager';
const bytes = (text: string) => `[${[...Buffer.from(text)].map(byte => `byte ${byte}`).join(', ')}]`;
const wifi = (id: number) => ({
  [`${NM}.Connection.Active`]: {
    Type: ['s', "'802-11-wireless'"],
    SpecificObject: ['o', `'${ROOT}/AccessPoint/${id}'`],
  },
});
const point = (ssid: string) => ({ [`${NM}.AccessPoint`]: { Ssid: ['ay', bytes(ssid)] } });
const at = (present: NetworkLink) => ({
  service: 'NetworkManager' as const,
  links: [present],
  rules: [],
  decision: { links: [{ device: present.device, rule: null }], effects: [] },
  acted: null,
  reverted: false,
  problem: null,
});
const active = (id: number) => ['o', `'${ROOT}/ActiveConnection/${id}'`];

describe('the page of networks', { skip: missing(), concurrency: false }, () => {
  let desktop: Desktop;
  let daemon: FakeDaemon;
  let stage: Stage;
  let manager: Running;

  before(async () => {
    desktop = await openDesktop();
    const bus = desktop.start('dbus-daemon', ['--session', '--nofork', '--print-address=1']);
    await until(() => bus.stdout().includes('\n'), 'the system bus');
    const address = bus.stdout().trim();
    const services = join(desktop.directory, 'services.json');
    const paths = {
      [ROOT]: { [NM]: { PrimaryConnection: active(1) } },
      [`${ROOT}/ActiveConnection/1`]: wifi(1),
      [`${ROOT}/ActiveConnection/2`]: wifi(2),
      [`${ROOT}/AccessPoint/1`]: point('Home'),
      [`${ROOT}/AccessPoint/2`]: point('Café <b>'),
    };
    writeFileSync(services, JSON.stringify({ [NM]: paths }));
    const script = join(import.meta.dirname, '../support/doctor/bus.py');
    const own = { DBUS_SESSION_BUS_ADDRESS: address };
    manager = desktop.start('/usr/bin/python3', ['-W', 'ignore', script, services], own);
    await until(
      () => manager.stdout().includes('ready'),
      () => `NetworkManager: ${manager.output()}`,
    );
    daemon = createDaemon(desktop.socket);
    daemon.snapshot.options = { ...daemon.snapshot.options, trustedSsids: ['Home'] };
    await daemon.listen();
    const program = join(desktop.prefix, 'share', 'culvert', 'inside.js');
    const panel = desktop.start('gjs', ['-m', program], { DBUS_SYSTEM_BUS_ADDRESS: address });
    stage = stageOf(desktop, daemon, panel, talk(panel));
  });
  // GTK 4.8 looks for the tooltip of a menu's button also in the menu that has closed since
  after(() => closeStage(stage, /gdk_surface_get_device_position|_gtk_widget_find_at_coords/));

  test('shows the present one with its switch, and another one as soon as that is used', async () => {
    await stage.turn('networks');
    await stage.find('Trusted: WARP is off here');
    manager.child.stdin!.write(`${JSON.stringify([ROOT, NM, 'PrimaryConnection', active(2)])}\n`);
    await stage.find('Not trusted: WARP stays on here');
    await stage.press('Trust this network');
    await stage.acted(1);
    assert.deepEqual(daemon.actions, [{ action: 'addTrustedSsid', value: 'Café <b>' }]);
  });

  test('the sign-in to a login page that was not noticed starts from here', async () => {
    const culvert = standInForCulvert(desktop);
    daemon.set('status', { state: 'unable' });
    daemon.send('networks', at(link('wlan0', { name: 'Lobby' })));
    await stage.press('Lobby: More');
    await stage.press('Sign In to This Network…');
    await stage.find('Sign in to this network');
    await stage.press('Open');
    await until(() => culvert.words() === 'portal --open', 'the sign-in');
    culvert.end();
  });

  test('a rule is written by a form, tried, and asks before it lowers the protection; another network is tried', async () => {
    const home = link('wlan0', { name: 'Home', security: 'psk' });
    const effect = { subject: 'connection', value: 'off', rule: 'Home', reason: null } as const;
    const rule = {
      name: 'Home',
      match: { ssid: 'Home', security: 'psk' },
      effects: { warp: 'pause' },
      proof: 'copyable',
      weakens: true,
      allowed: null,
    } as const;
    const decision = { links: [{ device: 'wlan0', rule: 'Home' }], effects: [{ ...effect, state: 'asks' as const }] };
    const networks = at(home);
    const none = networks.decision;
    daemon.answers['GET /api/networks'] = { ok: true, ...networks, document: '', revision: 'r', invalid: [] };
    daemon.onAsked = ({ line, body }) => {
      if (line !== 'POST /api/networks/what-if') return { ok: true };
      const supposed = 'network' in (body as object);
      return { ok: true, rules: [rule], decision: supposed ? none : decision, invalid: [] };
    };
    daemon.snapshot = { ...daemon.snapshot, networks };
    daemon.send('networks', networks);
    await stage.find('WARP’s own list of trusted Wi-Fi turns it off on “Home”.');
    await stage.press('Add Rule…');
    await stage.find('Choose a network, a name, and at least one setting.');
    const choose = async (name: string, step: string) => {
      await stage.ask({ do: 'focus', name });
      for (const key of ['space', step, 'Return']) stage.key(key);
    };
    await choose('WARP', 'End');
    await stage.find('Wi-Fi “Home”, with a shared password: WARP is paused');
    await stage.press('Save this rule: Save');
    await stage.find('Let the rule “Home” lower protection?');
    await stage.press('Allow');
    await stage.find('The rule is set');
    await stage.gone('Save this rule: Save');
    const text = '[[network]]\nname = "Home"\nssid = "Home"\nsecurity = "psk"\nwarp = "pause"\n';
    assert.deepEqual(daemon.asked, [
      { line: 'POST /api/networks/what-if', body: { document: text } },
      { line: 'POST /api/networks', body: { document: text, ifRevision: 'r' } },
      { line: 'POST /api/networks/answer', body: { rule: 'Home', answer: 'always' } },
    ]);
    daemon.send('networks', { ...networks, rules: [{ ...rule, name: 'Flat' }], decision });
    await stage.press('Edit Flat');
    await stage.find('Here, with this rule');
    await stage.press('Rule “Flat”: More');
    await stage.press('Also Identified By…');
    await stage.enter('Gateway, by its hardware address', '02:00:00:00:00:0A');
    await stage.press('Gateway, by its hardware address: Add');
    await stage.find('Remove Gateway 02:00:00:00:00:0a');
    await stage.press('Back to the rule: Done');
    await stage.press('Leave the rules as they are: Cancel');
    await stage.gone('Rule “Flat”');
    await stage.press('Elsewhere: More');
    await stage.press('Test Rules…');
    await stage.enter('Another Wi-Fi network, by its name', 'Hotel');
    await stage.press('Another Wi-Fi network, by its name: Try');
    await stage.find('No rule is for this network.');
    assert.deepEqual(daemon.asked.at(-1)!.body, { network: { kind: 'wifi', name: 'Hotel' } });
  });
});
