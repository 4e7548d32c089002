// A clone that makes releases of small packages, so that everything else of a release is the real thing.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { TestContext } from 'node:test';
import pinnedProject from '../../../data/project.json' with { type: 'json' };
import { pinnedKeys } from '../../../manifest/keys.ts';
import { buildManifest } from '../manifest/bundle.ts';
import { temporary } from '../temporary.ts';
import { script } from '../update/source.ts';

const root = path.resolve(import.meta.dirname, '../../..');
export const PASSPHRASE = 'correct horse';

const stubs = (kind: string) =>
  `for part in '' -daemon -archive-keyring; do echo package >"\${2%.${kind}}$part.${kind}"; done\n`;

/** The three packages as they depend on one another, and with the real keys; each has a program that prints its version. */
const SMALL_DEBS = `
version=$(node -p 'require("./package.json").version.replaceAll("-", "~")')
package() {
  root=$1/$2
  mkdir -p "$root/DEBIAN" "$root/usr/share/$2"
  echo "$version" >"$root/usr/share/$2/version"
  printf 'Package: %s\\nVersion: %s\\nArchitecture: all\\nMaintainer: t <t@t.example>\\nDescription: x\\n%s' "$2" "$version" "$3" >"$root/DEBIAN/control"
  if [ "$2" = culvert-archive-keyring ]; then
    mkdir "$root/usr/share/keyrings"
    node data/repository/keyring.mjs "$root/usr/share/keyrings/culvert-archive-keyring"
    rm "$root/usr/share/keyrings/culvert-archive-keyring.asc"
    sed /DEBHELPER/d data/deb/culvert-archive-keyring.postrm >"$root/DEBIAN/postrm"
    chmod 755 "$root/DEBIAN/postrm"
  fi
  find "$root" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb -Znone --root-owner-group -b "$root" "$4" >&2
}
rm -rf "$3/roots"
package "$3/roots" culvert "Depends: culvert-daemon (= $version)
" "$2"
package "$3/roots" culvert-daemon "Depends: culvert-archive-keyring
" "\${2%.deb}-daemon.deb"
package "$3/roots" culvert-archive-keyring '' "\${2%.deb}-archive-keyring.deb"
`;
/** The three rpms, with the real keys. */
const SMALL_RPMS = `
version=$(node -p 'require("./package.json").version.replaceAll("-", "~")')
mkdir -p "$3"
cat >"$3/x.spec" <<F
Name: culvert
Version: $version
Release: 1
Summary: x
License: x
BuildArch: noarch
Requires: culvert-daemon = %{version}
%description
x
%package -n culvert-daemon
Summary: x
Requires: culvert-archive-keyring
%description -n culvert-daemon
x
%package -n culvert-archive-keyring
Summary: x
%description -n culvert-archive-keyring
x
%install
node $PWD/data/repository/keyring.mjs "$3/keys"
install -Dm644 "$3/keys.asc" %{buildroot}/etc/pki/rpm-gpg/RPM-GPG-KEY-culvert
for name in culvert culvert-daemon; do
  install -d %{buildroot}/usr/share/\\$name
  echo %{version} >%{buildroot}/usr/share/\\$name/version
done
%files
/usr/share/culvert
%files -n culvert-daemon
/usr/share/culvert-daemon
%files -n culvert-archive-keyring
/etc/pki/rpm-gpg/RPM-GPG-KEY-culvert
F
rpmbuild -bb --nodeps --define "_topdir $3" --define '_buildhost reproducible' --define 'use_source_date_epoch_as_buildtime 1' "$3/x.spec" >&2
for part in daemon archive-keyring; do mv "$3"/RPMS/noarch/culvert-$part-*.rpm "\${2%.rpm}-$part.rpm"; done
mv "$3"/RPMS/noarch/*.rpm "$2"
`;

/**
 * A clone whose packages are small files; everything else of a release is real.
 * @param packages address of the package repository; without one, the packages are stubs
 */
export function clone(t: Pick<TestContext, 'after'>, version: string, packages = '') {
  const at = temporary(t);
  fs.mkdirSync(path.join(at, 'data/deb'), { recursive: true });
  fs.copyFileSync(
    path.join(root, 'data/deb/culvert-archive-keyring.postrm'),
    path.join(at, 'data/deb/culvert-archive-keyring.postrm'),
  );
  for (const folder of ['release', 'repository', 'rpm', 'arch'])
    fs.cpSync(path.join(root, 'data', folder), path.join(at, 'data', folder), { recursive: true });
  // without the keys of this repository, if it has some
  const project = { ...pinnedProject, packages, releaseKeys: { threshold: 1, pinned: [] } };
  fs.writeFileSync(path.join(at, 'data/project.json'), JSON.stringify(project));
  const put = (file: string, text: string) => {
    fs.mkdirSync(path.dirname(path.join(at, file)), { recursive: true });
    fs.writeFileSync(path.join(at, file), text, { mode: 0o755 });
  };
  const lock = JSON.stringify({ version, packages: { '': { version } } });
  put('package.json', JSON.stringify({ version }));
  put('package-lock.json', lock);
  put('CHANGELOG.md', `## ${version}\n`);
  put('.gitignore', '/dist/\n/build/\n');
  const image = script(version).toString();
  put('data/release/source.sh', '#!/bin/sh\necho source >"$1"\n');
  put(
    'data/release/user.sh',
    `#!/bin/sh\necho tree >"$1"; mkdir -p "$2/meson/manifest"; cp -r ${path.dirname(buildManifest())}/. "$2/meson/manifest/"
tree=$2/tree/culvert-$(node -p 'require("./package.json").version')
mkdir -p "$tree/bin" "$tree/share/man/man1" "$tree/share/culvert"
echo x >"$tree/share/culvert/licenses.txt"
for program in wrap manifest; do
  mkdir -p "$tree/share/culvert/$program"
  for file in "$tree/bin/culvert-$program" "$tree/share/man/man1/culvert-$program.1" "$tree/share/culvert/$program/main.cjs"; do echo __cw_n=x >"$file"; done
done\n`,
  );
  for (const file of ['LICENSE', 'wrapper/README.md', 'manifest/README.md']) put(file, 'text\n');
  const buildinfo =
    'printf "Installed-Build-Depends:\\n base-files (= 13.8),\\n meson (= 1.7.0-1)\\nEnvironment:\\n X=\\"a (= b)\\"\\n"';
  put(
    'data/deb/build.sh',
    `#!/bin/sh\nset -eu\nmkdir -p "$3"; ${buildinfo} >"$3/culvert_1_amd64.buildinfo"\n${packages ? SMALL_DEBS : stubs('deb')}`,
  );
  put('data/rpm/build.sh', `#!/bin/sh\nset -eu\n${packages ? SMALL_RPMS : stubs('rpm')}`);
  put('data/appimage/build.sh', `#!/bin/sh\nmkdir -p "$2/meson"; cat >"$1" <<'E'\n${image}E\n`);
  put('data/release/sbom.mjs', "import { writeFileSync } from 'node:fs';\nwriteFileSync(process.argv[4], '{}');\n");
  const run = (program: string, ...args: string[]) =>
    spawnSync(program, args, { cwd: at, encoding: 'utf8', env: { PATH: process.env.PATH, HOME: at } });
  const git = (...args: string[]) => run('git', '-c', 'user.name=t', '-c', 'user.email=t@t.example', ...args);
  git('init', '-q');
  git('add', '.');
  git('commit', '-qm', 'x');
  return { at, put, run, git, manifest: buildManifest() };
}

export function makeKeys(t: Pick<TestContext, 'after'>, { at, run, put }: ReturnType<typeof clone>) {
  const keys = temporary(t);
  fs.writeFileSync(path.join(keys, 'passphrase'), `${PASSPHRASE}\n`);
  const made = run('data/release/key.sh', keys, '--passphrase-file', path.join(keys, 'passphrase'));
  assert.equal(made.status, 0, made.stderr);
  const project = JSON.parse(fs.readFileSync(path.join(at, 'data/project.json'), 'utf8'));
  return {
    keys,
    pinned: pinnedKeys(project.releaseKeys.pinned),
    put,
    options: ['--passphrase-file', path.join(keys, 'passphrase')],
  };
}
