// `culvert-wrap metrics`: what it prints, the file for a node exporter, counts across rotations, and damaged files.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { advance, emptyTally, tallyFromNow } from '../../../wrapper/store/metrics/tally.ts';
import { pathsFor } from '../../../wrapper/store/paths.ts';
import { readMetrics, valueIn } from '../../support/metrics/openmetrics.ts';
import { temporary } from '../../support/temporary.ts';
import { setUp as withTool } from '../../support/wrapper/fake-cli.ts';
import type { Sandbox } from '../../support/wrapper/sandbox.ts';

const setUp = (t: TestContext): Sandbox => withTool(t, { first: 'bad', second: 'good' });

async function metricsOf(box: Sandbox, ...args: string[]) {
  const { exit, stdout, stderr } = await box.wrap(['metrics', ...args]);
  assert.equal(exit, 0, stderr);
  return readMetrics(stdout, 'prometheus');
}

test('accounts, pauses, switches and runs are printed', async t => {
  const box = setUp(t);
  const before = await metricsOf(box);
  const account = (name: string) => ({ cli: 'fake', account: name });
  assert.equal(valueIn(before, 'culvert_wrap_account_usable', account('first')), 1);
  assert.equal(valueIn(before, 'culvert_wrap_switches_total', { cli: 'fake', class: 'quota' }), 0);
  assert.equal((await box.shim('fake', ['go'])).stdout, 'ok\n');
  assert.equal((await box.shim('fake', ['go'])).stdout, 'ok\n');
  const after = await metricsOf(box);
  assert.equal(valueIn(after, 'culvert_wrap_account_usable', account('first')), 0);
  assert.equal(valueIn(after, 'culvert_wrap_account_paused', account('first')), 1);
  assert.equal(valueIn(after, 'culvert_wrap_account_usable', account('second')), 1);
  assert.equal(valueIn(after, 'culvert_wrap_switches_total', { cli: 'fake', class: 'quota' }), 1);
  assert.equal(valueIn(after, 'culvert_wrap_runs_total', { cli: 'fake', outcome: 'ok' }), 2);
  const again = await metricsOf(box);
  assert.equal(valueIn(again, 'culvert_wrap_runs_total', { cli: 'fake', outcome: 'ok' }), 2, 'each run counts once');
  const hashed = await box.wrap(['metrics', '--hash-accounts']);
  assert.ok(!/"(first|second)"/.test(hashed.stdout));
  assert.equal((await box.wrap(['metrics', '--hash-accounts'])).stdout, hashed.stdout, 'a hash stays the same');
  const key = path.join(box.state, 'metrics.key');
  assert.equal(fs.statSync(key).mode & 0o777, 0o600);
});

test('a machine in a pool says whether it runs without its store', async t => {
  const box = setUp(t);
  const names = ['pool_degraded', 'pool_degraded_runs_total', 'pool_waits_total', 'pool_unsent_reports'];
  const values = async () => {
    const found = await metricsOf(box);
    return names.map(name => valueIn(found, `culvert_wrap_${name}`));
  };
  assert.deepEqual(await values(), [undefined, undefined, undefined, undefined]);
  box.configure('[pool]\nurl = "valkey://127.0.0.1:1/0"\nmachine = "m"\n');
  assert.deepEqual(await values(), [0, 0, 0, 0]);
  const unsent = [{ cli: 'fake', at: 1, done: { fence: '1', fp: 'x', spent: 0 } }];
  fs.writeFileSync(
    path.join(box.state, 'pool.json'),
    JSON.stringify({ degradedSince: 5, degradedRuns: 7, waits: 2, unsent }),
  );
  assert.deepEqual(await values(), [1, 7, 2, 1]);
});

test('a file is replaced as a whole, and all users may read it', async t => {
  const box = setUp(t);
  const file = path.join(box.home, 'textfile', 'culvert.prom');
  const refused = await box.wrap(['metrics', '--out', file]);
  assert.deepEqual([refused.exit, fs.existsSync(path.dirname(file))], [66, false]);
  assert.match(refused.stderr, /there is no directory .*\n.*--collector\.textfile\.directory/);
  fs.mkdirSync(path.dirname(file), { mode: 0o755 });
  fs.writeFileSync(file, 'half a li', { mode: 0o600 });
  const inode = fs.statSync(file).ino;
  assert.equal((await box.wrap(['metrics', '--out', 'textfile/culvert.prom'])).exit, 0);
  assert.notEqual(fs.statSync(file).ino, inode);
  assert.equal(fs.statSync(file).mode & 0o777, 0o644);
  assert.deepEqual(fs.readdirSync(path.dirname(file)), ['culvert.prom']);
  assert.ok(readMetrics(fs.readFileSync(file, 'utf8'), 'prometheus').length > 5);
});

test('files that cannot be read are said in the metrics and by the exit status', async t => {
  const box = setUp(t);
  box.configure('[[accounts');
  const file = path.join(box.home, 'culvert.prom');
  const { exit, stderr } = await box.wrap(['metrics', '--out', file]);
  assert.equal(exit, 78);
  assert.match(stderr, /config\.toml can't be used/);
  const samples = readMetrics(fs.readFileSync(file, 'utf8'), 'prometheus');
  assert.deepEqual(
    samples.map(({ name, value }) => [name, value]),
    [['culvert_wrap_store_readable', 0]],
  );
});

test('counts that cannot be stored are made again, and nothing is lost', async t => {
  const box = setUp(t);
  await box.shim('fake', ['go']);
  fs.mkdirSync(path.join(box.state, 'metrics.json'));
  const { exit, stdout, stderr } = await box.wrap(['metrics']);
  assert.equal(exit, 0);
  assert.match(stderr, /what was counted could not be stored/);
  assert.equal(valueIn(readMetrics(stdout, 'prometheus'), 'culvert_wrap_runs_total', { outcome: 'ok' }), 1);
  fs.rmdirSync(path.join(box.state, 'metrics.json'));
  for (const damage of [
    '{',
    '[]',
    '{"log":1,"older":null,"position":0,"runs":{},"switches":{}}',
    '{"log":null,"older":null,"position":0,"runs":[1],"switches":{}}',
  ]) {
    fs.writeFileSync(path.join(box.state, 'metrics.json'), damage);
    assert.equal(valueIn(await metricsOf(box), 'culvert_wrap_runs_total', { outcome: 'ok' }), 1, damage);
  }
});

test('the log is counted once, across rotations, half a line and a log that was replaced', t => {
  const paths = pathsFor({ HOME: temporary(t) });
  fs.mkdirSync(paths.state, { recursive: true });
  let at = 0;
  const line = (outcome: string) =>
    `${JSON.stringify({ at: ++at, cli: 'fake', command: 'go', account: 'a', outcome, ...(outcome === 'left' ? { class: 'rate' } : {}) })}\n`;
  const write = (text: string) => fs.appendFileSync(paths.audit, text);
  const rotate = () => fs.renameSync(paths.audit, `${paths.audit}.1`);
  let tally = advance(paths, emptyTally());
  let late = tallyFromNow(paths);
  const counted = () => {
    tally = advance(paths, JSON.parse(JSON.stringify(tally)));
    late = advance(paths, late);
    return [tally.runs.fake?.ok ?? 0, tally.switches.fake?.rate ?? 0];
  };
  assert.deepEqual(counted(), [0, 0]);
  write(line('ok') + line('left'));
  assert.deepEqual(counted(), [1, 1]);
  const half = line('ok');
  write(half.slice(0, 30));
  assert.deepEqual(counted(), [1, 1], 'half a line waits for the rest');
  write(half.slice(30));
  assert.deepEqual(counted(), [2, 1]);
  write('no entry\n{"at":1}\n');
  assert.deepEqual(counted(), [2, 1]);
  write(line('ok'));
  rotate();
  assert.deepEqual(counted(), [3, 1], 'rotated, and no new log yet');
  assert.deepEqual(counted(), [3, 1]);
  write(line('left'));
  assert.deepEqual(counted(), [3, 2]);
  write(line('ok'));
  rotate();
  write(line('ok').repeat(3_000)); // more than one read takes
  assert.deepEqual(counted(), [3_004, 2]);
  fs.truncateSync(paths.audit, 0);
  write(line('ok'));
  assert.deepEqual(counted(), [3_005, 2], 'a log that was emptied is read from its start');
  rotate();
  write(line('ok'));
  rotate();
  write(line('ok'));
  assert.deepEqual(counted(), [3_007, 2], 'rotated twice');
  assert.deepEqual(late.runs.fake?.ok, 3_007);
  fs.rmSync(paths.audit);
  assert.deepEqual(counted(), [3_007, 2], 'somebody deleted the log');
  write(line('ok'));
  assert.deepEqual(counted(), [3_008, 2], 'entries that were rotated before are not counted again');
  assert.equal(tallyFromNow(paths).runs.fake, undefined);
  fs.rmSync(paths.audit);
  const second = tallyFromNow(paths);
  assert.equal(advance(paths, second).runs.fake, undefined, 'of a log between rotation and the next run');
});
