// The executable may appear, vanish and be replaced while the daemon runs: that is noticed without a restart.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { watchExecutable } from '../../../../daemon/warp/cli/executable.ts';
import { folder } from '../../../support/daemon/fake-cli.ts';
import { until } from '../../../support/until.ts';

function setup(t: test.TestContext, cli = 'warp-cli') {
  const place = folder();
  const changes: (string | null)[] = [];
  const found = watchExecutable({
    cli,
    path: `relative:${place.path}/first:${place.path}`,
    onChange: binary => changes.push(binary?.path.slice(place.path.length) ?? null),
  });
  t.after(() => {
    found.stop();
    place.remove();
  });
  return { place, changes, found };
}

test('the first executable in PATH is taken; directories, data files and relative folders are not', t => {
  const { place, found } = setup(t);
  assert.equal(found.current(), null);
  mkdirSync(join(place.path, 'first/warp-cli'), { recursive: true });
  assert.equal(found.current(), null);
  const file = place.script('warp-cli', 'true');
  assert.equal(found.current()?.path, file);
  chmodSync(file, 0o644);
  rmSync(join(place.path, 'first/warp-cli'), { recursive: true });
  assert.equal(found.current(), null);
  mkdirSync(join(place.path, 'first'), { recursive: true });
  const first = place.script('first/warp-cli', 'true');
  assert.equal(found.current()?.path, first);
});

test('appearing, replacing and removing are noticed without being asked', async t => {
  const { place, changes, found } = setup(t);
  found.start();
  place.script('warp-cli', 'echo 1');
  await until(() => changes.length === 1);
  renameSync(place.script('new', 'echo 22'), join(place.path, 'warp-cli'));
  await until(() => changes.length === 2);
  rmSync(join(place.path, 'warp-cli'));
  await until(() => changes.length === 3);
  assert.deepEqual(changes, ['/warp-cli', '/warp-cli', null]);
});

test('a change is noticed on use even before the watch reports it', t => {
  const { place, changes, found } = setup(t);
  place.script('warp-cli', 'echo 1');
  const before = found.current();
  renameSync(place.script('new', 'echo 22'), join(place.path, 'warp-cli'));
  assert.notEqual(found.current()?.identity, before?.identity);
  assert.equal(changes.length, 2);
});

test('behind a link, the file that it leads to counts', async t => {
  const { place, changes, found } = setup(t);
  mkdirSync(join(place.path, 'opt'));
  place.script('opt/real', 'echo 1');
  symlinkSync(join(place.path, 'opt/real'), join(place.path, 'warp-cli'));
  assert.ok(found.current());
  found.start();
  renameSync(place.script('opt/new', 'echo 22'), join(place.path, 'opt/real'));
  await until(() => changes.length === 2);
});

test('a folder of PATH that did not exist at the start is found by the clock', async t => {
  const { place, changes, found } = setup(t);
  found.start();
  mkdirSync(join(place.path, 'first'));
  place.script('first/warp-cli', 'true');
  await until(() => changes.length === 1);
});

test('an absolute path is taken as it is, a path with a folder but no root never', t => {
  const { place } = setup(t);
  const file = place.script('other', 'true');
  const path = place.path;
  assert.equal(watchExecutable({ cli: file, path: '', onChange: () => {} }).current()?.path, file);
  assert.equal(watchExecutable({ cli: './other', path, onChange: () => {} }).current(), null);
});
