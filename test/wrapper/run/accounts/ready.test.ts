// Accounts that are made ready, and the environment of an upstream.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { callerEnvironment, openCredentials } from '../../../../wrapper/run/accounts/ready.ts';
import { temporary } from '../../../support/temporary.ts';

const account = (source: string) => ({ cli: 'tool', name: source, enabled: true, env: { KEY: source } });

test('a program is asked once, a second time on request or after a wait, and never again', async t => {
  const log = join(temporary(t, 'credentials'), 'log');
  const credentials = openCredentials({ secretTimeoutMs: 60_000 }, { env: { PATH: process.env.PATH } });
  for (const again of ['again', 'forget'] as const) {
    const minted = account(`command:echo x >> ${log}.${again}; wc -l < ${log}.${again}`);
    const value = async () => {
      const resolved = await credentials.of(minted);
      return resolved.ok ? resolved.env.KEY : resolved.problem;
    };
    const next = () => (again === 'again' ? credentials.again(minted) : credentials.forget());
    const values = [await value(), await value()];
    for (let i = 0; i < 2; i++) {
      await next();
      values.push(await value());
    }
    assert.deepEqual(values, ['1', '1', '2', '2']);
  }
});

test('a file is read each time, because it may have changed', async t => {
  const file = join(temporary(t, 'credentials'), 'keys.env');
  const credentials = openCredentials({ secretTimeoutMs: 60_000 }, { env: {} });
  for (const key of ['one', 'two', 'three', 'four']) {
    writeFileSync(file, `A=${key}\n`);
    assert.deepEqual(await credentials.of(account(`file:${file}#A`)), { ok: true, env: { KEY: key } });
  }
});

test('an upstream gets the certificates of tools, unless its caller names others', t => {
  const home = temporary(t);
  const env = { HOME: home, SSL_CERT_FILE: '/own.pem', CULVERT_WRAP_KEPT_NODE_OPTIONS: '--no-warnings' };
  const given = { HOME: home, SSL_CERT_FILE: '/own.pem', NODE_OPTIONS: '--no-warnings' };
  assert.deepEqual(callerEnvironment(env), given);
  mkdirSync(join(home, '.config/environment.d'), { recursive: true });
  const lines = [
    '# Written by Culvert',
    'NODE_EXTRA_CA_CERTS="/x y/extra.pem"',
    'SSL_CERT_FILE="/bundle.pem"',
    'PATH="/evil"',
  ];
  writeFileSync(join(home, '.config/environment.d/60-culvert-trust.conf'), `${lines.join('\n')}\n`);
  assert.deepEqual(callerEnvironment(env), { ...given, NODE_EXTRA_CA_CERTS: '/x y/extra.pem' });
  const kept = { ...env, CULVERT_WRAP_KEPT_NODE_EXTRA_CA_CERTS: '/kept.pem' };
  assert.equal(callerEnvironment(kept).NODE_EXTRA_CA_CERTS, '/kept.pem');
});
