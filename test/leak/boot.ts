// A machine that boots with systemd and the installed kill switch, shouting from the first moment to the last.
import { execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { shippedEndpoints } from '../../daemon/killswitch/rules/endpoints.ts';
import { formatRules } from '../../daemon/killswitch/rules/wanted.ts';
import { until } from '../support/until.ts';
import { judge } from './classes.ts';
import { type Machine, PATH } from './machine.ts';
import { has } from './missing.ts';
import type { Outcome, Scenario, Stage } from './stage.ts';
import { openWire } from './wire.ts';

/** A Debian with systemd, made once: half a gigabyte, and a minute. */
const ROOT = process.env.CULVERT_LEAK_ROOT ?? '/var/cache/culvert-leaktest/bookworm';
const MIRROR = execFileSync(resolve(import.meta.dirname, '../../data/release/mirror.sh'), { encoding: 'utf8' }).trim();
/** dbus-user-session is what an alternative dependency of gjs gets resolved by; debootstrap itself takes the first. */
const PACKAGES = 'systemd,systemd-sysv,dbus,dbus-user-session,polkitd,nftables,iproute2,gjs';
const PROJECT = resolve(import.meta.dirname, '../..');
const FIXTURES = resolve(import.meta.dirname, 'fixtures');
const LONGEST_BOOT_SECONDS = 120;

const wanted = formatRules({ allowLan: false, endpoints: shippedEndpoints() });

export const BOOT_SCENARIOS: readonly Scenario[] = [
  {
    name: 'boot-control',
    title: 'a machine that boots without the kill switch leaks as soon as it has a network',
    control: true,
    async run(stage) {
      const { leaked, status, after, ...outcome } = await boot(stage, null);
      if (leaked < 50) outcome.faults.push(`the method is broken: ${leaked} packets seen of ${outcome.attempts}`);
      return { ...outcome, leaked };
    },
  },
  {
    name: 'boot',
    title: 'a machine that boots with the kill switch on sends nothing, from the first moment to its shutdown',
    run: async stage => blocked(await boot(stage, wanted)),
  },
  {
    name: 'boot-torn',
    title: 'a machine that boots with a torn configuration sends nothing',
    run: async stage => blocked(await boot(stage, wanted.slice(0, 700))),
  },
  {
    name: 'boot-empty',
    title: 'a machine that boots with an empty configuration sends nothing',
    run: async stage => blocked(await boot(stage, '')),
  },
  {
    name: 'boot-without-nft',
    title: 'a machine whose packet filter takes no rules at boot says so, and reports that nothing is blocked',
    control: true,
    async run(stage) {
      const files = { 'usr/sbin/nft': '#!/bin/sh\nexit 1\n', 'usr/local/bin/after': LOUD };
      const { leaked, status, after, ...outcome } = await boot(stage, wanted, files);
      if (leaked < 50) outcome.faults.push(`the method is broken: ${leaked} packets seen of ${outcome.attempts}`);
      if (!/^failed$/m.test(after)) outcome.faults.push(`the guard did not fail: ${after}`);
      if (!/NOTHING IS BLOCKED/.test(after)) outcome.faults.push(`no emergency in the journal: ${after}`);
      if (/"active":true/.test(after)) outcome.faults.push(`the state says that it blocks: ${after}`);
      return { ...outcome, leaked };
    },
  },
  {
    name: 'boot-remove',
    title: 'removing the kill switch opens the network for good, whoever calls the service meanwhile',
    control: true,
    async run(stage) {
      const { leaked, status, after, ...outcome } = await boot(stage, wanted, { 'usr/local/bin/after': REMOVAL });
      if (!/^removed: 0$/m.test(after) || !/^table: 1$/m.test(after)) outcome.faults.push(`not removed: ${after}`);
      if (/^active$/m.test(after)) outcome.faults.push(`the service was started again: ${after}`);
      if (leaked < 50) outcome.faults.push(`the network did not open: ${leaked} packets seen`);
      return { ...outcome, leaked };
    },
  },
];

/** Commands that tell an administrator that nothing is blocked. */
const LOUD = `#!/bin/bash
systemctl is-failed culvert-killswitch-guard.service
journalctl -b -p emerg -o cat
cat /run/culvert-killswitch/state.json
`;

/** Removes the kill switch while calls on the bus try to start it again; then looks whether anything came back. */
const REMOVAL = `#!/bin/bash
target="org.culvert.KillSwitch1 /org/culvert/KillSwitch1 org.culvert.KillSwitch1 Status"
while :; do busctl --timeout=5 call $target; done >/dev/null 2>&1 &
while :; do busctl --timeout=5 call $target; done >/dev/null 2>&1 &
sleep 0.5
culvert-killswitch-remove; echo "removed: $?"
sleep 2
nft list table inet culvert >/dev/null 2>&1; echo "table: $?"
systemctl is-active culvert-killswitch.service
kill %1 %2
`;

type Booted = Outcome & {
  attempts: number;
  leaked: number;
  leaks: Record<string, number>;
  status: string;
  /** Output of the machine's script after the boot. */
  after: string;
};

function blocked({ status, after: _, ...outcome }: Booted): Outcome {
  for (const [what, count] of Object.entries(outcome.leaks)) outcome.faults.push(`${what}: ${count} packets leaked`);
  if (!/\\"active\\":true/.test(status)) outcome.faults.push(`the service does not report blocking: ${status}`);
  return outcome;
}

/**
 * @param rules what is stored when the machine starts; null: nothing
 * @param files further executables of this machine
 */
async function boot({ ground }: Stage, rules: string | null, files: Record<string, string> = {}): Promise<Booted> {
  await ensureRoot();
  const place = (name: string) => join(ground.directory, name);
  if (!existsSync(place('installed'))) await install(place('meson'), place('installed'));
  const machine = await ground.machine();
  const layers = `boot-${machine.pid}`;
  const upper = place(`${layers}/upper`);
  for (const name of ['upper', 'work', 'root']) mkdirSync(place(`${layers}/${name}`), { recursive: true });
  furnish(upper, rules, files);
  const options = `lowerdir=${place('installed')}:${ROOT},upperdir=${upper},workdir=${place(`${layers}/work`)}`;
  await machine.run(['mount', '-t', 'overlay', 'overlay', '-o', options, place(`${layers}/root`)]);

  const wire = await openWire(machine, '*');
  const ended = start(machine, place(`${layers}/root`));
  // its host has to bring the link up, as early as there is one
  const ready = until(
    async () => (await machine.attempt(['ip', 'link', 'set', 've-leaktest', 'up'])).code === 0,
    'the link',
  );
  await Promise.race([ready, ended]);
  await machine.attempt(['ip', 'address', 'add', '192.168.77.1/24', 'dev', 've-leaktest']);
  const { code, stdout, stderr } = await ended;
  const { seen, drops } = await wire.report();

  const leaks: Record<string, number> = {};
  const allowed: Record<string, number> = {};
  for (const frame of seen) {
    const verdict = judge(frame, [], false);
    if ('leaked' in verdict) leaks[verdict.leaked] = (leaks[verdict.leaked] ?? 0) + frame.count;
    else allowed[verdict.allowed] = (allowed[verdict.allowed] ?? 0) + frame.count;
  }
  const read = (name: string) => (existsSync(join(upper, name)) ? readFileSync(join(upper, name), 'utf8').trim() : '');
  const attempts = Number(read('var/lib/shout/attempts'));
  const faults = code === 0 ? [] : [`the machine ended with ${code}: ${`${stdout}\n${stderr}`.slice(-500)}`];
  if (attempts < 300) faults.push(`only ${attempts} attempts during the boot`);
  if (drops) faults.push(`the capture lost ${drops} frames`);
  const leaked = Object.values(leaks).reduce((a, b) => a + b, 0);
  return {
    transitions: 1,
    attempts,
    leaked,
    leaks,
    allowed,
    drops,
    faults,
    status: read('var/lib/shout/status'),
    after: read('var/lib/shout/after'),
  };
}

function start(machine: Machine, root: string) {
  const nspawn = ['systemd-nspawn', '-q', '-b', '-D', root, '-M', 'leaktest', '--console=pipe'];
  // no systemd has to run outside
  const apart = ['--register=no', '--keep-unit', '--network-veth'];
  return machine.attempt(['timeout', '-s', 'KILL', String(LONGEST_BOOT_SECONDS), ...nspawn, ...apart]);
}

/** Files of this boot, above the installed product. */
function furnish(upper: string, rules: string | null, files: Record<string, string>): void {
  const write = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(upper, path)), { recursive: true });
    writeFileSync(join(upper, path), text, { mode });
  };
  write('etc/systemd/network/10-uplink.network', NETWORK);
  write('etc/systemd/system/shout.service', SHOUT);
  write('etc/systemd/system/finish.service', FINISH);
  write('etc/hostname', 'leaktest\n');
  for (const [wanted, unit] of [
    ['sysinit', 'shout'],
    ['multi-user', 'finish'],
  ])
    write(`etc/systemd/system/${wanted}.target.d/leaktest.conf`, `[Unit]\nWants=${unit}.service\n`);
  write('etc/systemd/system/multi-user.target.d/network.conf', '[Unit]\nWants=systemd-networkd.service\n');
  mkdirSync(join(upper, 'usr/local/bin'), { recursive: true });
  for (const name of ['shout', 'finish']) {
    copyFileSync(join(FIXTURES, name), join(upper, 'usr/local/bin', name));
    chmodSync(join(upper, 'usr/local/bin', name), 0o755);
  }
  for (const [path, text] of Object.entries(files)) write(path, text, 0o755);
  if (rules !== null) {
    write('var/lib/culvert-killswitch/rules.nft', rules, 0o600);
    chmodSync(join(upper, 'var/lib/culvert-killswitch'), 0o700);
  }
}

const NETWORK = `[Match]
Name=host0
[Network]
Address=192.168.77.2/24
Gateway=192.168.77.1
`;
const SHOUT = `[Unit]
DefaultDependencies=no
After=local-fs.target
[Service]
ExecStart=/usr/local/bin/shout
`;
const FINISH = `[Unit]
After=multi-user.target dbus.service
[Service]
ExecStart=/usr/local/bin/finish
`;

const run = promisify(execFile);

/** The product as a system-wide installation puts it there, units and all. */
async function install(build: string, destination: string): Promise<void> {
  const env = { ...process.env, DESTDIR: destination };
  await run(
    'meson',
    ['setup', build, PROJECT, '--prefix', '/usr', '-Dinstall_format=system', '-Dkill_switch=enabled'],
    { env },
  );
  await run('meson', ['compile', '-C', build], { env });
  await run('meson', ['install', '-C', build, '--no-rebuild', '--quiet'], { env });
}

async function ensureRoot(): Promise<void> {
  const lacking = ['systemd-nspawn', 'debootstrap', 'meson'].filter(program => !has(program));
  if (lacking.length) throw new Error(`needs ${lacking.join(', ')} (Debian: systemd-container debootstrap meson)`);
  if (existsSync(ROOT)) return;
  process.stderr.write(`  making ${ROOT} once: a Debian of 500 MB, about a minute\n`);
  mkdirSync(dirname(ROOT), { recursive: true });
  const unfinished = `${ROOT}.${process.pid}`;
  try {
    const words = ['--variant=minbase', `--include=${PACKAGES}`, 'bookworm', unfinished, MIRROR];
    await run('debootstrap', words, { env: { ...process.env, PATH }, maxBuffer: 1 << 26 });
    renameSync(unfinished, ROOT); // fails where another run was faster
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(ROOT)) throw error;
  }
}
