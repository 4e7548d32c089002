// Installing, switching, going back and removing: what is written, what is left alone, and that nothing stays behind.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import type { Failure } from '../../../daemon/core/errors.ts';
import { stablePrefix } from '../../../daemon/system/installation.ts';
import {
  install,
  isPending,
  repair,
  rollBack,
  uninstall,
  withInstallLock,
} from '../../../daemon/update/installation.ts';
import { render } from '../../../daemon/update/record.ts';
import { currentOf, previousOf, prune, type UserLayout, userLayout } from '../../../daemon/update/user-layout.ts';
import { snapshot } from '../../support/manifest/release.ts';
import { missing } from '../../support/temporary.ts';
import { smallTree } from '../../support/update/small-tree.ts';
import { type Ends, temporary } from '../../support/update/source.ts';

function setUp(t: Ends) {
  const home = path.join(temporary(t), 'home');
  fs.mkdirSync(home);
  const trees = temporary(t);
  const layout = userLayout({ HOME: home });
  const to = (version: string, extra = {}) =>
    withInstallLock(layout, () => install(layout, smallTree(trees, version, extra), version));
  return { home, layout, to, remove: () => withInstallLock(layout, () => uninstall(layout)) };
}

const says = (layout: UserLayout) =>
  spawnSync(path.join(layout.bin, 'culvert'), ['--version'], { encoding: 'utf8' }).stdout.trim();
const unit = ({ data }: UserLayout) => path.join(data, 'systemd/user/culvert.service');

test('a first installation and its removal leave a home as it was', async t => {
  const { home, layout, to, remove } = setUp(t);
  fs.mkdirSync(path.join(home, '.local/bin'), { recursive: true });
  fs.writeFileSync(path.join(home, '.local/bin/mine'), 'x');
  const before = snapshot(home);
  assert.deepEqual(await to('1.0.0'), []);
  assert.equal(says(layout), 'culvert 1.0.0');
  assert.equal(fs.readlinkSync(layout.current), 'versions/1.0.0');
  assert.equal(
    fs.readFileSync(path.join(layout.data, 'applications/org.culvert.Culvert.desktop'), 'utf8'),
    `[Desktop Entry]\nExec=${layout.current}/bin/culvert\n`,
  );
  assert.deepEqual(await remove(), []);
  assert.equal(snapshot(home), before);
});

test('a second version takes over, and only the previous one is kept', async t => {
  const { layout, to } = setUp(t);
  await to('1.0.0', { 'bin/culvert-old': '#!/bin/sh\n', 'share/man/man1/culvert.1': '.TH' });
  await to('1.1.0', { 'bin/culvert-new': '#!/bin/sh\n' });
  assert.equal(says(layout), 'culvert 1.1.0');
  assert.deepEqual(fs.readdirSync(layout.bin).sort(), ['culvert', 'culvert-new'], 'a link that leads nowhere went');
  assert.ok(!fs.existsSync(path.join(layout.data, 'man/man1/culvert.1')));
  assert.match(fs.readFileSync(unit(layout), 'utf8'), /^# 1\.1\.0$/m);
  assert.equal(previousOf(layout), '1.0.0');
  await to('1.2.0');
  prune(layout, '/elsewhere');
  assert.deepEqual(fs.readdirSync(layout.versions).sort(), ['1.1.0', '1.2.0']);

  assert.deepEqual(await withInstallLock(layout, () => rollBack(layout)), { version: '1.1.0', kept: [] });
  assert.equal(says(layout), 'culvert 1.1.0');
  assert.match(fs.readFileSync(unit(layout), 'utf8'), /^# 1\.1\.0$/m);
  assert.deepEqual(fs.readdirSync(layout.bin).sort(), ['culvert', 'culvert-new']);
  assert.equal(previousOf(layout), null);
  await assert.rejects(
    withInstallLock(layout, () => rollBack(layout)),
    (error: Failure) => error.code === 'nothing-previous',
  );
  prune(layout, path.join(layout.versions, '1.2.0'));
  assert.ok(fs.existsSync(path.join(layout.versions, '1.2.0')), 'a process still runs from it');
  prune(layout, '/elsewhere');
  assert.deepEqual(fs.readdirSync(layout.versions), ['1.1.0']);
});

test('installing the same version again uses a new directory, and a rollback stays possible', async t => {
  const { layout, to } = setUp(t);
  await to('1.0.0');
  await to('1.1.0');
  for (const name of ['1.1.0~2', '1.1.0', '1.1.0~2']) {
    await to('1.1.0', { 'share/culvert/note': name });
    assert.equal(currentOf(layout), name);
    assert.equal(previousOf(layout), '1.0.0');
  }
  assert.equal(says(layout), 'culvert 1.1.0');
});

test('files of another program stop a first installation before anything is written', async t => {
  const { home, layout, to } = setUp(t);
  fs.mkdirSync(path.dirname(unit(layout)), { recursive: true });
  fs.writeFileSync(unit(layout), 'mine');
  fs.mkdirSync(path.join(layout.bin, 'culvert'), { recursive: true });
  fs.writeFileSync(path.join(layout.data, 'applications'), 'a file, where a directory should be');
  const before = snapshot(home);
  await assert.rejects(to('1.0.0'), (error: Failure) => {
    assert.equal(error.code, 'foreign-files');
    assert.match(
      error.message,
      /\.local\/bin\/culvert, .*applications\/.*, .*systemd\/user\/culvert\.service\. Nothing was changed/,
    );
    return true;
  });
  assert.equal(snapshot(home), before);
});

test('files that the user changed are kept by updates and by removal, and reported', async t => {
  const { home, layout, to, remove } = setUp(t);
  await to('1.0.0');
  fs.writeFileSync(unit(layout), 'mine now');
  fs.rmSync(path.join(layout.bin, 'culvert'));
  fs.writeFileSync(path.join(layout.bin, 'culvert'), '#!/bin/sh\necho mine\n', { mode: 0o755 });
  assert.deepEqual(await to('1.1.0'), [path.join(layout.bin, 'culvert'), unit(layout)]);
  assert.equal(says(layout), 'mine');
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
  const { layout, to, remove } = setUp(t);
  await to('1.0.0');
  fs.writeFileSync(unit(layout), 'mine now');
  assert.deepEqual(await remove(), [unit(layout)]);
  assert.equal(fs.readFileSync(unit(layout), 'utf8'), 'mine now');
});

test('without its record, an installation is still known by what its tree would write', async t => {
  const { home, layout, to, remove } = setUp(t);
  for (const text of [null, '', '{"entries":', '[]']) {
    await to('1.0.0');
    if (text === null) fs.rmSync(layout.record);
    else fs.writeFileSync(layout.record, text);
    assert.deepEqual(await to('1.1.0'), []);
    assert.equal(says(layout), 'culvert 1.1.0');
    fs.rmSync(layout.record);
    assert.deepEqual(await remove(), []);
    const left = fs.readdirSync(home, { recursive: true, withFileTypes: true }).filter(entry => !entry.isDirectory());
    assert.deepEqual(left, []);
  }
});

test('files that could not be written are reported, and completed later', async t => {
  const { layout, to } = setUp(t);
  await to('1.0.0');
  fs.rmSync(path.dirname(unit(layout)), { recursive: true });
  fs.symlinkSync(path.join(missing(t), 'directory'), path.dirname(unit(layout)));
  const kept = await to('1.1.0');
  assert.equal(kept.length, 1);
  assert.match(kept[0]!, /culvert\.service \(.* can't be written: No such file or directory\.\)$/);
  assert.equal(says(layout), 'culvert 1.1.0');
  assert.ok(isPending(layout));
  fs.rmSync(path.dirname(unit(layout)));
  await withInstallLock(layout, () => repair(layout));
  assert.match(fs.readFileSync(unit(layout), 'utf8'), /^# 1\.1\.0$/m);
  assert.ok(!isPending(layout));
});

test('a second process is refused with the pid of the first', async t => {
  const { layout, to } = setUp(t);
  await to('1.0.0');
  await withInstallLock(layout, async () => {
    await assert.rejects(to('1.1.0'), (error: Failure) => error.code === 'locked');
  });
  assert.equal(says(layout), 'culvert 1.0.0');
});

test('the stable path of a prefix is `current` for a user installation only', () => {
  assert.equal(stablePrefix('/home/a/.local/share/culvert/versions/1.2.3'), '/home/a/.local/share/culvert/current');
  for (const other of ['/usr', '/usr/local', '/home/a/versions/1.2.3', '/home/a/src/culvert/build/prefix'])
    assert.equal(stablePrefix(other), other);
});

test('a home whose path no desktop entry can hold is refused', () => {
  assert.throws(() => userLayout({ HOME: '/home/a\nExec=x' }), /control characters/);
  assert.throws(() => userLayout({}), /HOME is not set/);
});

test('paths are quoted as each kind of file wants it', () => {
  const layout = { ...userLayout({ HOME: `/h/a b'c$d%e"f` }), current: `/h/a b'c$d%e"f` };
  assert.equal(
    render('Exec=@PREFIX@/bin/culvert --x', 'desktop', layout),
    `Exec="/h/a b'c\\\\$d%%e\\\\"f/bin/culvert" --x`,
  );
  assert.equal(render('Exec=@PREFIX@/bin/culvert', 'dbus', layout), `Exec='/h/a b'\\''c$d%e"f/bin/culvert'`);
  assert.equal(render('ExecStart=@PREFIX@/bin/culvert', 'unit', layout), `ExecStart="/h/a b'c$$d%%e\\"f/bin/culvert"`);
});
