// The environment of an upstream has the certificates that `culvert trust` made tools trust.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { callerEnvironment } from '../../../../wrapper/run/accounts/environment.ts';
import { temporary } from '../../../support/temporary.ts';

test('an upstream gets the certificates of tools, unless its caller names others', t => {
  const home = temporary(t);
  const env = { HOME: home, SSL_CERT_FILE: '/own.pem', CULVERT_WRAP_KEPT_NODE_OPTIONS: '--no-warnings' };
  const given = { HOME: home, SSL_CERT_FILE: '/own.pem', NODE_OPTIONS: '--no-warnings' };
  assert.deepEqual(callerEnvironment(env), given);
  mkdirSync(path.join(home, '.config/environment.d'), { recursive: true });
  const lines = [
    '# Written by Culvert',
    'NODE_EXTRA_CA_CERTS="/x y/extra.pem"',
    'SSL_CERT_FILE="/bundle.pem"',
    'PATH="/evil"',
  ];
  writeFileSync(path.join(home, '.config/environment.d/60-culvert-trust.conf'), `${lines.join('\n')}\n`);
  assert.deepEqual(callerEnvironment(env), { ...given, NODE_EXTRA_CA_CERTS: '/x y/extra.pem' });
  const kept = { ...env, CULVERT_WRAP_KEPT_NODE_EXTRA_CA_CERTS: '/kept.pem' };
  assert.equal(callerEnvironment(kept).NODE_EXTRA_CA_CERTS, '/kept.pem');
});
