// Gateways that systemd starts: their units, and a process only while a program is connected.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { findOnPath } from '../../../wrapper/store/installs.ts';
import { until } from '../../support/until.ts';
import { homeFor, json, startProvider } from '../../support/wrapper/gateway.ts';
import { buildWrapper } from '../../support/wrapper/sandbox.ts';

test('units are installed and removed, and none stays where there is no user manager', async t => {
  const box = homeFor(t, 1, { a: 'real-a' });
  const log = path.join(box.home, 'log');
  box.script('systemctl', `#!/bin/sh\necho "$@" >> ${log}\n`);
  const run = await box.wrap(['serve', 'fake', '--install', '--port', '23456']);
  assert.equal(run.exit, 0, run.stderr);
  const units = path.join(box.home, '.config/systemd/user');
  const read = (end: string) => fs.readFileSync(path.join(units, `culvert-wrap-serve-fake.${end}`), 'utf8');
  assert.match(read('socket'), /^ListenStream=127\.0\.0\.1:23456$/m);
  assert.match(read('service'), /^ExecStart="\/.*" "\/.*main\.cjs" "serve" "fake"$/m);
  assert.match(read('service'), /^LimitCORE=1$/m);
  assert.match(read('service'), /^UnsetEnvironment=NODE_OPTIONS NODE_DEBUG$/m);
  assert.equal((await box.wrap(['serve', 'fake', '--install', '--port', '23457'])).exit, 0);
  assert.match(read('socket'), /^ListenStream=127\.0\.0\.1:23457$/m);
  assert.equal((await box.wrap(['serve', 'fake', '--uninstall'])).stdout, 'fake: the units are removed\n');
  assert.deepEqual(fs.readdirSync(units), []);
  const name = 'culvert-wrap-serve-fake';
  assert.deepEqual(fs.readFileSync(log, 'utf8').trim().split('\n'), [
    '--user daemon-reload',
    `--user enable --now ${name}.socket`,
    // systemd refuses to start the socket of a service that runs
    '--user daemon-reload',
    `--user stop ${name}.socket ${name}.service`,
    `--user enable --now ${name}.socket`,
    `--user disable --now ${name}.socket ${name}.service`,
    '--user daemon-reload',
  ]);
  box.script('systemctl', '#!/bin/sh\necho "Failed to connect to bus" >&2\nexit 1\n');
  const failed = await box.wrap(['serve', 'fake', '--install']);
  assert.equal(failed.exit, 69);
  assert.match(failed.stderr, /Failed to connect to bus/);
  assert.deepEqual(fs.readdirSync(units), []);
});

test('a unit has the way out of the shell that installs it, and doctor names what it lacks', async t => {
  const box = homeFor(t, 1, { a: 'real-a' });
  box.script('systemctl', '#!/bin/sh\n');
  const certificates = path.join(box.home, 'ca.pem');
  fs.writeFileSync(certificates, '');
  const env = {
    HTTPS_PROXY: 'http://us%40er:pa$$%ss-canary@proxy.example:3128',
    no_proxy: 'intern.example',
    NODE_EXTRA_CA_CERTS: certificates,
    SSL_CERT_FILE: certificates,
  };
  const missing = async (own: Record<string, string>) => {
    const { stdout } = await box.wrap(['doctor', '--json'], { env: own });
    assert.doesNotMatch(stdout, /canary/);
    const findings: { what: string }[] = JSON.parse(stdout).findings;
    const [, names] = /its gateway lacks (.*) as in this shell/.exec(findings.map(({ what }) => what).join('\n')) ?? [];
    return names;
  };
  assert.equal((await box.wrap(['serve', 'fake', '--install'])).exit, 0);
  assert.equal(await missing({}), undefined);
  assert.equal(await missing(env), 'HTTPS_PROXY, no_proxy, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE');
  assert.equal((await box.wrap(['serve', 'fake', '--install'], { env })).exit, 0);
  assert.equal(await missing(env), undefined);
  assert.equal(await missing({ ...env, no_proxy: 'other.example' }), 'no_proxy');
  const file = path.join(box.home, '.config/systemd/user/culvert-wrap-serve-fake.service');
  assert.equal(fs.statSync(file).mode & 0o777, 0o600, 'it may hold the login of a proxy');
  const text = fs.readFileSync(file, 'utf8');
  assert.match(text, /^Environment="HTTPS_PROXY=http:\/\/us%%40er:pa\$\$%%ss-canary@proxy\.example:3128"$/m);
  assert.match(text, /^Environment="CULVERT_WRAP_KEPT_NODE_EXTRA_CA_CERTS=/m);
});

const activate = findOnPath('systemd-socket-activate', process.env.PATH ?? '');

test('the first connection starts the gateway, and it ends without a connection', { skip: !activate }, async t => {
  const { port: provider } = await startProvider(t, (_key, _req, res) => json(res, 200, {}));
  const box = homeFor(t, provider, { a: 'real-a' });
  const { placeholder, url } = await box.json('serve', 'token', 'add', 'fake', 'x');
  const command = [process.execPath, buildWrapper(), 'serve', 'fake', '--idle', '200ms'];
  const child = box.start(activate!, ['-l', new URL(url).host, ...command]);
  let said = '';
  child.stderr!.on('data', chunk => {
    said += chunk;
  });
  await until(
    () => said.includes('Listening'),
    () => said,
  );
  assert.match(fs.readFileSync(`/proc/${child.pid}/comm`, 'utf8'), /^systemd-socket/);
  const headers = { authorization: `Bearer ${placeholder}`, connection: 'close' };
  const ended = once(child, 'exit');
  assert.equal((await fetch(`${url}/scrape`, { headers })).status, 200);
  assert.deepEqual(await ended, [0, null]);
});
