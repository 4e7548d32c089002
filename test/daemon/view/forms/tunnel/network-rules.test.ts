// The page of networks shows where this machine is, and which rule does what.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NetworksState } from '../../../../../daemon/api/networks.ts';
import type { Snapshot } from '../../../../../daemon/api/schema.ts';
import { decide, describe } from '../../../../../daemon/networks/rules/decide.ts';
import { keyOf, parseRules } from '../../../../../daemon/networks/rules/rules.ts';
import { NO_KILL_SWITCH } from '../../../../../daemon/state/store.ts';
import type { Row } from '../../../../../daemon/view/form.ts';
import { networkGroups } from '../../../../../daemon/view/forms/tunnel/network-rules.ts';
import { actText, networkLine, ruleValues, trustableLink } from '../../../../../daemon/view/states/networks.ts';
import { notificationOf, presentNotification } from '../../../../../daemon/view/states/notification.ts';
import { clientState, tr } from '../../../../support/gnome/view/translator.ts';
import { link } from '../../../../support/networks/mocks.ts';

const home = link('wlan0', { name: 'Home', security: 'psk' });
const RULE = '[[network]]\nname = "home"\nssid = "Home"\nwarp = "pause"\nkill_switch = true\n';
const UNKNOWN = '[[network]]\nname = "unknown-wifi"\nany = "unknown-wifi"\nwarp = "connect"\n';

function state(document: string, answer: boolean | null = null, more: Partial<NetworksState> = {}): NetworksState {
  const { rules } = parseRules(document);
  const answers = new Map(answer === null ? [] : rules.map(rule => [keyOf(rule), answer]));
  const links = more.links ?? [home];
  const situation = { managed: false, modeLocked: false, switchLocked: false, before: () => 'warp', answers };
  return {
    service: 'NetworkManager',
    links,
    rules: rules.map(rule => describe(rule, answers)),
    decision: decide(
      links.map(each => ({ link: each, proven: new Set<string>() })),
      rules,
      situation,
    ),
    acted: null,
    reverted: false,
    problem: null,
    ...more,
  };
}
const rows = (networks: NetworksState) => networkGroups(networks, tr).flatMap(group => group.rows);
const row = (networks: NetworksState, id: string) => rows(networks).find(each => each.id === id);
const ask = (found: Row | undefined) =>
  found?.kind === 'button' || found?.kind === 'switch' ? found.command.ask : null;

test('without a daemon that follows them, the page has nothing of networks', () => {
  assert.deepEqual([networkGroups(null, tr), networkGroups(undefined, tr)], [[], []]);
  assert.equal(row(state('', null, { links: [] }), 'no-link')?.title, 'No network');
  const present = { kind: 'fact', id: 'link-wlan0', title: 'Wi-Fi “Home”', value: 'wlan0' };
  assert.deepEqual(row(state(''), 'link-wlan0'), present);
});

test('words subjects and values of a newer daemon', () => {
  for (const subject of ['later', 'constructor'])
    assert.equal(actText({ subject: subject as 'mode', value: 'x' }, tr), subject);
  assert.deepEqual(ruleValues({ warp: 'later' as 'pause', killSwitch: true }), [
    { subject: 'connection', value: 'off' },
    { subject: 'killSwitch', value: 'on' },
  ]);
});

test('a login page has its button, also where none was noticed, and says what happens', () => {
  const button = (given: Partial<NetworksState>, parts: Parameters<typeof clientState>[0] = {}) => {
    const { snapshot } = clientState({ status: { state: 'unable' }, ...parts });
    const groups = networkGroups(state('', null, given), tr, { snapshot, editor: null });
    const found = groups.flatMap(group => group.rows).find(({ id }) => id === 'portal');
    return found?.kind === 'button' ? found : null;
  };
  const noticed = button({ links: [{ ...home, connectivity: 'portal' }] });
  assert.deepEqual([noticed?.title, noticed?.style], ['This network has a login page', 'suggested']);
  assert.deepEqual(noticed?.command.ask, { kind: 'client', task: 'portal' });
  const byHand = button({});
  assert.deepEqual([byHand?.title, byHand?.style, byHand?.sensitive], ['Sign in to this network', undefined, true]);
  assert.deepEqual(byHand?.command.ask, { kind: 'client', task: 'portal-by-hand' });
  assert.match(byHand!.subtitle!, /^Opens a browser of its own\. WARP is paused for all programs/);
  const blocking = button({}, { killSwitch: { ...NO_KILL_SWITCH, enabled: true, active: true } });
  assert.match(blocking!.subtitle!, /^Opens a browser, the only program that gets out/);
  assert.equal(button({}, { status: { state: 'connected' } })?.sensitive, false);
  assert.equal(button({ links: [] }), null);
  // no service reports what there is
  assert.ok(button({ links: [], service: null }));
});

test('a rule that asks has a button, whose question says that names can be copied', () => {
  const button = row(state(RULE), 'effect-connection');
  assert.ok(button?.kind === 'button');
  assert.deepEqual(ask(button), { kind: 'networks', change: { do: 'answer', rule: 'home', answer: 'always' } });
  assert.match(button.command.confirm!.body, /^Anyone can make a network/);
  assert.equal(row(state(RULE), 'effect-killSwitch')?.title, 'Kill switch is on, by the rule “home”.');
  assert.equal(row(state(RULE, true), 'effect-connection')?.kind, 'note');
  assert.match(row(state(RULE, false), 'effect-connection')!.title, /you refused it/);
  assert.match(
    row(state(RULE), 'rule-home')!.subtitle!,
    /^Wi-Fi “Home”: WARP is paused, Kill switch is on\nWould lower protection/,
  );
});

test('a rule that acted can be reverted, and a failure is shown', () => {
  const acted = { rule: 'home', at: '2026-01-01T00:00:00.000Z' };
  assert.deepEqual(ask(row(state(RULE, true, { acted }), 'revert')), { kind: 'networks', change: { do: 'revert' } });
  const reverted = state(RULE, true, { acted, reverted: true, problem: 'home: failed' });
  assert.deepEqual([row(reverted, 'revert'), row(reverted, 'reverted')?.kind], [undefined, 'note']);
  assert.equal(row(reverted, 'problem')?.subtitle, 'home: failed');
});

test('a network without a rule can be trusted, after the question', () => {
  const button = row(state(UNKNOWN), 'trust');
  assert.ok(button?.kind === 'button');
  const change = {
    do: 'add',
    name: 'Home',
    lines: ['ssid = "Home"', 'security = "psk"', 'warp = "pause"'],
    allow: true,
  };
  assert.deepEqual(ask(button), { kind: 'networks', change });
  assert.equal(button.command.confirm?.heading, 'Pause WARP on “Home”?');
  assert.equal(parseRules(`[[network]]\nname = "Home"\n${change.lines.join('\n')}`).invalid.length, 0);
  for (const other of [
    state(RULE),
    state('', null, { links: [link('eth0', { kind: 'ethernet' })] }),
    state('', null, { links: [link('wlan0', { name: '"' })] }),
  ])
    assert.equal(row(other, 'trust'), undefined);
});

test('the switch for unknown Wi-Fi adds and removes its rule, and leaves other rules for it alone', () => {
  const off = row(state(''), 'rule-unknown');
  assert.ok(off?.kind === 'switch');
  assert.deepEqual([off.on, off.sensitive], [false, true]);
  const on = row(state(UNKNOWN), 'rule-unknown');
  assert.ok(on?.kind === 'switch');
  assert.deepEqual([on.on, ask(on)], [true, { kind: 'networks', change: { do: 'remove', name: 'unknown-wifi' } }]);
  const own = row(state(UNKNOWN.replace('name = "unknown-wifi"', 'name = "cafes"')), 'rule-unknown');
  assert.equal(own?.sensitive, false);
});

test('the tray names the network and its rule', () => {
  assert.equal(networkLine(state(RULE), tr), 'Wi-Fi “Home”, rule “home”');
  assert.equal(networkLine(state(''), tr), 'Wi-Fi “Home”');
  assert.equal(networkLine(state('', null, { links: [] }), tr), null);
  assert.deepEqual([state(''), state(RULE)].map(trustableLink), [home, null]);
});

test('WARP’s own settings are shown where they turn it off here, also against a rule', () => {
  const own = (given: Partial<Snapshot['options']>, document = '') => {
    const { snapshot } = clientState({ options: given });
    const found = networkGroups(state(document), tr, { snapshot, editor: null }).flatMap(group => group.rows);
    return found.find(({ id }) => id === 'own-wlan0')?.title;
  };
  assert.equal(own({ trustedSsids: ['Other'], ethernetTrusted: true }), undefined);
  assert.equal(own({ trustedSsids: ['Home'] }), 'WARP’s own list of trusted Wi-Fi turns it off on “Home”.');
  assert.equal(
    own({ wifiTrusted: true }, UNKNOWN),
    'WARP’s own settings turn it off on all Wi-Fi networks. The rule “unknown-wifi”, which connects WARP, can’t change that.',
  );
});

test('a notification asks for permission once, and says what a rule changed', () => {
  const at = (networks: NetworksState | null) => {
    const client = clientState({ status: { state: 'connected' } });
    return { ...client, snapshot: { ...client.snapshot!, networks } };
  };
  const news = notificationOf(at(null), at(state(RULE)), null, tr);
  assert.deepEqual([news?.code, news?.summary], ['network', 'Let the rule “home” lower protection?']);
  assert.deepEqual(
    [news?.action, news?.other].map(button => button?.command.ask),
    ['once', 'always'].map(answer => ({ kind: 'networks', change: { do: 'answer', rule: 'home', answer } })),
  );
  assert.equal(notificationOf(at(state(RULE)), at(state(RULE)), null, tr), null);
  const acted = { rule: 'home', at: '2026-01-01T00:00:00.000Z' };
  const did = notificationOf(at(state(RULE)), at(state(RULE, true, { acted })), null, tr);
  assert.equal(did?.body, 'WARP is paused, by the rule “home”.\nKill switch is on, by the rule “home”.');
  assert.deepEqual(did?.action?.command.ask, { kind: 'networks', change: { do: 'revert' } });
  assert.equal(presentNotification('network', at(state(RULE, true, { acted, reverted: true })), tr), null);
  // also where a rule asks, and on a login page
  const changed = at(state(RULE, null, { acted, links: [{ ...home, connectivity: 'portal' }] }));
  const times = { setAt: acted.at, confirmBy: '2026-01-01T00:02:00.000Z', endsAt: null, endingSoon: false };
  const change = { subject: 'killSwitch' as const, value: 'on', previous: 'off', ...times, problem: null };
  const trial = presentNotification(
    'network',
    { ...changed, snapshot: { ...changed.snapshot, changes: [change] } },
    tr,
  );
  assert.deepEqual(
    [trial?.action, trial?.other].map(button => [button?.label, button?.command.ask]),
    [
      ['Keep', { kind: 'change', what: 'confirm', subjects: ['killSwitch'] }],
      ['Revert', { kind: 'networks', change: { do: 'revert' } }],
    ],
  );
});

test('a notification names an unknown Wi-Fi once, and a login page with its button', () => {
  const at = (networks: NetworksState | null, state: Snapshot['status']['state'] = 'connected') => {
    const client = clientState({ status: { state } });
    return { ...client, snapshot: { ...client.snapshot!, networks } };
  };
  const away = state(UNKNOWN, null, { links: [] });
  const cafe = state(RULE, null, { links: [link('wlan0', { name: 'Café' })] });
  const news = notificationOf(at(away), at(cafe), null, tr);
  assert.deepEqual([news?.summary, news?.body], ['Unknown Wi-Fi “Café”', 'No rule is for this network.']);
  assert.deepEqual(news?.action?.command.ask, { kind: 'page', page: 'networks' });
  assert.equal(notificationOf(at(cafe), at(cafe), null, tr), null);
  // the page that made the daemon follow them shows it
  assert.equal(notificationOf(at(null), at(cafe), null, tr), null);
  assert.match(notificationOf(at(away), at(state(UNKNOWN)), null, tr)!.body, /^WARP is on, by the rule/);
  assert.equal(notificationOf(at(away), at(state(RULE, true)), null, tr), null);
  const login = state(RULE, true, { links: [{ ...home, connectivity: 'portal' }] });
  assert.notEqual(notificationOf(at(away), at(login), null, tr)?.summary, 'This network has a login page');
  const page = notificationOf(at(away, 'connecting'), at(login, 'connecting'), null, tr);
  assert.deepEqual([page?.summary, page?.body], ['This network has a login page', 'Wi-Fi “Home”']);
  assert.deepEqual(page?.action, { label: 'Sign In…', command: { ask: { kind: 'client', task: 'portal' } } });
  assert.equal(notificationOf(at(login, 'connecting'), at(login, 'connecting'), null, tr), null);
  // noticed while WARP had not lost its connection yet
  assert.deepEqual(notificationOf(at(login), at(login, 'connecting'), null, tr), page);
});
