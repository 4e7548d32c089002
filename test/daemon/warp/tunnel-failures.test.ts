// The tunnel over a CLI or a service that fails: the code of each failure, and the commands that still run.
import assert from 'node:assert/strict';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { actionRequest } from '../../../daemon/api/actions.ts';
import type { Status } from '../../../daemon/api/schema.ts';
import { areSettingsKnown, statusLine } from '../../../daemon/state/status-line.ts';
import { NO_TUNNEL } from '../../../daemon/state/store.ts';
import { recordings } from '../../support/daemon/recordings.ts';
import { problem, startTunnel } from '../../support/daemon/tunnel.ts';
import { until } from '../../support/until.ts';

test('a missing CLI blocks, and is taken when it appears', async t => {
  const { tunnel, status, state, script } = await startTunnel(t, { missing: true });
  await until(() => status().blocked === 'cli-missing');
  assert.deepEqual([status().state, tunnel.isFresh()], ['unknown', true]);
  await assert.rejects(
    tunnel.runAction({ action: 'connect' }),
    problem('cli-missing', ({ extras }) => Boolean(extras.hint)),
  );
  await assert.rejects(tunnel.account(), problem('cli-missing'));
  await assert.rejects(tunnel.runAction(actionRequest('setMode', 'bogus')), problem('argument-rejected'));
  script('warp-cli');
  await until(() => status().state === 'disconnected');
  assert.deepEqual([status().blocked, state.snapshot().tunnelCli.available], [null, true]);
});

test('notices while running that the CLI was removed or upgraded', async t => {
  const { place, status, state, script, cli } = await startTunnel(t);
  await until(() => status().state === 'disconnected');
  rmSync(join(place.path, 'warp-cli'));
  await until(() => status().blocked === 'cli-missing');
  assert.equal(state.snapshot().tunnelCli.available, false);
  script('warp-cli');
  await until(() => status().state === 'disconnected');
  const newer = place.script(
    'new',
    `echo "$*" >> ${place.path}/runs; CULVERT_EMULATOR_VERSION=2025.9.558 exec ${cli.bin} "$@"`,
  );
  renameSync(newer, join(place.path, 'warp-cli'));
  await until(() => state.snapshot().tunnelCli.version === '2025.9.558');
});

test('a CLI that is too old blocks with its version and the oldest that works, and is not asked for more', async t => {
  const recording = recordings.find(row => row.version.startsWith('2023.3.398'))!;
  const page = `cat << 'END'\n${recording.stdout}END`;
  const { tunnel, status, state, runs, place, cli } = await startTunnel(t, {
    fake: `[ "$1" = --version ] && { echo "warp-cli ${recording.version}"; exit; }\n${page}`,
  });
  await until(() => status().blocked === 'cli-too-old');
  await tunnel.refresh('all');
  const refused = problem('cli-too-old', ({ message }) => /2023\.3\.398 is too old.*2024\.9\.346/.test(message));
  await assert.rejects(tunnel.runAction({ action: 'connect' }), refused);
  await assert.rejects(tunnel.runAction({ action: 'enableLocalProxy' }), refused);
  await assert.rejects(tunnel.account(), refused);
  assert.deepEqual(runs(), ['--version']);
  assert.equal(state.snapshot().tunnelCli.version, recording.version);
  assert.match(statusLine(state.snapshot()), /Cloudflare WARP 2023\.3\.398 is too old: install version 2024\.9\.346/);
  renameSync(place.script('new', `exec ${cli.bin} "$@"`), join(place.path, 'warp-cli'));
  await until(() => status().state === 'disconnected');
  assert.equal(status().blocked, null);
});

test('a stopped service blocks; actions say so; its return is noticed', async t => {
  const { tunnel, status, cli, spawned } = await startTunnel(t, { faults: 'service-down' });
  await until(() => status().blocked === 'service-stopped');
  assert.equal(status().state, 'unknown');
  assert.deepEqual(
    (await spawned(() => tunnel.refresh('stale'))).filter(run => !run.includes('-l')),
    [],
    'no pointless reads',
  );
  await assert.rejects(
    tunnel.runAction({ action: 'connect' }),
    problem('service-stopped', ({ extras }) => /culvert-emulator --emulate reset/.test(extras.hint ?? '')),
  );
  await assert.rejects(tunnel.account(), problem('service-stopped'));
  await cli.control('clear');
  await until(() => status().state === 'disconnected');
  assert.equal(status().blocked, null);
});

test('a service that stops while connected is never shown as connected', async t => {
  const { tunnel, status, cli, state } = await startTunnel(t);
  await tunnel.runAction({ action: 'connect' });
  await until(() => status().state === 'connected');
  await cli.control('fault=service-down');
  await until(() => status().blocked === 'service-stopped');
  assert.equal(status().state, 'unknown');
  assert.deepEqual(state.snapshot().tunnel, NO_TUNNEL);
});

test('a JSON error is a failure at exit 0 as at exit 1', async t => {
  for (const faults of ['json-exit-0,not-registered', 'json-exit-1,not-registered', 'text-errors,not-registered']) {
    const { tunnel, state, status } = await startTunnel(t, { faults });
    await tunnel.refresh('all');
    await until(() => status().blocked === 'not-registered');
    assert.equal(state.snapshot().account.registered, false, faults);
  }
});

test('a refusal by a policy is not authorized, with the words of the CLI', async t => {
  const { tunnel, status } = await startTunnel(t, { faults: 'not-authorized' });
  await assert.rejects(
    tunnel.runAction({ action: 'setMode', value: 'doh' }),
    problem('not-authorized', ({ extras }) => /not authorized/i.test(extras.stderr ?? '') && extras.exitCode === 1),
  );
  await tunnel.refresh('all');
  assert.equal(status().blocked, null, 'reading the settings is allowed');
});

test('a user who may not connect is blocked as not authorized, until an action succeeds', async t => {
  const { tunnel, status, cli } = await startTunnel(t, { faults: 'not-authorized' });
  await until(() => status().state === 'disconnected');
  await assert.rejects(tunnel.runAction({ action: 'connect' }), problem('not-authorized'));
  assert.equal(status().blocked, 'not-authorized');
  await tunnel.refresh('all');
  assert.deepEqual([status().blocked, status().state], ['not-authorized', 'disconnected'], 'reads change nothing');
  await cli.control('clear');
  await tunnel.runAction({ action: 'connect' });
  assert.equal(status().blocked, null);
  await until(() => status().state === 'connected');
});

test('a failing command is reported with its exit code and what it said', async t => {
  const { tunnel } = await startTunnel(t);
  await assert.rejects(
    tunnel.runAction({ action: 'register' }),
    problem('tunnel-cli-failed', ({ extras, message }) => {
      return /earlier registration/.test(message) && extras.exitCode === 1 && /account delete/.test(extras.hint ?? '');
    }),
  );
});

for (const words of [
  'Error: Failed to communicate with the WARP API',
  'Error: Failed to communicate with the WARP API.',
  'Error: Failed to contact the WARP API.',
])
  test(`"${words}" is reported with what it means and what to do, and keeps the words of the CLI`, async t => {
    const { tunnel } = await startTunnel(t, {
      fake: `case "$*" in
        --version) echo "warp-cli 2026.7.1377.0";;
        *status) echo '{"status":"Disconnected","reason":"Manual"}';;
        *'registration new') echo '${words}' >&2; exit 1;;
      esac`,
    });
    await assert.rejects(
      tunnel.runAction({ action: 'register' }),
      problem('tunnel-cli-failed', ({ message, extras, wording }) => {
        assert.match(
          message,
          /^WARP could not reach api\.cloudflareclient\.com on TCP port 443\. A firewall, a DNS filter/,
        );
        assert.equal(extras.hint, 'Then register again with: culvert account register');
        assert.match(extras.stderr ?? '', /WARP API/);
        return wording !== null;
      }),
    );
  });

test('output that no rule knows, and output cut in the middle, is unknown with its raw text', async t => {
  for (const faults of ['unknown-output', 'cut']) {
    const { tunnel, status } = await startTunnel(t, { faults });
    await tunnel.refresh('all');
    await until(() => status().raw);
    assert.equal(status().state, 'unknown', faults);
  }
});

for (const [title, words] of [
  ['crashes', 'echo "Segmentation fault" >&2; exit 139'],
  ['prints nothing', 'exit 0'],
  ['prints nothing and fails', 'exit 1'],
  ['panics', 'echo "thread \'main\' panicked at src/main.rs:1" >&2; exit 101'],
])
  test(`a status for which the CLI ${title} is a failure of the program, not a state`, async t => {
    const { status } = await startTunnel(t, {
      fake: `case "$*" in --version) echo "warp-cli 2026.7.1377.0";; *) ${words};; esac`,
    });
    await until(() => status().reason?.code === 'ProgramFailed');
    assert.deepEqual([status().state, status().blocked], ['unknown', null]);
  });

test('a broken CLI is not hammered, however often it is asked', async t => {
  const { tunnel, runs, status } = await startTunnel(t, { fake: 'echo "Segmentation fault" >&2; exit 139' });
  for (let count = 0; count < 50; count++) await tunnel.refresh('stale');
  assert.ok(runs().length < 30, `${runs().length} processes`);
  assert.equal(status().state, 'unknown');
  await assert.rejects(
    tunnel.runAction({ action: 'connect' }),
    problem('tunnel-cli-failed', ({ extras }) => extras.exitCode === 139),
  );
});

test('a CLI that hangs holds a snapshot for a second at most, and the stop not at all', async t => {
  const { tunnel, status, runs } = await startTunnel(t, { faults: 'hang-deaf@settings' });
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

test('polls a CLI that neither listens nor knows JSON, and reads immediately after an action', async t => {
  const { tunnel, status, runs } = await startTunnel(t, {
    fake: `case "$*" in
      --version) echo "warp-cli (unversioned)";;
      *-l*) echo "error: unexpected argument '-l' found" >&2; exit 1;;
      status) cat "$HOME/fake-status" 2>/dev/null || echo "Status update: Disconnected. Reason: Manual Disconnection";;
      connect) echo "Status update: Connected" > "$HOME/fake-status"; echo Success;;
      *) echo "error: unexpected argument '$1' found" >&2; exit 1;;
    esac`,
  });
  await until(() => status().state === 'disconnected');
  await tunnel.runAction({ action: 'connect' });
  await until(() => status().state === 'connected');
  assert.ok(runs().includes('-l status') && runs().includes('status'));
});

test('a CLI whose listener reports changes only is asked for the status once', async t => {
  const { status, runs, spawned, state } = await startTunnel(t, {
    fake: `case "$*" in
      --version) echo "warp-cli 2026.7.1377.0";;
      *-l*) exec sleep 60;;
      *status) echo '{"status":"Connected","reason":"NetworkHealthy"}';;
    esac`,
  });
  await spawned(() => until(() => status().state === 'connected'));
  // the listener and the first read start at the same time
  assert.deepEqual(runs().sort(), ['--version', '-j -l status', '-j settings', '-j status']);
  assert.deepEqual(state.snapshot().commands.status?.argv, ['warp-cli', '-j', 'status']);
});

test('a CLI that answers but ends every listener is asked for the status, and listened to ever less often', async t => {
  const { log, status } = await startTunnel(t, { faults: 'listener-exits' });
  const ends = () => log.since(0, 500).filter(({ source }) => source === 'watch');
  await until(() => ends().length === 7);
  const starts = ends().map(({ at }) => Date.parse(at));
  const pauses = starts.slice(1).map((at, i) => at - starts[i]!);
  // the first answer to a question for the status ends one pause, whenever it comes
  assert.ok(Math.max(...pauses.slice(-2)) >= 1000, `started again after ${pauses} ms`);
  await until(() => status().state === 'disconnected' && status().blocked === null);
});

test('an empty answer does not override the status of the listener', async t => {
  const { tunnel, status } = await startTunnel(t, {
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

/** A service that is up, with a living listener that is silent after its first word; other commands are in `$@`. */
const quiet = (commands: string) => `case "$*" in
  --version) echo "warp-cli 2026.7.1377.0";;
  *-l*) echo '{"status":"Connected","reason":"NetworkHealthy"}'; exec sleep 60;;
  ${commands}
esac`;
const CONNECTED = `*status) echo '{"status":"Connected","reason":"NetworkHealthy"}';;`;
/** The listener of such a service, for a CLI that can't listen and is polled. */
const NO_LISTENER = `*-l*) echo "error: unexpected argument '-l' found" >&2; exit 2;;`;
const TIMEOUT = 'Error communicating with daemon: The IPC call hit a timeout and could not be processed';

for (const [kind, words, code] of [
  ['an IPC time-out', TIMEOUT, 'service-hangs'],
  [
    'an IPC session that ended',
    'Error communicating with daemon: Critical error processing the callbacks and the IPC session is no longer valid',
    'service-hangs',
  ],
  [
    'a refused connection',
    'Unable to connect to the CloudflareWARP daemon: Connection refused (os error 111)',
    'service-stopped',
  ],
  [
    'a prompt for the terms',
    'Please accept the WARP Terms of Service by running this command in a TTY',
    'terms-not-accepted',
  ],
  ['a missing registration', 'Error: Missing registration. Try running: "warp-cli registration new"', 'not-registered'],
] as const)
  for (const how of ['listening', 'polling'])
    test(`one command that ends in ${kind} does not outweigh the status while ${how}`, async t => {
      const { tunnel, status, events } = await startTunnel(t, {
        fake: `case "$*" in ${how === 'polling' ? NO_LISTENER : '-) ;;'}\n*) ${quiet(`${CONNECTED}\n*disconnect) echo '${words}' >&2; exit 1;;`)};;\nesac`,
      });
      await until(() => status().state === 'connected');
      await assert.rejects(tunnel.runAction({ action: 'disconnect' }), problem(code));
      await until(() => status().blocked === null && status().state === 'connected' && !status().lastKnown);
      const statuses = events.flatMap(({ event, data }) => (event === 'status' ? [data as Status] : []));
      assert.deepEqual(
        statuses.filter(({ state, blocked }) => state !== 'connected' || blocked !== null),
        [],
      );
    });

test('a service that hangs is shown as hanging after several failures, and its return is noticed although the listener is silent', async t => {
  const { tunnel, status, place, state } = await startTunnel(t, {
    fake: quiet(`*status) [ -e "$0-up" ] && echo '{"status":"Disconnected","reason":"Manual"}' || { echo '${TIMEOUT}' >&2; exit 1; };;
      *disconnect) echo '${TIMEOUT}' >&2; exit 1;;`),
  });
  await until(() => status().state === 'connected');
  const refused = problem('service-hangs', ({ extras, message }) => {
    return (
      /^WARP does not answer/.test(message) &&
      /^Try again\. /.test(extras.hint ?? '') &&
      /culvert-emulator --emulate reset/.test(extras.hint ?? '')
    );
  });
  await assert.rejects(tunnel.runAction({ action: 'disconnect' }), refused);
  assert.equal(status().state, 'connected', 'one failure is no state');
  await until(() => tunnel.stale().some(({ part }) => part === 'status'));
  assert.equal(
    status().lastKnown?.said,
    'Error communicating with daemon: The IPC call hit a timeout and could not be processed',
  );
  assert.match(statusLine(state.snapshot()), /Connected, as of \d\d:\d\d · WARP answers with an error: /);
  await until(() => status().blocked === 'service-hangs');
  assert.equal(status().state, 'unknown');
  writeFileSync(join(place.path, 'warp-cli-up'), '');
  await until(() => status().state === 'disconnected' && status().blocked === null);
});

for (const isGone of [true, false])
  test(`a registration that is ${isGone ? 'gone' : 'still there'} after a deletion without an answer is read`, async t => {
    const missing = `echo '{"code":"MissingRegistration","error":"Missing registration."}'`;
    const present = `echo '{"id":"0a","account":{"type":"free","id":"0b"}}'`;
    const { tunnel, state } = await startTunnel(t, {
      fake: quiet(`*'registration delete') touch "$0-deleted"; echo '${TIMEOUT}' >&2; exit 1;;
        *'registration show') [ ${isGone ? '-e "$0-deleted"' : '-e /nowhere'} ] && ${missing} || ${present};;
        ${isGone ? `*status) ${missing};;` : CONNECTED}`),
    });
    await tunnel.refresh('all');
    const deletion = tunnel.runAction({ action: 'deleteRegistration' });
    if (isGone) await deletion;
    else await assert.rejects(deletion, { code: 'service-hangs', message: /^The registration was not deleted/ });
    await until(
      () => state.snapshot().account.registered === !isGone && state.snapshot().status.blocked !== 'service-hangs',
    );
  });

test('at the start, one time-out of the status is no state', async t => {
  const { status, events } = await startTunnel(t, {
    fake: `case "$*" in
      --version) echo "warp-cli 2026.7.1377.0";;
      *-l*) exec sleep 60;;
      *status) [ -e "$0-asked" ] && exec echo '{"status":"Disconnected","reason":"Manual"}'
        touch "$0-asked"; exec sleep 60;;
      *) exit 1;;
    esac`,
  });
  await until(() => status().state === 'disconnected');
  const states = events.flatMap(({ event, data }) => (event === 'status' ? [data as Status] : []));
  assert.deepEqual(
    states.map(({ state, blocked }) => [state, blocked]),
    [['disconnected', null]],
  );
});

test('a write that failed without a refusal has what it may have changed read again', async t => {
  const { tunnel, state, place } = await startTunnel(t, {
    fake: quiet(`${CONNECTED}
      *settings) [ -e "$0-doh" ] && echo 'Mode: DnsOverHttps' || echo 'Mode: Warp';;
      *'mode doh') touch "$0-doh"; echo '${TIMEOUT}' >&2; exit 1;;`),
  });
  await until(() => state.snapshot().settings.Mode === 'warp');
  await assert.rejects(tunnel.runAction({ action: 'setMode', value: 'doh' }), problem('service-hangs'));
  assert.ok(existsSync(join(place.path, 'warp-cli-doh')));
  await until(() => state.snapshot().settings.Mode === 'doh');
});

test('a crash while the status is polled is not a state, and is shown from the first crash on', async t => {
  const { status, events, place, runs } = await startTunnel(t, {
    fake: `case "$*" in
      --version) echo "warp-cli 2026.7.1377.0";;
      *-l*) exit 0;;
      *status) [ -e "$0-crash" ] && { echo "thread 'main' panicked: failed printing to stdout: Broken pipe" >&2; exit 101; }
        echo '{"status":"Connected","reason":"NetworkHealthy"}';;
    esac`,
  });
  await until(() => status().state === 'connected');
  const reads = () => runs().filter(run => run.endsWith('status') && !run.includes('-l')).length;
  const before = reads();
  writeFileSync(join(place.path, 'warp-cli-crash'), '');
  await until(() => status().state === 'unknown', 'after several failures it is unknown');
  assert.ok(reads() >= before + 3);
  const seen = events.flatMap(event => (event.event === 'status' ? [event.data as Status] : []));
  const old = seen.filter(({ lastKnown }) => lastKnown);
  assert.ok(old.length > 0 && old.every(each => each.state === 'connected' && /panicked/.test(each.lastKnown!.said!)));
  assert.equal(status().lastKnown, undefined);
});

test('a connection that was accepted and never begins is not shown as a disconnection by hand, until the tunnel moves', async t => {
  const manual = 'Status update: Disconnected\nReason: Manual Disconnection';
  const { tunnel, status, place } = await startTunnel(t, {
    ignoredMs: 100,
    fake: `case "$*" in
      --version) echo "warp-cli 2026.7.1343.0";;
      *-l*) echo '{"status":"Disconnected","reason":"Manual"}'; exec sleep 60;;
      *status) [ -e "$0-up" ] && echo '{"status":"Connected","reason":"NetworkHealthy"}' || echo '${manual}';;
      *connect) echo Success;;
    esac`,
  });
  await until(() => status().reason?.code === 'Manual');
  await tunnel.runAction({ action: 'connect' });
  await until(() => status().reason?.code === 'ConnectIgnored');
  await tunnel.refresh('all');
  assert.equal(status().reason?.code, 'ConnectIgnored', 'the same status again changes nothing');
  await tunnel.runAction({ action: 'disconnect' });
  assert.equal(status().reason?.code, 'Manual');
  await tunnel.runAction({ action: 'connect' });
  await until(() => status().reason?.code === 'ConnectIgnored');
  writeFileSync(join(place.path, 'warp-cli-up'), '');
  await tunnel.refresh('all');
  assert.deepEqual([status().state, status().reason], ['connected', null]);
});

test('the state says what starts services without systemd, and nothing where it runs', async t => {
  for (const serviceManager of [{ kind: 'openrc', startsWarp: true } as const, null]) {
    const { state } = await startTunnel(t, { serviceManager, fake: 'echo 2026.7.1377' });
    await until(() => state.snapshot().tunnelCli.available);
    assert.deepEqual(state.snapshot().tunnelCli.serviceManager, serviceManager ?? undefined);
  }
});

test('settings that Culvert changed and could not read are unknown, and are read as soon as that works', async t => {
  const { tunnel, state, cli } = await startTunnel(t);
  const shown = () => ({ mode: state.snapshot().settings.Mode, families: state.snapshot().options.families });
  await until(() => shown().mode === 'warp');
  await cli.control('fault=cut=20@settings');
  await tunnel.refresh('all');
  assert.equal(shown().mode, 'warp', 'a failed read alone makes nothing unknown');
  await tunnel.runAction({ action: 'setMode', value: 'doh' });
  await until(() => shown().mode === undefined);
  const snapshot = state.snapshot();
  assert.deepEqual([shown().families, snapshot.tunnel.proxyPort], [null, null]);
  assert.equal(tunnel.stale().find(({ part }) => part === 'settings')?.ageSeconds === null, false);
  assert.equal(areSettingsKnown(tunnel, snapshot.settings), false);
  assert.doesNotMatch(statusLine(snapshot), /traffic|DNS/i);
  await cli.control('fault=');
  await until(() => shown().mode === 'doh');
  await until(() => areSettingsKnown(tunnel, state.snapshot().settings));
});

test('settings and lists that could not be read again are old, and are read again without a client', async t => {
  const announced: boolean[] = [];
  const onAge = () => void announced.push(tunnel.hasOldParts());
  const { tunnel, state, cli } = await startTunnel(t, { onAge });
  const mode = () => state.snapshot().settings.Mode;
  await until(() => mode() === 'warp');
  await tunnel.refresh('stale');
  assert.deepEqual([tunnel.hasOldParts(), tunnel.stale()], [false, []]);
  await cli.control('fault=cut=20@settings');
  await cli.run('mode', 'doh');
  await until(tunnel.hasOldParts);
  assert.equal(mode(), 'warp');
  const lists = tunnel.stale().find(({ part }) => part === 'splitTunnel');
  assert.equal(typeof lists?.ageSeconds, 'number', 'the settings say whether the lists have changed');
  await cli.control('fault=');
  await until(() => mode() === 'doh');
  for (const fault of ['', 'unknown-output@tunnel ip list', '', 'unknown-output@tunnel host list', '']) {
    await cli.control(`fault=${fault}`);
    await tunnel.refresh('all');
    assert.deepEqual([announced.at(-1), tunnel.hasOldParts()], [fault !== '', fault !== ''], fault);
    assert.equal(state.snapshot().hasOldParts, fault !== '', 'which an event says');
  }
  await cli.control('fault=unknown-output@tunnel ip list');
  await tunnel.refresh('all');
  assert.equal(tunnel.hasOldParts(), true);
  await cli.control('fault=');
  await until(() => !tunnel.hasOldParts());
});
