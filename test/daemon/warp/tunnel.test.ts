// The tunnel against the emulator: what clients see, and what is spawned for it.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { actionRequest } from '../../../daemon/api/actions.ts';
import type { ActionName } from '../../../daemon/api/schema.ts';
import { Problem } from '../../../daemon/problem.ts';
import { NO_TUNNEL } from '../../../daemon/state/store.ts';
import { problem, startTunnel } from '../../support/daemon/tunnel.ts';
import { until } from '../../support/until.ts';

/** Without the one read of the status where the listening child says nothing for a second, as on a busy machine. */
function withoutLateRead(runs: readonly string[]): string[] {
  const late = runs.indexOf('-j status');
  return runs.filter((_, i) => i !== late);
}

test('an idle daemon has one listening child, and has read the settings once', async t => {
  const { tunnel, state, status, spawned, runs } = await startTunnel(t);
  await spawned(() => until(() => status().state === 'disconnected'));
  assert.deepEqual(withoutLateRead(runs()).sort(), ['--version', '-j -l status', '-j settings']);
  const { tunnelCli } = state.snapshot();
  assert.deepEqual([tunnelCli.available, tunnelCli.version, tunnelCli.emulated], [true, '2026.7.1377.0', true]);
  assert.equal(tunnel.isFresh(), false, 'the lists were never asked for');
});

test('refresh reads each stale part once, however many ask, and nothing while all is fresh', async t => {
  const { tunnel, state, runs, spawned, status, fresh } = await startTunnel(t);
  await until(() => status().state === 'disconnected');
  await Promise.all([1, 2, 3].map(fresh));
  assert.deepEqual(withoutLateRead(runs()).sort(), [
    '--version',
    '-j -l status',
    '-j registration show',
    '-j settings',
    '-j trusted ssid list',
    'settings',
    'tunnel dump',
    'tunnel host list',
    'tunnel ip list',
  ]);
  assert.deepEqual(await spawned(() => tunnel.refresh('stale')), []);
  const { settings, splitTunnel, account, commands, tunnel: facts } = state.snapshot();
  assert.equal(settings.Mode, 'warp');
  assert.equal(splitTunnel.mode, 'exclude');
  assert.ok(splitTunnel.ips.length > 10);
  assert.deepEqual([account.registered, account.type], [true, 'Free']);
  assert.match(commands.splitTunnelIps?.stdout ?? '', /^Excluded routes:/);
  assert.ok(commands.splitTunnelDump?.ok && commands.splitTunnelHosts?.ok && commands.status?.ok);
  assert.deepEqual(facts, NO_TUNNEL);
});

test('fresh=1 reads everything again', async t => {
  const { tunnel, spawned } = await startTunnel(t);
  await spawned(() => tunnel.refresh('stale'));
  const again = await spawned(() => tunnel.refresh('all'));
  assert.deepEqual(again.sort(), [
    '-j registration show',
    '-j settings',
    '-j status',
    '-j trusted ssid list',
    'settings',
    'tunnel dump',
    'tunnel host list',
    'tunnel ip list',
  ]);
});

test('lists are read again on request, unless a listener announces their changes', async t => {
  const { tunnel, fresh, spawned } = await startTunnel(t);
  await spawned(fresh);
  assert.deepEqual(await spawned(() => tunnel.refresh('lists')), []);
  const polled = await startTunnel(t, {
    fake: `case "$*" in
      --version) echo 'warp-cli 2026.7.1377.0';;
      *-l*) echo "error: unexpected argument '-l' found" >&2; exit 2;;
      *status) echo '{"status":"Connected","reason":"NetworkHealthy"}';;
      *settings) echo '{"mode":"warp"}';;
      *'ip list') echo 'Excluded routes:'; cat "$0-list";;
    esac`,
  });
  const list = join(polled.place.path, 'warp-cli-list');
  writeFileSync(list, '10.0.0.0/8\n');
  const listed = () => polled.state.snapshot().splitTunnel.ips.map(({ value }) => value);
  await until(async () => {
    await polled.tunnel.refresh('all');
    return listed().length === 1;
  });
  writeFileSync(list, '10.0.0.0/8\n192.0.2.0/24\n');
  await until(async () => {
    await polled.tunnel.refresh('stale');
    return !polled.tunnel.stale().some(({ part }) => part === 'splitTunnel');
  });
  assert.deepEqual(listed(), ['10.0.0.0/8'], 'read less than a minute ago');
  // a list that was read in the last second is not read again
  await until(async () => {
    const asked = Array.from({ length: 3 }, () => polled.tunnel.refresh('lists'));
    await Promise.all(asked);
    const old = polled.tunnel.stale().filter(({ part }) => part === 'splitTunnel');
    assert.deepEqual(old, [], 'several requests make nothing old for each other');
    return listed().length === 2;
  });
});

test('accepts a connect immediately and then follows it live; reads statistics only on request', async t => {
  const { tunnel, state, events, status, spawned } = await startTunnel(t, { connectMs: 90 });
  await spawned(() => tunnel.refresh('stale'));
  // on a busy machine a read may come first, and the listener reports only what happens once it runs
  await until(() => state.snapshot().commands.status?.argv.includes('-l'), 'the listener has spoken');
  const spawnedByConnect = await spawned(async () => {
    const output = await tunnel.runAction({ action: 'connect' });
    assert.deepEqual([output?.ok, output?.stdout], [true, 'Success\n']);
    await until(() => status().state === 'connected');
  });
  // a busy machine may repeat a read whose value has changed since
  assert.ok(new Set(spawnedByConnect).size <= 4, spawnedByConnect.join());
  assert.deepEqual(status().network, 'healthy');
  const states = events.filter(({ event }) => event === 'status').map(({ data }) => data as ReturnType<typeof status>);
  assert.ok(states.some(({ state, reason }) => state === 'connecting' && reason?.code === 'PerformingHappyEyeballs'));
  const connecting = states.filter(each => each.state === 'connecting');
  assert.equal(new Set(connecting.map(each => each.since)).size, 1, 'a new reason is not a new state');
  assert.equal(state.snapshot().settings['Always On'], true);

  assert.equal(tunnel.isFresh(), false);
  assert.deepEqual(await spawned(() => tunnel.refresh('stale')), ['-j tunnel stats']);
  const facts = state.snapshot().tunnel;
  assert.ok(facts.protocol?.startsWith('MASQUE') && facts.endpoints.length > 0 && facts.at !== null);

  await tunnel.runAction({ action: 'disconnect' });
  await until(() => status().state === 'disconnected');
  assert.deepEqual(state.snapshot().tunnel, NO_TUNNEL);
});

test('no action asks warp-cli for more than four things, re-reads included', async t => {
  const { tunnel, spawned, cli } = await startTunnel(t);
  await spawned(() => tunnel.refresh('stale'));
  const actions: [ActionName, string?][] = [
    ['setMode', 'warp+doh'],
    ['setProtocol', 'WireGuard'],
    ['addSplitRange', '192.0.2.0/24'],
    ['addSplitHost', '*.example.com'],
    ['resetSplitIps'],
    ['setFamilies', 'malware'],
    ['addTrustedSsid', 'Café am Eck'],
    ['rotateKeys'],
    ['resetSettings'],
    ['deleteRegistration'],
    ['register'],
  ];
  for (const [action, value] of actions) {
    const processes = await spawned(() => tunnel.runAction(actionRequest(action, value)));
    const kinds = new Set(processes).size;
    assert.ok(kinds >= 1 && kinds <= 4, `${action}: ${processes.join(' | ')}`);
    t.diagnostic(`${action}: ${processes.join(' | ')}`);
  }
  assert.match(await cli.control('show'), /settings/);
});

test('a change by another program arrives without a request', async t => {
  const { tunnel, state, status, cli } = await startTunnel(t);
  await tunnel.refresh('stale');
  await cli.run('mode', 'doh');
  await until(() => state.snapshot().settings.Mode === 'doh');
  await cli.run('tunnel', 'ip', 'add', '192.0.2.7');
  await until(() => state.snapshot().splitTunnel.ips.some(({ value }) => value.startsWith('192.0.2.7')));
  assert.equal(tunnel.isFresh(), false, 'the printed lists are read when asked for');
  await tunnel.refresh('stale');
  assert.match(state.snapshot().commands.splitTunnelIps?.stdout ?? '', /192\.0\.2\.7/);
  await cli.run('connect');
  await until(() => status().state === 'connected');
});

test('a snapshot after an action waits for the parts that the action changed, however slow their reads are', async t => {
  const { tunnel, state, status } = await startTunnel(t, { faults: 'slow=1100' });
  await until(() => status().state === 'disconnected');
  await tunnel.refresh('all');
  for (const [action, value, list] of [
    ['addSplitHost', 'one.example.com', 'hosts'],
    ['addSplitRange', '198.51.100.0/24', 'ips'],
  ] as const) {
    await tunnel.runAction(actionRequest(action, value));
    await tunnel.refresh('stale');
    assert.ok(
      state.snapshot().splitTunnel[list].some(route => route.value === value),
      value,
    );
    // an announcement that arrives late makes the settings stale once more
    await until(async () => {
      await tunnel.refresh('stale');
      return tunnel.stale().length === 0;
    });
  }
});

test('parts that cannot be read in time are listed with their age, until they are', async t => {
  const { tunnel, status, cli, fresh } = await startTunnel(t);
  await until(() => status().state === 'disconnected');
  await fresh();
  assert.deepEqual(tunnel.stale(), []);
  await cli.control('fault=cut@settings');
  await tunnel.runAction({ action: 'setMode', value: 'doh' });
  await until(async () => {
    await tunnel.refresh('stale');
    // another part may wait for its next attempt as well
    return tunnel.stale().some(({ part }) => part === 'settings');
  });
  const stale = tunnel.stale();
  assert.ok(stale.every(({ ageSeconds }) => (ageSeconds ?? -1) >= 0));
  assert.equal(tunnel.isFresh(), false, 'a stale snapshot is not answered from the cache');
  await cli.control('clear');
  await tunnel.refresh('all');
  await fresh();
  assert.deepEqual(tunnel.stale(), []);
});

test('a part that was never read is stale without an age', async t => {
  const { tunnel, status } = await startTunnel(t, { faults: 'hang-deaf@settings' });
  await until(() => status().state === 'disconnected');
  assert.deepEqual(
    tunnel.stale().filter(({ part }) => part === 'settings'),
    [{ part: 'settings', ageSeconds: null }],
  );
});

test('a listener that floods does not keep actions and snapshots from their answers', async t => {
  const { tunnel, status, place } = await startTunnel(t, {
    fake: `case "$*" in
      --version) echo "warp-cli 2026.7.1377.0";;
      *-l*) exec yes x;;
      *status) cat "$0.status" 2>/dev/null || echo '{"status":"Disconnected","reason":"Manual"}';;
      connect) echo '{"status":"Connected","reason":"NetworkHealthy"}' > "$0.status"; echo Success;;
    esac`,
  });
  await until(() => place.read('runs').includes('-l'));
  assert.equal((await tunnel.runAction({ action: 'connect' }))?.ok, true);
  await until(async () => {
    await tunnel.refresh('stale');
    return status().state === 'connected';
  });
});

test('a command that never stops printing ends at its time limit', async t => {
  const { tunnel } = await startTunnel(t, {
    fake: `case "$*" in --version) echo "warp-cli 2026.7.1377.0";; *) while :; do echo x; sleep 0.1; done;; esac`,
  });
  const begin = performance.now();
  await assert.rejects(tunnel.runAction({ action: 'connect' }), problem('tunnel-cli-timeout'));
  const ms = performance.now() - begin;
  assert.ok(ms < 20_000, `${ms} ms`);
});

test('a change during a read is read again', async t => {
  const { tunnel, state, cli, runs, status } = await startTunnel(t, { faults: 'slow=400@settings' });
  await until(() => status().state === 'disconnected');
  void tunnel.refresh('stale');
  await until(() => runs().includes('-j settings'));
  await cli.run('mode', 'doh');
  await until(() => state.snapshot().settings.Mode === 'doh');
  // The read under way and at most one after it publish the newest mode; nothing is lost.
  assert.ok(runs().filter(run => run === '-j settings').length <= 2);
});

for (const version of ['2024.9.346', '2025.9.558', '2026.7.1377']) {
  test(`release ${version}: status, settings, mode and account are understood`, async t => {
    const { tunnel, status, state, fresh } = await startTunnel(t, { version });
    await tunnel.refresh('all');
    await fresh();
    assert.equal(status().state, 'disconnected', status().raw ?? '');
    assert.equal(state.snapshot().settings.Mode, 'warp');
    assert.equal(state.snapshot().account.registered, true);
    assert.ok(state.snapshot().splitTunnel.ips.length > 3);
    await tunnel.runAction({ action: 'setMode', value: 'warp+doh' });
    await until(() => state.snapshot().settings.Mode === 'warp+doh');
    await tunnel.runAction({ action: 'connect' });
    await until(() => status().state === 'connected');
    await tunnel.refresh('all');
    await fresh();
    assert.ok((state.snapshot().tunnel.endpoints.length ?? 0) > 0);
  });
}

test('a license key reaches the CLI, and neither state nor log', async t => {
  const { tunnel, state, log, runs } = await startTunnel(t);
  const license = 'CaNaRy77-CaNaRy77-aaaa1234';
  await tunnel.runAction({ action: 'setLicense', value: license }).catch(() => {});
  await tunnel.account();
  assert.ok(runs().includes(`registration license ${license}`));
  assert.doesNotMatch(JSON.stringify([state.snapshot(), log.since(0, 500)]), /CaNaRy/);
});

test('after a stop nothing is spawned anymore', async t => {
  const { tunnel, runs, status } = await startTunnel(t);
  await until(() => status().state === 'disconnected');
  await tunnel.stop();
  const before = runs().length;
  await tunnel.refresh('all');
  await assert.rejects(tunnel.runAction({ action: 'connect' }), Problem);
  assert.equal(runs().length, before);
});

test('a value that an action or another program sets can be read back', async t => {
  const { tunnel, state, cli, status } = await startTunnel(t);
  await until(() => status().state === 'disconnected');
  await tunnel.refresh('all');
  const options = () => state.snapshot().options;
  assert.deepEqual([options().families, options().gatewayId, options().trustedSsids], ['off', null, []]);
  const perform = async (action: ActionName, value?: string) => {
    await tunnel.runAction(actionRequest(action, value));
    await tunnel.refresh('stale');
  };
  await perform('setFamilies', 'full');
  assert.equal(options().families, 'full');
  await perform('setGatewayId', 'abc123');
  assert.equal(options().gatewayId, 'abc123');
  await perform('setEnvironment', 'FedRAMP-High');
  assert.equal(options().environment, 'FedRAMP-High');
  await perform('setMasqueOptions', 'h2-only');
  assert.match(options().masque ?? '', /HTTP\/2\)/);
  await perform('addFallbackDomain', 'example.internal');
  assert.ok(options().fallbackDomains.some(({ domain }) => domain === 'example.internal'));
  await perform('addTrustedSsid', 'Café ✓');
  await perform('addTrustedSsid', 'two words');
  assert.deepEqual(options().trustedSsids, ['Café ✓', 'two words']);
  await perform('removeTrustedSsid', 'Café ✓');
  assert.deepEqual(options().trustedSsids, ['two words']);
  await perform('setTrustedWifi', 'enable');
  assert.equal(options().wifiTrusted, true);
  await cli.run('trusted', 'ssid', 'add', 'from outside');
  await until(async () => {
    await tunnel.refresh('stale');
    return options().trustedSsids?.includes('from outside');
  });
  await perform('resetTrustedSsids');
  assert.deepEqual(options().trustedSsids, []);
});

test('the virtual network that was chosen is read back', async t => {
  const { tunnel, state, cli, status, fresh } = await startTunnel(t);
  await until(() => status().state === 'disconnected');
  const network = (id: string) => ({ id, name: id, description: '', default: id === 'v-1' });
  await cli.control('organization=example', `vnets=${JSON.stringify([network('v-1'), network('v-2')])}`);
  await tunnel.refresh('all');
  await fresh();
  assert.equal(state.snapshot().options.virtualNetworks?.active, 'v-1');
  await tunnel.runAction(actionRequest('setVirtualNetwork', 'v-2'));
  await fresh();
  assert.equal(state.snapshot().options.virtualNetworks?.active, 'v-2');
});

test('access to the local network is read back, with its end, and again after a reconnection', async t => {
  const { tunnel, state, cli, status, fresh, runs } = await startTunnel(t);
  await until(() => status().state === 'disconnected');
  await tunnel.refresh('all');
  const access = () => state.snapshot().options.localNetworkAccess;
  assert.equal(access(), null, 'a consumer has none');
  await cli.control('organization=example');
  await tunnel.refresh('all');
  await fresh();
  assert.deepEqual(access(), { allowed: false, endsAt: null });
  await tunnel.runAction(actionRequest('allowLocalNetwork'));
  await fresh();
  assert.equal(access()?.allowed, true);
  assert.ok(Date.parse(access()!.endsAt!) > Date.now());
  const reads = () => runs().filter(run => run.endsWith('override local-network show')).length;
  const before = reads();
  await cli.run('connect');
  await until(() => status().state === 'connected');
  await fresh();
  assert.ok(reads() > before);
  await tunnel.runAction(actionRequest('stopLocalNetwork'));
  await fresh();
  assert.deepEqual(access(), { allowed: false, endsAt: null });
});

test('settings that were never read are waited for, however slow the tunnel CLI is', async t => {
  const { tunnel, state } = await startTunnel(t, { faults: 'slow=2500@settings' });
  await tunnel.refresh('stale');
  assert.equal(state.snapshot().settings.Mode, 'warp');
});
