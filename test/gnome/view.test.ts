// What is shown of each state: words, icon, switch, menu and figures, without a desktop.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { Blocked, ConnectionState, type Snapshot } from '../../daemon/api/schema.ts';
import { blockedPage } from '../../gnome/blocked.ts';
import { formatBytes, formatDuration, formatLatency, formatLoss } from '../../gnome/format.ts';
import { describeKillSwitch } from '../../gnome/killswitch-view.ts';
import type { Facts, Loss } from '../../gnome/model.ts';
import { menuOf, type Shown, tooltipOf } from '../../gnome/tray/menu.ts';
import { configWord, describe, iconName, type Look, lossWord } from '../../gnome/view.ts';
import { fill } from '../../gnome/words.ts';
import { createDaemon } from './daemon.ts';
import { factsOf, words } from './words.ts';

const ICONS = new URL('../../data/icons/', import.meta.url);
const states = ConnectionState.options;

const facts = (status: Partial<Snapshot['status']> = {}, more: Partial<Facts> = {}) => factsOf({ status }, more);

/** What the tray is given to show. */
function shown(given: Facts, stopped = false, now = Date.now()): Shown {
  return { view: describe(given, words), killSwitch: describeKillSwitch(given, words), stopped, now };
}

test('each state has its own label and icon', () => {
  const shown = states.map(state => describe(facts({ state }), words));
  assert.equal(new Set(shown.map(view => view.label)).size, states.length);
  assert.equal(new Set(shown.map(view => view.icon)).size, states.length);
});

test('every icon that is named exists', () => {
  for (const look of [...states, 'blocked', 'unavailable'] satisfies Look[])
    assert.ok(existsSync(new URL(`hicolor/symbolic/status/${iconName(look)}.svg`, ICONS)), look);
  for (const blocked of Blocked.options)
    assert.ok(existsSync(new URL(`panel/${blockedPage(blocked, words).icon}.svg`, ICONS)), blocked);
});

const toggles: [Snapshot['status']['state'], boolean, boolean, string | null, string][] = [
  ['connected', true, true, 'disconnect', 'Disconnect'],
  ['connecting', true, true, 'disconnect', 'Cancel'],
  ['disconnecting', false, false, 'connect', 'Connect'],
  ['disconnected', false, true, 'connect', 'Connect'],
  ['unable', true, true, 'disconnect', 'Disconnect'],
  ['unknown', false, false, null, 'Connect'],
];
for (const [state, on, sensitive, action, label] of toggles)
  test(`the switch of "${state}" is ${on ? 'on' : 'off'} and ${sensitive ? `asks to ${action}` : 'not sensitive'}`, () => {
    assert.deepEqual(describe(facts({ state }), words).toggle, { on, sensitive, action, label });
  });

test('while an action is pending nothing can be asked for, and the switch stays where it is', () => {
  const view = describe(facts({ state: 'disconnected' }, { pending: 'connect' }), words);
  assert.equal(view.toggle.sensitive, false);
  assert.equal(view.toggle.on, false);
  assert.equal(view.settable, false);
});

test('a lost stream shows "unavailable" and why, never the last state', () => {
  const codes: Loss['code'][] = ['not-running', 'stopped', 'silent', 'refused'];
  for (const code of codes) {
    const view = describe(facts({ state: 'connected' }, { loss: { code, detail: 'busy' } }), words);
    assert.equal(view.look, 'unavailable');
    assert.equal(view.toggle.on, false);
    assert.equal(view.toggle.sensitive, false);
    assert.equal(view.live, false);
    assert.equal(lossWord({ code, detail: '' }, words), view.sentence);
  }
  assert.equal(lossWord(null, words), null);
  assert.equal(lossWord({ code: 'starting', detail: '' }, words), null, 'no banner before the first attempt failed');
});

test('output that is not understood is shown as it is, with both actions and no switch', () => {
  const given = facts({ state: 'unknown', raw: 'Status update: Frobnicating' });
  const view = describe(given, words);
  assert.equal(view.reason, 'Status update: Frobnicating');
  assert.equal(view.toggle.sensitive, false);
  assert.equal(view.settable, true);
  const menu = menuOf(shown(given), words).map(entry => entry.command);
  assert.deepEqual(menu.slice(0, 2), ['connect', 'disconnect']);
});

test('before the first word of the tunnel CLI nothing is claimed and nothing can be asked for', () => {
  const view = describe(facts({ state: 'unknown', raw: null }), words);
  assert.match(view.label, /Reading/);
  assert.equal(view.settable, false);
});

test('a demo never says that traffic is protected', () => {
  const demo = facts({ state: 'connected' });
  demo.snapshot!.tunnelCli.emulated = true;
  const view = describe(demo, words);
  assert.match(view.sentence, /demo.*nothing is protected/);
  assert.equal(tooltipOf(shown(demo), words).title, 'Demo: Connected');
  assert.equal(menuOf(shown(demo), words).find(entry => entry.id === 3)!.label, 'Demo: Connected');
});

test('a connection says what its mode covers', () => {
  const says = (Mode: string, proxyPort: number | null = null) => {
    const given = facts({ state: 'connected' });
    given.snapshot!.settings = { Mode };
    given.snapshot!.tunnel.proxyPort = proxyPort;
    return describe(given, words).sentence;
  };
  assert.match(says('doh'), /other traffic is not tunnelled/);
  assert.match(says('tunnel_only'), /DNS is not/);
  assert.match(says('proxy', 40001), /127\.0\.0\.1:40001/);
  assert.match(says('warp'), /goes through Cloudflare/);
});

test('the protocol is found in text and JSON settings of any spelling, else in the tunnel itself', () => {
  const protocol = (settings: Snapshot['settings'], running: string | null = null) => {
    const given = facts();
    given.snapshot!.settings = settings;
    given.snapshot!.tunnel.protocol = running;
    return describe(given, words).protocol;
  };
  assert.equal(protocol({ 'WARP tunnel protocol': 'WireGuard' }), 'WireGuard');
  assert.equal(protocol({ warp_tunnel_protocol: 'masque' }), 'MASQUE');
  assert.equal(protocol({}, 'MASQUE (HTTPS via UDP)'), 'MASQUE');
  assert.equal(protocol({ 'MASQUE Protocol Settings': '' }), null);
});

test('each blocked state has a page with exactly one way on', () => {
  for (const blocked of Blocked.options) {
    const page = blockedPage(blocked, words);
    const ways = [page.action, page.open, page.commands[0]].filter(Boolean);
    assert.ok(ways.length >= 1, blocked);
    assert.ok(!(page.action && page.open), blocked);
    assert.equal(describe(facts({ state: 'unable', blocked }), words).toggle.sensitive, false, blocked);
  }
  assert.equal(blockedPage('not-registered', words).action!.name, 'register');
  const terms = blockedPage('terms-not-accepted', words);
  assert.equal(terms.action!.name, 'acceptTerms');
  assert.ok(terms.action!.confirm, 'terms are agreed to in a dialog');
  assert.ok(terms.links.every(({ uri }) => uri.startsWith('https://www.cloudflare.com/')));
});

test('the menu has the toggle first, and offers to start a daemon only when there is none', () => {
  const labels = (given: Facts, stopped: boolean) =>
    menuOf(shown(given, stopped), words).map(({ label, enabled }) => `${label}${enabled ? '' : ' (off)'}`);
  assert.deepEqual(labels(facts({ state: 'connected' }), false), [
    'Disconnect',
    'Connected (off)',
    'Mode: WARP (off)',
    'null',
    'Open Culvert',
    'Quit',
  ]);
  assert.deepEqual(labels(facts({}, { loss: { code: 'not-running', detail: '' } }), true), [
    'Connect (off)',
    'Unavailable (off)',
    'null',
    'Start Culvert',
    'Open Culvert',
    'Quit',
  ]);
});

test('a configuration problem names file, line, key and reason', () => {
  const { config } = createDaemon('/nowhere');
  const problem = { file: '/etc/culvert/config.json', line: 3, key: 'server.port', message: 'is not a port' };
  const says = (...problems: (typeof problem)[]) => configWord({ ...config, problems }, words);
  assert.equal(says(), null);
  assert.equal(says(problem), '/etc/culvert/config.json:3: server.port: is not a port');
  assert.equal(says(problem, problem), '/etc/culvert/config.json:3: server.port: is not a port (and 1 more)');
});

test('figures read as people write them', () => {
  const bytes = (n: number) => formatBytes(n, words);
  assert.deepEqual([0, 999, 1000, 1_234_567, 999_949, 999_950, 5e15].map(bytes), [
    ...['0 B', '999 B', '1.0 kB', '1.2 MB', '999.9 kB', '1.0 MB', '5.0 PB'],
  ]);
  const clock = (n: number) => formatDuration(n, words);
  assert.deepEqual([-3, 0, 42, 725, 3723, 86_400, 180_000].map(clock), [
    ...['0:00', '0:00', '0:42', '12:05', '1:02:03', '1 day, 0:00:00', '2 days, 2:00:00'],
  ]);
  assert.deepEqual(
    [0.5, 9.96, 11.4, 212].map(ms => formatLatency(ms, words)),
    ['0.5 ms', '10 ms', '11 ms', '212 ms'],
  );
  assert.deepEqual(
    [0, 0.0002, 0.08, 1].map(loss => formatLoss(loss, words)),
    ['0 %', '0.02 %', '8 %', '100 %'],
  );
});

test('placeholders are filled in order, and a missing value stays visible', () => {
  assert.equal(fill('%d of %s', 1, 'two'), '1 of two');
  assert.equal(fill('%s and %s', 'one'), 'one and %s');
});
