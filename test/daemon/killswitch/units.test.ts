// The files installed for root: units, policies, the boot guard, and the script that installs them without a package.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { installerScript } from '../../../daemon/killswitch/client/without-daemon.ts';
import { parsePublished } from '../../../daemon/killswitch/report.ts';
import { render } from '../../../daemon/killswitch/rules/rules.ts';
import { formatRules } from '../../../daemon/killswitch/rules/wanted.ts';
import { bundled, missing, which } from '../../support/killswitch/stage.ts';

const data = resolve(import.meta.dirname, '../../../data/killswitch');
const wanted = { allowLan: true, endpoints: [{ cidr: '162.159.193.0/24', protocol: 'udp', ports: [2408] }] } as const;

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'culvert-units-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const substituted = (name: string, libdir: string) =>
  readFileSync(join(data, name), 'utf8')
    .replaceAll('@LIBDIR@', libdir)
    .replaceAll('@GJS@', '/usr/bin/gjs')
    .replaceAll('@FILES@', '');

test('systemd takes the units, and the guard comes before any network', {
  skip: which('systemd-analyze') ? false : 'needs systemd-analyze',
}, t => {
  const units = directory(t);
  mkdirSync(join(units, 'lib'));
  for (const name of ['guard', 'killswitch.js'])
    writeFileSync(join(units, 'lib', name), '#!/bin/sh\n', { mode: 0o755 });
  const names = readdirSync(data)
    .filter(name => /^culvert-killswitch[\w@-]*\.service\.in$/.test(name))
    .map(name => name.replace(/\.in$/, ''));
  assert.equal(names.length, 4);
  for (const name of names) writeFileSync(join(units, name), substituted(`${name}.in`, join(units, 'lib')));
  const { status, stderr } = spawnSync(
    'systemd-analyze',
    ['verify', ...names.map(name => join(units, name.replace('@', '@1')))],
    {
      encoding: 'utf8',
    },
  );
  const ours = stderr.split('\n').filter(line => line.includes('culvert') && !/man .*culvert/.test(line));
  assert.deepEqual(ours, []);
  assert.ok(status === 0 || !ours.length);

  const guard = readFileSync(join(units, 'culvert-killswitch-guard.service'), 'utf8');
  assert.match(guard, /^Before=network-pre\.target /m);
  assert.match(guard, /^Wants=network-pre\.target$/m);
  assert.match(guard, /^DefaultDependencies=no$/m);
  assert.match(guard, /^WantedBy=sysinit\.target$/m);

  for (const name of names) {
    const security = spawnSync('systemd-analyze', ['security', '--offline=yes', join(units, name)], {
      encoding: 'utf8',
    });
    const exposure = Number(/exposure level for \S+: ([\d.]+)/.exec(security.stdout)?.[1]);
    assert.ok(exposure <= 2.5, `exposure of ${name}: ${exposure}\n${security.stderr}`);
    t.diagnostic(`exposure of ${name}: ${exposure}`);
  }
});

test('bus and polkit policies are well-formed, and name what the service asks for', {
  skip: which('xmllint') ? false : 'needs xmllint',
}, () => {
  for (const name of ['org.culvert.KillSwitch1.conf', 'org.culvert.killswitch.policy'])
    execFileSync('xmllint', ['--noout', '--nonet', join(data, name)]);
  const policy = readFileSync(join(data, 'org.culvert.killswitch.policy'), 'utf8');
  const active = [...policy.matchAll(/<action id="([\w.-]+)">.*?<allow_active>(\w+)</gs)].map(([, id, allowed]) => [
    id,
    allowed,
  ]);
  assert.deepEqual(active, [
    ['org.culvert.killswitch.enable', 'yes'],
    ['org.culvert.killswitch.disable', 'auth_admin'],
    ['org.culvert.killswitch.pause', 'auth_admin'],
    ['org.culvert.killswitch.tunnel-only', 'yes'],
    ['org.culvert.killswitch.sign-in', 'auth_admin'],
    ['org.culvert.killswitch.outside', 'yes'],
  ]);
  // keeping a program of one's own in the tunnel takes something from the caller alone
  const others = policy.replace(/<action id="org\.culvert\.killswitch\.tunnel-only">.*?<\/action>/s, '');
  assert.ok(![...others.matchAll(/<allow_(any|inactive)>(\w+)</g)].some(([, , allowed]) => allowed === 'yes'));
});

test('the boot guard loads what is stored, and blocks where that cannot be loaded', { skip: missing }, t => {
  const path = directory(t);
  const guard = join(path, 'guard');
  writeFileSync(guard, substituted('guard.in', path), { mode: 0o755 });
  const fallback = execFileSync('gjs', ['-m', bundled(), '--fallback'], { encoding: 'utf8' });
  writeFileSync(join(path, 'fallback.nft'), fallback);
  const rules = join(path, 'rules.nft');
  const boot = (before = 'true') =>
    execFileSync(
      'unshare',
      ['-n', 'sh', '-c', `${before}; '${guard}' '${rules}' '${path}/fallback.nft' 2>&1; nft list ruleset`],
      { encoding: 'utf8' },
    );

  assert.equal(boot(), '', 'nothing is stored: nothing is blocked');
  const text = formatRules(wanted);
  writeFileSync(rules, text);
  assert.match(boot(), /162\.159\.193\.0\/24 udp dport 2408/);
  for (const torn of [
    '',
    '\n',
    text.split('\n')[0]!,
    text.slice(0, 300),
    text.slice(0, -3),
    'table inet culvert { }',
    'flush ruleset',
    '\0\xff',
  ]) {
    writeFileSync(rules, torn);
    const left = boot();
    assert.match(left, /policy drop/, JSON.stringify(torn.slice(0, 40)));
    assert.match(left, /162\.159\.137\.105, [^}]*\} tcp dport 443/, 'the shipped endpoints');
  }
  rmSync(rules);
  mkdirSync(rules);
  assert.match(boot(), /policy drop/, 'a directory at its path');
  const table = join(path, 'table.nft');
  writeFileSync(table, render(wanted));
  assert.match(boot(`nft -f ${table}`), /162\.159\.193\.0\/24 udp dport 2408/, 'a table that blocks already stays');
});

test('the boot guard passes on what nft complains about only where the rules are not in force', t => {
  const path = directory(t);
  mkdirSync(join(path, 'bin'));
  for (const tool of ['timeout', 'grep']) symlinkSync(which(tool)!, join(path, 'bin', tool));
  writeFileSync(join(path, 'guard'), substituted('guard.in', path).replace(/^PATH=.*$/m, `PATH=${path}/bin`));
  writeFileSync(join(path, 'rules.nft'), formatRules(wanted));
  const complaint = 'rules.nft:2:1-8: Error: Could not process rule: Operation not permitted';
  const listed = 'type filter hook output priority filter; policy drop;';
  const boot = (blocks: string) => {
    const nft = `#!/bin/sh
case $* in
  '-f '*none) : >'${path}/loaded' ;;
  -f*) echo '${complaint}' >&2; exit 1 ;;
  list*) if ${blocks}; then echo '${listed}'; else exit 1; fi ;;
esac
`;
    writeFileSync(join(path, 'bin/nft'), nft, { mode: 0o755 });
    const words = [join(path, 'guard'), join(path, 'rules.nft'), join(path, 'none')];
    return spawnSync('sh', words, { encoding: 'utf8' });
  };
  const owned = boot('true');
  assert.deepEqual([owned.status, owned.stdout, owned.stderr], [0, '', ''], 'the table has an owner');
  const replaced = boot(`[ -e '${path}/loaded' ]`);
  assert.equal(replaced.status, 0);
  assert.match(replaced.stderr, /Operation not permitted\n.*rules\.nft can't be loaded; blocking everything/);
});

test('a boot guard that can load nothing fails, and says that nothing is blocked', { skip: missing }, t => {
  const path = directory(t);
  for (const nft of ['exit 1', 'exit 0', null]) {
    mkdirSync(join(path, 'bin'), { recursive: true });
    rmSync(join(path, 'bin/nft'), { force: true });
    if (nft) writeFileSync(join(path, 'bin/nft'), `#!/bin/sh\n${nft}\n`, { mode: 0o755 });
    for (const tool of ['timeout', 'grep', 'mkdir', 'mv']) {
      rmSync(join(path, 'bin', tool), { force: true });
      symlinkSync(which(tool)!, join(path, 'bin', tool));
    }
    writeFileSync(join(path, 'guard'), substituted('guard.in', path).replace(/^PATH=.*$/m, `PATH=${path}/bin`));
    writeFileSync(join(path, 'rules.nft'), formatRules(wanted));
    const state = join(path, 'run/state.json');
    const { status, stderr } = spawnSync(
      'sh',
      [join(path, 'guard'), join(path, 'rules.nft'), join(path, 'none'), state],
      {
        encoding: 'utf8',
      },
    );
    assert.equal(status, 1, String(nft));
    assert.match(stderr, /^<0>culvert-killswitch: .*NOTHING IS BLOCKED/m);
    const published = parsePublished(readFileSync(state, 'utf8'));
    assert.deepEqual([published?.enabled, published?.active], [true, false]);
    assert.match(published!.detail!, /NOTHING IS BLOCKED/);
    assert.deepEqual(published!.wording, [{ text: published!.detail, values: [] }]);
    assert.ok(
      readFileSync('po/culvert.pot', 'utf8').includes(JSON.stringify(published!.detail)),
      'the catalogs have it',
    );
  }
});

test('a permanent removal masks the service first, and removes the table before the mask', { skip: missing }, t => {
  const path = directory(t);
  const script = substituted('culvert-killswitch-remove.in', path)
    .replaceAll('/var/lib/', `${path}/`)
    .replaceAll('/run/culvert', `${path}/run-culvert`);
  writeFileSync(join(path, 'remove'), script);
  writeFileSync(join(path, 'rules.nft'), render(wanted));
  const other = 'table inet elsewhere { }';
  const left = execFileSync(
    'unshare',
    [
      '-n',
      'sh',
      '-c',
      `nft '${other}' && nft -f '${path}/rules.nft' && PATH=/usr/sbin:/usr/bin:/bin sh '${path}/remove' && nft list ruleset`,
    ],
    { encoding: 'utf8' },
  );
  assert.match(left, /^table inet elsewhere/);
  assert.doesNotMatch(left, /culvert/);
  const order = ['--quiet mask', 'systemctl stop', 'rm -rf', 'nft destroy', 'rm -f $files', '--quiet unmask'];
  const places = order.map(words => script.indexOf(words));
  assert.deepEqual(
    places,
    [...places].sort((a, b) => a - b),
    'a call on the bus can start nothing in between',
  );
  assert.ok(places[0]! > 0);
});

test('removing it says so where the rules of either table stay', { skip: missing }, t => {
  const path = directory(t);
  const script = substituted('culvert-killswitch-remove.in', path)
    .replaceAll('/var/lib/', `${path}/`)
    .replaceAll('/run/culvert', `${path}/run-culvert`);
  for (const table of ['culvert', 'culvert_programs', 'culvert_blocked']) {
    const stuck = script.replace(/^PATH=.*$/m, `$&\nnft() { [ "$1 $4" = 'list ${table}' ]; }`);
    const { status, stderr } = spawnSync('sh', ['-c', stuck], { encoding: 'utf8' });
    assert.equal(status, 1);
    assert.equal(stderr, `culvert-killswitch-remove: the rules are still in force: nft delete table inet ${table}\n`);
  }
});

test('the installer carries every file, whole or not at all', { skip: which('gjs') ? false : 'needs gjs' }, t => {
  const share = directory(t);
  mkdirSync(join(share, 'killswitch'));
  for (const name of readdirSync(data)) copyFileSync(join(data, name), join(share, 'killswitch', name));
  copyFileSync(bundled(), join(share, 'killswitch.js'));
  const script = installerScript(share);
  assert.equal(spawnSync('sh', ['-n'], { input: script }).status, 0);
  assert.doesNotMatch(script, /@(LIBDIR|GJS|FILES)@/);

  // run inside a directory that plays the root of the file system
  const root = join(share, 'root');
  mkdirSync(root);
  const move = (text: string) =>
    text
      .replaceAll(/(^|[\s>'"=])(\/(usr\/local|usr\/share|etc)\/)/gm, `$1${root}$2`)
      .replaceAll('/run/systemd/system', `${root}/none`);
  const moved = move(script);
  const cut = moved.slice(0, Math.floor(moved.length * 0.7));
  spawnSync('sh', [], { input: cut });
  assert.deepEqual(readdirSync(root), [], 'a script that was cut off does nothing');
  if (process.getuid?.() !== 0) return;
  const run = (input: string) =>
    spawnSync('sh', [], { input, encoding: 'utf8', env: { PATH: `${process.env.PATH}:/usr/sbin` } });
  const without = run(moved);
  assert.deepEqual([without.status, readdirSync(root)], [1, []], 'nothing is written where polkit is missing');
  assert.match(without.stderr, /polkit is missing/);
  mkdirSync(join(root, 'usr/share/polkit-1/actions'), { recursive: true });
  mkdirSync(join(root, 'usr/local/share'), { recursive: true });
  const files = () => execFileSync('find', ['.'], { cwd: root, encoding: 'utf8' }).split('\n').sort();
  const before = files();
  const readOnly = run(
    `mount -t tmpfs -o size=1m none '${root}/usr/local/share' && mount -o remount,ro '${root}/usr/local/share' && {\n${moved}\n}`
      .replace(/^/, "exec unshare -m sh <<'OUTER'\n")
      .concat('\nOUTER\n'),
  );
  assert.notEqual(readOnly.status, 0);
  assert.match(readOnly.stderr, /can't be written to/);
  assert.deepEqual(files(), before, 'nothing is written where one of the directories is read-only');
  const done = run(moved);
  assert.equal(done.status, 0, done.stderr);
  const installed = (file: string) => readFileSync(join(root, file), 'utf8');
  assert.ok(installed('usr/local/lib/culvert-killswitch/killswitch.js') === move(readFileSync(bundled(), 'utf8')));
  assert.match(installed('usr/local/lib/culvert-killswitch/fallback.nft'), /policy drop/);
  assert.match(
    installed('usr/local/lib/systemd/system/culvert-killswitch.service'),
    /^ExecStart=\/usr\/bin\/gjs -m .*killswitch\.js$/m,
  );
  assert.match(
    installed('usr/local/lib/systemd/system/sysinit.target.wants/culvert-killswitch-guard.service'),
    /network-pre/,
  );
  for (const file of [
    'etc/dbus-1/system.d/org.culvert.KillSwitch1.conf',
    'usr/share/polkit-1/actions/org.culvert.killswitch.policy',
  ])
    assert.equal(installed(file), move(readFileSync(join(data, file.split('/').at(-1)!), 'utf8')));

  const program = installed('usr/local/lib/culvert-killswitch/killswitch.js');
  assert.ok(Math.max(...program.split('\n').map(line => line.length)) <= 400, 'the program can be read');

  assert.equal(run(moved).status, 0, 'it can be installed again');
  const removal = installed('usr/local/sbin/culvert-killswitch-remove')
    .replace(/^PATH=.*$/m, 'PATH=$PATH:/usr/sbin')
    .replaceAll('/var/lib/', `${root}/var/lib/`)
    .replaceAll('/run/culvert-killswitch', `${root}/run/culvert-killswitch`)
    .replaceAll('/run/systemd/system', `${root}/none`);
  const removed = spawnSync('unshare', ['-n', 'sh', '-c', removal], { encoding: 'utf8' });
  assert.equal(removed.status, 0, removed.stderr);
  assert.deepEqual(files(), before, 'nothing is left, not even a directory');
});
