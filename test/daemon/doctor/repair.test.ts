// Root's side of a repair: it takes names and parameters of its list only, and each change is whole or undone.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { REPAIR_JOURNAL, repairsDone, undoableByAnyone } from '../../../daemon/doctor/fix-journal.ts';
import { runRepair } from '../../../daemon/doctor/repair/run.ts';
import { noting, repairIn } from '../../support/doctor/repair.ts';
import { moments } from '../../support/moments.ts';
import { bundleScript } from '../../support/script.ts';
import { temporary } from '../../support/temporary.ts';
import { sample } from '../../support/thoroughness.ts';

const LEFTOVER = '# by hand\nnameserver 127.0.2.2\nsearch good .bad\n';
const resolvConf = (root: string) => join(root, 'etc/resolv.conf');
const done = (root: string) => repairsDone(join(root, REPAIR_JOURNAL));

/** A directory that looks like `/`, with what the repairs change. */
function machine(t: TestContext): string {
  const root = temporary(t, 'root');
  chmodSync(root, 0o755);
  for (const directory of ['etc/dnsmasq.d', 'var/lib', 'run/systemd/resolve'])
    mkdirSync(join(root, directory), { recursive: true, mode: 0o755 });
  for (const name of ['eth0', 'eth0.5', 'wlan0']) {
    mkdirSync(join(root, 'proc/sys/net/ipv6/conf', name), { recursive: true });
    writeFileSync(join(root, 'proc/sys/net/ipv6/conf', name, 'disable_ipv6'), '0\n');
  }
  writeFileSync(join(root, 'run/systemd/resolve/stub-resolv.conf'), 'nameserver 127.0.0.53\n');
  writeFileSync(resolvConf(root), LEFTOVER, { mode: 0o640 });
  return root;
}

/** Every file outside of the journal, with type, mode, owner, time and content. */
function contents(root: string): string[] {
  return (readdirSync(root, { recursive: true }) as string[])
    .filter(name => !name.startsWith('var/lib'))
    .sort()
    .map(name => {
      const { mode, uid, gid, mtimeMs } = lstatSync(join(root, name));
      const isFile = (mode & 0o170000) === 0o100000;
      return `${name} ${mode.toString(8)} ${uid}:${gid} ${isFile ? mtimeMs + readFileSync(join(root, name), 'utf8') : ''}`;
    });
}

const refusal = (pattern: RegExp) => (error: Error) => pattern.test(error.message);

test('a name or a parameter that is not of the list is refused before anything is started or written', async t => {
  const root = machine(t);
  const before = contents(root);
  const commands: string[] = [];
  const hostile: string[][] = [
    [],
    ['fix'],
    ['fix', ''],
    ['fix', 'toString'],
    ['fix', '__proto__'],
    ['fix', 'sh', '-c', 'true'],
    ['fix', '../main'],
    ['fix', 'dnsmasq', '/etc/shadow'],
    ['fix', 'resolv-conf-words', '--root', '/tmp'],
    ['--root', '/tmp', 'fix', 'dnsmasq'],
    ['fix', '--root=/tmp', 'dnsmasq'],
    ['fix', 'start-warp', 'sshd'],
    ['fix', 'restart-warp', 'sshd'],
    ['fix', 'stop-resolver'],
    ['fix', 'stop-resolver', 'sshd.service'],
    ['fix', 'stop-resolver', 'systemd-resolved.service'],
    ['fix', 'stop-resolver', 'unbound.service', 'sshd.service'],
    ['fix', 'stop-resolver', 'unbound.service\n'],
    ['fix', 'stop-resolver', '--now'],
    ['fix', 'ipv6-off'],
    ['fix', 'ipv6-off', 'all'],
    ['fix', 'ipv6-off', 'default'],
    ['fix', 'ipv6-off', 'lo'],
    ['fix', 'ipv6-off', 'eth0', 'eth0'],
    ['fix', 'ipv6-off', '-w'],
    ['fix', 'ipv6-off', '..'],
    ['fix', 'ipv6-off', 'eth0/../all'],
    ['fix', 'ipv6-off', 'eth0..all'],
    ['fix', 'ipv6-off', 'eth0=1 kernel'],
    ['fix', 'ipv6-off', 'eth0\n'],
    ['fix', 'ipv6-off', 'a234567890123456'],
    ['fix', 'ipv6-off', ...Array.from({ length: 40 }, (_, i) => `eth${i}`)],
    ['undo', '../../etc/passwd'],
    ['apply', 'dnsmasq'],
  ];
  for (const argv of hostile)
    await assert.rejects(runRepair(argv, root, noting(commands)), refusal(/not a repair of the list/), argv.join(' '));
  await assert.rejects(runRepair(['fix', 'ipv6-off', 'eth9'], root, noting(commands)), refusal(/no interface eth9/));
  assert.deepEqual([commands, contents(root), done(root)], [[], before, []]);
});

test('each repair runs its own commands, and undo runs the commands that restore the former state', async t => {
  const cases: [argv: string[], changes: string[], undone: string[]][] = [
    [['restart-warp'], ['systemctl restart warp-svc'], []],
    [
      ['start-warp'],
      ['systemctl is-enabled --quiet warp-svc', 'systemctl enable --now warp-svc'],
      ['systemctl stop warp-svc'],
    ],
    [
      ['ipv6-off', 'eth0.5', 'wlan0'],
      ['sysctl -w net.ipv6.conf.eth0/5.disable_ipv6=1', 'sysctl -w net.ipv6.conf.wlan0.disable_ipv6=1'],
      ['sysctl -w net.ipv6.conf.wlan0.disable_ipv6=1', 'sysctl -w net.ipv6.conf.eth0/5.disable_ipv6=0'],
    ],
    [
      ['stop-resolver', 'unbound.service'],
      ['systemctl is-active --quiet unbound.service', 'systemctl stop unbound.service'],
      ['systemctl start unbound.service'],
    ],
    [['dns-link'], ['resolvectl revert CloudflareWARP'], []],
    [['dnsmasq'], ['systemctl try-restart dnsmasq.service'], ['systemctl try-restart dnsmasq.service']],
  ];
  for (const [argv, changes, undone] of cases) {
    const root = machine(t);
    // the value of an administrator, which undo sets again
    writeFileSync(join(root, 'proc/sys/net/ipv6/conf/wlan0/disable_ipv6'), '1\n');
    const before = contents(root);
    const commands: string[] = [];
    await runRepair(['fix', ...argv], root, noting(commands));
    assert.deepEqual(commands.splice(0), changes, argv[0]);
    if (undone.length > 0) await runRepair(['undo'], root, noting(commands));
    assert.deepEqual([commands, contents(root), done(root)], [undone, before, []], argv[0]);
  }
});

test('files are restored byte for byte, with owner, mode, time and attributes', async t => {
  for (const [name, changed] of [
    ['resolv-conf-words', '# by hand\nnameserver 127.0.2.2\nsearch good\n'],
    ['resolv-conf-link', 'nameserver 127.0.0.53\n'],
  ] as const) {
    const root = machine(t);
    const path = resolvConf(root);
    const attribute = spawnSync('setfattr', ['-n', 'user.note', '-v', 'mine', path]).status === 0;
    const before = contents(root);
    await runRepair(['fix', name], root, noting([]));
    assert.equal(readFileSync(path, 'utf8'), changed);
    if (name === 'resolv-conf-link') assert.equal(readlinkSync(path), '../run/systemd/resolve/stub-resolv.conf');
    const [entry] = done(root);
    assert.equal(entry?.administrator, true);
    // another program may change the target of the link before the undo
    writeFileSync(join(root, 'run/systemd/resolve/stub-resolv.conf'), 'nameserver 127.0.0.54\n');
    await runRepair(['undo'], root, noting([]));
    writeFileSync(join(root, 'run/systemd/resolve/stub-resolv.conf'), 'nameserver 127.0.0.53\n');
    const without = (list: string[]) => list.filter(line => !line.includes('stub-resolv'));
    assert.deepEqual(without(contents(root)), without(before), name);
    if (attribute)
      assert.equal(execFileSync('getfattr', ['--only-values', '-n', 'user.note', path], { encoding: 'utf8' }), 'mine');
    assert.deepEqual(readdirSync(join(root, 'var/lib/culvert-repair')), ['undo.json']);
  }
});

test('fixes of the user and of root’s side are undone in the order of their time', t => {
  const fix = (id: string, day: number) => ({ id, label: id, at: `2026-01-0${day}T00:00:00.000Z` });
  const administrator = { ...fix('root', 2), administrator: true as const };
  const ids = (own: number[]) =>
    undoableByAnyone(
      own.map(day => fix(`own-${day}`, day)),
      [administrator],
    ).map(({ id }) => id);
  assert.deepEqual([ids([]), ids([3, 1])], [['root'], ['own-3', 'root', 'own-1']]);
  assert.deepEqual(repairsDone(join(temporary(t, 'none'), 'undo.json')), [], 'root’s side is not installed');
});

test('a link, a file of others or a directory that others can write is refused on each part of the path', async t => {
  const traps: Record<string, (root: string, elsewhere: string) => void> = {
    'a link in place of the file': (root, elsewhere) => {
      rmSync(resolvConf(root));
      symlinkSync(join(elsewhere, 'target'), resolvConf(root));
    },
    'a second name of another file': (root, elsewhere) => {
      rmSync(resolvConf(root));
      linkSync(join(elsewhere, 'target'), resolvConf(root));
    },
    'a link in place of its directory': (root, elsewhere) => {
      renameSync(join(root, 'etc'), join(elsewhere, 'etc'));
      symlinkSync(join(elsewhere, 'etc'), join(root, 'etc'));
    },
    'a directory that others can write': root => chmodSync(join(root, 'etc'), 0o777),
    'a file that others can write': root => chmodSync(resolvConf(root), 0o666),
    'a directory in place of the file': root => {
      rmSync(resolvConf(root));
      mkdirSync(resolvConf(root));
    },
    'a link in place of the journal’s directory': (root, elsewhere) => {
      symlinkSync(elsewhere, join(root, 'var/lib/culvert-repair'));
    },
    'a journal’s directory that others can write': root => {
      mkdirSync(join(root, 'var/lib/culvert-repair'));
      chmodSync(join(root, 'var/lib/culvert-repair'), 0o777);
    },
  };
  for (const [name, set] of Object.entries(traps)) {
    const [root, elsewhere] = [machine(t), temporary(t, 'elsewhere')];
    writeFileSync(join(elsewhere, 'target'), LEFTOVER);
    set(root, elsewhere);
    const before = [contents(root), contents(elsewhere)];
    for (const repair of ['resolv-conf-words', 'resolv-conf-link'])
      await assert.rejects(runRepair(['fix', repair], root, noting([])), refusal(/Nothing was changed/), name);
    assert.deepEqual([contents(root), contents(elsewhere)], before, name);
  }
});

test('a change that fails after its first step is undone, and what others changed since is left as it is', async t => {
  const root = machine(t);
  const before = contents(root);
  const commands: string[] = [];
  const second = noting(commands, 'sysctl -w net.ipv6.conf.wlan0.');
  await assert.rejects(runRepair(['fix', 'ipv6-off', 'eth0', 'wlan0'], root, second), refusal(/it was refused/));
  assert.equal(commands.at(-1), 'sysctl -w net.ipv6.conf.eth0.disable_ipv6=0');
  const restart = noting([], 'systemctl');
  await assert.rejects(runRepair(['fix', 'dnsmasq'], root, restart), refusal(/it was refused/));
  // the file is removed again, then dnsmasq refuses the restart of the undo as well
  assert.equal(existsSync(join(root, 'etc/dnsmasq.d/culvert.conf')), false);
  await runRepair(['undo'], root, noting([]));
  assert.deepEqual([contents(root), done(root)], [before, []]);

  await runRepair(['fix', 'resolv-conf-words'], root, noting([]));
  writeFileSync(resolvConf(root), 'nameserver 10.0.0.1\n');
  await assert.rejects(runRepair(['undo'], root, noting([])), refusal(/was changed after the fix/));
  // another program wrote the same mistake again, so it is repaired again
  writeFileSync(resolvConf(root), 'search .other ok\n');
  await runRepair(['fix', 'resolv-conf-words'], root, noting([]));
  assert.equal(readFileSync(resolvConf(root), 'utf8'), 'search ok\n');
});

test('every user can read the journal of root’s side', { skip: process.getuid?.() !== 0 && 'needs root' }, async t => {
  const root = machine(t);
  await runRepair(['fix', 'resolv-conf-words'], root, noting([]));
  assert.deepEqual(
    [statSync(join(root, REPAIR_JOURNAL)).mode & 0o777, statSync(join(root, 'var/lib/culvert-repair')).mode & 0o777],
    [0o644, 0o755],
  );
});

const strace = spawnSync('strace', ['-V']).status === 0 ? false : 'needs strace';
const support = join(import.meta.dirname, '../../support/doctor/repair.ts');
const source = `import { repairIn } from ${JSON.stringify(support)}; await repairIn(...process.argv.slice(2));`;
const program = bundleScript({ text: source }, temporary({ after }, 'repair'));

for (const name of ['resolv-conf-words', 'resolv-conf-link', 'dnsmasq'])
  test(`${name}, killed at any time, has changed nothing or can be undone`, { skip: strace }, async t => {
    const root = machine(t);
    const before = contents(root);
    const all = await moments(t, root, [process.execPath, program, root, 'fix', name], { env: { HOME: root } });
    assert.ok(all.length > 5, `${all.length} moments`);
    for (const moment of sample(all, 6)) {
      moment.restore();
      // the temporary file of an interrupted step is hidden, and the next attempt replaces it
      const left = contents(root).filter(line => !line.includes('.culvert-new'));
      if (done(root).length === 0) assert.deepEqual(left, before, moment.after);
      // made again after the kill, it is whole; undone, nothing is left
      await repairIn(root, 'fix', name);
      await repairIn(root, 'undo');
      const times = (list: string[]) =>
        list.filter(line => !line.startsWith('etc 4') && !line.startsWith('etc/dnsmasq.d 4'));
      assert.deepEqual([times(contents(root)), done(root)], [times(before), []], moment.after);
    }
  });
