// The queue of postponed commands: interrupted, killed and concurrent runners.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { sample } from '../support/thoroughness.ts';
import { until } from '../support/until.ts';
import { calls, setUp as withTool } from '../support/wrapper/fake-cli.ts';
import { buildWrapper, finished, type Sandbox } from '../support/wrapper/sandbox.ts';

// While the file `slow` exists, it runs until it is signaled.
const FAKE = `#!/bin/sh
echo "$FAKE_KEY $*" >> "$HOME/calls"
case "$FAKE_KEY" in bad*) echo "Error: quota" >&2; exit 1 ;; net*) exit 1 ;; esac
trap 'echo "signal $*" >> "$HOME/calls"; exit 7' TERM INT HUP
while [ -e "$HOME/slow" ]; do sleep 0.02; done
echo "ok $FAKE_KEY"
`;
const RULES = `auth_command = "auth"
inject = ["FAKE_KEY"]
once = ["crawl"]
job_id = 'Job ID: (\\S+)'
[[providers.fake.rules]]
class = "quota"
stderr = "^Error: quota"
`;

const setUp = (t: TestContext) =>
  withTool(t, { a: 'bad1', b: 'bad2' }, { script: FAKE, rules: RULES, config: '[capacity.fake]\npolicy = "queue"\n' });

/** Replaces the keys and forgets what is paused. */
function setKeys(box: Sandbox, a: string, b: string): void {
  fs.writeFileSync(path.join(box.config, 'keys.env'), `fake_a=${a}\nfake_b=${b}\n`);
  fs.rmSync(path.join(box.state, 'accounts/fake.json'), { force: true });
}

const listed = async (box: Sandbox) => await box.json('queue');
const whys = async (box: Sandbox) =>
  (await listed(box)).queue.map((entry: { args: string[]; failed?: { why: string } }) => [
    entry.args[0],
    entry.failed?.why,
  ]);

/** Queues two commands and starts `queue run`, which is at the first one when this returns. */
async function running(box: Sandbox, first: string, env: Record<string, string> = {}) {
  for (const args of [
    [first, 'one'],
    ['search', 'two'],
  ])
    assert.equal((await box.shim('fake', args, { env })).exit, 75);
  setKeys(box, 'k1', 'k2');
  fs.rmSync(path.join(box.home, 'calls'));
  fs.writeFileSync(path.join(box.home, 'slow'), '');
  const child = spawn(process.execPath, [buildWrapper(), 'queue', 'run'], {
    env: box.env,
    cwd: box.home,
    stdio: 'pipe',
  });
  const end = finished(child);
  await until(() => fs.existsSync(path.join(box.home, 'calls')), 'the command to run');
  return { child, end };
}

for (const signal of sample<NodeJS.Signals>(['SIGINT', 'SIGTERM', 'SIGHUP'], 1))
  test(`H6: ${signal} to \`queue run\` reaches the command, and its entry stays in sight`, async t => {
    const box = setUp(t);
    const { child, end } = await running(box, 'crawl');
    assert.deepEqual(
      (await listed(box)).running.map((entry: { args: string[] }) => entry.args),
      [['crawl', 'one']],
    );
    child.kill(signal);
    assert.equal((await end).signal, signal);
    assert.deepEqual(calls(box), ['k1 crawl one', 'signal crawl one']);
    assert.deepEqual(await whys(box), [
      ['crawl', 'uncertain'],
      ['search', undefined],
    ]);
  });

test('H6: an entry whose runner was killed stays in sight, and is run again on request only', async t => {
  const box = setUp(t);
  const { child, end } = await running(box, 'crawl');
  child.kill('SIGKILL');
  // The command goes on and holds the pipes of its runner.
  await until(async () => (await listed(box)).running.length === 0, 'the runner to be gone');
  assert.deepEqual(await whys(box), [
    ['crawl', 'uncertain'],
    ['search', undefined],
  ]);
  assert.equal((await box.json('status')).queue.waiting, 2);
  fs.rmSync(path.join(box.home, 'slow'));
  await end;
  assert.equal((await box.wrap(['queue', 'run'])).exit, 0);
  assert.deepEqual(calls(box), ['k1 crawl one', 'k1 search two']);
  const [{ id }] = (await listed(box)).queue;
  assert.equal((await box.wrap(['queue', 'run', id])).exit, 0);
  assert.deepEqual(calls(box).slice(2), ['k1 crawl one']);
  assert.deepEqual(fs.readdirSync(path.join(box.state, 'queue')), []);
});

test('H6: what another `queue run` has under way is not run a second time, however long it takes', async t => {
  const box = setUp(t);
  const { end } = await running(box, 'search');
  for (const name of fs.readdirSync(path.join(box.state, 'queue')))
    fs.utimesSync(path.join(box.state, 'queue', name), 0, 0);
  fs.rmSync(path.join(box.home, 'slow'));
  const second = await box.wrap(['queue', 'run']);
  assert.equal(second.exit, 0, second.stderr);
  assert.equal((await end).exit, 0);
  assert.deepEqual(calls(box).sort(), ['k1 search one', 'k1 search two']);
});

test('H6: an entry that is dropped while it runs does not come back', async t => {
  const box = setUp(t);
  const { child, end } = await running(box, 'search');
  await box.wrap(['queue', 'drop', '--all']);
  child.kill('SIGTERM');
  await end;
  assert.deepEqual((await listed(box)).queue, []);
});

test('H6: a command that creates a job and failed for no known reason is run again on request only', async t => {
  const box = setUp(t);
  await box.shim('fake', ['crawl', 'one']);
  await box.shim('fake', ['search', 'two']);
  setKeys(box, 'net', 'net');
  assert.equal((await box.wrap(['queue', 'run'])).exit, 1);
  assert.deepEqual(await whys(box), [
    ['crawl', 'uncertain'],
    ['search', 'other'],
  ]);
});

test('a queued command runs with the account that was named for it', async t => {
  const box = setUp(t);
  const env = { CULVERT_WRAP_ACCOUNT: 'b' };
  assert.equal((await box.shim('fake', ['search', 'one'], { env })).exit, 75);
  assert.equal((await box.shim('fake', ['search', 'two'])).exit, 75);
  setKeys(box, 'k1', 'k2');
  fs.rmSync(path.join(box.home, 'calls'));
  assert.equal((await box.wrap(['queue', 'run'])).exit, 0);
  assert.deepEqual(calls(box), ['k2 search one', 'k1 search two']);
});

test('a queued command whose directory is gone stays, and the run says why', async t => {
  const box = setUp(t);
  const cwd = path.join(box.home, 'project');
  fs.mkdirSync(cwd);
  assert.equal((await box.shim('fake', ['search'], { cwd })).exit, 75);
  setKeys(box, 'k1', 'k2');
  fs.rmdirSync(cwd);
  const [{ id }] = (await listed(box)).queue;
  const run = await box.wrap(['queue', 'run']);
  assert.equal(run.exit, 1);
  assert.match(run.stderr, new RegExp(`${id} stays in the queue: its directory ${cwd} is gone; .*queue drop ${id}`));
  fs.mkdirSync(cwd);
  assert.equal((await box.wrap(['queue', 'run'])).exit, 0);
  assert.equal((await listed(box)).queue.length, 0);
});
