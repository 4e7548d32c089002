// The paths of a package are options of meson: what is configured, and where the files go.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporary } from '../support/temporary.ts';

const missing = ['meson', 'gjs'].find(program => spawnSync(program, ['--version']).error);
const skip = missing ? `${missing} is not installed` : false;

/** Configures a system-wide build. */
function configure(t: TestContext, ...options: string[]) {
  const directory = temporary(t);
  const meson = (...words: string[]) => execFileSync('meson', words, { encoding: 'utf8', stdio: 'pipe' });
  meson('setup', directory, '.', '--prefix=/usr', '--sysconfdir=/etc', '-Dinstall_format=system', ...options);
  const installed: Record<string, string> = JSON.parse(meson('introspect', '--installed', directory));
  const files = Object.values(installed);
  const read = (name: string) => readFileSync(join(directory, 'data/killswitch', name), 'utf8');
  return { read, files, has: (file: string) => assert.ok(files.includes(file), `${file}: ${files.join(' ')}`) };
}

test('by default programs and services are where Debian has them', { skip }, t => {
  const { read, has } = configure(t);
  assert.match(read('culvert-killswitch.service'), /^ExecStart=\/usr\/bin\/gjs -m \S+\/killswitch\.js$/m);
  const unit = read('culvert-killswitch-guard.service');
  assert.match(unit, /^ExecStartPost=-\/bin\/systemctl --no-block start culvert-killswitch\.service$/m);
  for (const script of ['guard', 'culvert-killswitch-remove'])
    assert.match(read(script), /^PATH=\/usr\/sbin:\/usr\/bin:\/sbin:\/bin$/m, script);
  has('/usr/lib/systemd/system/culvert-killswitch.service');
  has('/usr/share/dbus-1/system.d/org.culvert.KillSwitch1.conf');
  has('/usr/share/polkit-1/actions/org.culvert.killswitch.policy');
  has('/usr/lib/tmpfiles.d/culvert-killswitch.conf');
  has('/usr/lib/culvert-repair/main.cjs');
  has('/usr/lib/culvert-repair/culvert-repair');
  has('/usr/share/polkit-1/actions/org.culvert.repair.policy');
  const exec = 'exec /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin';
  const program = read('../repair/culvert-repair');
  assert.ok(program.endsWith(`${exec} /usr/bin/node -- /usr/lib/culvert-repair/main.cjs "$@"\n`), program);
  const path = '<annotate key="org.freedesktop.policykit.exec.path">/usr/lib/culvert-repair/culvert-repair</annotate>';
  assert.ok(read('../repair/configured.policy').includes(path));
  has('/usr/sbin/culvert-killswitch-remove');
  has('/usr/share/man/man8/culvert-killswitch-remove.8');
  for (const page of readdirSync('data/man')) has(`/usr/share/man/man${page.at(-1)}/${page}`);
  has('/usr/share/culvert/bridge.js');
  has('/usr/share/dbus-1/interfaces/org.culvert.Client1.xml');
  has('/usr/share/dbus-1/services/org.culvert.Client1.service');
  has('/usr/lib/systemd/user/culvert-bridge.service');
  has('/usr/share/man/man5/org.culvert.Client1.5');
  has('/usr/share/doc/culvert/bars.md');
  assert.match(read('../culvert-bridge.service'), /^ExecStart=\S+ -m \/usr\/share\/culvert\/bridge\.js$/m);
});

test('each program and each directory of the root service can be another one', { skip }, t => {
  const { read, files, has } = configure(
    t,
    '-Dgjs=/store/gjs/bin/gjs',
    '-Dnode=/store/node/bin/node',
    '-Dnft=/store/nftables/bin/nft',
    '-Dsystemctl=/store/systemd/bin/systemctl',
    '-Dboot_guard=preset',
    '-Dsystemd_system_unit_dir=/store/own/units',
    '-Dsystemd_user_unit_dir=/store/own/user-units',
    '-Dsystemd_preset_dir=/store/own/presets',
    '-Dtmpfiles_dir=/store/own/tmpfiles.d',
    '-Ddbus_policy_dir=/store/own/bus',
    '-Dpolkit_action_dir=/store/own/actions',
    '--sbindir=bin',
  );
  const service = read('culvert-killswitch.service');
  assert.match(service, /^ExecStart=\/store\/gjs\/bin\/gjs -m \S+\/killswitch\.js --nft \/store\/nftables\/bin\/nft$/m);
  const unit = read('culvert-killswitch-guard.service');
  assert.equal(unit.match(/\/store\/systemd\/bin\/systemctl --no-block/g)?.length, 2);
  for (const script of ['guard', 'culvert-killswitch-remove'])
    assert.match(read(script), /^PATH=\/store\/nftables\/bin:\/store\/systemd\/bin:\/usr\/sbin:/m, script);
  for (const text of [service, unit]) assert.doesNotMatch(text, /[\s=-](\/usr)?\/bin\/(gjs|systemctl)/);
  has('/store/own/units/culvert-killswitch.service');
  has('/store/own/units/culvert-killswitch-guard.service');
  has('/store/own/user-units/culvert.service');
  has('/store/own/user-units/culvert-bridge.service');
  has('/store/own/presets/90-culvert-killswitch.preset');
  has('/store/own/tmpfiles.d/culvert-killswitch.conf');
  has('/store/own/bus/org.culvert.KillSwitch1.conf');
  has('/store/own/actions/org.culvert.killswitch.policy');
  has('/store/own/actions/org.culvert.repair.policy');
  assert.match(read('../repair/culvert-repair'), / \/store\/node\/bin\/node /);
  has('/usr/bin/culvert-killswitch-remove');
  const fixed = files.filter(file =>
    /^\/etc\/|sysinit\.target\.wants|\/usr\/(lib\/(systemd|tmpfiles)|sbin)/.test(file),
  );
  assert.deepEqual(fixed, []);
});

test('the recipes set only options that exist', () => {
  const known = new Set(
    [...readFileSync('meson_options.txt', 'utf8').matchAll(/^option\('(\w+)'/gm)].map(([, name]) => name),
  );
  assert.ok(known.size > 10);
  for (const recipe of ['rpm/culvert.spec', 'arch/PKGBUILD', 'deb/rules']) {
    const file = resolve('data', recipe);
    assert.ok(existsSync(file), recipe);
    const set = [...readFileSync(file, 'utf8').matchAll(/-D(\w+)=/g)].map(([, name]) => name!);
    assert.deepEqual(
      set.filter(name => !known.has(name)),
      [],
      recipe,
    );
  }
});
