// The CLI tracker reads each version once, remembers that `-j` was refused, and notices another executable without a restart.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { createLog } from '../../../../daemon/state/store.ts';
import { createCliTracker, watchExecutable } from '../../../../daemon/warp/cli/cli-info.ts';
import { createRunner } from '../../../../daemon/warp/cli/run.ts';
import { folder } from '../../../support/daemon/fake-cli.ts';
import { until } from '../../../support/until.ts';

function setup(t: test.TestContext, body: string) {
  const place = folder();
  const script = (name: string, text: string) => place.script(name, `echo run >> ${place.path}/runs; ${text}`);
  script('warp-cli', body);
  const env = { PATH: `${place.path}:${process.env.PATH}` };
  let changes = 0;
  const tracker = createCliTracker({
    cli: 'warp-cli',
    env,
    runner: createRunner({ env, log: createLog({ capacity: 9 }) }),
    onChange: () => {
      changes += 1;
    },
  });
  t.after(() => {
    tracker.stop();
    place.remove();
  });
  const replace = (text: string) => {
    script('new', text);
    renameSync(join(place.path, 'new'), join(place.path, 'warp-cli'));
  };
  return { place, tracker, replace, runs: () => place.read('runs').split('\n').length - 1, changes: () => changes };
}

test('the version is asked for once, however many want it, and again for another executable', async t => {
  const { tracker, replace, runs, changes } = setup(t, 'echo "warp-cli 2024.9.346"');
  const found = await Promise.all([tracker.current(), tracker.current()]);
  await tracker.current();
  assert.equal(runs(), 1);
  assert.equal(found[0]?.version, '2024.9.346');
  assert.deepEqual(found[0]?.can, { json: true, protocol: false, masqueOptions: false, httpProxy: false });
  replace('echo "warp-cli 2026.7.1377.0"');
  assert.equal((await tracker.current())?.version, '2026.7.1377.0');
  assert.deepEqual([runs(), changes()], [2, 1]);
});

test('a CLI that refuses -j is asked for text from then on', async t => {
  const { tracker } = setup(t, 'echo hello');
  const info = await tracker.current();
  assert.deepEqual([info?.version, info?.can?.json], [null, true]);
  const can = info!.can!;
  const refusal = "error: unexpected argument '-j' found";
  assert.equal(tracker.refusesJson(can, ['mode', 'off'], refusal), false, 'no -j was given');
  assert.equal(tracker.refusesJson(can, ['-j', 'mode'], "error: unrecognized subcommand 'mode'"), false);
  assert.equal(tracker.refusesJson(can, ['-j', 'status'], refusal), true);
  assert.equal((await tracker.current())?.can?.json, false);
});

test('a file that cannot be started counts as missing', async t => {
  const { tracker, place } = setup(t, 'true');
  const broken = join(place.path, 'broken');
  writeFileSync(broken, '#!/no/such/interpreter\n', { mode: 0o755 });
  renameSync(broken, join(place.path, 'warp-cli'));
  assert.equal(await tracker.current(), null);
});

function watching(t: test.TestContext, cli = 'warp-cli') {
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
  const { place, found } = watching(t);
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
  const { place, changes, found } = watching(t);
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
  const { place, changes, found } = watching(t);
  place.script('warp-cli', 'echo 1');
  const before = found.current();
  renameSync(place.script('new', 'echo 22'), join(place.path, 'warp-cli'));
  assert.notEqual(found.current()?.identity, before?.identity);
  assert.equal(changes.length, 2);
});

test('a change is noticed within the same tick of the file system’s clock', t => {
  const { place, found } = watching(t);
  const file = place.script('warp-cli', 'echo 0');
  const identities = new Set<string | undefined>();
  for (let round = 1; round <= 9; round++) {
    // in place, with the same size
    writeFileSync(file, readFileSync(file, 'utf8').replace(/\d$/m, String(round)));
    identities.add(found.current()?.identity);
    assert.ok(Date.now() - statSync(file).ctimeMs > 10, 'a further change gets another time');
    assert.ok(identities.has(found.current()?.identity), 'the same file is no change');
  }
  assert.equal(identities.size, 9);
});

test('behind a link, the file that it leads to counts', async t => {
  const { place, changes, found } = watching(t);
  mkdirSync(join(place.path, 'opt'));
  place.script('opt/real', 'echo 1');
  symlinkSync(join(place.path, 'opt/real'), join(place.path, 'warp-cli'));
  assert.ok(found.current());
  found.start();
  renameSync(place.script('opt/new', 'echo 22'), join(place.path, 'opt/real'));
  await until(() => changes.length === 2);
});

test('a folder of PATH that did not exist at the start is found by the clock', async t => {
  const { place, changes, found } = watching(t);
  found.start();
  mkdirSync(join(place.path, 'first'));
  place.script('first/warp-cli', 'true');
  await until(() => changes.length === 1);
});

test('an absolute path is taken as it is, a path with a folder but no root never', t => {
  const { place } = watching(t);
  const file = place.script('other', 'true');
  const path = place.path;
  assert.equal(watchExecutable({ cli: file, path: '', onChange: () => {} }).current()?.path, file);
  assert.equal(watchExecutable({ cli: './other', path, onChange: () => {} }).current(), null);
});
