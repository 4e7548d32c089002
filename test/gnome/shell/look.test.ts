// The tile of GNOME Shell in each state of the bus contract: words, icon, menu.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { STATES } from '../../../daemon/api/states.ts';
import { english } from '../../../daemon/view/translator.ts';
import { type Look, lookOf, type Properties } from '../../../gnome/shell/look.ts';

const NOW = Date.parse('2026-01-02T12:00:00Z');
const CONNECTED: Properties = {
  State: 'connected',
  StatusText: 'Connected',
  Icon: 'org.culvert.Culvert-connected-symbolic',
  PauseEnds: 0,
  ToggleAction: 'disconnect',
  ToggleText: 'Disconnect',
  CanToggle: true,
  RemedyText: '',
  Mode: 'warp',
  Modes: [
    ['warp', 'All traffic', true],
    ['doh', 'DNS only', true],
  ],
  KillSwitch: 'off',
  CanSetKillSwitch: true,
  Pending: {},
};

const look = (change: Partial<Properties> = {}) => lookOf({ ...CONNECTED, ...change }, NOW, english);
const labels = ({ items }: Look) => items.map(({ label }) => label);
const itemOf = ({ items }: Look, label: string) => items.find(item => item.label === label);
const callOf = (shown: Look, label: string) => {
  const item = itemOf(shown, label);
  return item && 'call' in item ? [item.call.method, ...item.call.args] : null;
};

test('a connected tunnel is on, and its menu has modes, pauses, kill switch and the window', () => {
  const shown = look();
  assert.deepEqual(
    [shown.icon, shown.subtitle, shown.on, shown.toggle?.method],
    [CONNECTED.Icon, 'Connected', true, 'Disconnect'],
  );
  assert.deepEqual(labels(shown), [
    'Mode',
    'All traffic',
    'DNS only',
    '',
    'Pause for 15 minutes',
    'Pause for 1 hour',
    '',
    'Kill Switch',
    '',
    'Open Culvert',
  ]);
  assert.deepEqual(callOf(shown, 'DNS only'), ['SetMode', 'doh', { 'confirm-within': 30 }]);
  assert.deepEqual(callOf(shown, 'Pause for 1 hour'), ['Pause', 3600]);
  assert.deepEqual(callOf(shown, 'Kill Switch'), ['SetKillSwitch', true, { 'confirm-within': 30 }]);
  assert.deepEqual(callOf(shown, 'Open Culvert'), ['Open', '', {}]);
});

test('the pause that was used last comes first', () => {
  const shown = look({ Pauses: [1800, 900, 3600] });
  assert.deepEqual(
    labels(shown).filter(label => /^Pause/.test(label)),
    ['Pause for 30 minutes', 'Pause for 15 minutes', 'Pause for 1 hour'],
  );
  assert.deepEqual(callOf(shown, 'Pause for 30 minutes'), ['Pause', 1800]);
});

test('a tunnel that is off connects, and its mode needs no confirmation', () => {
  const shown = look({ State: 'disconnected', StatusText: 'Disconnected', ToggleAction: 'connect' });
  assert.deepEqual([shown.on, shown.toggle?.method], [false, 'Connect']);
  assert.deepEqual(callOf(shown, 'DNS only'), ['SetMode', 'doh', {}]);
  assert.equal(itemOf(shown, 'Pause for 1 hour'), undefined);
});

test('only a tunnel that is up or comes up is lit; where WARP can’t connect a press offers what helps, or to disconnect', () => {
  const lit = STATES.filter(State => look({ State }).on);
  assert.deepEqual(lit, ['connected', 'connecting']);
  assert.equal(look({ State: 'connecting', ToggleText: 'Cancel' }).toggle?.method, 'Disconnect');
  for (const State of ['unable', 'needs-you', 'blocked']) {
    const shown = look({ State, RemedyText: 'Open Sign-in Page' });
    assert.equal(shown.toggle, null, `a press in ${State} opens the menu`);
    assert.deepEqual(labels(shown).slice(0, 3), ['Open Sign-in Page', '', 'Disconnect']);
    assert.deepEqual(callOf(shown, 'Disconnect'), ['Disconnect']);
    assert.equal(itemOf(look({ State, CanToggle: false }), 'Disconnect'), undefined);
  }
});

test('a pause says how long it lasts, and no longer than it does', () => {
  const paused = { State: 'paused', StatusText: 'Back on at 12:25', ToggleAction: 'connect' };
  const left = (ms: number) => look({ ...paused, PauseEnds: (NOW + ms) * 1000 }).subtitle;
  assert.equal(left(24.2 * 60_000), 'Back on at 12:25 · 25 min left');
  assert.equal(left(90 * 60_000), 'Back on at 12:25 · 1 h 30 min left');
  assert.equal(left(1000), 'Back on at 12:25 · 1 min left');
  assert.equal(left(-1000), 'Back on at 12:25');
});

test('the tile itself, which is narrow, shows each state in a few words', () => {
  const paused = { State: 'paused', StatusText: 'Paused until 12:25', ToggleAction: 'connect' };
  assert.equal(look({ ...paused, PauseEnds: (NOW + 25 * 60_000) * 1000 }).short, 'Paused until 12:25');
  assert.equal(look().short, 'Connected');
  assert.equal(lookOf(null, NOW, english).short, 'Unavailable');
});

test('without a bridge the state is unknown, and the tile only opens the window', () => {
  const shown = lookOf(null, NOW, english);
  assert.deepEqual([shown.subtitle, shown.on, shown.toggle], ['Unavailable', false, null]);
  assert.deepEqual(labels(shown), ['Open Culvert']);
});

test('a daemon that is gone has nothing to switch', () => {
  const gone = { ToggleAction: '', CanToggle: false, Mode: '', Modes: [], KillSwitch: 'unknown', RemedyText: 'Start' };
  const shown = look({ State: 'unknown', StatusText: 'Unavailable', ...gone });
  assert.deepEqual([shown.on, shown.toggle], [false, null]);
  assert.deepEqual(labels(shown), ['Start', '', 'Open Culvert']);
  assert.deepEqual(callOf(shown, 'Start'), ['Remedy', {}]);
});

test('a state that came with a later version shows its words, its icon and its remedy', () => {
  const shown = look({
    State: 'resting',
    StatusText: 'Resting',
    Icon: 'org.culvert.Culvert-resting-symbolic',
    RemedyText: 'Wake',
  });
  assert.deepEqual(
    [shown.subtitle, shown.icon, labels(shown)[0]],
    ['Resting', 'org.culvert.Culvert-resting-symbolic', 'Wake'],
  );
});

test('while a change is under way a press does nothing', () => {
  assert.equal(look({ CanToggle: false }).toggle, null);
  assert.equal(itemOf(look({ CanToggle: false }), 'Pause for 1 hour'), undefined);
});

test('a change that waits is kept or reverted', () => {
  const shown = look({ Pending: { text: 'Mode: DNS only\nKill Switch: On' } });
  assert.deepEqual(labels(shown).slice(0, 3), ['Mode: DNS only · Kill Switch: On', 'Keep', 'Revert Now']);
  assert.deepEqual([callOf(shown, 'Keep'), callOf(shown, 'Revert Now')], [['Keep'], ['Revert']]);
});

test('each value of the kill switch', () => {
  const switchOf = (KillSwitch: string) => {
    const item = itemOf(look({ KillSwitch }), 'Kill Switch');
    return item && 'on' in item ? item.on : null;
  };
  const values = ['on', 'off', 'paused', 'unmeasured', 'missing', 'stuck', 'not-installed', 'unknown', 'later'];
  assert.deepEqual(values.map(switchOf), [true, false, true, true, true, false, null, null, false]);
  assert.deepEqual(callOf(look({ KillSwitch: 'on' }), 'Kill Switch'), ['SetKillSwitch', false, {}]);
});

test('each property and each method is one of the interface, with its types', () => {
  const xml = readFileSync('data/org.culvert.Client1.xml', 'utf8');
  for (const name of Object.keys(CONNECTED)) assert.match(xml, new RegExp(`<property name="${name}"`));
  const shown = look({ RemedyText: 'Start', Pending: { text: 'x' } });
  const items = shown.items.flatMap(item => ('call' in item ? [item.call] : []));
  const off = look({ ToggleAction: 'connect' }).toggle!;
  for (const { method, signature } of [...items, shown.toggle!, off]) {
    const [, body = ''] = new RegExp(`<method name="${method}"(?:/>|>([\\s\\S]*?)</method>)`).exec(xml)!;
    const types = [...body.matchAll(/type="([^"]+)"/g)].map(([, type]) => type).join('');
    assert.equal(signature, `(${types})`, method);
  }
});
