// Shortcuts: valid entries that start exactly one app, follow their original, and leave when it does.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { expandFields, parseEntry, splitExec, text } from '../../../daemon/apps/desktop-entry.ts';
import { listShortcuts, removeAllShortcuts } from '../../../daemon/apps/shortcuts.ts';
import { createDesktop, LAUNCHER, problem } from '../../support/daemon/desktop-files.ts';
import { until } from '../../support/until.ts';

const validator = existsSync('/usr/bin/desktop-file-validate');

/** The command that a desktop would run. */
function commandOf(path: string): string[] {
  const entry = parseEntry(readFileSync(path, 'latin1'));
  assert.ok(entry);
  return expandFields(splitExec(text(entry, 'Exec')!), { name: '', icon: null, file: path });
}

test('a shortcut has the original’s look in every language, and starts it by its id', async t => {
  const { apps, entry, program, data } = await createDesktop(t);
  program('chromium');
  entry('chr', [
    'Name=Chr',
    'Name[de]=Chr auf\\sDeutsch',
    'Name[xx]=Chr xx',
    'GenericName[fr]=Navigateur',
    'Comment=A %f comment',
    'Icon=chr',
    'Categories=Network;WebBrowser;X-Own;Bogus;',
    'Keywords=a;b',
    'MimeType=text/html;',
    'Actions=new;',
    'DBusActivatable=true',
    'Exec=chromium %U',
  ]);
  const { shortcut } = await apps.setShortcut({ appId: 'chr.desktop', present: true });
  assert.equal(shortcut, join(data, 'applications/org.culvert.Culvert.proxy.chr.desktop'));
  assert.equal(
    readFileSync(shortcut!, 'utf8').replace(/^X-Culvert-Original=.*\n/m, ''),
    `[Desktop Entry]
Type=Application
Name=Chr (through WARP)
Name[de]=Chr auf Deutsch (über WARP)
Name[xx]=Chr xx (through WARP)
GenericName[fr]=Navigateur
Comment=A %f comment
Icon=chr
Categories=Network;WebBrowser;
Exec="/opt/a b/bin/culvert" apps launch --yes chr.desktop
TryExec=/opt/a b/bin/culvert
Terminal=false
X-Culvert-App=chr.desktop
`,
  );
  assert.equal((await apps.list()).find(({ id }) => id === 'chr.desktop')?.shortcut, shortcut);
  assert.equal((await apps.list()).length, 1, 'shortcuts are not apps');
  const removed = await apps.setShortcut({ appId: 'chr.desktop', present: false });
  assert.deepEqual([removed.shortcut, existsSync(shortcut!)], [null, false]);
});

test('shortcuts that start an app only through the tunnel and outside it stand next to the one through the proxy', async t => {
  const { apps, entry, program, data } = await createDesktop(t);
  program('chromium');
  program('odd');
  entry('chr', ['Name=Chr', 'Name[de]=Chr', 'Exec=chromium']);
  entry('odd', ['Name=Odd', 'Exec=odd']);
  const set = async (present: boolean, way?: 'tunnel-only' | 'outside', appId = 'chr.desktop') =>
    (await apps.setShortcut({ appId, present, ...(way ? { way } : {}) })).shortcut;
  const kept = (await set(true, 'tunnel-only'))!;
  assert.equal(kept, join(data, 'applications/org.culvert.Culvert.tunnel-only.chr.desktop'));
  assert.deepEqual(commandOf(kept), [LAUNCHER, 'apps', 'launch', '--tunnel-only', 'chr.desktop']);
  assert.match(
    readFileSync(kept, 'utf8'),
    /^Name=Chr \(only through the tunnel\)\nName\[de\]=Chr \(nur durch den Tunnel\)$/m,
  );
  if (validator) execFileSync('desktop-file-validate', [kept], { stdio: 'pipe' });
  const proxied = await set(true);
  const listed = async () => {
    const app = (await apps.list()).find(({ id }) => id === 'chr.desktop')!;
    return [app.shortcut, app.tunnelShortcut, app.outsideShortcut];
  };
  const outside = (await set(true, 'outside'))!;
  assert.deepEqual(commandOf(outside), [LAUNCHER, 'apps', 'launch', '--outside', 'chr.desktop']);
  assert.match(readFileSync(outside, 'utf8'), /^Name=Chr \(outside the tunnel\)$/m);
  if (validator) execFileSync('desktop-file-validate', [outside], { stdio: 'pipe' });
  assert.deepEqual(await listed(), [proxied, kept, outside]);
  await set(false);
  assert.deepEqual(await listed(), [null, kept, outside]);
  // an app that takes no proxy
  assert.ok(await set(true, 'tunnel-only', 'odd.desktop'));
  assert.deepEqual(removeAllShortcuts(data).length, 3);
});

test('shortcuts of every entry are valid, and their commands come out as written, whatever id and name hold', {
  skip: validator ? false : 'desktop-file-validate is not installed',
}, async t => {
  const { apps, entry, program, data } = await createDesktop(t);
  program('chromium');
  const ids = [
    'plain',
    'with space',
    'org.x.Y-z',
    '100%',
    '%f',
    'a"b',
    "a'b",
    '$HOME `id`',
    'ümläut',
    ';rm -rf',
    'back\\slash',
    'x'.repeat(240),
  ];
  for (const id of ids)
    entry(id, [
      `Name=${id}\\nline "two" \\x`,
      'Name[de]=  Zwei',
      'Icon=/a b/c.png',
      'Comment=c\\ttab',
      'Categories=;;Foo\\;Bar;',
      'Exec=chromium',
    ]);
  for (const id of ids) {
    const { shortcut } = await apps.setShortcut({ appId: `${id}.desktop`, present: true });
    assert.deepEqual(commandOf(shortcut!), [LAUNCHER, 'apps', 'launch', '--yes', `${id}.desktop`]);
    execFileSync('desktop-file-validate', [shortcut!], { stdio: 'pipe' });
  }
  assert.equal(readdirSync(join(data, 'applications')).length, ids.length);
  await until(async () => (await apps.list()).every(({ shortcut }) => shortcut !== null));
});

test('a shortcut is renewed when its original or the launcher changed, and removed when the original is gone', async t => {
  const { apps, entry, program, data, place } = await createDesktop(t);
  program('chromium');
  entry('a', ['Name=Old', 'Exec=chromium']);
  entry('b', ['Name=B', 'Exec=chromium']);
  const [a, b] = await Promise.all(
    ['a.desktop', 'b.desktop'].map(async appId => (await apps.setShortcut({ appId, present: true })).shortcut!),
  );
  writeFileSync(a!, readFileSync(a!, 'utf8').replace('/opt/a b/bin/culvert', '/old/culvert'));
  apps.start();
  await until(() => readFileSync(a!, 'utf8').includes('/opt/a b/bin/culvert'));
  entry('a', ['Name=New', 'Exec=chromium']);
  await until(async () => (await apps.list()) && readFileSync(a!, 'utf8').includes('New (through WARP)'));
  entry('b', ['Name=B', 'Exec=chromium', 'OnlyShowIn=KDE;']);
  await until(async () => (await apps.list()).length === 1);
  rmSync(join(place, 'system/applications/a.desktop'));
  await until(async () => (await apps.list()) && !existsSync(a!));
  assert.ok(existsSync(b!), 'an app that only this session doesn’t show keeps its shortcut');
  assert.deepEqual(removeAllShortcuts(data), [b]);
  assert.deepEqual(listShortcuts(data), []);
});

test('the user’s own files of such a name are left alone', async t => {
  const { data } = await createDesktop(t);
  mkdirSync(join(data, 'applications'), { recursive: true });
  const own = join(data, 'applications/org.culvert.Culvert.proxy.mine.desktop');
  writeFileSync(own, '[Desktop Entry]\nType=Application\nName=Mine\nExec=true\n');
  assert.deepEqual(removeAllShortcuts(data), []);
  assert.ok(existsSync(own));
});

test('refuses a shortcut for an app that can’t be launched, is unknown, or has no place', async t => {
  const { apps, entry, program, data } = await createDesktop(t);
  program('chromium');
  entry('missing', ['Name=M', 'Exec=no-such-program']);
  entry('chr', ['Name=C', 'Exec=chromium']);
  const make = (appId: string) => apps.setShortcut({ appId, present: true });
  await assert.rejects(make('missing.desktop'), problem('app-not-launchable'));
  await assert.rejects(make('nope.desktop'), problem('app-not-found'));
  await assert.rejects(apps.setShortcut({ appId: 'nope.desktop', present: false }), problem('app-not-found'));
  assert.equal((await apps.setShortcut({ appId: 'chr.desktop', present: false })).shortcut, null);
  mkdirSync(data, { recursive: true });
  writeFileSync(join(data, 'applications'), 'in the way');
  await assert.rejects(make('chr.desktop'), problem('config-not-writable'));
});

test('a launch can create the shortcut as well, and reports its path', async t => {
  const { apps, entry, program } = await createDesktop(t);
  program('curl', 'exit 0');
  entry('c', ['Name=C', 'Exec=curl']);
  const { shortcut } = await apps.launch({ appId: 'c.desktop', shortcut: true });
  assert.ok(existsSync(shortcut!));
  assert.equal((await apps.launch({ appId: 'c.desktop' })).shortcut, shortcut);
});
