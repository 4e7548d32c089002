// Trees of a user installation as a release has them: the real programs and templates, of any version, with the tests' key.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { builtOnce, bundledOnce } from '../built.ts';
import { key, pem } from '../manifest/release.ts';

const data = resolve(import.meta.dirname, '../../../data');

/** The key that the tests sign with, which their builds trust. */
const RELEASE_KEYS = JSON.stringify([
  { name: 'test', key: Buffer.from(pem(key).split('\n')[1]!, 'base64').subarray(-32).toString('base64') },
]);

/** Placeholder for the version in bundles that are made once for all versions. */
const ANY_VERSION = '0.0.0-any-version';

/**
 * Builds `culvert-VERSION` in a directory, as `meson install -Dinstall_format=user` leaves it but for translations.
 * @returns the tree's path
 */
export function makeTree(directory: string, version: string, format: 'user' | 'appimage' = 'user'): string {
  const tree = join(directory, `culvert-${version}`);
  const share = join(tree, 'share');
  const program = join(share, 'culvert');
  const define = {
    __VERSION__: JSON.stringify(ANY_VERSION),
    __COMMIT__: '""',
    __FORMAT__: JSON.stringify(format),
    __RELEASE_KEYS__: RELEASE_KEYS,
  };
  for (const name of ['daemon', 'cli'] as const) {
    const bundle = bundledOnce(name, define);
    for (const file of readdirSync(bundle))
      put(join(program, name, file), readFileSync(join(bundle, file), 'utf8').replaceAll(ANY_VERSION, version));
  }
  // no update looks into these
  for (const name of ['wrap', 'emulator'] as const)
    cpSync(bundledOnce(name, { __VERSION__: '"0.0.0-test"' }), join(program, name), { recursive: true });
  for (const part of ['panel', 'tray', 'bridge']) put(join(program, `${part}.js`), `// the ${part} of ${version}\n`);

  const values: Record<string, string> = {
    VERSION: version,
    APP_ID: 'org.culvert.Culvert',
    NODE: 'node',
    NAME: 'culvert',
    GJS: '/usr/bin/env gjs',
    BINDIR: '@PREFIX@/bin',
    PKGDATADIR: '@PREFIX@/share/culvert',
    UPDATED: 'ReadWritePaths=@DATA@ @USERBIN@',
  };
  const fill = (template: string, more: Record<string, string> = {}) =>
    readFileSync(join(data, template), 'utf8').replace(
      /@([A-Z_]+)@/g,
      (token, name) => ({ ...values, ...more })[name as string] ?? token,
    );
  put(join(tree, 'bin/culvert'), fill('bin/culvert.in'), 0o755);
  for (const PROGRAM of ['wrap', 'emulator'])
    put(join(tree, `bin/culvert-${PROGRAM}`), fill('bin/node.in', { PROGRAM }), 0o755);
  put(join(share, 'applications/org.culvert.Culvert.desktop'), fill('org.culvert.Culvert.desktop.in'));
  put(join(share, 'dbus-1/services/org.culvert.Culvert.service'), fill('org.culvert.Culvert.service.in'));
  put(join(share, 'dbus-1/services/org.culvert.Client1.service'), fill('org.culvert.Client1.service.in'));
  cpSync(join(data, 'org.culvert.Client1.xml'), join(share, 'dbus-1/interfaces/org.culvert.Client1.xml'));
  cpSync(join(data, 'org.culvert.Client1.5'), join(share, 'man/man5/org.culvert.Client1.5'));
  put(join(share, 'metainfo/org.culvert.Culvert.metainfo.xml'), fill('org.culvert.Culvert.metainfo.xml.in'));
  for (const unit of ['culvert', 'culvert-bridge'])
    put(join(tree, `lib/systemd/user/${unit}.service`), fill(`${unit}.service.in`));
  cpSync(join(data, 'icons/hicolor'), join(share, 'icons/hicolor'), { recursive: true });
  put(join(share, 'gnome-shell/extensions/culvert@culvert.org/metadata.json'), '{}');
  const generate = join(bundledOnce('cli', define), 'main.cjs');
  const generated = builtOnce(`generated-${format}`, into => {
    execFileSync(process.execPath, [generate, '__generate', into]);
  });
  const places = {
    'culvert.1': 'man/man1',
    'culvert.bash': 'bash-completion/completions',
    _culvert: 'zsh/site-functions',
    'culvert.fish': 'fish/vendor_completions.d',
  };
  for (const [file, place] of Object.entries(places))
    put(join(share, place, file), readFileSync(join(generated, file), 'utf8').replaceAll(ANY_VERSION, version));
  return tree;
}

/**
 * A file that starts a tree as the runtime of an AppImage does once it has mounted it: APPIMAGE names the file.
 * @returns its content
 */
export function imageOf(tree: string): Buffer {
  return Buffer.from(`#!/bin/sh\nAPPIMAGE=$(readlink -f "$0") exec ${tree}/bin/culvert "$@"\n`);
}

/** The archive of a tree, as a release has it. */
export function pack(tree: string): Buffer {
  const args = ['-C', dirname(tree), '--owner=0', '--group=0', '-czf', '-', tree.slice(dirname(tree).length + 1)];
  return execFileSync('tar', args, { maxBuffer: 1 << 28 });
}

/** A directory with a `gjs` that shows nothing and stays until it is ended, for where there is no display. */
export function fakeGjs(directory: string): string {
  const bin = join(directory, 'fake-bin');
  put(join(bin, 'gjs'), `#!${process.execPath}\nsetInterval(() => {}, 1e6);\n`, 0o755);
  return bin;
}

function put(file: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode });
}
