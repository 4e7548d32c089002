// The tunnel against the emulator: what clients see, what is spawned for it, and what each failure is called.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { actionRequest } from '../../../daemon/api/actions.ts';
import type { ActionName } from '../../../daemon/api/schema.ts';
import { Problem } from '../../../daemon/problem.ts';
import { createLog } from '../../../daemon/state/command-log.ts';
import { createState, NO_TUNNEL, type Published } from '../../../daemon/state/store.ts';
import { createTunnel } from '../../../daemon/warp/tunnel.ts';
import { emulator } from '../../support/daemon/emulator.ts';
import { folder } from '../../support/daemon/fake-cli.ts';
import { until } from '../../support/until.ts';

interface Setup {
  version?: string;
  faults?: string;
  connectMs?: number;
  /** What stands in place of the emulator. */
  fake?: string;
  accepted?: boolean;
  missing?: boolean;
  /** Proxy mode really listens, on this port. */
  proxyPort?: number;
}

/** A started tunnel over an executable that counts how often it is spawned. */
async function setup(t: test.TestContext, options: Setup = {}) {
  const place = folder();
  const cli = await emulator({
    version: options.version,
    faults: undefined,
    connectMs: options.connectMs ?? 30,
    proxy: options.proxyPort !== undefined,
  });
  const words = [
    ...(options.faults ? [`fault=${options.faults}`] : []),
    ...(options.proxyPort ? [`settings.proxyPort=${options.proxyPort}`] : []),
  ];
  if (words.length > 0) await cli.control('reset', ...words);
  const counted = (bin: string) => `echo "$*" >> ${place.path}/runs\n${options.fake ?? `exec ${bin} "$@"`}`;
  if (!options.missing) place.script('warp-cli', counted(cli.bin));
  const acceptedTerms = join(place.path, 'state/accepted-terms');
  const log = createLog({ capacity: 500 });
  const state = createState({ available: false, path: null, version: null, emulated: true });
  const events: Published[] = [];
  state.subscribe(event => events.push(event));
  const tunnel = createTunnel({
    cli: 'warp-cli',
    emulated: true,
    env: { ...cli.env, PATH: `${place.path}:${process.env.PATH}`, CANARY: 'canary' },
    acceptedTerms,
    state,
    log,
  });
  t.after(async () => {
    await tunnel.stop();
    await cli.remove();
    place.remove();
  });
  tunnel.start();
  const runs = () => place.read('runs').split('\n').filter(Boolean);
  const status = () => state.snapshot().status;
  return {
    place,
    cli,
    log,
    state,
    events,
    tunnel,
    acceptedTerms,
    runs,
    status,
    script: (name: string) => place.script(name, counted(cli.bin)),
    /** Reads what is outdated until nothing is: each attempt waits a second, and a busy machine needs more. */
    fresh: () =>
      until(async () => {
        await tunnel.refresh('stale');
        return tunnel.isFresh();
      }),
    /** The processes that something spawned, once nothing is left that could spawn another. */
    async spawned(work: () => Promise<unknown>) {
      const before = runs().length;
      await work();
      await until(isIdle);
      return runs().slice(before);
    },
  };
}

/** Whether the listening child is the only process, and no timer is pending that could start another. */
function isIdle(): boolean {
  const active = process.getActiveResourcesInfo();
  return !active.includes('Timeout') && active.filter(type => type === 'ProcessWrap').length === 1;
}

const problem =
  (code: string, more: (problem: Problem) => boolean = () => true) =>
  (error: unknown) =>
    error instanceof Problem && error.code === code && more(error);

test('an idle daemon has one listening child and spawns nothing else', async t => {
  const { tunnel, state, status, spawned, runs } = await setup(t);
  await spawned(() => until(() => status().state === 'disconnected'));
  assert.deepEqual(runs(), ['--version', '-j -l status']);
  const { tunnelCli } = state.snapshot();
  assert.deepEqual([tunnelCli.available, tunnelCli.version, tunnelCli.emulated], [true, '2026.7.1377.0', true]);
  assert.equal(tunnel.isFresh(), false, 'settings were never asked for');
});

test('refresh reads each stale part once, however many ask, and nothing while all is fresh', async t => {
  const { tunnel, state, runs, spawned, status, fresh } = await setup(t);
  await until(() => status().state === 'disconnected');
  await Promise.all([1, 2, 3].map(fresh));
  assert.deepEqual(runs().sort(), [
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
  const { tunnel, spawned } = await setup(t);
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

test('connecting is accepted at once and then followed live; figures are read when asked for', async t => {
  const { tunnel, state, events, status, spawned } = await setup(t, { connectMs: 90 });
  await spawned(() => tunnel.refresh('stale'));
  const spawnedByConnect = await spawned(async () => {
    const output = await tunnel.perform({ action: 'connect' });
    assert.deepEqual([output?.ok, output?.stdout], [true, 'Success\n']);
    await until(() => status().state === 'connected');
  });
  assert.ok(spawnedByConnect.length <= 4, spawnedByConnect.join());
  assert.deepEqual(status().network, 'healthy');
  const states = events.filter(({ event }) => event === 'status').map(({ data }) => data as ReturnType<typeof status>);
  assert.ok(states.some(({ state, reason }) => state === 'connecting' && reason?.code === 'PerformingHappyEyeballs'));
  const connecting = states.filter(each => each.state === 'connecting');
  assert.equal(new Set(connecting.map(each => each.since)).size, 1, 'a new reason is no new state');
  assert.equal(state.snapshot().settings['Always On'], true);

  assert.equal(tunnel.isFresh(), false);
  assert.deepEqual(await spawned(() => tunnel.refresh('stale')), ['-j tunnel stats']);
  const facts = state.snapshot().tunnel;
  assert.ok(facts.protocol?.startsWith('MASQUE') && facts.endpoints.length > 0 && facts.at !== null);

  await tunnel.perform({ action: 'disconnect' });
  await until(() => status().state === 'disconnected');
  assert.deepEqual(state.snapshot().tunnel, NO_TUNNEL);
});

test('no action spawns more than four processes, re-reads included', async t => {
  const { tunnel, spawned, cli } = await setup(t);
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
    const processes = await spawned(() => tunnel.perform(actionRequest(action, value)));
    assert.ok(processes.length >= 1 && processes.length <= 4, `${action}: ${processes.join(' | ')}`);
    t.diagnostic(`${action}: ${processes.join(' | ')}`);
  }
  assert.match(await cli.control('show'), /settings/);
});

test('a change made elsewhere arrives by itself', async t => {
  const { tunnel, state, status, cli } = await setup(t);
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
  const { tunnel, state, status } = await setup(t, { faults: 'slow=1100' });
  await until(() => status().state === 'disconnected');
  await tunnel.refresh('all');
  for (const [action, value, list] of [
    ['addSplitHost', 'one.example.com', 'hosts'],
    ['addSplitRange', '198.51.100.0/24', 'ips'],
  ] as const) {
    await tunnel.perform(actionRequest(action, value));
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
  const { tunnel, status, cli, fresh } = await setup(t);
  await until(() => status().state === 'disconnected');
  await fresh();
  assert.deepEqual(tunnel.stale(), []);
  await cli.control('fault=cut@settings');
  await tunnel.perform({ action: 'setMode', value: 'doh' });
  await until(async () => {
    await tunnel.refresh('stale');
    return (
      tunnel
        .stale()
        .map(({ part }) => part)
        .join() === 'settings,options'
    );
  });
  const stale = tunnel.stale();
  assert.ok(stale.every(({ ageSeconds }) => (ageSeconds ?? -1) >= 0));
  assert.equal(tunnel.isFresh(), false, 'such a snapshot is not answered from the cache');
  await cli.control('clear');
  await tunnel.refresh('all');
  await fresh();
  assert.deepEqual(tunnel.stale(), []);
});

test('a part that was never read is stale without an age', async t => {
  const { tunnel, status } = await setup(t, { faults: 'hang-deaf@settings' });
  await until(() => status().state === 'disconnected');
  await tunnel.refresh('stale');
  assert.deepEqual(
    tunnel.stale().filter(({ part }) => part === 'settings'),
    [{ part: 'settings', ageSeconds: null }],
  );
});

test('a listener that floods does not keep actions and snapshots from their answers', async t => {
  const { tunnel, status, place } = await setup(t, {
    fake: `case "$*" in
      --version) echo "warp-cli 2026.7.1377.0";;
      *-l*) exec yes x;;
      *status) cat "$0.status" 2>/dev/null || echo '{"status":"Disconnected","reason":"Manual"}';;
      connect) echo '{"status":"Connected","reason":"NetworkHealthy"}' > "$0.status"; echo Success;;
    esac`,
  });
  await until(() => place.read('runs').includes('-l'));
  assert.equal((await tunnel.perform({ action: 'connect' }))?.ok, true);
  await until(async () => {
    await tunnel.refresh('stale');
    return status().state === 'connected';
  });
});

test('a command that never stops printing ends at its time limit', async t => {
  const { tunnel } = await setup(t, {
    fake: `case "$*" in --version) echo "warp-cli 2026.7.1377.0";; *) exec yes x;; esac`,
  });
  const begin = performance.now();
  await assert.rejects(tunnel.perform({ action: 'connect' }), problem('tunnel-cli-timeout'));
  const ms = performance.now() - begin;
  assert.ok(ms < 20_000, `${ms} ms`);
});

test('a change during a read is read again', async t => {
  const { tunnel, state, cli, runs, status } = await setup(t, { faults: 'slow=400@settings' });
  await until(() => status().state === 'disconnected');
  void tunnel.refresh('stale');
  await until(() => runs().includes('-j settings'));
  await cli.run('mode', 'doh');
  await until(() => state.snapshot().settings.Mode === 'doh');
  // The read under way and at most one after it publish the newest mode; nothing is lost.
  assert.ok(runs().filter(run => run === '-j settings').length <= 2);
});

test('a missing CLI blocks, and is taken when it appears', async t => {
  const { tunnel, status, state, script } = await setup(t, { missing: true });
  await until(() => status().blocked === 'cli-missing');
  assert.deepEqual([status().state, tunnel.isFresh()], ['unknown', true]);
  await assert.rejects(
    tunnel.perform({ action: 'connect' }),
    problem('cli-missing', ({ extras }) => Boolean(extras.hint)),
  );
  await assert.rejects(tunnel.account(), problem('cli-missing'));
  await assert.rejects(tunnel.perform(actionRequest('setMode', 'bogus')), problem('argument-rejected'));
  script('warp-cli');
  await until(() => status().state === 'disconnected');
  assert.deepEqual([status().blocked, state.snapshot().tunnelCli.available], [null, true]);
});

test('a CLI that is removed, and one that is upgraded, are noticed while running', async t => {
  const { place, status, state, script, cli, runs } = await setup(t);
  await until(() => status().state === 'disconnected');
  rmSync(join(place.path, 'warp-cli'));
  await until(() => status().blocked === 'cli-missing');
  assert.equal(state.snapshot().tunnelCli.available, false);
  script('warp-cli');
  await until(() => status().state === 'disconnected');
  const newer = place.script(
    'new',
    `echo "$*" >> ${place.path}/runs; CULVERT_EMULATOR_VERSION=2023.3.398 exec ${cli.bin} "$@"`,
  );
  renameSync(newer, join(place.path, 'warp-cli'));
  await until(() => state.snapshot().tunnelCli.version?.startsWith('2023.3.398'));
  await until(() => runs().at(-1) === '-l status');
});

test('a stopped service blocks; actions say so; its return is noticed', async t => {
  const { tunnel, status, cli, spawned } = await setup(t, { faults: 'service-down' });
  await until(() => status().blocked === 'service-stopped');
  assert.equal(status().state, 'unknown');
  assert.deepEqual(
    (await spawned(() => tunnel.refresh('stale'))).filter(run => !run.includes('-l')),
    [],
    'no pointless reads',
  );
  await assert.rejects(
    tunnel.perform({ action: 'connect' }),
    problem('service-stopped', ({ extras }) => /systemctl/.test(extras.hint ?? '')),
  );
  await assert.rejects(tunnel.account(), problem('service-stopped'));
  await cli.control('clear');
  await until(() => status().state === 'disconnected');
  assert.equal(status().blocked, null);
});

test('a service that stops while connected is never shown as connected', async t => {
  const { tunnel, status, cli, state } = await setup(t);
  await tunnel.perform({ action: 'connect' });
  await until(() => status().state === 'connected');
  await cli.control('fault=service-down');
  await until(() => status().blocked === 'service-stopped');
  assert.equal(status().state, 'unknown');
  assert.deepEqual(state.snapshot().tunnel, NO_TUNNEL);
});

test('the terms are accepted only when the user agrees, and that is remembered', async t => {
  const { tunnel, status, acceptedTerms, runs } = await setup(t, { faults: 'terms' });
  await until(() => status().blocked === 'terms-not-accepted');
  await assert.rejects(tunnel.perform({ action: 'register' }), problem('terms-not-accepted'));
  assert.equal(existsSync(acceptedTerms), false);
  assert.ok(!runs().some(run => run.includes('--accept-tos')));
  assert.equal(await tunnel.perform({ action: 'acceptTerms' }), null);
  await until(() => status().state === 'disconnected');
  assert.equal(status().blocked, null);
  assert.match(readFileSync(acceptedTerms, 'utf8'), /^accepted 20/);
  assert.equal(statSync(acceptedTerms).mode & 0o777, 0o600);
  await tunnel.perform({ action: 'connect' });
  assert.ok(runs().includes('--accept-tos connect'));
});

test('an agreement that cannot be stored is not acted on', async t => {
  const { tunnel, place, runs } = await setup(t, { faults: 'terms' });
  writeFileSync(join(place.path, 'state'), 'in the way');
  await assert.rejects(tunnel.perform({ action: 'acceptTerms' }), problem('config-not-writable'));
  assert.ok(!runs().some(run => run.includes('--accept-tos')));
});

test('an unregistered device: connecting is refused without a process, registering works', async t => {
  const { tunnel, status, spawned, state } = await setup(t, { faults: 'not-registered' });
  await until(() => status().blocked === 'not-registered');
  assert.deepEqual([status().state, status().reason?.code], ['unable', 'RegistrationMissing']);
  assert.equal(state.snapshot().account.registered, false);
  assert.deepEqual(
    await spawned(() =>
      assert.rejects(
        tunnel.perform({ action: 'connect' }),
        problem('not-registered', p => Boolean(p.extras.hint)),
      ),
    ),
    [],
  );
  const account = await tunnel.account();
  assert.deepEqual([account.ok, account.registered, account.devices], [true, false, []]);
});

test('"not registered" is not kept once the status contradicts it, even if the registration cannot be read', async t => {
  const { tunnel, cli, status, state } = await setup(t, { faults: 'not-registered' });
  await until(() => status().blocked === 'not-registered');
  assert.equal((await tunnel.account()).registered, false);
  await cli.control('fault=not-authorized');
  await until(() => status().state === 'disconnected');
  assert.equal(state.snapshot().account.registered, null);
  await assert.rejects(tunnel.account(), problem('tunnel-cli-failed'));
  await cli.control('clear');
  await tunnel.refresh('all');
  assert.equal((await tunnel.account()).registered, true);
});

test('registering and deleting a registration change the account', async t => {
  const { tunnel, status, state } = await setup(t);
  await tunnel.perform({ action: 'deleteRegistration' });
  await until(() => status().blocked === 'not-registered');
  await until(() => state.snapshot().account.registered === false);
  await tunnel.perform({ action: 'register' });
  await until(() => status().blocked === null && state.snapshot().account.registered === true);
  const account = await tunnel.account();
  assert.equal(account.registered, true);
  assert.match(account.license ?? '', /^\*{4}\w{4}$/);
  assert.equal(account.devices.length, 1);
});

test('a JSON error is a failure at exit 0 as at exit 1', async t => {
  for (const faults of ['json-exit-0,not-registered', 'json-exit-1,not-registered', 'text-errors,not-registered']) {
    const { tunnel, state, status } = await setup(t, { faults });
    await tunnel.refresh('all');
    await until(() => status().blocked === 'not-registered');
    assert.equal(state.snapshot().account.registered, false, faults);
  }
});

test('what a policy refuses is not authorized, with what the CLI printed', async t => {
  const { tunnel, status } = await setup(t, { faults: 'not-authorized' });
  await assert.rejects(
    tunnel.perform({ action: 'setMode', value: 'doh' }),
    problem('not-authorized', ({ extras }) => /not authorized/i.test(extras.stderr ?? '') && extras.exitCode === 1),
  );
  await tunnel.refresh('all');
  assert.equal(status().blocked, null, 'reading the settings is allowed');
});

test('a user who may not connect is blocked as not authorized, until an action succeeds', async t => {
  const { tunnel, status, cli } = await setup(t, { faults: 'not-authorized' });
  await until(() => status().state === 'disconnected');
  await assert.rejects(tunnel.perform({ action: 'connect' }), problem('not-authorized'));
  assert.equal(status().blocked, 'not-authorized');
  await tunnel.refresh('all');
  assert.deepEqual([status().blocked, status().state], ['not-authorized', 'disconnected'], 'reads change nothing');
  await cli.control('clear');
  await tunnel.perform({ action: 'connect' });
  assert.equal(status().blocked, null);
  await until(() => status().state === 'connected');
});

test('a failing command is reported with its exit code and what it said', async t => {
  const { tunnel } = await setup(t);
  await assert.rejects(
    tunnel.perform({ action: 'register' }),
    problem('tunnel-cli-failed', ({ extras, message }) => {
      return /Old registration/.test(message) && extras.exitCode === 1 && /deleteRegistration/.test(extras.hint ?? '');
    }),
  );
});

test('output that no rule knows, and output cut in the middle, is unknown with its raw text', async t => {
  for (const faults of ['unknown-output', 'cut']) {
    const { tunnel, status } = await setup(t, { faults });
    await tunnel.refresh('all');
    await until(() => status().raw);
    assert.equal(status().state, 'unknown', faults);
  }
});

for (const version of ['2022.4', '2023.3.398', '2024.2.62', '2024.9.346', '2025.9.558', '2026.7.1377']) {
  test(`release ${version}: status, settings, mode and account are understood`, async t => {
    const { tunnel, status, state, runs, fresh } = await setup(t, { version });
    await tunnel.refresh('all');
    await fresh();
    assert.equal(status().state, 'disconnected', status().raw ?? '');
    assert.equal(state.snapshot().settings.Mode, 'warp');
    assert.equal(state.snapshot().account.registered, true);
    assert.ok(state.snapshot().splitTunnel.ips.length > 3);
    await tunnel.perform({ action: 'setMode', value: 'warp+doh' });
    await until(() => state.snapshot().settings.Mode === 'warp+doh');
    await tunnel.perform({ action: 'connect' });
    await until(() => status().state === 'connected');
    await tunnel.refresh('all');
    await fresh();
    assert.ok((state.snapshot().tunnel.endpoints.length ?? 0) > 0);
    const json = runs().some(run => run.includes('-j'));
    assert.equal(json, version >= '2024.9');
    const flat = runs().some(run => run.includes('set-mode'));
    assert.equal(flat, version < '2024');
  });
}

test('a license key reaches the CLI, and neither state nor log', async t => {
  const { tunnel, state, log, runs } = await setup(t);
  const license = 'CaNaRy77-CaNaRy77-aaaa1234';
  await tunnel.perform({ action: 'setLicense', value: license }).catch(() => {});
  await tunnel.account();
  assert.ok(runs().includes(`registration license ${license}`));
  assert.doesNotMatch(JSON.stringify([state.snapshot(), log.since(0, 500)]), /CaNaRy/);
});

test('a broken CLI is not hammered, however often it is asked', async t => {
  const { tunnel, runs, status } = await setup(t, { fake: 'echo "Segmentation fault" >&2; exit 139' });
  for (let count = 0; count < 50; count++) await tunnel.refresh('stale');
  assert.ok(runs().length < 30, `${runs().length} processes`);
  assert.equal(status().state, 'unknown');
  await assert.rejects(
    tunnel.perform({ action: 'connect' }),
    problem('tunnel-cli-failed', ({ extras }) => extras.exitCode === 139),
  );
});

test('a CLI that hangs holds a snapshot for a second at most, and the stop not at all', async t => {
  const { tunnel, status, runs } = await setup(t, { faults: 'hang-deaf@settings' });
  await until(() => status().state === 'disconnected');
  const begin = performance.now();
  await tunnel.refresh('stale');
  const waited = performance.now() - begin;
  assert.ok(waited >= 900 && waited < 10_000, `${waited} ms`);
  assert.ok(runs().includes('-j settings'));
  const stopping = performance.now();
  await tunnel.stop();
  assert.ok(performance.now() - stopping < 5_000);
});

test('a CLI that neither listens nor knows JSON is polled, and an action is followed at once', async t => {
  const { tunnel, status, runs } = await setup(t, {
    fake: `case "$*" in
      --version) echo "WARP 0.1.0";;
      *-l*) echo "error: Found argument '-l' which wasn't expected, or isn't valid in this context" >&2; exit 1;;
      status) cat "$HOME/fake-status" 2>/dev/null || echo "Status update: Disconnected. Reason: Manual Disconnection";;
      connect) echo "Status update: Connected" > "$HOME/fake-status"; echo Success;;
      *) echo "error: Found argument '$1' which wasn't expected, or isn't valid in this context" >&2; exit 1;;
    esac`,
  });
  await until(() => status().state === 'disconnected');
  await tunnel.perform({ action: 'connect' });
  await until(() => status().state === 'connected');
  assert.ok(runs().includes('-l status') && runs().includes('status'));
});

test('a CLI whose listener reports changes only is asked for the status once', async t => {
  const { status, runs, spawned, state } = await setup(t, {
    fake: `case "$*" in
      --version) echo "warp-cli 2026.7.1377.0";;
      *-l*) exec sleep 60;;
      *status) echo '{"status":"Connected","reason":"NetworkHealthy"}';;
    esac`,
  });
  await spawned(() => until(() => status().state === 'connected'));
  assert.deepEqual(runs(), ['--version', '-j -l status', '-j status']);
  assert.deepEqual(state.snapshot().commands.status?.argv, ['warp-cli', '-j', 'status']);
});

test('a CLI that answers but ends every listener is asked for the status, and listened to ever less often', async t => {
  const { log, status } = await setup(t, { faults: 'listener-exits' });
  const ends = () => log.since(0, 500).filter(({ source }) => source === 'watch');
  await until(() => ends().length === 7);
  const [before, last] = ends().slice(-2);
  const pause = Date.parse(last!.at) - Date.parse(before!.at);
  assert.ok(pause >= 1000, `started again after ${pause} ms`);
  await until(() => status().state === 'disconnected' && status().blocked === null);
});

test('an empty answer does not override the status of the listener', async t => {
  const { tunnel, status } = await setup(t, {
    fake: `case "$*" in
      --version) echo "warp-cli 2026.7.1377.0";;
      *-l*) echo '{"status":"Connected","reason":"NetworkHealthy"}'; exec sleep 60;;
      *status) echo nonsense; exit 1;;
    esac`,
  });
  await until(() => status().state === 'connected');
  await tunnel.refresh('all');
  assert.equal(status().state, 'connected');
});

test('after a stop nothing is spawned any more', async t => {
  const { tunnel, runs, status } = await setup(t);
  await until(() => status().state === 'disconnected');
  await tunnel.stop();
  const before = runs().length;
  await tunnel.refresh('all');
  await assert.rejects(tunnel.perform({ action: 'connect' }), Problem);
  assert.equal(runs().length, before);
});

test('what an action sets can be read back, also when another program set it', async t => {
  const { tunnel, state, cli, status } = await setup(t);
  await until(() => status().state === 'disconnected');
  await tunnel.refresh('all');
  const options = () => state.snapshot().options;
  assert.deepEqual([options().families, options().gatewayId, options().trustedSsids], ['off', null, []]);
  const perform = async (action: ActionName, value?: string) => {
    await tunnel.perform(actionRequest(action, value));
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
  const { tunnel, state, cli, status, fresh } = await setup(t);
  await until(() => status().state === 'disconnected');
  const network = (id: string) => ({ id, name: id, description: '', default: id === 'v-1' });
  await cli.control('organization=example', `vnets=${JSON.stringify([network('v-1'), network('v-2')])}`);
  await tunnel.refresh('all');
  await fresh();
  assert.equal(state.snapshot().options.virtualNetworks?.active, 'v-1');
  await tunnel.perform(actionRequest('setVirtualNetwork', 'v-2'));
  await fresh();
  assert.equal(state.snapshot().options.virtualNetworks?.active, 'v-2');
});
