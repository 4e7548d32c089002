// Installing, switching, going back and removing: what is written, what is left alone, and that nothing stays behind.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import {
  currentOf,
  goBack,
  type InstallError,
  install,
  isPending,
  locked,
  previousOf,
  prune,
  repair,
  uninstall,
} from '../../../daemon/update/installation.ts';
import { render } from '../../../daemon/update/integration.ts';
import { type Places, placesOf, stable } from '../../../daemon/update/places.ts';
import { snapshot } from '../../manifest/release.ts';
import { smallTree } from './small-tree.ts';
import { type Ends, temporary } from './source.ts';

function setUp(t: Ends) {
  const home = path.join(temporary(t), 'home');
  fs.mkdirSync(home);
  const trees = temporary(t);
  const places = placesOf({ HOME: home });
  const to = (version: string, extra = {}) =>
    locked(places, () => install(places, smallTree(trees, version, extra), version));
  return { home, places, to, remove: () => locked(places, () => uninstall(places)) };
}

const says = (places: Places) =>
  spawnSync(path.join(places.bin, 'culvert'), ['--version'], { encoding: 'utf8' }).stdout.trim();
const unit = ({ data }: Places) => path.join(data, 'systemd/user/culvert.service');

test('a first installation and its removal leave a home as it was', async t => {
  const { home, places, to, remove } = setUp(t);
  fs.mkdirSync(path.join(home, '.local/bin'), { recursive: true });
  fs.writeFileSync(path.join(home, '.local/bin/mine'), 'x');
  const before = snapshot(home);
  assert.deepEqual(await to('1.0.0'), []);
  assert.equal(says(places), 'culvert 1.0.0');
  assert.equal(fs.readlinkSync(places.current), 'versions/1.0.0');
  assert.equal(
    fs.readFileSync(path.join(places.data, 'applications/org.culvert.Culvert.desktop'), 'utf8'),
    `[Desktop Entry]\nExec=${places.current}/bin/culvert\n`,
  );
  assert.deepEqual(await remove(), []);
  assert.equal(snapshot(home), before);
});

test('a second version takes over, the one before is kept, and only that one', async t => {
  const { places, to } = setUp(t);
  await to('1.0.0', { 'bin/culvert-old': '#!/bin/sh\n', 'share/man/man1/culvert.1': '.TH' });
  await to('1.1.0', { 'bin/culvert-new': '#!/bin/sh\n' });
  assert.equal(says(places), 'culvert 1.1.0');
  assert.deepEqual(fs.readdirSync(places.bin).sort(), ['culvert', 'culvert-new'], 'a link that leads nowhere went');
  assert.ok(!fs.existsSync(path.join(places.data, 'man/man1/culvert.1')));
  assert.match(fs.readFileSync(unit(places), 'utf8'), /^# 1\.1\.0$/m);
  assert.equal(previousOf(places), '1.0.0');
  await to('1.2.0');
  prune(places, '/elsewhere');
  assert.deepEqual(fs.readdirSync(places.versions).sort(), ['1.1.0', '1.2.0']);

  assert.deepEqual(await locked(places, () => goBack(places)), { version: '1.1.0', kept: [] });
  assert.equal(says(places), 'culvert 1.1.0');
  assert.match(fs.readFileSync(unit(places), 'utf8'), /^# 1\.1\.0$/m);
  assert.deepEqual(fs.readdirSync(places.bin).sort(), ['culvert', 'culvert-new']);
  assert.equal(previousOf(places), null);
  await assert.rejects(
    locked(places, () => goBack(places)),
    (error: InstallError) => error.code === 'nothing-previous',
  );
  prune(places, path.join(places.versions, '1.2.0'));
  assert.ok(fs.existsSync(path.join(places.versions, '1.2.0')), 'a process still runs from it');
  prune(places, '/elsewhere');
  assert.deepEqual(fs.readdirSync(places.versions), ['1.1.0']);
});

test('the same version again gets a directory of its own, and the way back stays', async t => {
  const { places, to } = setUp(t);
  await to('1.0.0');
  await to('1.1.0');
  for (const name of ['1.1.0~2', '1.1.0', '1.1.0~2']) {
    await to('1.1.0', { 'share/culvert/note': name });
    assert.equal(currentOf(places), name);
    assert.equal(previousOf(places), '1.0.0');
  }
  assert.equal(says(places), 'culvert 1.1.0');
});

test("files that are somebody else's stop a first installation before anything is written", async t => {
  const { home, places, to } = setUp(t);
  fs.mkdirSync(path.dirname(unit(places)), { recursive: true });
  fs.writeFileSync(unit(places), 'mine');
  fs.mkdirSync(path.join(places.bin, 'culvert'), { recursive: true });
  fs.writeFileSync(path.join(places.data, 'applications'), 'a file, where a directory should be');
  const before = snapshot(home);
  await assert.rejects(to('1.0.0'), (error: InstallError) => {
    assert.equal(error.code, 'foreign-files');
    assert.match(
      error.message,
      /\.local\/bin\/culvert, .*applications\/.*, .*systemd\/user\/culvert\.service\. Nothing was changed/,
    );
    return true;
  });
  assert.equal(snapshot(home), before);
});

test('what the user changed since is left alone by updates and by removal, and told', async t => {
  const { home, places, to, remove } = setUp(t);
  await to('1.0.0');
  fs.writeFileSync(unit(places), 'mine now');
  fs.rmSync(path.join(places.bin, 'culvert'));
  fs.writeFileSync(path.join(places.bin, 'culvert'), '#!/bin/sh\necho mine\n', { mode: 0o755 });
  assert.deepEqual(await to('1.1.0'), [path.join(places.bin, 'culvert'), unit(places)]);
  assert.equal(says(places), 'mine');
  assert.deepEqual(await remove(), []);
  assert.deepEqual(
    fs
      .readdirSync(home, { recursive: true, withFileTypes: true })
      .filter(e => e.isFile())
      .map(e => e.name)
      .sort(),
    ['culvert', 'culvert.service'],
  );
});

test('a file changed after the last update is kept by removal, and named', async t => {
  const { places, to, remove } = setUp(t);
  await to('1.0.0');
  fs.writeFileSync(unit(places), 'mine now');
  assert.deepEqual(await remove(), [unit(places)]);
  assert.equal(fs.readFileSync(unit(places), 'utf8'), 'mine now');
});

test('without its record, an installation is still known by what its tree would write', async t => {
  const { home, places, to, remove } = setUp(t);
  for (const text of [null, '', '{"entries":', '[]']) {
    await to('1.0.0');
    if (text === null) fs.rmSync(places.record);
    else fs.writeFileSync(places.record, text);
    assert.deepEqual(await to('1.1.0'), []);
    assert.equal(says(places), 'culvert 1.1.0');
    fs.rmSync(places.record);
    assert.deepEqual(await remove(), []);
    const left = fs.readdirSync(home, { recursive: true, withFileTypes: true }).filter(entry => !entry.isDirectory());
    assert.deepEqual(left, []);
  }
});

test('what could not be written is told, and completed later', async t => {
  const { places, to } = setUp(t);
  await to('1.0.0');
  fs.rmSync(path.dirname(unit(places)), { recursive: true });
  fs.symlinkSync('/nonexistent/directory', path.dirname(unit(places)));
  const kept = await to('1.1.0');
  assert.equal(kept.length, 1);
  assert.match(kept[0]!, /culvert\.service \(E.*\)$/);
  assert.equal(says(places), 'culvert 1.1.0');
  assert.ok(isPending(places));
  fs.rmSync(path.dirname(unit(places)));
  await locked(places, () => repair(places));
  assert.match(fs.readFileSync(unit(places), 'utf8'), /^# 1\.1\.0$/m);
  assert.ok(!isPending(places));
});

test('two at once: the second is told who is at work', async t => {
  const { places, to } = setUp(t);
  await to('1.0.0');
  await locked(places, async () => {
    await assert.rejects(to('1.1.0'), (error: InstallError) => error.code === 'locked');
  });
  assert.equal(says(places), 'culvert 1.0.0');
});

test('the stable path of a prefix is `current` for a user installation alone', () => {
  assert.equal(stable('/home/a/.local/share/culvert/versions/1.2.3'), '/home/a/.local/share/culvert/current');
  for (const other of ['/usr', '/usr/local', '/home/a/versions/1.2.3', '/home/a/src/culvert/build/prefix'])
    assert.equal(stable(other), other);
});

test('a home whose path no desktop entry can hold is refused', () => {
  assert.throws(() => placesOf({ HOME: '/home/a\nExec=x' }), /control characters/);
  assert.throws(() => placesOf({}), /HOME is not set/);
});

test('paths are quoted as each kind of file wants it', () => {
  const places = { ...placesOf({ HOME: `/h/a b'c$d%e"f` }), current: `/h/a b'c$d%e"f` };
  assert.equal(
    render('Exec=@PREFIX@/bin/culvert --x', 'desktop', places),
    `Exec="/h/a b'c\\\\$d%%e\\\\"f/bin/culvert" --x`,
  );
  assert.equal(render('Exec=@PREFIX@/bin/culvert', 'dbus', places), `Exec='/h/a b'\\''c$d%e"f/bin/culvert'`);
  assert.equal(render('ExecStart=@PREFIX@/bin/culvert', 'unit', places), `ExecStart="/h/a b'c$$d%%e\\"f/bin/culvert"`);
});
