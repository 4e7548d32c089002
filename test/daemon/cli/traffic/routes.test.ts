// `culvert routes`: the split tunnel as a document, and what another one would change. Nothing is changed.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { culvert, startHome } from '../../../support/daemon/command.ts';

const some = {
  mode: 'exclude' as const,
  ips: [
    { value: '10.0.0.0/8', description: null },
    { value: '203.0.113.0/24', description: 'CLI exclude' },
  ],
  hosts: [{ value: 'example.com', description: null }],
};

test('prints the document with the origin of each entry', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('splitTunnel', some);
  assert.equal(
    (await culvert(home, ['routes'])).stdout,
    'mode exclude\n10.0.0.0/8  # default\n203.0.113.0/24  # user, CLI exclude\nexample.com  # user\n',
  );
  const { entries, ok } = JSON.parse((await culvert(home, ['routes', '--json'])).stdout);
  assert.deepEqual([ok, entries.length, entries[1].origin], [true, 3, 'user']);
  daemon.state.set('account', { registered: true, type: null, organization: 'acme', managed: true });
  assert.match((await culvert(home, ['routes', 'show'])).stdout, /10\.0\.0\.0\/8 {2}# policy\n/);
});

test('shows what a document would change, with line numbers and warnings, and performs nothing', async t => {
  const { home, daemon, performed } = await startHome(t);
  daemon.state.set('splitTunnel', some);
  const file = join(home.path, 'routes.txt');
  writeFileSync(file, 'mode exclude\n10.0.0.0/8\n10.0.0.0/8\n10.1.0.0/16\nnot/a/host\nnew.example\n');
  const { stdout, code } = await culvert(home, ['routes', 'diff', file], '', {
    SSH_CONNECTION: '203.0.113.9 1 192.0.2.1 22',
  });
  assert.equal(code, 1);
  for (const line of [
    '! line 5: "not/a/host" is not a host name: give it without scheme, port and path',
    '+ new.example',
    '- 203.0.113.0/24',
    '- example.com',
    '  line 3: 10.0.0.0/8 is in line 2 already',
    '  line 4: 10.1.0.0/16 is part of 10.0.0.0/8',
    'Warning: Your SSH session comes from 203.0.113.9, which moves into or out of the tunnel. The session will break.',
    '2 to add, 2 to remove, 1 unchanged, 1 invalid',
  ])
    assert.ok(stdout.split('\n').includes(line), `${line}\nin:\n${stdout}`);
  assert.deepEqual(performed, []);
});

test('ends with 0 for the document that it prints itself', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('splitTunnel', some);
  const { stdout } = await culvert(home, ['routes']);
  const same = await culvert(home, ['routes', 'diff', '-', '--json'], stdout);
  assert.deepEqual([same.code, JSON.parse(same.stdout).ok], [0, true]);
});

test('simplifies a document, and names the first line that cannot be read', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('splitTunnel', some);
  const good = await culvert(home, ['routes', 'simplify', '-'], 'mode include\n10.0.0.0/9\n10.128.0.0/9\n');
  assert.deepEqual([good.code, good.stdout], [0, 'mode include\n10.0.0.0/8\n']);
  const bad = await culvert(home, ['routes', 'simplify', '-'], '10.0.0.0/9\n10.0.0\n');
  assert.deepEqual([bad.code, bad.stdout], [1, '']);
  assert.match(bad.stderr, /Line 2: "10\.0\.0" is not an IPv4 address/);
  const added = await culvert(home, ['routes', 'add', '10.0.0.0/40']);
  assert.equal(added.code, 2);
  assert.match(added.stderr, /"10\.0\.0\.0\/40" has a prefix length outside 0 to 32\./);
});

test('why says where a target goes, what decides that, and what the kernel says', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('status', { ...daemon.state.snapshot().status, state: 'connected' });
  daemon.state.set('settings', { Mode: 'warp' });
  daemon.state.set('splitTunnel', some);
  const { stdout, code } = await culvert(home, ['why', 'http://198.51.100.1:80/']);
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^198\.51\.100\.1 {2}(?:Goes through|Bypasses|Should go through) WARP\n {2}The kernel .*\n {2}No entry of the split tunnel excludes it\.\n/,
  );
  const json = JSON.parse((await culvert(home, ['why', '10.1.2.3', '--json'])).stdout);
  assert.deepEqual(
    [json.ok, json.addresses[0].forecast, json.addresses[0].reason, json.addresses[0].entry],
    [true, false, 'entry', '10.0.0.0/8'],
  );
  const own = await culvert(home, ['why', '127.0.0.53']);
  assert.match(own.stdout, / {2}Bypasses WARP\n.*\n {2}It is an address of this computer\.\n$/);
  const refused = await culvert(home, ['why', '10.0.0.0/8']);
  assert.deepEqual([refused.code, refused.stdout], [2, '']);
  assert.match(refused.stderr, /not an address, a host name or a URL/);
  const unknown = await culvert(home, ['why', 'no-such-name.invalid']);
  assert.equal(unknown.code, 1);
  assert.match(unknown.stdout, /no-such-name\.invalid could not be resolved: /);
});
