// Rules hold when the network changes, leave alone what the user does by hand, and give back what they lowered.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import type { NetworkLink } from '../../../../daemon/api/schema/traffic/networks.ts';
import type { RoutesPresets } from '../../../../daemon/api/schema/traffic/routes.ts';
import type { KillSwitch, KillSwitchRequest } from '../../../../daemon/api/schema.ts';
import { createChanges } from '../../../../daemon/changes/changes.ts';
import { createNetworks } from '../../../../daemon/networks/networks.ts';
import { createRoutes } from '../../../../daemon/routes/routes-service.ts';
import { setPart } from '../../../../daemon/state/pending-changes.ts';
import { NO_KILL_SWITCH } from '../../../../daemon/state/store.ts';
import { paths as pathsOf } from '../../../../daemon/system/paths.ts';
import { memoryTunnel, type Values } from '../../../support/daemon/memory-tunnel.ts';
import { link } from '../../../support/networks/mocks.ts';
import { temporary } from '../../../support/temporary.ts';
import { until } from '../../../support/until.ts';

const home = link('wlan0', { name: 'Home', security: 'psk' });
const cafe = link('wlan0', { name: 'Café', security: 'open' });
const other = link('eth0', { kind: 'ethernet', name: 'Wired' });

const RULES = `
[[network]]
name = "home"
ssid = "Home"
warp = "pause"
mode = "doh"

[[network]]
name = "cafes"
any = "unknown-wifi"
warp = "connect"
protocol = "WireGuard"
kill_switch = true
`;

/** A daemon's networks over a tunnel in memory; `restart` begins again with what is on disk. */
function stage(t: TestContext, given: Partial<Values> = {}) {
  const paths = pathsOf({ HOME: temporary(t, 'home') });
  const memory = memoryTunnel({ connected: true, ...given });
  const { state, tunnel } = memory;
  state.set('account', { registered: true, type: 'Free', organization: null, managed: false });
  const said: string[] = [];
  const context = {
    env: {},
    paths,
    state,
    tunnel,
    say: (line: string) => void said.push(line),
    settings: undefined as never,
    restart() {},
  };
  const changes = createChanges(context, {
    routes: async () => routes,
    killSwitch: () => killSwitch(),
  });
  const routes = createRoutes(context, changes);
  const presets: RoutesPresets['presets'] = [];
  const killSwitches: KillSwitchRequest[] = [];
  const decided: string[] = [];
  const ruled: string[] = [];
  const show = (killSwitch: KillSwitch) => {
    state.set('killSwitch', killSwitch);
    const { unconfirmed } = killSwitch;
    const change = { subject: 'killSwitch' as const, value: 'on', previous: 'off', endsAt: null, endingSoon: false };
    setPart(state, 'kill-switch', unconfirmed ? [{ ...change, ...unconfirmed, previous: 'off', problem: null }] : []);
    return killSwitch;
  };
  show({ ...NO_KILL_SWITCH, confirmable: true });
  let links: NetworkLink[] = [];
  const killSwitch = async () => ({
    async set(request: KillSwitchRequest) {
      killSwitches.push(request);
      const { enabled, confirmWithin } = request;
      const setAt = new Date().toISOString();
      const unconfirmed =
        confirmWithin === undefined
          ? null
          : { setAt, confirmBy: setAt, previous: { enabled: false, allowLan: request.allowLan } };
      return show({ ...NO_KILL_SWITCH, confirmable: true, enabled, unconfirmed });
    },
    async decide(decision: 'confirm' | 'revert') {
      const { enabled } = state.snapshot().killSwitch;
      decided.push(decision);
      return show({ ...NO_KILL_SWITCH, confirmable: true, enabled: decision === 'confirm' ? enabled : !enabled });
    },
  });
  let notice = () => {};
  let isSilent = () => false;
  let slow: Promise<void> | null = null;
  let reads = 0;
  const proven = new Set<string>();
  const greeted: string[] = [];
  let asked = 0;
  const create = () =>
    createNetworks(
      context,
      {
        changes,
        routes: async () => ({ ...routes, presets: () => ({ ok: true, presets }) }),
        killSwitch,
        ruled: ({ subject, rule, ended }) => void ruled.push(`${rule} ${subject}${ended ? ' ended' : ''}`),
      },
      {
        settleMs: 1,
        leaseMs: 60_000,
        againMs: [1, 1],
        greet: address => void greeted.push(address),
        read: async () => {
          const present = structuredClone(links);
          reads += 1;
          const wait = slow;
          slow = null;
          await wait;
          if (isSilent()) throw new Error('NetworkManager does not answer');
          return { service: 'NetworkManager', links: present };
        },
        watch: (_env, changed) => {
          notice = changed;
          return { stop: () => (notice = () => {}) };
        },
        proves: async ({ address }) => {
          asked += 1;
          return proven.has(address);
        },
      },
    );
  let networks = create();
  t.after(() => Promise.all([networks.stop(), changes.stop()]));
  const words = () =>
    memory.performed.splice(0).map(({ action, value }) => (value === undefined ? action : `${action} ${value}`));
  return {
    paths,
    state,
    said,
    memory,
    changes,
    killSwitches,
    decided,
    ruled,
    proven,
    presets,
    greeted,
    reads: () => reads,
    asked: () => asked,
    words,
    networks: () => networks,
    /** Goes to another network, and resolves with what was done about it. */
    async go(...to: NetworkLink[]) {
      links = to;
      await networks.read();
      return words();
    },
    /** The same as the daemon notices it. */
    async move(...to: NetworkLink[]) {
      links = to;
      notice();
      await until(
        () =>
          state
            .snapshot()
            .networks?.links.map(each => each.name)
            .join() === to.map(each => each.name).join(),
      );
    },
    /** The next read resolves when the returned function is called. */
    delay() {
      let go = () => {};
      slow = new Promise(resolve => {
        go = resolve;
      });
      return () => go();
    },
    /** @param left reads that get no answer from now on */
    silence(left: number) {
      isSilent = () => left-- > 0;
    },
    restart() {
      networks.stop();
      networks = create();
      networks.start();
    },
  };
}

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
  await networks().set({
    document: `[[network]]\nname = "lab"\nssid = "Home"\nbeacon = ${beacon}\nwarp = "pause"\nroutes = "lan"\n`,
  });
  assert.equal(memory.values.connected, true);
  proven.add('192.0.2.1:8443');
  const { decision } = await networks().read();
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
  await networks().read();
  assert.deepEqual([memory.values.connected, memory.values.split], [true, before]);
});

test('routes of one network do not stay on another one that has routes as well', async t => {
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

test('a read without an answer keeps the networks as they were, and is repeated', async t => {
  const { go, networks, silence, state, said, words } = stage(t);
  await networks().set({ document: RULES });
  await go(home);
  await networks().answer({ rule: 'home', answer: 'always' });
  words();
  silence(1);
  assert.deepEqual(await go(other), [], 'what was read last');
  await until(() => state.snapshot().networks?.links[0]?.name === 'Wired');
  assert.deepEqual(said, ['Networks: NetworkManager does not answer']);
});

test('a gateway that a rule could be for is asked for, three times at most for each change', async t => {
  const { go, networks, greeted, state } = stage(t);
  const unknown = { ...home, gateway: '192.0.2.1' };
  await go(unknown);
  await networks().set({ document: RULES });
  assert.deepEqual(greeted, [], 'no rule names a gateway');
  await networks().set({ document: '[[network]]\nname = "own"\ngateway = "02:00:00:00:00:01"\nwarp = "connect"\n' });
  await until(() => greeted.length === 3);
  await go({ ...unknown, gatewayHardware: '02:00:00:00:00:01' });
  assert.deepEqual([greeted.length, state.snapshot().networks?.decision.links[0]?.rule], [3, 'own']);
});

test('a beacon that does not answer is asked again, three times at most for each change', async t => {
  const { go, networks, asked, move } = stage(t);
  const beacon = `{address = "192.0.2.1:8443", sha256 = "${'ab'.repeat(32)}"}`;
  await go(home);
  await networks().set({ document: `[[network]]\nname = "lab"\nbeacon = ${beacon}\nwarp = "connect"\n` });
  await until(() => asked() === 3);
  await move(cafe);
  await until(() => asked() === 6);
});

test('a slow read is not followed after a later one', async t => {
  const { go, networks, delay, reads, move, state } = stage(t);
  await go(cafe);
  const before = reads();
  const release = delay();
  const reading = networks().read();
  await until(() => reads() === before + 1);
  const moved = move(home);
  await until(() => reads() === before + 2);
  release();
  await Promise.all([reading, moved]);
  assert.equal(state.snapshot().networks?.links[0]?.name, 'Home');
});

test('refuses a document with a mistake, or of an older revision, and follows none of it', async t => {
  const { networks, paths } = stage(t);
  const { revision } = await networks().read();
  await assert.rejects(networks().set({ document: `${RULES}[[network]]\n` }), { code: 'document-invalid' });
  assert.equal(existsSync(paths.networks), false);
  await networks().set({ document: RULES, ifRevision: revision });
  await assert.rejects(networks().set({ document: '', ifRevision: revision }), { code: 'precondition-failed' });
  assert.equal(readFileSync(paths.networks, 'utf8'), RULES);
});

test('says what would happen elsewhere, and with other rules, and changes nothing', async t => {
  const { go, networks, words } = stage(t);
  await go(home);
  const elsewhere = { kind: 'wifi', name: 'Hotel' } as const;
  const tried = await networks().whatIf({ network: elsewhere, document: RULES });
  assert.deepEqual(tried.decision.links, [{ device: 'what-if', rule: 'cafes' }]);
  assert.deepEqual((await networks().whatIf({ document: RULES })).decision.links, [{ device: 'wlan0', rule: 'home' }]);
  assert.deepEqual((await networks().whatIf({ network: elsewhere })).decision.links, [
    { device: 'what-if', rule: null },
  ]);
  assert.deepEqual([words(), (await networks().whatIf({ document: '[[' })).invalid.length], [[], 1]);
});

test('without rules, nothing is watched and nothing is published', async t => {
  const { networks, state } = stage(t);
  networks().start();
  assert.equal(state.snapshot().networks, null);
});
