// The version is read once per executable, and a refusal of JSON is remembered.
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { createLog } from '../../../../daemon/state/command-log.ts';
import { createCliTracker } from '../../../../daemon/warp/cli/cli-info.ts';
import { createRunner } from '../../../../daemon/warp/cli/run.ts';
import { folder } from '../../../support/daemon/fake-cli.ts';

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
  assert.deepEqual(found[0]?.can, { json: true, protocol: false, httpProxy: false });
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
