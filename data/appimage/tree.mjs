// Puts the image's tree together: node tree.mjs SYSROOT NODE-PACKAGE HEAD TREE MACHINE ARCHITECTURE LOADER
// TREE holds the installed program below usr; SYSROOT is what sysroot.sh left, NODE-PACKAGE the unpacked
// npm package, HEAD the list of this machine's packages that the head of the file is linked with. MACHINE, ARCHITECTURE and LOADER are
// those of machine.sh.
// Writes TREE.components.json, the bundled components and their licenses, for the list of contents.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { licensesIn } from './licenses.mjs';

const [sysroot, nodePackage, head, tree, machine, architecture, loaderName] = process.argv.slice(2);
const here = import.meta.dirname;
const root = realpathSync(join(sysroot, 'root'));
const usr = join(tree, 'usr');
const lib = join(usr, 'lib/culvert');
const gtk = join(lib, 'gtk');
const TRIPLET = `usr/lib/${machine}-linux-gnu`;
const LOADER = `${TRIPLET}/${loaderName}`;
/** qemu-user where the image is for another machine. */
const emulator = execFileSync('uname', ['-m'], { encoding: 'utf8' }).trim() === machine ? [] : [`qemu-${machine}`];
const APP_ID = 'org.culvert.Culvert';

/** Files of the sysroot that are in the image, relative to it: whose packages are to be named. */
const taken = new Set();

function take(file, to) {
  const real = relative(root, realpathSync(join(root, file)));
  taken.add(real);
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(join(root, real), to);
}

function takeTree(directory, to, wanted) {
  for (const entry of readdirSync(join(root, directory), { recursive: true, withFileTypes: true })) {
    const file = join(relative(root, entry.parentPath), entry.name);
    if (entry.isDirectory() || !wanted(file)) continue;
    if (existsSync(join(root, file))) take(file, join(to, relative(directory, file)));
  }
}

/** Runs a program by the sysroot's own loader, without the libraries that the environment adds (LD_PRELOAD). */
function load(...args) {
  const { LD_PRELOAD, LD_LIBRARY_PATH, ...env } = process.env;
  const loading = ['--library-path', join(root, TRIPLET), ...args];
  const [program, ...words] = [...emulator, join(root, LOADER), ...loading];
  return execFileSync(program, words, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Every library that a file needs, as that loader sees it. */
function librariesOf(file) {
  return load('--list', join(root, file))
    .split('\n')
    .map(line => /=> (\/\S+)/.exec(line)?.[1])
    .filter(path => path !== undefined)
    .map(path => {
      if (!path.startsWith(`${root}/`)) throw new Error(`${file} needs ${path}, which is not in the sysroot`);
      return relative(root, path);
    });
}

// programs and libraries
const loader = `${TRIPLET}/gdk-pixbuf-2.0/2.10.0/loaders/libpixbufloader_svg.so`;
const programs = ['usr/bin/gjs-console', `${TRIPLET}/libgtk-4.so.1`, `${TRIPLET}/libadwaita-1.so.0`, loader];
take('usr/bin/gjs-console', join(gtk, 'gjs-console'));
for (const file of new Set([LOADER, ...programs.slice(1), ...programs.flatMap(librariesOf)]))
  take(file, join(gtk, 'lib', basename(file)));
for (const directory of [`${TRIPLET}/girepository-1.0`, `${TRIPLET}/gjs/girepository-1.0`, 'usr/lib/girepository-1.0'])
  if (existsSync(join(root, directory))) takeTree(directory, join(gtk, 'typelib'), file => file.endsWith('.typelib'));

// files that they read
mkdirSync(join(gtk, 'modules'), { recursive: true });
const schemas = join(gtk, 'share/glib-2.0/schemas');
takeTree('usr/share/glib-2.0/schemas', schemas, file => file.endsWith('.xml'));
execFileSync('glib-compile-schemas', ['--strict', schemas], { stdio: ['ignore', 'ignore', 'pipe'] });
for (const file of readdirSync(schemas)) if (file.endsWith('.xml')) rmSync(join(schemas, file));
// every icon that something here names, of the hundreds that there are: each file costs time where the image is unpacked
const users = [
  'share/culvert/panel.js',
  'share/culvert/panel-chunk.js',
  'share/culvert/panel-further-pages.js',
  'share/culvert/panel.gresource',
  'lib/culvert/gtk/lib/libgtk-4.so.1',
  'lib/culvert/gtk/lib/libadwaita-1.so.0',
];
const named = new Set(
  users.flatMap(file => readFileSync(join(usr, file), 'latin1').match(/[a-z0-9][a-z0-9-]+-symbolic/g) ?? []),
);
const adwaita = 'usr/share/icons/Adwaita';
takeTree(adwaita, join(gtk, 'share/icons/Adwaita'), file => {
  const name = /\/symbolic\/.*\/([^/]+?)(?:-rtl)?\.svg$/.exec(file)?.[1];
  return file.endsWith('/index.theme') || (name !== undefined && named.has(name));
});
take('usr/share/icons/hicolor/index.theme', join(gtk, 'share/icons/hicolor/index.theme'));
for (const font of ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'])
  take(`usr/share/fonts/truetype/dejavu/${font}`, join(gtk, 'share/fonts', font));
const mime = join(gtk, 'share/mime');
take('usr/share/mime/packages/freedesktop.org.xml', join(mime, 'packages/freedesktop.org.xml'));
load(join(root, 'usr/bin/update-mime-database'), mime);
for (const entry of readdirSync(mime)) if (entry !== 'mime.cache') rmSync(join(mime, entry), { recursive: true });

// ours
for (const file of ['panel.js', 'tray.js', 'bridge.js', 'environment.js', 'pictures.js', 'gjs'])
  copyFileSync(join(here, 'tree', file), join(lib, file));
for (const file of ['fonts.conf', 'loaders.cache']) copyFileSync(join(here, 'tree', file), join(gtk, file));
copyFileSync(join(here, 'tree/AppRun'), join(tree, 'AppRun'));
const node = join(lib, 'node');
execFileSync(`${machine}-linux-gnu-strip`, ['-o', node, join(nodePackage, 'bin/node')]);
for (const file of [node, join(lib, 'gjs'), join(tree, 'AppRun'), join(gtk, 'gjs-console')]) chmodSync(file, 0o755);

// only an installed program can have these: activation and units name a path that stays
for (const path of ['share/dbus-1', 'lib/systemd', 'share/polkit-1', 'share/dbus-1/system-services'])
  rmSync(join(usr, path), { recursive: true, force: true });
const desktop = join(usr, `share/applications/${APP_ID}.desktop`);
writeFileSync(desktop, readFileSync(desktop, 'utf8').replace(/^Exec=.*\/culvert\b/m, 'Exec=culvert'));
// at the root, as the format has it
copyFileSync(desktop, join(tree, `${APP_ID}.desktop`));
copyFileSync(join(usr, `share/icons/hicolor/scalable/apps/${APP_ID}.svg`), join(tree, `${APP_ID}.svg`));
symlinkSync(`${APP_ID}.svg`, join(tree, '.DirIcon'));

// licenses
const owner = new Map();
for (const line of readFileSync(join(sysroot, 'files'), 'utf8').split('\n')) {
  const [name, path] = line.split(/ (.*)/s);
  if (path) owner.set(path, name);
}
const rows = file =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map(line => line.split(' '));
const names = new Set([...taken].map(file => owner.get(file)));
if (names.has(undefined)) throw new Error('a bundled file belongs to no package');
const distribution = readFileSync(join(sysroot, 'distribution'), 'utf8').trim();
const builder = /^VERSION_CODENAME=(.*)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'unknown';
const parts = [
  ...rows(join(sysroot, 'packages'))
    .filter(([name]) => names.has(name))
    .map(row => ({ row, distribution, docs: join(root, 'usr/share/doc') })),
  ...rows(head).map(row => ({ row, distribution: builder, docs: '/usr/share/doc' })),
].map(({ row: [name, version, source, sourceVersion], distribution, docs }) => {
  const text = readFileSync(join(docs, name, 'copyright'), 'utf8');
  const to = join(usr, 'share/doc', name);
  mkdirSync(to, { recursive: true });
  writeFileSync(join(to, 'copyright'), text);
  return { name, version, source, sourceVersion, distribution, licenses: licensesIn(text) };
});
// licenses that those texts refer to
cpSync(join(root, 'usr/share/common-licenses'), join(usr, 'share/common-licenses'), {
  recursive: true,
  verbatimSymlinks: true,
});
const { name: nodeName, version: nodeVersion } = JSON.parse(readFileSync(join(nodePackage, 'package.json'), 'utf8'));
const doc = join(usr, 'share/doc/culvert');
mkdirSync(doc, { recursive: true });
copyFileSync(join(nodePackage, 'LICENSE'), join(doc, 'LICENSE.node'));
copyFileSync(join(here, '../../LICENSE'), join(doc, 'LICENSE'));
copyFileSync(join(here, 'SOURCES.md'), join(doc, 'SOURCES.md'));

const components = {
  node: {
    package: nodeName,
    version: nodeVersion,
    integrity: readFileSync(join(nodePackage, 'integrity'), 'utf8').trim(),
  },
  architecture,
  debian: parts,
};
writeFileSync(`${tree}.components.json`, `${JSON.stringify(components, null, 1)}\n`);
for (const entry of readdirSync(tree, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (entry.isFile()) chmodSync(path, lstatSync(path).mode & 0o111 ? 0o755 : 0o644);
}
