// The organization's certificate for real tools: they fail before, connect after, and fail again after the undo.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { authority, isThere, MANAGED, machine, read, succeeds } from '../../support/trust/organization.ts';

const NODE = "require('https').get(process.argv[1],r=>r.resume()).on('error',()=>process.exit(1))";
const PYTHON = 'import sys,urllib.request as u; u.urlopen(sys.argv[1])';
const REQUESTS = 'import sys,requests; requests.get(sys.argv[1])';

/** Real programs, by the id of their row; those that are not here are left out. */
const REAL: readonly [id: string, program: string, args: (url: string) => string[]][] = [
  ['node', process.execPath, url => ['-e', NODE, url]],
  ['curl', 'curl', url => ['-s', '-o', '/dev/null', url]],
  ['python', 'python3', url => ['-c', PYTHON, url]],
  ['python-requests', 'python3', url => ['-c', REQUESTS, url]],
];
const HERE = REAL.filter(([id, program]) =>
  id === 'python-requests' ? isThere('python3', '-c', 'import requests') : isThere(program, '--version'),
);

test('tools fail before, connect after, and fail again after the undo, with their files as they were', async t => {
  const pc = machine(t);
  const organization = authority(t);
  pc.install(organization);
  const url = await organization.serve();
  const curlrc = path.join(pc.home, '.curlrc');
  const profile = path.join(pc.home, '.profile');
  writeFileSync(curlrc, '# mine\nsilent', { mode: 0o600 });
  writeFileSync(profile, 'umask 022\n');
  const before = [curlrc, profile].map(file => readFileSync(file));
  const connect = (env: NodeJS.ProcessEnv) =>
    Promise.all(HERE.map(async ([id, program, args]) => [id, await succeeds(env, program, ...args(url))]));
  const all = (value: boolean) => HERE.map(([id]) => [id, value]);

  assert.deepEqual(await connect(pc.session()), all(false));
  const trust = pc.trust();
  const ids = HERE.map(([id]) => id);
  const first = await trust.report(ids);
  for (const [id] of HERE) assert.equal(first.tools.find(tool => tool.id === id)?.verdict, 'does-not-trust', id);
  await trust.apply(ids);
  assert.deepEqual(await connect(pc.session()), all(true));
  const second = await trust.report(ids);
  for (const [id] of HERE) {
    const tool = second.tools.find(tool => tool.id === id);
    assert.deepEqual([tool?.verdict, tool?.applied, tool?.changes], ['trusts', true, []], `${id}: ${tool?.reasons}`);
  }
  await trust.undo();
  assert.deepEqual(await connect(pc.session()), all(false));
  assert.deepEqual(
    [curlrc, profile].map(file => readFileSync(file)),
    before,
  );
  assert.ok(!existsSync(path.join(pc.home, '.config')));
});

test('names the certificate by its fingerprint, and what is at its path only where root alone can write', async t => {
  const pc = machine(t);
  const organization = authority(t);
  pc.install(organization);
  const { certificates, refused } = await pc.trust().report([]);
  assert.deepEqual(
    certificates.map(({ fingerprint, name, state, source }) => ({ fingerprint, name, state, source })),
    [
      {
        fingerprint: organization.fingerprint,
        name: 'Gateway CA - Cloudflare Managed G1',
        state: 'valid',
        source: MANAGED,
      },
    ],
  );
  assert.deepEqual(refused, []);
  chmodSync(path.dirname(pc.root + MANAGED), 0o777);
  const open = await pc.trust().report([]);
  assert.deepEqual(open.certificates, []);
  assert.match(open.refused[0]!.reason, /can be changed by others than root/);
});

test('finds a tool that verifies nothing', async t => {
  const pc = machine(t, { NODE_TLS_REJECT_UNAUTHORIZED: '0' });
  pc.install(authority(t));
  writeFileSync(path.join(pc.home, '.curlrc'), 'insecure\n');
  const { tools } = await pc.trust().report(['node', 'curl']);
  for (const id of ['node', 'curl']) {
    const tool = tools.find(each => each.id === id)!;
    assert.equal(tool.verdict, 'trusts-too-much');
    assert.match(tool.reasons.join(' '), /verifies no certificates/);
    assert.deepEqual(tool.changes, []);
  }
  assert.equal(read(path.join(pc.home, '.curlrc')), 'insecure\n');
});
