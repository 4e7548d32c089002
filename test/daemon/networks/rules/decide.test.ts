// The rule for a network, and the decision where there are several networks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NetworkEffects, NetworkLink } from '../../../../daemon/api/networks.ts';
import {
  decide,
  describe,
  type Placed,
  placeKey,
  ruleFor,
  type Situation,
} from '../../../../daemon/networks/rules/decide.ts';
import { keyOf, parseRules } from '../../../../daemon/networks/rules/rules.ts';
import { link } from '../../../support/networks/mocks.ts';

const { rules, invalid } = parseRules(`
[[network]]
name = "rest"
any = "no-rule"
mode = "warp"

[[network]]
name = "unknown"
any = "unknown-wifi"
warp = "connect"
kill_switch = true

[[network]]
name = "wired"
any = "ethernet"
mode = "warp+doh"

[[network]]
name = "home"
ssid = "Home"
security = "psk"
warp = "pause"
mode = "proxy"

[[network]]
name = "lab"
ssid = "Lab"
beacon = {address = "192.0.2.1:8443", sha256 = "${'ab'.repeat(32)}"}
warp = "pause"
routes = "lan"

[[network]]
name = "office"
gateway = "02:00:00:00:00:01"
mode = "doh"
warp = "pause"
protocol = "WireGuard"

[[network]]
name = "roof"
bssid = ["02:00:00:00:00:02", "02:00:00:00:00:03"]
protocol = "MASQUE"

[[network]]
name = "wire"
uuid = "u1"
warp = "pause"
`);
assert.deepEqual(invalid, []);

const at = (given: NetworkLink, ...proven: string[]): Placed => ({ link: given, proven: new Set(proven) });
const home = at(link('wlan0', { name: 'Home', security: 'psk' }));
const copied = at(link('wlan0', { name: 'Home', security: 'open' }));
const cafe = at(link('wlan0', { name: 'Café', security: 'open' }));
const lab = at(link('wlan0', { name: 'Lab' }), 'lab');
const office = at(link('eth0', { kind: 'ethernet', gatewayHardware: '02:00:00:00:00:01' }));
const wire = at(link('eth0', { kind: 'ethernet', uuid: 'u1' }));
const phone = at(link('wwan0', { kind: 'mobile' }));

const free: Situation = {
  managed: false,
  modeLocked: false,
  switchLocked: false,
  before: () => 'warp',
  answers: new Map(),
};
const allowing = (...names: string[]): Situation => ({
  ...free,
  answers: new Map(names.map(name => [keyOf(rules.find(rule => rule.name === name)!), true])),
});
/** `subject value by rule: state reason` */
const effects = (places: Placed[], situation: Situation) =>
  decide(places, rules, situation).effects.map(
    ({ subject, value, rule, state, reason }) =>
      `${subject} ${value} by ${rule}: ${state}${reason ? ` ${reason}` : ''}`,
  );

test('a rule that names the network comes before one for all such networks, and "no-rule" comes last', () => {
  const chosen = (place: Placed) => ruleFor(place, rules)?.name;
  assert.deepEqual([home, copied, cafe, lab, office, wire, phone].map(chosen), [
    'home',
    'unknown',
    'unknown',
    'lab',
    'office',
    'wire',
    'rest',
  ]);
  assert.equal(chosen(at(link('wlan0', { bssid: '02:00:00:00:00:03' }))), 'roof');
  assert.equal(chosen(at(link('eth0', { kind: 'ethernet' }))), 'wired');
  assert.equal(chosen(at(link('eth0', { kind: 'ethernet', name: 'Home', security: 'psk' }))), 'wired');
});

test('a rule whose beacon does not answer is not for the network, whatever its name', () => {
  assert.deepEqual(effects([at(lab.link)], free), [
    'connection on by unknown: holds',
    'killSwitch on by unknown: holds',
  ]);
  assert.deepEqual(effects([lab], free), ['connection off by lab: holds', 'routes lan by lab: holds']);
});

test('a rule that lowers the protection where anyone can copy the name asks, and holds or not by the answer', () => {
  assert.deepEqual(effects([home], free), ['connection off by home: asks', 'mode proxy by home: asks']);
  assert.deepEqual(effects([home], allowing('home')), ['connection off by home: holds', 'mode proxy by home: holds']);
  const refusing = { ...free, answers: new Map([...allowing('home').answers.keys()].map(key => [key, false])) };
  assert.deepEqual(effects([home], refusing), [
    'connection off by home: left refused',
    'mode proxy by home: left refused',
  ]);
  // a pause asks even while WARP is off
  const off: Situation = { ...free, before: subject => (subject === 'mode' ? 'warp' : false) };
  assert.deepEqual(effects([home], off)[0], 'connection off by home: asks');
  // as strong as what is set, so that no question is needed
  assert.deepEqual(effects([home], { ...free, before: () => 'doh' })[1], 'mode proxy by home: holds');
});

test('a managed device is only ever protected more', () => {
  for (const managed of [true, null])
    assert.deepEqual(effects([home], { ...allowing('home'), managed }), [
      'connection off by home: left managed',
      'mode proxy by home: left managed',
    ]);
  assert.deepEqual(effects([cafe], { ...free, managed: true }), [
    'connection on by unknown: holds',
    'killSwitch on by unknown: holds',
  ]);
  assert.deepEqual(effects([home], { ...allowing('home'), switchLocked: true, modeLocked: true }), [
    'connection off by home: left locked',
    'mode proxy by home: left locked',
  ]);
});

test('the stricter rule of two networks counts', () => {
  assert.deepEqual(effects([cafe, office], allowing('office')), [
    'connection on by unknown: holds',
    'mode doh by office: left other-link',
    'protocol WireGuard by office: holds',
    'killSwitch on by unknown: holds',
  ]);
  assert.deepEqual(effects([home, office], allowing('home', 'office')), [
    'connection off by home: holds',
    'mode proxy by home: holds',
    'protocol WireGuard by office: holds',
  ]);
  assert.deepEqual(effects([home, office], allowing('home'))[0], 'connection off by office: asks');
  assert.deepEqual(effects([lab, wire], allowing('wire')), [
    'connection off by lab: holds',
    'routes lan by lab: left other-link',
  ]);
  assert.deepEqual(
    effects([wire, at(link('usb0', { kind: 'ethernet' }))], allowing('wire'))[0],
    'connection off by wire: left other-link',
  );
});

test('without a network, and without a rule, nothing is decided', () => {
  assert.deepEqual(decide([], rules, free), { links: [], effects: [] });
  assert.deepEqual(decide([cafe], [], free), { links: [{ device: 'wlan0', rule: null }], effects: [] });
});

test('a network stays the same while it roams, and is another one with other security, name or rule', () => {
  const key = (change: Partial<NetworkLink>) => placeKey([at({ ...home.link, ...change })], rules);
  assert.equal(key({ bssid: '02:00:00:00:00:09', connectivity: 'portal', metered: true, device: 'wlan1' }), key({}));
  for (const change of [{ security: 'open' as const }, { name: 'Other' }, { uuid: 'u2' }, { kind: 'other' as const }])
    assert.notEqual(key(change), key({}));
  assert.notEqual(placeKey([lab], rules), placeKey([at(lab.link)], rules));
});

test('the stricter of two rules counts in either order', () => {
  for (const places of [
    [cafe, wire],
    [wire, cafe],
  ])
    assert.equal(effects(places, allowing('wire'))[0], 'connection on by unknown: holds');
});

/** Modes by the traffic that they protect, the strongest first. */
const MODES = [['warp', 'warp+doh', 'warp+dot'], ['tunnel_only'], ['proxy'], ['doh', 'dot']] as const;

test('a mode lowers the protection where it protects less than the previous mode', () => {
  const all = MODES.flatMap((modes, rank) => modes.map(mode => ({ mode, rank })));
  for (const before of [...all, { mode: 'of a later version', rank: 0 }])
    for (const { mode, rank } of all) {
      const own = { name: 'x', match: { any: 'no-rule' as const }, effects: { mode } };
      const [effect] = decide([cafe], [own], { ...free, before: () => before.mode }).effects;
      assert.equal(effect?.state, rank > before.rank ? 'asks' : 'holds', `${before.mode} to ${mode}`);
    }
});

test('the list says which rules can lower the protection, how their network is proven, and the answer', () => {
  const said = (given: NetworkEffects) =>
    describe({ name: 'x', match: { ssid: 'x' }, effects: given }, new Map()).weakens;
  for (const given of [{ warp: 'pause' }, { routes: 'lan' }, { mode: 'tunnel_only' }, { mode: 'dot' }] as const)
    assert.equal(said(given), true, JSON.stringify(given));
  for (const given of [
    { warp: 'connect' },
    { mode: 'warp+doh' },
    { protocol: 'MASQUE' },
    { killSwitch: true },
  ] as const)
    assert.equal(said(given), false, JSON.stringify(given));
  const named = (name: string) => describe(rules.find(rule => rule.name === name)!, allowing('home').answers);
  assert.deepEqual([named('home').proof, named('home').allowed], ['copyable', true]);
  assert.deepEqual([named('lab').proof, named('lab').allowed], ['beacon', null]);
});
