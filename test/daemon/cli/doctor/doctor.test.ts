// `culvert doctor` as users run it: exit codes, options, fixes that are applied and undone.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CheckResult, DoctorReport } from '../../../../daemon/api/doctor.ts';
import { runsSystemd } from '../../../../daemon/core/process.ts';
import { CHECKS } from '../../../../daemon/doctor/checks/all.ts';
import { NO_KILL_SWITCH } from '../../../../daemon/state/store.ts';
import { generalWords } from '../../../../daemon/view/states/registration.ts';
import { english } from '../../../../daemon/view/translator.ts';
import {
  createHome,
  culvert,
  type Home,
  prints,
  startHome,
  startOnTerminal,
  status,
} from '../../../support/daemon/command.ts';
import { withPrograms } from '../../../support/doctor/world.ts';
import { listen } from '../../../support/listen.ts';
import { missing } from '../../../support/temporary.ts';

async function examine(home: Home, words: string[] = [], env: Record<string, string> = {}) {
  const { code, stdout } = await culvert(home, ['doctor', ...words, '--json'], '', env);
  const report = JSON.parse(stdout) as DoctorReport;
  const byId = (id: string) => report.results.find(result => result.id === id) as CheckResult;
  return { code, report, byId };
}

/** A directory with this program, before the machine's own. */
function withProgram(home: Home, name: string, text: string): Record<string, string> {
  const bin = join(home.path, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, name), text, { mode: 0o755 });
  return { PATH: `${bin}:${process.env.PATH}` };
}

test('with a healthy daemon, the checks of Culvert find no problem', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('status', status('connected'));
  daemon.state.set('account', { registered: true, type: 'Free', organization: null, managed: false });
  const only = [
    '--only',
    'service,registration,tunnel-cli,port,socket-directory,configuration,knowledge-files,display',
  ];
  const { code, report, byId } = await examine(home, only);
  assert.deepEqual([code, report.ok], [0, true]);
  assert.equal(byId('service').verdict, 'ok');
  assert.match(
    byId('knowledge-files').evidence.join(),
    /^knows \d+ bugs, \d+ codes, \d+ limits, \d+ lines of the journal$/,
  );
  const { stdout } = await culvert(home, ['doctor', ...only]);
  assert.match(stdout, /^! Display: none, so panel and tray cannot be shown\n {2}A machine without a screen/);
  assert.match(
    stdout,
    /\nWARP service\n✓ Tunnel CLI: .*\n✓ WARP service: the service answers\n✓ Registration of this device: Free\n\nCulvert\n/,
  );
});

/** The fix by systemctl, which can do nothing where systemd does not run. */
const BY_SYSTEMD = runsSystemd() ? /^commands$/ : /^none$/;

for (const [blocked, id, says, fix] of [
  ['cli-missing', 'tunnel-cli', /Install Cloudflare WARP/, /^(commands|open)$/], // by distribution
  ['service-stopped', 'service', /is not running/, BY_SYSTEMD],
  ['service-hangs', 'service', /[Rr]estart it/, BY_SYSTEMD],
  ['terms-not-accepted', 'service', /terms of service/, /^action$/],
  ['not-registered', 'registration', /not registered/, /^action$/],
  ['not-authorized', 'service', /administrator/, /^none$/],
] as const)
  test(`a tunnel that reports ${blocked} is a problem of the check ${id}`, async t => {
    const { home, daemon } = await startHome(t);
    daemon.state.set('status', status('unable', { blocked }));
    const { code, byId } = await examine(home, ['--only', id]);
    const { verdict, explanation, fix: offered } = byId(id);
    assert.deepEqual([code, verdict], [1, 'problem']);
    assert.match(offered?.kind ?? 'none', fix);
    assert.match(explanation ?? '', says);
  });

test('without a daemon it asks the tunnel CLI itself, and says what is missing', async t => {
  const home = createHome(t);
  const CULVERT_SERVER_PORT = String(await listen(t, createServer()));
  const answers =
    '#!/bin/sh\ncase "$*" in *version*) echo "warp-cli 2026.3.846.0";; *status*) echo "Status update: Connected";; *) exit 1;; esac\n';
  const env = { ...withProgram(home, 'warp-cli', answers), CULVERT_SERVER_PORT };
  const { code, byId } = await examine(home, ['--only', 'daemon,port,tunnel-cli,configuration'], env);
  assert.equal(code, 1);
  assert.deepEqual([byId('daemon').verdict, byId('port').verdict], ['problem', 'notice']);
  assert.match(byId('tunnel-cli').evidence[0] ?? '', /bin\/warp-cli, version 2026\.3\.846\.0$/);
  const without = await examine(home, ['--only', 'tunnel-cli'], { PATH: missing(t) });
  assert.equal(without.byId('tunnel-cli').verdict, 'problem');
  const variable = await examine(home, ['--only', 'configuration'], { CULVERT_SERVER_PORT: 'soon' });
  assert.match(variable.byId('configuration').evidence[0] ?? '', /CULVERT_SERVER_PORT=soon/);
});

test('a broken configuration file is named with its line', async t => {
  const home = createHome(t);
  mkdirSync(join(home.path, '.config', 'culvert'), { recursive: true });
  writeFileSync(join(home.path, '.config', 'culvert', 'config.json'), '{\n  "ui": {,\n}\n');
  const { byId } = await examine(home, ['--only', 'configuration']);
  assert.equal(byId('configuration').verdict, 'problem');
  assert.match(byId('configuration').evidence[0] ?? '', /culvert\/config\.json, line 2: /);
});

test('a check that cannot be completed ends with 7, and an unknown one with 2', async t => {
  const { home } = await startHome(t);
  const env = { PATH: missing(t) };
  assert.equal((await examine(home, ['--only', 'bridge-mtu'], env)).code, 7);
  const { code, stderr } = await culvert(home, ['doctor', '--only', 'no-such-check']);
  assert.equal(code, 2);
  assert.match(stderr, /There is no check "no-such-check"\.\nThe checks are: tunnel-cli, /);
});

test('the real GJS answers for the panel and the tray', async t => {
  const { home } = await startHome(t);
  const { byId } = await examine(home, ['--only', 'display,panel,tray'], { DISPLAY: ':9' });
  assert.deepEqual([byId('panel').verdict, byId('tray').verdict], ['ok', 'notice']);
});

test('a fix is shown, applied with --yes, and reverted by undo', async t => {
  const { home } = await startHome(t);
  const runtime = join(home.path, 'run', 'culvert');
  const mode = () => statSync(runtime).mode & 0o777;
  chmodSync(runtime, 0o755);
  assert.equal((await examine(home, ['--only', 'socket-directory'])).code, 1);
  const refused = await culvert(home, ['doctor', 'fix', 'socket-directory']);
  assert.deepEqual([refused.code, mode()], [1, 0o755]);
  assert.match(refused.stderr, /chmod 700 .*\n[\s\S]*Nothing was changed/);
  const applied = await culvert(home, ['doctor', 'fix', 'socket-directory', '--yes']);
  assert.deepEqual([applied.code, mode()], [0, 0o700]);
  assert.match(applied.stdout, /✓ chmod 700 /);
  const undone = await culvert(home, ['doctor', 'undo', '--yes']);
  assert.deepEqual([undone.code, mode()], [0, 0o755]);
  assert.match(undone.stdout, /✓ chmod 755 /);
  assert.match((await culvert(home, ['doctor', 'undo', '--yes'])).stderr, /nothing to undo/);
});

test('undo lists what an administrator may have run, with the commands that revert it', async t => {
  const { home, daemon } = await startHome(t);
  const state = join(home.path, '.local/state/culvert');
  mkdirSync(state, { recursive: true });
  const shell = ['sudo systemctl start dnsmasq.service'];
  const entry = { id: 'dns-port-53', label: 'Stop dnsmasq.service', at: '2026-01-01T00:00:00.000Z', shell, file: null };
  writeFileSync(join(state, 'doctor-undo-administrator.json'), JSON.stringify([entry]));
  const alone = await culvert(home, ['doctor', 'undo', '--yes']);
  assert.equal(alone.code, 1);
  assert.match(
    alone.stderr,
    /Stop dnsmasq\.service[\s\S]*\n +sudo systemctl start dnsmasq\.service\n[\s\S]*nothing else to undo/,
  );
  daemon.state.set('settings', { Mode: 'doh', 'Fallback domains': ['corp'] });
  assert.equal((await culvert(home, ['doctor', 'fix', 'dns-fallback-only', '--yes'])).code, 0);
  const both = await culvert(home, ['doctor', 'undo', '--yes', '--json']);
  const { file: _, ...listed } = entry;
  const { ok, administrator } = JSON.parse(both.stdout) as { ok: boolean; administrator: unknown };
  assert.deepEqual([ok, administrator], [true, [listed]], both.stderr);
});

test('a fix that consists of actions goes through the daemon, and so does its undo', async t => {
  const { home, daemon, performed } = await startHome(t);
  daemon.state.set('settings', { Mode: 'doh', 'Fallback domains': ['corp'] });
  const { code, stderr } = await culvert(home, ['doctor', 'fix', 'dns-fallback-only', '--yes']);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /culvert action setMode warp\+doh/);
  await culvert(home, ['doctor', 'undo', '--yes']);
  assert.deepEqual(performed, [
    ['setMode', 'warp+doh'],
    ['setMode', 'doh'],
  ]);
});

test('on a terminal the fix is asked for, and the spinner names what is checked', async t => {
  const { home, daemon, performed } = await startHome(t);
  daemon.state.set('settings', { Mode: 'dot', 'Fallback domains': ['corp'] });
  const child = await startOnTerminal(home, ['doctor', 'fix', 'dns-fallback-only']);
  await prints(child, 'stdout', /Checking: Local names in DNS-only mode/);
  await prints(child, 'stdout', /Use the tunnel with DNS over TLS\? \[y\/N\]/);
  child.stdin.write('y\n');
  await prints(child, 'stdout', /Undo it with: culvert doctor undo/);
  assert.deepEqual(performed, [['setMode', 'warp+dot']]);
});

test('a kill switch is judged by what it does', async t => {
  const { home, daemon } = await startHome(t);
  const on = { ...NO_KILL_SWITCH, enabled: true, active: true, installed: true, bootGuard: true };
  for (const [state, verdict, says] of [
    [NO_KILL_SWITCH, 'not-applicable', null],
    [{ ...NO_KILL_SWITCH, installed: true, active: false }, 'ok', null],
    [on, 'ok', null],
    [{ ...on, bootGuard: false }, 'notice', /culvert-killswitch-guard/],
    [{ ...on, active: false }, 'problem', /culvert killswitch on/],
    [{ ...on, active: null }, 'notice', /systemctl status/],
    [{ ...NO_KILL_SWITCH, enabled: true, command: 'install-it' }, 'problem', /install-it/],
  ] as const) {
    daemon.state.set('killSwitch', state);
    const result = (await examine(home, ['--only', 'kill-switch'])).byId('kill-switch');
    assert.equal(result.verdict, verdict);
    if (says) assert.match(result.explanation ?? '', says);
  }
});

test('the list of checks names each of them, and is an object with --json', async t => {
  const home = createHome(t);
  const { code, stdout } = await culvert(home, ['doctor', 'list', '--json']);
  const expected = CHECKS.map(({ id, title, group, source }) => ({ id, title, group, source }));
  assert.deepEqual([code, JSON.parse(stdout)], [0, { ok: true, checks: expected }]);
  const lines = (await culvert(home, ['doctor', 'list'])).stdout.trimEnd().split('\n');
  assert.deepEqual(
    lines.map(line => line.split(' ')[0]),
    CHECKS.map(({ id }) => id),
  );
});

test('explain knows a line of the journal, with its source, and words a cause like every other client', async t => {
  const home = createHome(t);
  const { stdout } = await culvert(home, ['explain', 'e=ApplyError("nft command failed with return code: 256")']);
  assert.match(stdout, /firewall-nft-failed.*nft refused them.*Seen in: https:\/\/github\.com\/\S+ \(2024-03-04\)/s);
  assert.match(stdout, /FirewallRulesNotSet/);
  const words = 'Error communicating with daemon: The IPC call hit a timeout and could not be processed';
  const printed = await culvert(home, ['explain', words]);
  assert.match(printed.stdout, /^ServiceHangs: [\s\S]*^ipc-time-out: also seen in the journal of WARP’s service$/m);
  assert.doesNotMatch(printed.stdout, /The service runs|a line of the journal/);
  // this entry counts only while the service does not answer
  const dropped = await culvert(home, ['explain', 'Dropping WarpService']);
  assert.doesNotMatch(dropped.stdout, /service-dropped|has not answered since/);
  assert.match(dropped.stdout, /log: Dropping WarpService/);
  for (const panic of [
    "thread 'main' panicked at library/std/src/io/stdio.rs:1165:9: failed printing to stdout: Broken pipe (os error 32)",
    "thread 'main' panicked at library/std/src/io/stdio.rs:1165:9:",
  ])
    assert.doesNotMatch((await culvert(home, ['explain', panic])).stdout, /The WARP service crashed/);
  const cause = await culvert(home, ['explain', 'token-refused']);
  const { title, sentence } = generalWords('token-refused', english);
  assert.ok(cause.stdout.includes(title) && cause.stdout.includes(sentence), cause.stdout);
});

test('explain shows the line that was given once among the evidence of this device', async t => {
  const MESSAGE = 'WARN warp_settings: Unable to read local policy file: symbolic link (os error 40)';
  const line = JSON.stringify({ __REALTIME_TIMESTAMP: '1900000000000000', MESSAGE });
  const { PATH } = withPrograms(t, { journalctl: `echo '${line}'` });
  const given = 'Failed to communicate with the WARP API';
  const { stdout } = await culvert(createHome(t), ['explain', given], '', { PATH });
  const [, here = ''] = stdout.split('If this device is not registered');
  assert.equal(here.split(given).length, 2, stdout);
});
