// Accounts without a shim, their default, and secrets that an account left.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { calls, setUp, stored } from '../../support/wrapper/fake-cli.ts';
import { buildWrapper } from '../../support/wrapper/sandbox.ts';

test('M4: accounts are managed without a shim, and leave nothing behind', async t => {
  const box = setUp(t);
  box.uninstall('fake');
  fs.rmSync(path.join(box.bin, 'fake'));
  const accounts = (...args: string[]) => box.wrap(['accounts', ...args], { input: 'key-1\n' });
  assert.equal((await accounts('add', 'fake', 'a', '--file')).exit, 0);
  assert.equal((await accounts('add', 'fake', 'b', '--env', 'FAKE_KEY=env:B')).exit, 0);
  assert.equal((await accounts('rename', 'fake', 'a', 'main')).exit, 0);
  assert.equal(stored(box), 'main/FAKE_KEY=key-1\n');
  assert.match((await accounts('disable', 'fake', 'main')).stdout, /fake now uses "b"/);
  assert.equal((await accounts('default', 'fake')).stdout, 'b\n');
  await accounts('enable', 'fake', 'main');
  assert.match((await accounts('use', 'fake', 'main')).stdout, /now uses "main"/);
  assert.equal((await accounts('wake', 'fake', 'main')).exit, 0);
  for (const name of ['main', 'b']) assert.equal((await accounts('remove', 'fake', name)).exit, 0);
  assert.equal(stored(box), '');
  assert.equal((await accounts('remove', 'fake', 'b')).exit, 2);
  assert.match((await accounts('list')).stdout, /There is no account\. Add one/);
});

test('M6: runs use the default that is shown', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' });
  await box.auth('fake', ['use', 'a']);
  assert.match((await box.auth('fake', ['disable', 'a'])).stdout, /disabled; fake now uses "b"/);
  assert.equal((await box.auth('fake', ['default'])).stdout, 'b\n');
  assert.match((await box.auth('fake', ['list'])).stdout, /^\* +b /m);
  await box.shim('fake', ['x']);
  assert.deepEqual(calls(box), ['k2 x']);
  assert.match((await box.auth('fake', ['disable', 'b'])).stdout, /runs without an account/);
  assert.match((await box.auth('fake', ['default'])).stdout, /no enabled account/);
});

test('accounts are used in the order that the user gives', async t => {
  const box = setUp(t, { a: 'bad1', b: 'bad2', c: 'k3' });
  const order = (...names: string[]) => box.wrap(['accounts', 'order', 'fake', ...names]);
  assert.equal((await order('b', 'a', 'c')).stdout, 'fake uses its accounts in this order: b, a, c\n');
  assert.equal((await box.auth('fake', ['default'])).stdout, 'b\n');
  await box.shim('fake', ['x']);
  assert.deepEqual(calls(box), ['bad2 x', 'bad1 x', 'k3 x']);
  await box.auth('fake', ['disable', 'c']);
  assert.equal((await box.auth('fake', ['order', 'c', 'b', 'a'])).exit, 0);
  assert.equal((await box.auth('fake', ['default'])).stdout, 'b\n', 'a disabled account is not the default');
  for (const names of [
    ['a', 'b'],
    ['a', 'b', 'c', 'c'],
    ['a', 'b', 'other'],
  ]) {
    const refused = await order(...names);
    assert.equal(refused.exit, 2);
    assert.match(refused.stderr, /an order names each account of fake once\n.*accounts: c, b, a/);
  }
});

test('an order whose write is interrupted leaves the old order', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' });
  const config = path.join(box.config, 'config.toml');
  const text = fs.readFileSync(config, 'utf8');
  // the first byte that the program writes to a file ends it, or fails
  box.script('full', `#!/bin/sh\nulimit -f 0\nexec '${process.execPath}' '${buildWrapper()}' "$@"\n`);
  const order = ['accounts', 'order', 'fake', 'b', 'a'];
  assert.notEqual((await box.run('full', order)).exit, 0);
  assert.equal(fs.readFileSync(config, 'utf8'), text);
  assert.equal((await box.auth('fake', ['default'])).stdout, 'a\n');
  assert.equal((await box.wrap(order)).exit, 0);
  assert.equal((await box.auth('fake', ['default'])).stdout, 'b\n');
});

test('L4: a secret never outlives its account unseen', async t => {
  const box = setUp(t, { a: 'k1' });
  fs.mkdirSync(path.join(box.config, 'secrets'), { recursive: true });
  fs.writeFileSync(path.join(box.config, 'secrets/fake.env'), 'ghost/FAKE_KEY=left-behind\n', { mode: 0o600 });
  assert.match((await box.wrap(['doctor'])).stdout, /holds ghost\/FAKE_KEY, which no account uses\n.*accounts purge/);
  assert.match((await box.wrap(['accounts', 'purge'])).stdout, /removed ghost\/FAKE_KEY/);
  assert.equal(stored(box), '');
});
