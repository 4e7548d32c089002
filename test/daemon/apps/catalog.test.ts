// Desktop entries are found where the specification says, and nothing found there holds the reader up.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { applicationDirectories, createCatalog } from '../../../daemon/apps/catalog.ts';
import { type Entry, text } from '../../../daemon/apps/desktop-entry.ts';
import { FULL } from '../../support/thoroughness.ts';
import { settled, until } from '../../support/until.ts';

function createPlace(t: test.TestContext, ...roots: string[]) {
  const place = mkdtempSync(join(tmpdir(), 'culvert-apps-'));
  const described: string[] = [];
  const catalog = createCatalog({
    directories: roots.map(root => join(place, root)),
    programs: [join(place, 'bin')],
    locales: [],
    describer: () => (entry: Entry | null, id) => {
      described.push(id);
      return entry && text(entry, 'Name');
    },
    isStable: name => name !== 'fleeting',
  });
  t.after(() => {
    catalog.close();
    rmSync(place, { recursive: true, force: true });
  });
  return {
    place,
    described,
    catalog,
    write(path: string, name: string) {
      mkdirSync(dirname(join(place, path)), { recursive: true });
      writeFileSync(join(place, path), `[Desktop Entry]\nType=Application\nName=${name}\nExec=true\n`);
    },
    names: async () => Object.fromEntries([...(await catalog.read())].map(([id, { value }]) => [id, value])),
  };
}

test('the user’s directory comes first, then the system’s in their order, then Flatpak’s and snapd’s', () => {
  assert.deepEqual(applicationDirectories({ HOME: '/h', XDG_DATA_DIRS: '/a:/b:relative:/a:/var/lib/snapd/desktop' }), [
    '/h/.local/share/applications',
    '/a/applications',
    '/b/applications',
    '/var/lib/snapd/desktop/applications',
    '/h/.local/share/flatpak/exports/share/applications',
    '/var/lib/flatpak/exports/share/applications',
  ]);
  const [first, second, third] = applicationDirectories({ XDG_DATA_HOME: '/d', HOME: 'relative' });
  assert.deepEqual(
    [first, second, third],
    ['/d/applications', '/usr/local/share/applications', '/usr/share/applications'],
  );
});

test('ids have dashes for directories, and the first directory’s entry hides the others of its id', async t => {
  const { write, names } = createPlace(t, 'user', 'system');
  write('user/a.desktop', 'mine');
  write('system/a.desktop', 'theirs');
  write('system/kde/sub/b.desktop', 'nested');
  write('system/kde-sub-b.desktop', 'flat');
  write('system/not-an-entry.txt', 'x');
  assert.deepEqual(await names(), { 'a.desktop': 'mine', 'kde-sub-b.desktop': 'flat' });
});

test('a broken entry hides the same id of later directories, and is described as broken', async t => {
  const { place, write, names } = createPlace(t, 'user', 'system');
  write('user/a.desktop', 'x');
  writeFileSync(join(place, 'user/a.desktop'), 'garbage');
  write('system/a.desktop', 'theirs');
  assert.deepEqual(await names(), { 'a.desktop': null });
});

test('follows links to files, and survives links out of the directory, in circles, and to special files', async t => {
  const { place, write, names } = createPlace(t, 'apps');
  write('elsewhere/real.desktop', 'linked');
  write('apps/own.desktop', 'own');
  symlinkSync('../elsewhere/real.desktop', join(place, 'apps/link.desktop'));
  symlinkSync('.', join(place, 'apps/loop'));
  symlinkSync('/', join(place, 'apps/root'));
  symlinkSync('../elsewhere', join(place, 'apps/out'));
  symlinkSync('nothing', join(place, 'apps/dangling.desktop'));
  symlinkSync('/dev/zero', join(place, 'apps/zero.desktop'));
  symlinkSync('self.desktop', join(place, 'apps/self.desktop'));
  execFileSync('mkfifo', [join(place, 'apps/fifo.desktop')]);
  mkdirSync(join(place, 'apps/directory.desktop'));
  writeFileSync(join(place, 'apps/huge.desktop'), '');
  truncateSync(join(place, 'apps/huge.desktop'), 2 ** 32);
  mkdirSync(join(place, 'apps', ...Array(60).fill('d')), { recursive: true });
  assert.deepEqual(await names(), { 'own.desktop': 'own', 'link.desktop': 'linked' });
});

test('changes are noticed: new, rewritten, renamed and removed entries, and directories that come later', async t => {
  const { place, write, names, described } = createPlace(t, 'later/applications', 'apps');
  write('apps/a.desktop', 'one');
  await settled(join(place, 'apps/a.desktop'));
  assert.deepEqual(await names(), { 'a.desktop': 'one' });
  assert.deepEqual(await names(), { 'a.desktop': 'one' });
  assert.equal(described.length, 1, 'read once');

  const path = join(place, 'apps/a.desktop');
  writeFileSync(path, readFileSync(path, 'utf8').replace('one', 'two'));
  await settled(path);
  await until(async () => (await names())['a.desktop'] === 'two');
  const before = described.length;
  write('apps/b.desktop', 'b');
  await until(async () => (await names())['b.desktop'] === 'b');
  assert.ok(!described.slice(before).includes('a.desktop'), 'what did not change is not read again');
  renameSync(join(place, 'apps/b.desktop'), join(place, 'apps/c.desktop'));
  await until(async () => Object.keys(await names()).join() === 'a.desktop,c.desktop');
  unlinkSync(path);
  await until(async () => Object.keys(await names()).join() === 'c.desktop');
  write('later/applications/c.desktop', 'mine');
  await until(async () => (await names())['c.desktop'] === 'mine');
  write('apps/sub/x.desktop', 'x');
  await until(async () => (await names())['sub-x.desktop'] === 'x');
});

test('a program that comes or goes has only what depends on it described again', async t => {
  const { place, write, names, described } = createPlace(t, 'apps');
  write('apps/a.desktop', 'lasting');
  write('apps/b.desktop', 'fleeting');
  await settled(join(place, 'apps/b.desktop'));
  await names();
  mkdirSync(join(place, 'bin'));
  await names();
  writeFileSync(join(place, 'bin/program'), '');
  await names();
  assert.deepEqual(described, ['a.desktop', 'b.desktop', 'b.desktop', 'b.desktop']);
});

test('reads thousands of entries without blocking others, and after a change only the entry that changed', async t => {
  const count = FULL ? 10_000 : 2_000;
  const { place, write, names, described } = createPlace(t, 'apps');
  for (let at = 0; at < count; at++) write(`apps/app${at}.desktop`, `App ${at}`);
  let turns = 0;
  const ticking = setInterval(() => turns++, 1);
  assert.equal(Object.keys(await names()).length, count);
  clearInterval(ticking);
  assert.ok(turns > count / 1000, `others had ${turns} turns`);
  writeFileSync(join(place, 'apps/app5.desktop'), '[Desktop Entry]\nName=changed\n');
  await until(async () => (await names())['app5.desktop'] === 'changed');
  assert.equal(described.length, count + 1);
});
