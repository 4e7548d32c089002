// The page of networks shows where this machine is, and which rule does what.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NetworksState } from '../../../../../daemon/api/networks.ts';
import type { Snapshot } from '../../../../../daemon/api/schema.ts';
import { decide, describe } from '../../../../../daemon/networks/rules/decide.ts';
import { keyOf, parseRules } from '../../../../../daemon/networks/rules/rules.ts';
import { NO_KILL_SWITCH } from '../../../../../daemon/state/store.ts';
import { withRule } from '../../../../../daemon/view/client/network-document.ts';
import type { Form, MenuButton, Row } from '../../../../../daemon/view/form.ts';
import { type NetworksFacts, networksForm } from '../../../../../daemon/view/forms/tunnel/networks.ts';
import { actText, networkLine, ruleValues, trustableLink } from '../../../../../daemon/view/states/networks.ts';
import { notificationOf, presentNotification } from '../../../../../daemon/view/states/notification.ts';
import { rowsOf } from '../../../../support/gnome/view/forms.ts';
import { clientState, tr } from '../../../../support/gnome/view/translator.ts';
import { link } from '../../../../support/networks/mocks.ts';

const home = link('wlan0', { name: 'Home', security: 'psk' });
const RULE = '[[network]]\nname = "home"\nssid = "Home"\nwarp = "pause"\nkill_switch = true\n';
const UNKNOWN = '[[network]]\nname = "unknown-wifi"\nany = "unknown-wifi"\nwarp = "connect"\n';

const SITUATION = {
  managed: false,
  modeLocked: false,
  switchLocked: false,
  before: () => 'warp',
  answers: new Map<string, boolean>(),
};

function state(document: string, answer: boolean | null = null, more: Partial<NetworksState> = {}): NetworksState {
  const { rules } = parseRules(document);
  const answers = new Map(answer === null ? [] : rules.map(rule => [keyOf(rule), answer]));
  const links = more.links ?? [home];
  const situation = { ...SITUATION, answers };
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
/** The page with a daemon that follows these networks; null if it does not, undefined from an older one. */
function page(
  networks: NetworksState | null | undefined,
  parts: Parameters<typeof clientState>[0] = {},
  facts: Partial<NetworksFacts> = {},
): Form {
  const client = clientState(parts);
  const snapshot = { ...client.snapshot!, networks } as Snapshot;
  return networksForm({ ...client, snapshot }, { settable: true, network: null, now: 0, ...facts }, tr);
}
const row = (networks: NetworksState, id: string, parts: Parameters<typeof clientState>[0] = {}) =>
  rowsOf(page(networks, parts)).find(each => each.id === id);
const button = (buttons: MenuButton[] | undefined, label: string) => buttons?.find(each => each.label === label);
const labels = (buttons: MenuButton[]) => buttons.map(({ label }) => label);
const ask = (found: Row | MenuButton | undefined) =>
  found && 'command' in found && typeof found.command === 'object' ? found.command.ask : null;
const chosen = (networks: NetworksState, value: string) => {
  const found = row(networks, 'here');
  assert.ok(found?.kind === 'select');
  return { value: found.value, ...found.command(value) };
};

test('without a daemon that follows them, the page says what the desktop knows, or that the network is unknown', () => {
  for (const networks of [null, undefined]) {
    const { status, groups } = page(networks);
    assert.deepEqual([status!.title, ...labels(status!.buttons)], ['Network unknown', 'Network Settings']);
    assert.equal(status!.menu, undefined);
    assert.equal(groups[0]!.rows.length, 0);
    assert.equal(
      rowsOf(page(networks)).some(({ id }) => id === 'unknown-wifi'),
      false,
    );
  }
  const wifi = { network: { kind: 'wifi', ssid: 'Home' } } as const;
  const trusted = page(null, { options: { trustedSsids: ['Home'] } }, wifi);
  assert.deepEqual([trusted.status!.title, trusted.status!.sentence], ['Home', 'Trusted: WARP is off here']);
  const listed = rowsOf(trusted).find(({ id }) => id === 'current');
  assert.deepEqual(ask(listed), { kind: 'action', request: { action: 'removeTrustedSsid', value: 'Home' } });
  const unlisted = rowsOf(page(null, { options: { trustedSsids: null } }, wifi)).find(({ id }) => id === 'current');
  assert.deepEqual(ask(unlisted), { kind: 'action', request: { action: 'addTrustedSsid', value: 'Home' } });
});

test('words subjects and values of a newer daemon', () => {
  for (const subject of ['later', 'constructor'])
    assert.equal(actText({ subject: subject as 'mode', value: 'x' }, tr), subject);
  assert.deepEqual(ruleValues({ warp: 'later' as 'pause', killSwitch: true }), [
    { subject: 'connection', value: 'off' },
    { subject: 'killSwitch', value: 'on' },
  ]);
});

test('the status names the network, its device and what happens there', () => {
  const of = (networks: NetworksState) => {
    const { title, sentence, line } = page(networks).status!;
    return [title, sentence, line];
  };
  assert.deepEqual(of(state('')), ['Home', 'WARP follows your settings here.', 'Wi-Fi · wlan0']);
  assert.deepEqual(of(state(RULE, true)), [
    'Home',
    'WARP is paused, Kill switch is on, by the rule “home”.',
    'Wi-Fi · wlan0',
  ]);
  const own = { options: { trustedSsids: ['Home'] } };
  assert.equal(
    page(state(RULE, true), own).status!.sentence,
    'WARP’s own list of trusted Wi-Fi turns it off on “Home”. Kill switch is on, by the rule “home”.',
    'a pause is said once',
  );
  const wired = link('eth0', { kind: 'ethernet' });
  assert.deepEqual(of(state('', null, { links: [wired] })).slice(0, 1), ['Wired network']);
  assert.equal(of(state('', null, { links: [home, wired] }))[2], 'Wi-Fi “Home” on wlan0, Ethernet on eth0');
  assert.equal(of(state('', null, { links: [link('wlan0')] }))[2], 'wlan0 · Its name can’t be read');
  assert.deepEqual(of(state('', null, { links: [] })), [
    'No network',
    'Connect to a network to see what happens there.',
    undefined,
  ]);
  assert.deepEqual(labels(page(state('', null, { links: [] })).status!.buttons), ['Network Settings']);
  // no service reports what there is
  assert.equal(of(state('', null, { links: [], service: null }))[0], 'Network unknown');
});

test('a noticed login page has a row; without one, the sign-in is in the menu as long as WARP is not connected', () => {
  const find = (given: Partial<NetworksState>, parts: Parameters<typeof clientState>[0] = {}) => {
    const { status, groups } = page(state('', null, given), { status: { state: 'unable' }, ...parts });
    const portal = rowsOf({ groups }).find(({ id }) => id === 'portal');
    return {
      portal: portal?.kind === 'button' ? portal : undefined,
      byHand: button(status!.menu, 'Sign In to This Network…'),
    };
  };
  const noticed = find({ links: [{ ...home, connectivity: 'portal' }] });
  assert.deepEqual([noticed.portal?.title, noticed.portal?.style], ['This network has a login page', 'suggested']);
  assert.deepEqual([ask(noticed.portal!), noticed.byHand], [{ kind: 'client', task: 'portal' }, undefined]);
  const { portal, byHand } = find({});
  assert.equal(portal, undefined);
  const warning = 'Opens a browser just for the sign-in; WARP returns afterwards. Until then, no program uses WARP.';
  assert.equal(noticed.portal?.subtitle, warning);
  assert.deepEqual(byHand?.command.ask, { kind: 'client', task: 'portal-by-hand' });
  assert.deepEqual(byHand?.command.confirm, {
    heading: 'Sign in to this network',
    body: warning,
    accept: 'Open',
  });
  const killSwitch = { ...NO_KILL_SWITCH, enabled: true, active: true };
  const blocking = find({ links: [{ ...home, connectivity: 'portal' }] }, { killSwitch });
  assert.match(blocking.portal!.subtitle!, /Only this browser gets out/);
  assert.equal(find({}, { status: { state: 'connected' } }).byHand, undefined);
  assert.equal(find({ links: [] }).byHand, undefined);
  assert.ok(find({ links: [], service: null }).byHand);
});

test('a rule that asks has a button, whose question says that names can be copied', () => {
  const { status } = page(state(RULE));
  const allow = button(status!.buttons, 'Allow');
  assert.deepEqual(ask(allow), { kind: 'networks', change: { do: 'answer', rule: 'home', answer: 'always' } });
  assert.match(allow!.command.confirm!.body, /^Anyone can make a network/);
  assert.match(status!.sentence!, /^Not yet: WARP is paused.* Kill switch is on, by the rule “home”\.$/);
  assert.equal(button(page(state(RULE, true)).status!.buttons, 'Allow'), undefined);
  assert.match(row(state(RULE, false), 'effect-connection')!.title, /you refused it/);
});

test('a rule’s row says what happens there and whether it has permission; the warning stands once', () => {
  const texts = [null, true, false].map(answer => row(state(RULE, answer, { links: [] }), 'rule-home')!.subtitle);
  const does = 'Wi-Fi “Home”: WARP is paused, Kill switch is on';
  assert.deepEqual(texts, [`${does} · Asks first`, does, `${does} · You refused it`]);
  const warnings = rowsOf(page(state(RULE))).filter(({ title }) => /^Anyone can imitate a network/.test(title));
  assert.deepEqual(
    warnings.map(({ id }) => id),
    ['imitated'],
  );
});

test('a rule is removed by one click, and its undo puts it back where it was', () => {
  const other = RULE.replace('"home"', '"office"').replace('"Home"', '"Office"');
  const office = row(state(`${other}${RULE}`, true), 'rule-office');
  assert.ok(office?.kind === 'item');
  assert.deepEqual(
    [office.removeLabel, office.remove?.ask],
    ['Remove office', { kind: 'networks', change: { do: 'remove', name: 'office' } }],
  );
  const { undo } = office.remove!;
  assert.ok(undo?.kind === 'networks' && undo.change.do === 'add');
  assert.deepEqual([undo.change.before, undo.change.allow], ['home', true]);
  assert.equal(withRule(RULE, undo.change), `${other}\n${RULE}`);
});

test('the rule of the present network is with the choice for this network, and not in the list of the others', () => {
  const { groups } = page(state(RULE, true));
  const here = rowsOf({ groups }).find(({ id }) => id === 'here')!;
  assert.deepEqual(
    [here.kind, here.subtitle],
    ['select', 'Wi-Fi “Home”: Kill switch is on'],
    'the value says the pause',
  );
  assert.deepEqual(
    here.menu?.map(({ label, command }) => [label, command.ask]),
    [['Remove home', { kind: 'networks', change: { do: 'remove', name: 'home' } }]],
  );
  assert.equal(row(state(RULE, true), 'rule-home'), undefined);
  assert.ok(row(state(RULE, true, { links: [link('wlan0', { name: 'Office', security: 'psk' })] }), 'rule-home'));
});

test('a rule that acted can be reverted, and a failure is shown', () => {
  const acted = { rule: 'home', at: '2026-01-01T00:00:00.000Z' };
  const revert = button(page(state(RULE, true, { acted })).status!.buttons, 'Connect Anyway');
  assert.deepEqual(ask(revert), { kind: 'networks', change: { do: 'revert' } });
  const only = state(UNKNOWN, null, { acted: { ...acted, rule: 'unknown-wifi' } });
  assert.ok(button(page(only).status!.buttons, 'Revert'));
  const reverted = state(RULE, true, { acted, reverted: true, problem: 'home: failed' });
  const { buttons, sentence, tone } = page(reverted).status!;
  assert.deepEqual(
    [buttons, sentence, tone],
    [[], 'You reverted the rules. They act again on the next network.', 'error'],
  );
  assert.equal(row(reverted, 'problem')?.subtitle, 'home: failed');
});

test('a network without a rule can be paused, after the question', () => {
  const pause = button(page(state(UNKNOWN)).status!.buttons, 'Pause Here…');
  const change = {
    do: 'add',
    name: 'Home',
    lines: ['ssid = "Home"', 'security = "psk"', 'warp = "pause"'],
    allow: true,
  };
  assert.deepEqual(ask(pause), { kind: 'networks', change });
  assert.equal(pause!.command.confirm?.heading, 'Pause WARP on “Home”?');
  assert.equal(parseRules(`[[network]]\nname = "Home"\n${change.lines.join('\n')}`).invalid.length, 0);
  assert.deepEqual(chosen(state(UNKNOWN), 'pause').ask, { kind: 'networks', change });
  for (const other of [
    state(RULE),
    state('', null, { links: [link('eth0', { kind: 'ethernet' })] }),
    state('', null, { links: [link('wlan0', { name: '"' })] }),
  ])
    assert.equal(button(page(other).status!.buttons, 'Pause Here…'), undefined);
});

test('the choice for the present network adds, changes and removes its rule', () => {
  const none = chosen(state(''), 'connect');
  assert.deepEqual([none.value, none.confirm], ['automatic', undefined]);
  assert.deepEqual(none.undo, { kind: 'networks', change: { do: 'remove', name: 'Home' } });
  const on = chosen(state(RULE, true), 'connect');
  assert.equal(on.value, 'pause');
  const lines = ['ssid = "Home"', 'warp = "connect"', 'kill_switch = true'];
  assert.deepEqual(on.ask, {
    kind: 'networks',
    change: { do: 'add', name: 'home', lines, replaces: 'home', allow: true },
  });
  const automatic = chosen(state(RULE, true), 'automatic').ask;
  assert.ok(automatic.kind === 'networks' && automatic.change.do === 'add');
  assert.deepEqual(automatic.change.lines, ['ssid = "Home"', 'kill_switch = true']);
  const alone = chosen(state(RULE.replace('kill_switch = true\n', ''), true), 'automatic');
  assert.deepEqual(alone.ask, { kind: 'networks', change: { do: 'remove', name: 'home' } });
  // the name of the network belongs to a rule for another network
  assert.equal(row(state(RULE.replace('"home"', '"Home"').replace('ssid = "Home"', 'ssid = "x"')), 'here'), undefined);
});

test('a rule for a kind of network is not the rule of the present network', () => {
  const open = link('wlan0', { name: 'Café', security: 'open' });
  const cafes = '[[network]]\nname = "cafes"\nsecurity = "open"\nwarp = "connect"\n';
  const networks = state(cafes, null, { links: [open] });
  assert.equal(chosen(networks, 'pause').value, 'automatic');
  for (const ask of [
    chosen(networks, 'pause').ask,
    button(page(networks).status!.buttons, 'Pause Here…')!.command.ask,
  ]) {
    assert.ok(ask.kind === 'networks' && ask.change.do === 'add');
    assert.deepEqual([ask.change.name, ask.change.replaces, ask.change.before], ['Café', undefined, 'cafes']);
    // the new rule comes first, so it holds here
    const { rules } = parseRules(withRule(cafes, ask.change));
    assert.equal(decide([{ link: open, proven: new Set() }], rules, SITUATION).links[0]!.rule, 'Café');
  }
  assert.equal(chosen(networks, 'automatic').ask.kind, 'work');
});

test('the undo of the choice puts the rule back where it was, with the user’s refusal', () => {
  const plain = RULE.replace('kill_switch = true\n', '');
  const other = RULE.replace('"home"', '"office"').replace('"Home"', '"Office"');
  const { undo } = chosen(state(`${plain}${other}`, false), 'automatic');
  assert.ok(undo?.kind === 'networks' && undo.change.do === 'add');
  assert.deepEqual([undo.change.before, undo.change.allow], ['office', false]);
});

test('the question before a pause speaks of imitated names only for Wi-Fi', () => {
  const wired = link('eth0', { kind: 'ethernet', name: 'Dock', uuid: 'u-1' });
  const rule = '[[network]]\nname = "desk"\nuuid = "u-1"\nkill_switch = true\n';
  const body = (networks: NetworksState) => chosen(networks, 'pause').confirm!.body;
  assert.equal(body(state(rule, null, { links: [wired] })), 'Your traffic there would bypass WARP.');
  assert.match(body(state('')), /^Anyone can use that name/);
});

test('the name of each button of the status has its label, and no button is lost', () => {
  const acted = { rule: 'home', at: '2026-01-01T00:00:00.000Z' };
  const open = link('wlan0', { name: 'Café', security: 'open' });
  const cafes = '[[network]]\nname = "cafes"\nsecurity = "open"\nwarp = "pause"\n';
  const { buttons, menu } = page(state(cafes, null, { links: [open], acted: { ...acted, rule: 'cafes' } })).status!;
  const all = [...buttons, ...menu!];
  assert.deepEqual([buttons.length, button(menu, 'Pause Here…')?.label], [2, 'Pause Here…']);
  for (const { label, name = label } of all) assert.ok(name.toLowerCase().includes(label.toLowerCase()), name);
});

test('a rule named like a row keeps its own row', () => {
  const elsewhere = state(RULE.replace('"home"', '"unknown"'), null, { links: [] });
  const ids = rowsOf(page(elsewhere)).map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(ids.includes('rule-unknown') && ids.includes('unknown-wifi'));
});

test('the switch for unknown Wi-Fi adds and removes its rule, and leaves other rules for it alone', () => {
  const off = row(state(''), 'unknown-wifi');
  assert.ok(off?.kind === 'switch');
  assert.deepEqual([off.on, off.sensitive], [false, true]);
  const on = row(state(UNKNOWN), 'unknown-wifi');
  assert.ok(on?.kind === 'switch');
  assert.deepEqual([on.on, ask(on)], [true, { kind: 'networks', change: { do: 'remove', name: 'unknown-wifi' } }]);
  // the switch is its row
  assert.equal(row(state(UNKNOWN), 'rule-unknown-wifi'), undefined);
  const own = row(state(UNKNOWN.replace('name = "unknown-wifi"', 'name = "cafes"')), 'unknown-wifi');
  assert.equal(own?.sensitive, false);
});

test('the networks that WARP itself trusts are in the same list, and are added, removed and forgotten', () => {
  const parts = { options: { trustedSsids: ['Office'] } };
  const { groups } = page(state(RULE, true, { links: [] }), parts);
  const list = groups.find(({ id }) => id === 'rules')!;
  assert.deepEqual(
    list.rows.map(({ id }) => id),
    ['rule-home', 'ssid-Office', 'ssid-add', 'unknown-wifi', 'wifi', 'ethernet', 'imitated'],
  );
  const [, office] = list.rows;
  assert.ok(office?.kind === 'item');
  const removal = office.remove!;
  assert.deepEqual(removal.ask, { kind: 'action', request: { action: 'removeTrustedSsid', value: 'Office' } });
  assert.deepEqual(removal.undo, { kind: 'action', request: { action: 'addTrustedSsid', value: 'Office' } });
  const forget = button(list.menu, 'Forget All Trusted Wi-Fi…')!.command;
  assert.equal(forget.confirm?.destructive, true);
  const add = list.rows.find(({ id }) => id === 'ssid-add');
  assert.ok(add?.kind === 'entry', 'a name is trusted by one press');
  assert.deepEqual([add.command('Café').ask, add.command('Café').undo], [additionOf('Café'), removalOf('Café')]);
  assert.equal(add.check('Office'), 'It is already on the list');
  // without a list from WARP, a name can be removed by typing it
  const unlisted = page(null, { options: { trustedSsids: null } }).groups.find(({ id }) => id === 'rules')!;
  const typed = button(unlisted.menu, 'Remove a Trusted Wi-Fi…')!.command;
  assert.ok(typed.ask.kind === 'answer');
  assert.deepEqual(typed.ask.command('Café').ask, removalOf('Café'));
});

test('nothing is undone in a list that WARP does not report, because it may have had the entry before', () => {
  for (const [trustedSsids, isKnown] of [
    [['Office'], true],
    [null, false],
  ] as const) {
    const options = { trustedSsids: trustedSsids && [...trustedSsids] };
    const { status, groups } = page(state(''), { options });
    const add = rowsOf({ groups }).find(({ id }) => id === 'ssid-add');
    assert.ok(add?.kind === 'entry');
    const here = button(status!.menu, 'Add “Home” to WARP’s Own List')!.command;
    for (const { undo } of [add.command('Home'), here])
      assert.deepEqual(undo, isKnown ? removalOf('Home') : undefined, String(trustedSsids));
  }
  const options = { trustedSsids: null };
  const wifi = { network: { kind: 'wifi', ssid: 'Home' } } as const;
  const current = rowsOf(page(null, { options }, wifi)).find(({ id }) => id === 'current');
  assert.ok(current?.kind === 'button');
  assert.equal(current.command.undo, undefined);
  const { menu } = page(state(''), { options }).groups.find(({ id }) => id === 'rules')!;
  const { ask: typed } = button(menu, 'Remove a Trusted Wi-Fi…')!.command;
  assert.ok(typed.kind === 'answer');
  assert.equal(typed.command('Home').undo, undefined);
});
const additionOf = (value: string) => ({ kind: 'action', request: { action: 'addTrustedSsid', value } });
const removalOf = (value: string) => ({ kind: 'action', request: { action: 'removeTrustedSsid', value } });

test('a network that WARP itself trusts is no longer trusted by one press, and is not in the list of the others', () => {
  const { status, groups } = page(state(''), { options: { trustedSsids: ['Home', 'Office'] } });
  const { buttons } = status!;
  assert.deepEqual(
    rowsOf({ groups }).flatMap(({ id }) => (/^ssid-(?!add)/.test(id) ? [id] : [])),
    ['ssid-Office'],
  );
  assert.deepEqual(
    buttons.map(each => [each.label, ask(each)]),
    [['Stop Trusting', removalOf('Home')]],
  );
});

test('a long list is searched by name, network and effect', () => {
  const rules = Array.from({ length: 12 }, (_, i) => RULE.replaceAll('ome"', `ome ${i}"`)).join('');
  const found = (text: string) => {
    const search = { label: '', text, type() {} };
    const { groups } = page(state(rules), { options: { trustedSsids: ['Café'] } }, { search });
    return groups.find(({ id }) => id === 'rules')!.rows.map(({ id }) => id);
  };
  assert.deepEqual(found('home 11'), ['rule-home 11', 'ssid-add', 'imitated']);
  assert.deepEqual(found('cafe'), ['ssid-Café', 'ssid-add', 'imitated']);
  assert.deepEqual(found('nowhere'), ['none', 'ssid-add', 'imitated']);
});

test('the tray names the network and its rule', () => {
  assert.equal(networkLine(state(RULE), tr), 'Wi-Fi “Home”, rule “home”');
  assert.equal(networkLine(state(''), tr), 'Wi-Fi “Home”');
  assert.equal(networkLine(state('', null, { links: [] }), tr), null);
  assert.deepEqual([state(''), state(RULE)].map(trustableLink), [home, null]);
});

test('WARP’s own settings are shown where they turn it off here, also against a rule', () => {
  const own = (options: Partial<Snapshot['options']>, document = '') =>
    page(state(document), { options }).status!.sentence;
  assert.equal(own({ trustedSsids: ['Other'], ethernetTrusted: true }), 'WARP follows your settings here.');
  assert.equal(own({ trustedSsids: ['Home'] }), 'WARP’s own list of trusted Wi-Fi turns it off on “Home”.');
  assert.match(
    own({ wifiTrusted: true }, UNKNOWN)!,
    /^WARP’s own settings turn it off on all Wi-Fi networks\. The rule “unknown-wifi”, which connects WARP, can’t change that\./,
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
  assert.deepEqual(page?.action, { label: 'Sign In…', command: { ask: { kind: 'page', page: 'networks' } } });
  assert.equal(notificationOf(at(login, 'connecting'), at(login, 'connecting'), null, tr), null);
  // noticed while WARP had not lost its connection yet
  assert.deepEqual(notificationOf(at(login), at(login, 'connecting'), null, tr), page);
});
