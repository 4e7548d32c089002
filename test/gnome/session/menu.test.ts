// The entries of the tray's menu for each state, without a desktop.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Snapshot } from '../../../daemon/api/schema.ts';
import type { ClientState } from '../../../daemon/view/client/client-state.ts';
import type { Command } from '../../../daemon/view/form.ts';
import { describeUnconfirmed } from '../../../daemon/view/states/changes.ts';
import { describeKillSwitch } from '../../../daemon/view/states/killswitch.ts';
import { describeTimed } from '../../../daemon/view/states/timed.ts';
import { describeTunnel as describe } from '../../../daemon/view/states/tunnel.ts';
import { describe as describeAll } from '../../../daemon/view/view.ts';
import { menuOf, type Shown, tooltipOf } from '../../../gnome/session/menu.ts';
import { change } from '../../support/gnome/initial.ts';
import { clientState, tr } from '../../support/gnome/view/translator.ts';

const facts = (status: Partial<Snapshot['status']> = {}, more: Partial<ClientState> = {}) =>
  clientState({ status }, more);

/** Input of the tray's menu. */
function shown(given: ClientState, stopped = false, now = Date.now()): Shown {
  return {
    tunnel: describe(given, tr),
    killSwitch: describeKillSwitch(given, tr),
    stopped,
    now,
    proxy: null,
    recent: [],
    update: null,
    network: null,
    remote: null,
    timed: describeTimed(given, tr),
    unconfirmed: describeUnconfirmed(given, tr),
  };
}

test('the menu names the network, and leads to where it can be trusted', () => {
  const entries = (network: Shown['network']) =>
    menuOf({ ...shown(facts({ state: 'connected' })), network }, tr).flatMap(({ label, command }) =>
      typeof command === 'object' && command && 'panel' in command && command.panel === 'networks' ? [label] : [],
    );
  const cafe = { line: 'Wi-Fi “Café”', login: true, trustable: true };
  assert.deepEqual(entries(cafe), ['Wi-Fi “Café”', 'Sign In to This Network…', 'Trust This Network…']);
  assert.deepEqual(entries({ line: 'Ethernet', login: false, trustable: false }), ['Ethernet']);
  assert.deepEqual(entries(null), []);
});

test('the menu leads to a login page that was noticed', () => {
  const entryOf = (login: boolean) => {
    const network = { line: 'Wi-Fi “Café”', login, trustable: true };
    return menuOf({ ...shown(facts({ state: 'unable' })), network }, tr).find(({ id }) => id === 99);
  };
  assert.equal(entryOf(false), undefined);
  assert.equal(entryOf(true)?.label, 'Sign In to This Network…');
  assert.deepEqual(entryOf(true)?.command, { panel: 'networks' });
});

test('the menu of the tray offers what helps, and says that other machines are let in', () => {
  const given = facts({ state: 'unable', reason: { code: 'CaptivePortalTimedOut', text: '' } });
  given.snapshot!.remoteAccess = { address: null };
  const menu = menuOf({ ...shown(given), remote: 'Remote access is on' }, tr);
  const entry = (label: string) => menu.find(one => one.label === label);
  const command = entry('Open Sign-in Page')?.command as { ask: Command };
  assert.deepEqual(command.ask.ask, { kind: 'client', task: 'portal' });
  // the tray opens the window, which asks
  assert.match(command.ask.confirm!.body, /Until then, no program uses WARP/);
  assert.deepEqual(entry('Remote access is on')?.command, { panel: 'preferences' });
  assert.equal(new Set(menu.map(({ id }) => id)).size, menu.length);
  const { remote } = describeAll(given, '1', tr).banners;
  assert.deepEqual(
    [remote?.title, remote?.caution],
    ['Remote access is on. Culvert does not encrypt these connections.', true],
  );
  given.snapshot!.remoteAccess = { address: 'https://culvert.example.org' };
  const encrypted = describeAll(given, '1', tr).banners.remote;
  assert.deepEqual([encrypted?.title, encrypted?.caution], ['Remote access is on', false]);
  assert.equal(
    menuOf(shown(facts({ state: 'connected' })), tr).some(({ id }) => id === 22 || id === 23),
    false,
  );
});

test('the menu has the toggle first, and offers to start a daemon only while no daemon runs', () => {
  const labels = (given: ClientState, stopped: boolean) =>
    menuOf(shown(given, stopped), tr).map(({ label, enabled }) => `${label}${enabled ? '' : ' (off)'}`);
  assert.deepEqual(labels(facts({ state: 'connected' }), false), [
    'Disconnect',
    'Connected (off)',
    'Pause WARP',
    'Mode: All traffic',
    'null',
    'Kill Switch: install it in Culvert…',
    'null',
    'Open Culvert',
    'Settings',
    'Quit Culvert',
  ]);
  assert.deepEqual(labels(facts({}, { offline: { code: 'not-running', detail: '' } }), true), [
    'Connect (off)',
    'Unavailable (off)',
    'null',
    'Start Culvert',
    'Open Culvert',
    'Settings',
    'Quit Culvert',
  ]);
});

test('the menu keeps or reverts an unconfirmed change, and extends or ends a timed state', () => {
  const given = facts({ state: 'connected' });
  // a day of this time zone, and never today
  const at = (...time: [hours: number, minutes: number, seconds: number]) => new Date(2020, 1, 29, ...time);
  given.snapshot!.changes = [
    change('routes', { confirmBy: at(10, 0, 30).toISOString() }),
    change('mode', { value: 'doh', endsAt: at(18, 0, 0).toISOString() }),
  ];
  const menu = menuOf(shown(given), tr);
  assert.deepEqual(
    menu.slice(2, 9).map(({ label, enabled }) => `${label}${enabled ? '' : ' (off)'}`),
    [
      'Routes (off)',
      'Keep',
      'Revert Now',
      'Mode: DNS only until 2020-02-29 18:00 (off)',
      '15 Minutes More',
      'End Now',
      'Pause WARP',
    ],
  );
  const ids = menu.flatMap(({ id, children = [] }) => [id, ...children.map(child => child.id)]);
  assert.equal(new Set(ids).size, ids.length);
  const tooltip = (now: Date) => tooltipOf(shown(given, false, now.getTime()), tr).text;
  assert.match(tooltip(at(16, 57, 30)), /^Mode: DNS only until 2020-02-29 .* · 1 h 3 min left$/m);
  assert.match(tooltip(at(17, 59, 59)), / · 1 min left$/m);
});

test('the menu chooses a mode, starts the last apps in the tunnel and copies the proxy’s address', () => {
  const given = facts({ state: 'connected' });
  given.snapshot!.settings = { Mode: 'proxy' };
  const menu = menuOf(
    {
      ...shown(given),
      recent: [{ id: 'firefox.desktop', name: 'Firefox' }],
      proxy: '127.0.0.1:40000',
      update: '9.0.0',
    },
    tr,
  );
  const at = (label: string) => menu.find(entry => entry.label === label)!;
  assert.deepEqual(
    at('Mode: Chosen apps only').children!.map(({ label, checked, radio, command }) => [
      label,
      checked,
      radio,
      command,
    ]),
    [
      ['All traffic', false, true, { mode: 'warp' }],
      ['DNS only', false, true, { mode: 'doh' }],
      ['Chosen apps only', true, true, { mode: 'proxy' }],
      ['All traffic, your own DNS', false, true, { mode: 'tunnel_only' }],
    ],
  );
  assert.deepEqual(at('Start in the Tunnel').children![0]!.command, { launch: 'firefox.desktop' });
  assert.deepEqual(at('Copy Proxy Address 127.0.0.1:40000').command, { panel: 'copy-proxy' });
  assert.deepEqual(at('Culvert 9.0.0 is available…').command, { panel: 'updates' });
  const ids = menu.flatMap(entry => [entry.id, ...(entry.children ?? []).map(({ id }) => id)]);
  assert.equal(new Set(ids).size, ids.length);
});

test('the menu of output that is not understood has both actions', () => {
  const given = facts({ state: 'unknown', raw: 'Status update: Frobnicating' });
  const menu = menuOf(shown(given), tr).map(entry => entry.command);
  assert.deepEqual(menu.slice(0, 2), ['connect', 'disconnect']);
});

test('the menu and the tooltip of a demo say that it is one', () => {
  const demo = facts({ state: 'connected' });
  demo.snapshot!.tunnelCli.emulated = true;
  assert.equal(tooltipOf(shown(demo), tr).title, 'Demo: Connected');
  assert.equal(menuOf(shown(demo), tr).find(entry => entry.id === 3)!.label, 'Demo: Connected');
});
