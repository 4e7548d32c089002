// Rules hold when the network changes, leave alone what the user does by hand, and give back what they lowered.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { memoryTunnel } from '../../../support/daemon/memory-tunnel.ts';
import { link } from '../../../support/networks/mocks.ts';
import { cafe, home, other, RULES, stage } from '../../../support/networks/stage.ts';
import { until } from '../../../support/until.ts';

test('a rule that lowers the protection asks, holds once it is allowed, and gives everything back elsewhere', async t => {
  const { go, networks, state, words, ruled } = stage(t);
  assert.deepEqual(await go(home), []);
  const answer = await networks().set({ document: RULES });
  assert.deepEqual([answer.ok, answer.document, words()], [true, RULES, []]);
  assert.deepEqual(
    answer.decision.effects.map(effect => effect.state),
    ['asks', 'asks'],
  );
  assert.equal((await networks().answer({ rule: 'home', answer: 'always' })).rules[0]?.allowed, true);
  assert.deepEqual(words(), ['disconnect', 'setMode doh']);
  assert.equal(state.snapshot().networks?.acted?.rule, 'home');
  ruled.length = 0;
  assert.deepEqual(await go(other), ['connect', 'setMode warp']);
  assert.deepEqual(ruled, ['home connection ended', 'home mode ended']);
  assert.deepEqual(await go(home), ['disconnect', 'setMode doh'], 'it asks no second time');
});

test('"once" is until the network changes, and a refusal lasts', async t => {
  const { go, networks, words } = stage(t);
  await go(home);
  await networks().set({ document: RULES });
  await networks().answer({ rule: 'home', answer: 'once' });
  assert.deepEqual(words(), ['disconnect', 'setMode doh']);
  await go(other);
  words();
  assert.deepEqual(await go(home), []);
  const refused = await networks().answer({ rule: 'home', answer: 'never' });
  assert.deepEqual([words(), refused.decision.effects[0]?.reason], [[], 'refused']);
  await assert.rejects(networks().answer({ rule: 'nowhere', answer: 'always' }), { code: 'not-found' });
});

test('"once" ends where a network of the same name has another gateway, and after a time without network', async t => {
  const { go, networks, words } = stage(t);
  const [own, copied] = ['02:00:00:00:00:01', '02:00:00:00:00:02'];
  const at = (gatewayHardware: string | null) => ({ ...home, gatewayHardware });
  await go(at(null));
  await networks().set({ document: RULES });
  for (const [before, after] of [
    [[at(null), at(own)], [at(copied)]],
    [[at(own)], [at(null)]],
    [[at(own)], [[], at(own)]],
  ] as const) {
    for (const link of before) await go(link);
    await networks().answer({ rule: 'home', answer: 'once' });
    assert.deepEqual(words(), ['disconnect', 'setMode doh']);
    assert.deepEqual(await go(before.at(-1)!), []);
    const done = [];
    for (const link of after) done.push(...(await go(...[link].flat())));
    assert.deepEqual(done, ['connect', 'setMode warp']);
    const { effects } = (await networks().read()).decision;
    assert.deepEqual(
      effects.map(({ state }) => state),
      ['asks', 'asks'],
    );
  }
});

test('a rule that raises the protection asks nothing, and what it raised stays', async t => {
  const { go, networks, killSwitches, ruled, words } = stage(t, { connected: false });
  await networks().set({ document: RULES });
  assert.deepEqual(await go(cafe), ['connect', 'setProtocol WireGuard']);
  assert.deepEqual(ruled, ['cafes connection', 'cafes protocol', 'cafes killSwitch']);
  assert.deepEqual(killSwitches, [{ enabled: true, allowLan: false, confirmWithin: 120 }]);
  assert.deepEqual(await go(other), ['setProtocol MASQUE']);
  assert.deepEqual([words(), killSwitches.length], [[], 1]);
});

test('a change by hand holds until the network changes, also over a restart and a time without network', async t => {
  const { go, networks, changes, memory, words, restart } = stage(t, { connected: false });
  await networks().set({ document: RULES });
  await go(cafe);
  await changes.runWithLimit({ action: 'disconnect' });
  words();
  assert.deepEqual(await go(cafe), []);
  assert.deepEqual(await go(), []);
  restart();
  assert.deepEqual(await go({ ...cafe, bssid: '02:00:00:00:00:09' }), []);
  assert.equal(memory.values.connected, false);
  assert.deepEqual(await go(link('wlan0', { name: 'Hotel' })), ['connect']);
});

test('a value that the user changed after a rule is not given back', async t => {
  const { go, networks, changes, memory, words } = stage(t);
  await go(home);
  await networks().set({ document: RULES });
  await networks().answer({ rule: 'home', answer: 'always' });
  await changes.runWithLimit({ action: 'setMode', value: 'proxy' });
  words();
  assert.deepEqual(await go(other), ['connect']);
  assert.equal(memory.values.mode, 'proxy');
});

test('the protection that a rule lowered returns after a restart, and when the rules are removed', async t => {
  const { go, networks, state, words, restart, move } = stage(t);
  await go(home);
  await networks().set({ document: RULES });
  await networks().answer({ rule: 'home', answer: 'always' });
  words();
  restart();
  await move(other);
  await until(() => !state.snapshot().networks?.decision.effects.length);
  assert.deepEqual(words(), ['connect', 'setMode warp']);
  assert.deepEqual(await go(home), ['disconnect', 'setMode doh']);
  await networks().set({ document: '' });
  assert.deepEqual(words(), ['connect', 'setMode warp']);
});

test('a revert gives everything back, and no rule does anything until the network changes', async t => {
  const { go, networks, words, restart } = stage(t);
  await go(home);
  await networks().set({ document: RULES });
  await networks().answer({ rule: 'home', answer: 'always' });
  words();
  assert.equal((await networks().revert()).reverted, true);
  assert.deepEqual(words(), ['connect', 'setMode warp']);
  restart();
  assert.deepEqual(await go(home), []);
  assert.deepEqual(await go(cafe), ['setProtocol WireGuard']);
  assert.deepEqual((await go(home)).sort(), ['disconnect', 'setMode doh', 'setProtocol MASQUE']);
});

test('a change by rules after an edit reverts unless it is confirmed', async t => {
  const { go, networks, changes, state, words, memory } = stage(t, { connected: false });
  await go(cafe);
  await networks().set({ document: RULES, confirmWithin: 60 });
  assert.deepEqual(words(), ['connect', 'setProtocol WireGuard']);
  assert.deepEqual(
    state.snapshot().changes.map(({ subject, confirmBy }) => [subject, confirmBy !== null]),
    [
      ['connection', true],
      ['protocol', true],
      ['killSwitch', true],
    ],
  );
  await changes.revert({});
  words();
  assert.deepEqual([memory.values.connected, memory.values.protocol], [false, 'MASQUE']);
  assert.deepEqual(await go(cafe), [], 'the rule does not insist');
});

const CAFES = '[[network]]\nname = "cafes"\nany = "unknown-wifi"\nkill_switch = true\nprotocol = "WireGuard"\n';

test('a kill switch that a rule turned on is reverted with the rest, and stays on elsewhere without that', async t => {
  for (const [confirms, reverted] of [
    [false, { requests: 1, decided: ['revert'] }],
    [true, { requests: 2, decided: ['confirm'] }],
  ] as const) {
    const { go, networks, changes, killSwitches, decided, state } = stage(t);
    await networks().set({ document: CAFES });
    await go(cafe);
    assert.equal(state.snapshot().killSwitch.enabled, true);
    if (confirms) await changes.confirm({});
    await networks().revert();
    assert.equal(state.snapshot().killSwitch.enabled, false);
    assert.deepEqual({ requests: killSwitches.length, decided }, reverted);
  }
  const { go, networks, changes, state } = stage(t);
  await networks().set({ document: CAFES });
  await go(cafe);
  await changes.confirm({});
  await go(other);
  assert.equal(state.snapshot().killSwitch.enabled, true);
});

test('a kill switch does not wait for WARP, and the rest does', async t => {
  const { go, networks, killSwitches, state, words } = stage(t, { connected: false });
  const { status } = state.snapshot();
  state.set('status', { ...status, blocked: 'not-registered' });
  await networks().set({ document: CAFES });
  assert.deepEqual(await go(cafe), []);
  assert.deepEqual(killSwitches, [{ enabled: true, allowLan: false, confirmWithin: 120 }]);
  state.set('status', status);
  await until(() => words().join() === 'setProtocol WireGuard');
  assert.equal(killSwitches.length, 1);
});

test('an effect that can cut off reverts where the network changed, until it was kept once', async t => {
  const { go, networks, changes, killSwitches, state, memory, words, restart } = stage(t);
  const unconfirmed = () => state.snapshot().changes.map(({ subject, confirmBy }) => [subject, confirmBy !== null]);
  await networks().set({ document: CAFES });
  await go(cafe);
  const both = [
    ['killSwitch', true],
    ['protocol', true],
  ];
  assert.deepEqual(unconfirmed().sort(), both);
  await changes.revert({});
  assert.deepEqual([state.snapshot().killSwitch.enabled, memory.values.protocol], [false, 'MASQUE']);
  words();
  assert.deepEqual(await go(cafe), [], 'the rules do not insist');

  await go(other);
  await go(cafe);
  assert.deepEqual(unconfirmed().sort(), both, 'it was not kept');
  await changes.confirm({});
  await go(other);
  await changes.runWithLimit({ action: 'setProtocol', value: 'MASQUE' });
  state.set('killSwitch', { ...state.snapshot().killSwitch, enabled: false });
  restart();
  await go(cafe);
  assert.deepEqual([unconfirmed(), memory.values.protocol], [[], 'WireGuard']);
  assert.deepEqual(killSwitches.at(-1), { enabled: true, allowLan: false });

  await go(other);
  state.set('killSwitch', { ...state.snapshot().killSwitch, enabled: false });
  await networks().set({ document: CAFES.replace('any = "unknown-wifi"', 'ssid = "Café"') });
  await go(cafe);
  assert.deepEqual(unconfirmed().sort(), both, 'another rule of the same name was not kept');
});

test('a preset of routes bypasses WARP on a network that its beacon proves, and nowhere else', async t => {
  const { go, networks, proven, presets, memory } = stage(t);
  presets.push({ id: 'lan', entries: [{ value: '192.0.2.0/24', source: 'wlan0' }] });
  const beacon = `{address = "192.0.2.1:8443", sha256 = "${'ab'.repeat(32)}"}`;
  await go(home);
  const document = `[[network]]\nname = "lab"\nssid = "Home"\nbeacon = ${beacon}\nwarp = "pause"\nroutes = "lan"\n`;
  await networks().set({ document });
  assert.equal(memory.values.connected, true);
  proven.add('192.0.2.1:8443');
  assert.deepEqual((await networks().read()).decision.effects, [], 'a mere look asks no beacon again');
  const { decision } = await networks().set({ document });
  assert.deepEqual(
    decision.effects.map(({ subject, state }) => [subject, state]),
    [
      ['connection', 'holds'],
      ['routes', 'holds'],
    ],
  );
  assert.equal(memory.values.connected, false);
  const before = memoryTunnel().values.split;
  assert.equal(memory.values.split.ips.length, before.ips.length + 1);
  proven.clear();
  await networks().set({ document });
  assert.deepEqual([memory.values.connected, memory.values.split], [true, before]);
});

test('routes of one network do not stay on another network that has routes as well', async t => {
  const { go, networks, presets, memory } = stage(t);
  const ips = () => memory.values.split.ips.map(({ value }) => value).slice(2);
  const rule = (ssid: string, preset: string) =>
    `[[network]]\nname = "${ssid}"\nssid = "${ssid}"\nroutes = "${preset}"\n`;
  const lan = (value: string) => presets.splice(0, 1, { id: 'lan', entries: [{ value, source: 'wlan0' }] });
  lan('192.168.1.0/24');
  presets.push({ id: 'docker', entries: [{ value: '192.168.7.0/24', source: 'docker0' }] });
  await networks().set({ document: rule('Home', 'lan') + rule('Café', 'lan') + rule('Lab', 'docker') });
  for (const name of ['Home', 'Café', 'Lab']) await networks().answer({ rule: name, answer: 'always' });
  await go(home);
  assert.deepEqual(ips(), ['192.168.1.0/24']);
  lan('192.168.2.0/24');
  await go(cafe);
  assert.deepEqual(ips(), ['192.168.2.0/24']);
  await go({ ...home, name: 'Lab' });
  assert.deepEqual(ips(), ['192.168.7.0/24']);
  await go(other);
  assert.deepEqual(ips(), []);
});

test('a failure is reported, and tried again with the next change of the network', async t => {
  const { go, networks, memory, said } = stage(t, { connected: false });
  await networks().set({ document: RULES });
  memory.before = () => {
    throw new Error('warp-cli failed');
  };
  await go(cafe);
  assert.equal((await networks().read()).problem?.endsWith('warp-cli failed'), true);
  assert.ok(said.some(line => line.includes('warp-cli failed')));
  memory.before = () => {};
  await go(cafe);
  assert.deepEqual([memory.values.connected, (await networks().read()).problem], [true, null]);
});

test('a damaged memory is reported with the field, and the answers are asked again', async t => {
  const { go, networks, paths, said, restart } = stage(t);
  await go(home);
  await networks().set({ document: RULES });
  await networks().answer({ rule: 'home', answer: 'always' });
  const text = readFileSync(paths.networksState, 'utf8');
  for (const [good, bad, field] of [
    ['"set":"doh"', '"set":"no mode"', 'set'],
    ['"set":"doh"', '"set":null', 'set'],
    ['"before":"warp"', '"before":"no mode"', 'before'],
  ] as const) {
    writeFileSync(paths.networksState, text.replace(good, bad));
    said.length = 0;
    restart();
    assert.match(said.join().replace(/\s/g, ''), new RegExp(`"path":\\["made",\\d,"change","${field}"\\]`));
    assert.equal((await networks().read()).rules[0]?.allowed, null);
  }
});

test('a value that cannot be read is not compared: a rule waits, and the protection that it lowered returns later', async t => {
  const { go, networks, memory, words } = stage(t);
  await go(home);
  memory.readable = false;
  await networks().set({ document: RULES });
  await networks().answer({ rule: 'home', answer: 'always' });
  memory.readable = true;
  words();
  assert.deepEqual(await go(home), ['setMode doh'], 'the mode was not taken for what it had been');
  memory.readable = false;
  await go(other);
  memory.readable = true;
  await go(other);
  assert.deepEqual([memory.values.connected, memory.values.mode], [true, 'warp']);
});

test('protection that a rule lowered returns also where the change took effect and failed, and after a restart in between', async t => {
  const { go, networks, memory, words, restart } = stage(t);
  await go(home);
  await networks().set({ document: RULES });
  memory.before = ({ action }) => {
    if (action !== 'disconnect') return;
    memory.values.connected = false;
    throw new Error('no answer');
  };
  await networks().answer({ rule: 'home', answer: 'always' });
  assert.equal(memory.values.connected, false);
  memory.before = () => {};
  restart();
  await go(home);
  words();
  assert.deepEqual(await go(other), ['connect', 'setMode warp']);
});
