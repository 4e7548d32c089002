// The AppImage's start script: what it starts, and which of its variables other programs see.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';

const source = resolve(import.meta.dirname, '../../../data/appimage/tree');
const SHOW = '#!/bin/sh\necho "$(basename "$0")" "$@"\nenv\n';
const HOST = { PATH: process.env.PATH!, HOME: '/home/x' };

/** An image's tree in which every program prints its name, its arguments and its environment. */
function tree(t: TestContext): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'culvert apprun-')));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  for (const program of ['usr/bin/culvert', 'usr/bin/culvert-wrap', 'usr/bin/culvert-manifest', 'usr/lib/culvert/node'])
    put(join(directory, program), SHOW);
  put(join(directory, 'usr/lib/culvert/gtk/lib/ld-linux-x86-64.so.2'), SHOW);
  for (const [file, to] of [
    ['AppRun', 'AppRun'],
    ['gjs', 'usr/lib/culvert/gjs'],
  ] as const) {
    cpSync(join(source, file), join(directory, to));
    chmodSync(join(directory, to), 0o755);
  }
  return directory;
}

function put(file: string, text: string) {
  mkdirSync(resolve(file, '..'), { recursive: true });
  writeFileSync(file, text, { mode: 0o755 });
}

/** Runs a program of the tree: its first line, and the environment that it printed. */
function run(file: string, args: string[], env: Record<string, string>) {
  const { status, stdout, stderr } = spawnSync(file, args, { env: { ...HOST, ...env }, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const [called, ...lines] = stdout.trimEnd().split('\n');
  const seen = Object.fromEntries(lines.map(line => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
  return { called, seen };
}

/** As the runtime calls it. */
const started = (at: string, argv0: string) => ({
  APPDIR: at,
  APPIMAGE: '/opt/culvert.AppImage',
  ARGV0: argv0,
  OWD: '/somewhere',
});

test('the image is the command line, and passes on the words and the name of its file only', t => {
  const at = tree(t);
  const { called, seen } = run(join(at, 'AppRun'), ['status', '--json', 'a b'], started(at, './culvert.AppImage'));
  assert.equal(called, 'culvert status --json a b');
  assert.equal(seen.APPIMAGE, '/opt/culvert.AppImage');
  for (const name of ['APPDIR', 'ARGV0', 'OWD', 'LD_LIBRARY_PATH', 'XDG_DATA_DIRS', 'GI_TYPELIB_PATH'])
    assert.ok(!(name in seen), name);
  assert.equal(seen.PATH, HOST.PATH);
});

test("other programs run by a link's name or by the first word", t => {
  const at = tree(t);
  const apprun = join(at, 'AppRun');
  assert.equal(run(apprun, ['status'], started(at, '/usr/local/bin/culvert-wrap')).called, 'culvert-wrap status');
  assert.equal(
    run(apprun, ['--culvert-manifest', 'schema'], started(at, 'culvert.AppImage')).called,
    'culvert-manifest schema',
  );
  const service = run(apprun, ['--bus-service', 'panel', '--gapplication-service'], started(at, 'culvert.AppImage'));
  assert.match(service.called!, /\/gjs-console -m \S* ?\S*\/usr\/lib\/culvert\/panel\.js --gapplication-service$/);
  assert.equal(run(apprun, ['--culvert-x'], started(at, 'x')).called, 'culvert --culvert-x');
});

test('unpacked and run by hand, it is not the AppImage of the terminal it was started in', t => {
  const at = tree(t);
  const { called, seen } = run(join(at, 'AppRun'), ['--help'], started('/tmp/.mount_terminal', 'terminal'));
  assert.equal(called, 'culvert --help');
  assert.ok(!('APPIMAGE' in seen));
});

test('a shim reaches the wrapper, and what it wraps does not take our image for its own', t => {
  const at = tree(t);
  // those of an earlier version have no `--`
  for (const end of [['--'], []]) {
    const words = ['--v8-pool-size=0', ...end, '/opt/culvert.AppImage', 'shim', 'firecrawl', '/x/firecrawl', 'scrape'];
    const { called, seen } = run(join(at, 'AppRun'), words, { ...started(at, 'c'), CULVERT_WRAP_SHIM: '1' });
    assert.equal(
      called,
      `node --v8-pool-size=0 -- ${at}/usr/share/culvert/wrap/main.cjs shim firecrawl /x/firecrawl scrape`,
    );
    assert.ok(!('APPIMAGE' in seen));
    assert.equal(seen.CULVERT_WRAP_SHIM, '1');
  }
});

test("the bundled gjs keeps the user's variables, and adds those of the image", t => {
  const at = tree(t);
  const lib = join(at, 'usr/lib/culvert');
  const own = { XDG_DATA_DIRS: '/a b:/usr/share', GIO_EXTRA_MODULES: '/snap/gio' };
  const { called, seen } = run(join(lib, 'gjs'), ['-m', '/x/share/culvert/panel.js', '--gapplication-service'], own);
  const gtk = join(lib, 'gtk');
  assert.equal(
    called,
    `ld-linux-x86-64.so.2 --library-path ${gtk}/lib ${gtk}/gjs-console -m ${lib}/panel.js --gapplication-service`,
  );
  assert.equal(seen.XDG_DATA_DIRS, `/a b:/usr/share:${gtk}/share`);
  assert.equal(seen.CULVERT_OUTSIDE_XDG_DATA_DIRS, '/a b:/usr/share');
  assert.equal(seen.CULVERT_OUTSIDE_GIO_EXTRA_MODULES, '/snap/gio');
  assert.ok(!('GIO_EXTRA_MODULES' in seen) && !('CULVERT_OUTSIDE_GI_TYPELIB_PATH' in seen));
  assert.ok(!('LD_LIBRARY_PATH' in seen));
});

test("programs that panel and tray start get the user's environment back", t => {
  if (spawnSync('gjs', ['--version']).error) return t.skip('gjs is not installed');
  const at = tree(t);
  const program = join(at, 'program.js');
  writeFileSync(
    program,
    `import ${JSON.stringify(`file://${encodeURI(source)}/environment.js`)};
import Gio from 'gi://Gio?version=2.0';
const child = Gio.Subprocess.new(['env'], Gio.SubprocessFlags.STDOUT_PIPE);
print('gjs');
print(child.communicate_utf8(null, null)[1]);
`,
  );
  const image = {
    XDG_DATA_DIRS: '/a b:/usr/share:/mnt/share',
    GI_TYPELIB_PATH: '/mnt/typelib',
    GIO_MODULE_DIR: '/mnt/m',
  };
  const { seen } = run('gjs', ['-m', program], {
    ...image,
    CULVERT_OUTSIDE_XDG_DATA_DIRS: '/a b:/usr/share',
    CULVERT_OUTSIDE_GIO_EXTRA_MODULES: '/snap/gio',
  });
  assert.equal(seen.XDG_DATA_DIRS, '/a b:/usr/share');
  assert.equal(seen.GIO_EXTRA_MODULES, '/snap/gio');
  const left = Object.keys(seen).filter(name => /^CULVERT_OUTSIDE|^GI_TYPELIB_PATH|^GIO_MODULE_DIR/.test(name));
  assert.deepEqual(left, []);
});
