// Every package brings the packet filter of the kill switch, and ends it when the package is removed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { temporary } from '../support/temporary.ts';

const read = (recipe: string) => readFileSync(resolve('data', recipe), 'utf8');
/** A scriptlet of the recipe for rpm, up to the next section or comment. */
const scriptlet = (name: string) =>
  new RegExp(`^%${name} -n culvert-daemon\\n([^%]+?)(?=\\n\\n|%)`, 'm').exec(read('rpm/culvert.spec'))![1]!;
const hook = (name: string) => `${read('arch/culvert.install')}\n${name}\n`;

/** Scriptlets that run before and after the files of a package go, with the arguments of a removal and of an upgrade. */
const REMOVALS: Record<string, { before: string; after: string; removal: string; upgrade: string | null }> = {
  deb: {
    before: read('deb/culvert-daemon.prerm'),
    after: read('deb/culvert-daemon.postrm'),
    removal: 'remove',
    upgrade: 'upgrade',
  },
  rpm: { before: scriptlet('preun'), after: scriptlet('postun'), removal: '0', upgrade: '1' },
  // pacman calls other functions in an upgrade
  arch: { before: hook('pre_remove'), after: hook('post_remove'), removal: '1.0-1', upgrade: null },
};

test('every package needs the packet filter that the kill switch works with', () => {
  assert.match(read('deb/control'), /^Depends:.*\bnftables\b/m);
  assert.match(read('rpm/culvert.spec'), /^Requires: +nftables$/m);
  assert.match(read('arch/PKGBUILD'), /^depends=\(.*'nftables'.*\)$/m);
});

test('the daemon of Debian recommends nothing that Debian lacks, or apt keeps the upgrade of the one package of before', () => {
  const [daemon] = read('deb/control').match(/^Package: culvert-daemon\n(?:.+\n)*/m)!;
  assert.match(daemon, /^Recommends: polkitd/m);
  assert.doesNotMatch(daemon, /^Recommends:.*cloudflare-warp/m);
  assert.match(daemon, /^Suggests: cloudflare-warp/m);
});

test('every package says which Culvert it is of', () => {
  const texts = {
    deb: read('deb/control')
      .split(/^Package: /m)
      .slice(1),
    rpm: read('rpm/culvert.spec').match(/^%description.*\n(?:(?!%).*\n)*/gm)!,
    arch: read('arch/PKGBUILD').match(/^pkgdesc=.*/m)!,
  };
  assert.deepEqual([texts.deb.length, texts.rpm.length], [3, 3]);
  for (const [recipe, packages] of Object.entries(texts))
    for (const text of packages)
      assert.match(text, /not the (forward\s+)?proxy or (the )?debug tool of (the same|this) name/, recipe);
});

for (const [recipe, { before, after, removal, upgrade }] of Object.entries(REMOVALS))
  test(`removing the package of ${recipe} ends the kill switch, and unmasks its service after its files are gone`, t => {
    const place = temporary(t, 'recipes');
    for (const name of ['culvert-killswitch-remove', 'systemctl', 'deb-systemd-invoke']) {
      mkdirSync(join(place, 'bin'), { recursive: true });
      writeFileSync(join(place, 'bin', name), `#!/bin/sh\necho "${name} $*" >>'${place}/calls'\n`, { mode: 0o755 });
    }
    const calls = (script: string, argument: string) => {
      rmSync(join(place, 'calls'), { force: true });
      const text = script.replaceAll('/run/systemd/system', place).replaceAll('/var/lib/', `${place}/`);
      const env = { PATH: `${place}/bin:/usr/bin:/bin` };
      const { status, stderr } = spawnSync('sh', ['-c', text, 'sh', argument], { encoding: 'utf8', env });
      assert.equal(status, 0, stderr);
      return existsSync(join(place, 'calls')) ? readFileSync(join(place, 'calls'), 'utf8') : '';
    };
    assert.match(calls(before, removal), /^culvert-killswitch-remove/m);
    assert.match(calls(after, removal), /^systemctl .*\bunmask culvert-killswitch\.service$/m);
    if (upgrade === null) return;
    assert.doesNotMatch(calls(before, upgrade) + calls(after, upgrade), /culvert-killswitch-remove|unmask/);
  });

test('an upgrade of the rpm leaves the boot guard as the administrator has it', t => {
  const place = temporary(t, 'recipes');
  writeFileSync(join(place, 'systemctl'), `#!/bin/sh\necho "$*" >>'${place}/calls'\n`, { mode: 0o755 });
  const calls = (argument: string) => {
    rmSync(join(place, 'calls'), { force: true });
    spawnSync('sh', ['-c', scriptlet('post'), 'sh', argument], { env: { PATH: `${place}:/usr/bin:/bin` } });
    return readFileSync(join(place, 'calls'), 'utf8');
  };
  assert.match(calls('1'), /preset culvert-killswitch-guard\.service/);
  assert.doesNotMatch(calls('2'), /preset|enable/);
});
