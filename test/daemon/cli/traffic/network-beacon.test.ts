// `culvert network beacon`: makes what proves a network, and checks it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createHome, culvert } from '../../../support/daemon/command.ts';
import { freePort } from '../../../support/ports.ts';
import { until } from '../../../support/until.ts';

test('the unit that it makes serves a beacon that passes the check, and another certificate fails it', async t => {
  const home = createHome(t);
  const port = String(freePort());
  const run = (...words: string[]) => culvert(home, ['network', 'beacon', ...words]);
  const made = await run('--make', join(home.path, 'beacon'), '--port', port, '--json');
  assert.equal(made.stderr, '');
  const { sha256, key, certificate, unit } = JSON.parse(made.stdout);
  assert.equal(statSync(key).mode & 0o777, 0o600);
  assert.match((await run('--make', join(home.path, 'beacon'))).stderr, /already exists/);

  const words = /^ExecStart=(.*)$/m.exec(readFileSync(unit, 'utf8'))![1]!.split(' ');
  const [program, ...argv] = words.map(word => word.replace('%d/certificate', certificate).replace('%d/key', key));
  const server = spawn(program!, argv, { stdio: 'ignore' });
  t.after(() => server.kill('SIGKILL'));
  const address = `127.0.0.1:${port}`;
  const checked = await until(async () => {
    const result = await run(address, sha256);
    return result.code === 0 ? result : null;
  }, 'the beacon');
  assert.equal(checked.stdout, `sha256 = "${sha256}"\nThis is the certificate.\n`);
  const other = await run(address, 'ab'.repeat(32));
  assert.deepEqual([other.code, other.stdout], [1, `sha256 = "${sha256}"\nThis is another certificate.\n`]);
});

test('says what is missing', async t => {
  const home = createHome(t);
  const run = (...words: string[]) => culvert(home, ['network', 'beacon', ...words]);
  assert.match((await run('127.0.0.1:1')).stderr, /No beacon answers at 127\.0\.0\.1:1/);
  assert.equal((await run('nonsense')).code, 2);
  assert.equal((await run('127.0.0.1:1', 'ab')).code, 2);
  assert.equal((await run('--make', join(home.path, 'x'), '--port', '0')).code, 2);
});
