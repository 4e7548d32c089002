// The version is asked for once per executable, and what a program refuses is remembered.
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { createLog } from '../../../daemon/log.ts';
import { createProgram } from '../../../daemon/warp/program.ts';
import { createRunner } from '../../../daemon/warp/run.ts';
import { folder } from './fakes.ts';

function setup(t: test.TestContext, body: string) {
  const place = folder();
  const script = (name: string, text: string) => place.script(name, `echo run >> ${place.path}/runs; ${text}`);
  script('warp-cli', body);
  const env = { PATH: `${place.path}:${process.env.PATH}` };
  let changes = 0;
  const program = createProgram({
    cli: 'warp-cli',
    env,
    runner: createRunner({ env, log: createLog({ capacity: 9 }) }),
    onChange: () => {
      changes += 1;
    },
  });
  t.after(() => {
    program.stop();
    place.remove();
  });
  const replace = (text: string) => {
    script('new', text);
    renameSync(join(place.path, 'new'), join(place.path, 'warp-cli'));
  };
  return { place, program, replace, runs: () => place.read('runs').split('\n').length - 1, changes: () => changes };
}

test('the version is asked for once, however many want it, and again for another executable', async t => {
  const { program, replace, runs, changes } = setup(t, 'echo "warp-cli 2024.2.62"');
  const found = await Promise.all([program.current(), program.current()]);
  await program.current();
  assert.equal(runs(), 1);
  assert.equal(found[0]?.version, '2024.2.62');
  assert.deepEqual(found[0]?.can, { grouped: true, json: false, protocol: false, httpProxy: false });
  replace('echo "warp-cli 2026.7.1377.0"');
  assert.equal((await program.current())?.version, '2026.7.1377.0');
  assert.deepEqual([runs(), changes()], [2, 1]);
});

test('a program without a version is taken for a current one, until it refuses', async t => {
  const { program } = setup(t, 'echo hello');
  const found = await program.current();
  assert.ok(found);
  assert.deepEqual([found.version, found.can.json, found.can.grouped], [null, true, true]);
  assert.equal(
    program.demote(found, ['mode', 'off'], "error: unexpected argument '-j' found"),
    false,
    'no -j was given',
  );
  assert.equal(program.demote(found, ['-j', 'status'], "error: unexpected argument '-j' found"), true);
  assert.equal(program.demote(found, ['mode'], "error: unrecognized subcommand 'mode'"), true);
  assert.equal(program.demote(found, ['mode'], "error: unrecognized subcommand 'mode'"), false);
  assert.deepEqual((await program.current())?.can, { grouped: false, json: false, protocol: true, httpProxy: false });
});

test('a stated version is believed about command names', async t => {
  const { program } = setup(t, 'echo "warp-cli 2026.7.1377.0"');
  const found = await program.current();
  assert.ok(found);
  assert.equal(program.demote(found, ['environment', 'set'], "error: unrecognized subcommand 'environment'"), false);
});

test('a file that can not be started is no program', async t => {
  const { program, place } = setup(t, 'true');
  const broken = join(place.path, 'broken');
  writeFileSync(broken, '#!/no/such/interpreter\n', { mode: 0o755 });
  renameSync(broken, join(place.path, 'warp-cli'));
  assert.equal(await program.current(), null);
});
