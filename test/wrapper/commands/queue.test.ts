// The queue's commands: what is run again, what waits for a request, and damaged entries.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { calls, setUp } from '../../support/wrapper/fake-cli.ts';

test('H6: the queue keeps what failed for a passing reason, and runs it again', async t => {
  const box = setUp(t, { a: 'bad' });
  box.configure('[capacity.fake]\npolicy = "queue"\n');
  const keys = path.join(box.config, 'keys.env');
  const setKey = (key: string) => {
    fs.writeFileSync(keys, `fake_a=${key}\n`);
    fs.rmSync(path.join(box.state, 'accounts/fake.json'), { force: true });
  };
  const queue = async () => (await box.json('queue')).queue;
  const first = await box.run('fake', ['-', 'one'], { input: 'from stdin' });
  assert.equal(first.exit, 75, first.stderr);
  assert.deepEqual(
    (await queue()).map((entry: { args: string[]; hasStdin: boolean }) => [entry.args, entry.hasStdin]),
    [[['-', 'one'], true]],
  );
  fs.rmSync(path.join(box.state, 'accounts/fake.json'));
  assert.equal((await box.wrap(['queue', 'run'])).exit, 1);
  assert.equal((await queue())[0].failed.why, 'limit');
  setKey('net');
  assert.equal((await box.wrap(['queue', 'run'])).exit, 1);
  assert.deepEqual([(await queue())[0].failed.why, (await queue())[0].tries], ['other', 2]);
  setKey('good');
  assert.equal((await box.wrap(['queue', 'run'])).stdout, 'from stdinok\n');
  assert.deepEqual(await queue(), []);
});

test('H6: what can never succeed stays visible and is run on request only', async t => {
  const box = setUp(t, { a: 'bad' });
  box.configure('[capacity.fake]\npolicy = "queue"\n');
  await box.shim('fake', ['wrong']);
  fs.writeFileSync(path.join(box.config, 'keys.env'), 'fake_a=good\n');
  fs.rmSync(path.join(box.state, 'accounts/fake.json'));
  await box.wrap(['queue', 'run']);
  const before = calls(box).length;
  const again = await box.json('queue', 'run');
  assert.deepEqual([again.run, again.left, calls(box).length], [[], 1, before]);
  const [{ id }] = (await box.json('queue')).queue;
  await box.wrap(['queue', 'run', id]);
  assert.equal(calls(box).length, before + 1);
});

test('L5: an unknown entry is an error, and a damaged one is seen everywhere and can be dropped', async t => {
  const box = setUp(t, { a: 'good' });
  assert.equal((await box.wrap(['queue', 'run', 'nope'])).exit, 2);
  const dir = path.join(box.state, 'queue');
  fs.mkdirSync(dir, { recursive: true });
  for (const [name, text] of Object.entries({
    'a-1': '{',
    'a-2': '{}',
    'a-3': JSON.stringify({ id: 'a-3', cli: 'fake', args: 'x', cwd: '/', at: '' }),
    'a-4': JSON.stringify({ id: 'other', cli: 'fake', args: [], cwd: '/', at: '' }),
    'a-5': JSON.stringify({ id: 'a-5', cli: 'fake', args: [], cwd: '/', at: '', stdin: '!' }),
  }))
    fs.writeFileSync(path.join(dir, `${name}.json`), text);
  const { damaged } = await box.json('queue');
  assert.equal(damaged.length, 5);
  assert.match((await box.wrap(['queue'])).stdout, /a-1 .*damaged/);
  assert.match((await box.wrap(['queue', 'run'])).stderr, /a-5 is damaged/);
  assert.equal((await box.json('status')).queue.damaged, 5);
  assert.equal((await box.wrap(['status', '--check'])).exit, 3);
  assert.match((await box.wrap(['doctor'])).stdout, /PROBLEM .*a-3\.json is damaged/);
  assert.equal((await box.wrap(['queue', 'drop', 'a-1'])).exit, 0);
  await box.wrap(['queue', 'drop', '--all']);
  assert.deepEqual(fs.readdirSync(dir), []);
});
