// The list of apps: which are shown, under which name, and how each is said to take the proxy.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { createDesktop } from '../../support/daemon/desktop-files.ts';
import { until } from '../../support/until.ts';

type Desktop = Awaited<ReturnType<typeof createDesktop>>;
const ids = async ({ apps }: Desktop) => (await apps.list()).map(({ id }) => id.replace('.desktop', ''));

test('hidden, foreign, deleted and unusable entries are not listed', async t => {
  const desktop = await createDesktop(t, { XDG_CURRENT_DESKTOP: 'ubuntu:GNOME' });
  const { entry, program } = desktop;
  program('app');
  entry('shown', ['Name=Shown', 'Exec=app']);
  entry('try', ['Name=T', 'Exec=app', 'TryExec=app']);
  entry('only', ['Name=O', 'Exec=app', 'OnlyShowIn=XFCE;GNOME;']);
  entry('not-elsewhere', ['Name=N', 'Exec=app', 'NotShowIn=KDE;']);
  for (const [id, ...lines] of [
    ['nodisplay', 'NoDisplay=true'],
    ['hidden', 'Hidden=true'],
    ['try-missing', 'TryExec=missing-program'],
    ['try-relative', 'TryExec=bin/app'],
    ['only-kde', 'OnlyShowIn=KDE;'],
    ['not-here', 'NotShowIn=GNOME;'],
    ['org.culvert.Culvert'],
    ['org.culvert.Culvert.proxy.x', 'X-Culvert-App=x.desktop'],
  ] as const)
    entry(id, ['Name=X', 'Exec=app', ...lines]);
  entry('nameless', ['Exec=app']);
  entry('deleted', ['Name=Deleted', 'Exec=app']);
  entry('deleted', ['Hidden=true'], join(desktop.data, 'applications'));
  writeFileSync(join(desktop.place, 'system/applications/link.desktop'), '[Desktop Entry]\nType=Link\nName=L\nURL=x\n');
  assert.deepEqual((await ids(desktop)).sort(), ['not-elsewhere', 'only', 'shown', 'try']);
});

test('names and icons are in the session’s language, or in the configured one', async t => {
  const { apps, entry, program, settings } = await createDesktop(t, { LANG: 'de_AT.UTF-8' });
  program('app');
  entry('b', ['Name=Zebra', 'Name[de]=Ähre', 'Name[fr]=Zèbre', 'Icon=x', 'Icon[de]=y', 'Categories=A;B;', 'Exec=app']);
  entry('a', ['Name=Bär', 'Exec=app']);
  assert.deepEqual(
    (await apps.list()).map(({ name, icon, categories }) => [name, icon, categories]),
    [
      ['Ähre', 'y', ['A', 'B']],
      ['Bär', null, []],
    ],
  );
  settings.setSession({ ui: { locale: 'fr' } });
  assert.deepEqual(
    (await apps.list()).map(({ name }) => name),
    ['Bär', 'Zèbre'],
  );
});

test('says of each app correctly whether and how it takes the proxy', async t => {
  const desktop = await createDesktop(t);
  const { apps, entry, program, place } = desktop;
  for (const name of ['chromium', 'firefox', 'curl', 'unheard-of', 'flatpak', 'launcher']) program(name);
  mkdirSync(join(place, 'opt/chat/resources'), { recursive: true });
  program(join(place, 'opt/chat/chat'));
  writeFileSync(join(place, 'opt/chat/resources/app.asar'), '');
  symlinkSync('../opt/chat/chat', join(place, 'bin/chat'));
  program('proxychains4');
  program('static', '');
  writeFileSync(
    join(place, 'bin/static'),
    Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01', 'latin1'), Buffer.alloc(200)]),
  );
  for (const [id, line, ...more] of [
    ['chromium', 'chromium %U'],
    ['wrapped', 'env A=b chromium %U'],
    ['web-app', 'chromium --profile-directory=Default --app-id=abcdef'],
    ['firefox', 'firefox %u'],
    ['chat', 'chat %U'],
    ['curl', 'curl x'],
    ['unheard-of', 'unheard-of'],
    ['shell', 'sh -c "firefox"'],
    ['static', 'static'],
    ['missing', 'no-such-program'],
    ['relative', './chromium'],
    ['climbing', '../../bin/chromium'],
    ['bad-code', 'chromium %q'],
    ['open-quote', 'chromium "'],
    ['flat-browser', '/usr/bin/flatpak run --command=x org.mozilla.firefox @@u %u @@'],
    ['flat-other', '/usr/bin/flatpak run org.example.Thing'],
    ['snap-browser', 'env X=1 /snap/bin/chromium %U'],
    ['snap-named', '/snap/bin/x.y', 'X-SnapInstanceName=firefox'],
  ] as const)
    entry(id, [`Name=${id}`, `Exec=${line}`, ...more]);
  entry('bus', ['Name=bus', 'DBusActivatable=true']);
  const found = Object.fromEntries((await apps.list()).map(app => [app.id.replace('.desktop', ''), app]));
  const told = (id: string) => [found[id]?.kind, found[id]?.packaging, found[id]?.method];
  assert.deepEqual(told('chromium'), ['chromium', 'native', 'arguments']);
  assert.deepEqual(told('wrapped'), ['chromium', 'native', 'arguments']);
  assert.deepEqual(told('firefox'), ['firefox', 'native', 'profile']);
  assert.deepEqual(told('chat'), ['electron', 'native', 'arguments']);
  assert.deepEqual(told('curl'), ['generic', 'native', 'environment']);
  assert.deepEqual(told('unheard-of'), ['generic', 'native', 'proxychains']);
  assert.deepEqual(told('shell'), ['generic', 'native', 'proxychains']);
  assert.deepEqual(told('flat-browser'), ['firefox', 'flatpak', 'profile']);
  assert.deepEqual(told('snap-browser'), ['chromium', 'snap', 'arguments']);
  assert.deepEqual(told('snap-named'), ['firefox', 'snap', 'profile']);
  for (const id of [
    'web-app',
    'static',
    'missing',
    'relative',
    'climbing',
    'bad-code',
    'open-quote',
    'flat-other',
    'bus',
  ]) {
    assert.equal(found[id]?.method, 'none', id);
    assert.match(found[id]?.note ?? '', /^[A-Z].*\.$/, id);
  }
  for (const id of ['chat', 'unheard-of']) assert.match(found[id]?.note ?? '', /\.$/, id);
  assert.equal(found.chromium?.note, null);
});

test('without proxychains4, an unknown app has no way, and the answer says what to install', async t => {
  const { apps, entry, program, env, bin } = await createDesktop(t);
  env.PATH = bin;
  program('unheard-of');
  entry('x', ['Name=x', 'Exec=unheard-of']);
  const [app] = await apps.list();
  assert.equal(app?.method, 'none');
  assert.match(app?.note ?? '', /Install proxychains4 to try it\./);
});

test('a second reading of the list shows later changes', async t => {
  const desktop = await createDesktop(t);
  const { apps, entry, program } = desktop;
  program('curl');
  entry('a', ['Name=A', 'Exec=curl']);
  assert.deepEqual(await ids(desktop), ['a']);
  entry('b', ['Name=B', 'Exec=curl']);
  await until(async () => (await ids(desktop)).join() === 'a,b');
  await apps.setShortcut({ appId: 'a.desktop', present: true });
  await until(async () => (await apps.list())[0]?.shortcut !== null);
});

test('an app whose program is installed later can be launched from then on, though its entry stayed the same', async t => {
  const desktop = await createDesktop(t);
  const { apps, entry, program } = desktop;
  program('wget'); // missing on a minimal system
  entry('a', ['Name=A', 'Exec=curl-of-mine']);
  entry('b', ['Name=B', 'Exec=wget', 'TryExec=wget-of-mine']);
  assert.deepEqual(
    (await apps.list()).map(({ id, method }) => [id, method]),
    [['a.desktop', 'none']],
  );
  program('proxychains4');
  program('curl-of-mine');
  program('wget-of-mine');
  assert.deepEqual(
    (await apps.list()).map(({ id, method }) => [id, method]),
    [
      ['a.desktop', 'proxychains'],
      ['b.desktop', 'environment'],
    ],
  );
});
