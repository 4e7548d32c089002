// With an nft and a kernel whose tables can belong to a process and outlive it, a foreign flush never takes effect. Debian 12
// has no such nft; CULVERT_TEST_NFT names one (./culvert-tool leaktest fetches Debian 13's). The same nft makes the foreign changes:
// nft 1.0.6 dies of any named set that nft 1.1 has made.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { missing, stageFor, which } from '../../support/killswitch/stage.ts';
import { signal } from '../../support/signal.ts';
import { until } from '../../support/until.ts';

const nft = process.env.CULVERT_TEST_NFT ?? which('nft');
const NARROW = ['ba(ssaq)', 'false', '1', '162.159.193.0/24', 'udp', '1', '2408'];

const skip =
  missing ||
  (() => {
    try {
      execFileSync('unshare', ['-n', nft!, 'add table inet probe { flags persist; }'], { stdio: 'pipe' });
      return false;
    } catch {
      return 'needs nft 1.1 and Linux 6.9';
    }
  })();

test('a table with an owner withstands every foreign change, and outlives its owner', { skip }, async t => {
  const stage = await stageFor(t, 'played', nft!);
  await stage.serve(nft!);
  const on = await stage.call('Enable', NARROW);
  assert.equal(JSON.parse(on.text).protection, 'owner-persist', on.text);
  const before = await stage.table();
  for (const change of [
    'delete table inet culvert',
    'flush table inet culvert',
    'insert rule inet culvert output accept',
    'add chain inet culvert output { policy accept; }',
    'add table inet culvert { flags dormant; }',
  ])
    await assert.rejects(stage.nft(change), /not permitted|not supported/i, change);
  await stage.nft('flush', 'ruleset');
  assert.equal(await stage.table(), before, 'a flush leaves it out');
  assert.equal(stage.state()?.detail, null, 'there was nothing to mend');

  assert.ok((await stage.call('Enable', ['ba(ssaq)', 'true', ...NARROW.slice(2)])).ok, 'the owner itself replaces it');
  assert.ok((await stage.call('Pause', ['u', '1'])).ok);
  assert.equal(await stage.table(), null);
  await until(async () => (await stage.table()) !== null);
  assert.ok((await stage.call('Enable', NARROW)).ok);

  await stage.kill();
  assert.match((await stage.table())!, /policy drop/, 'it outlives its owner');
  await stage.serve(nft!);
  assert.equal(stage.state()?.protection, 'owner-persist', 'and the next service takes it over');
  await stage.nft('flush', 'ruleset');
  assert.equal(await stage.table(), before);
  assert.ok((await stage.call('Disable')).ok);
  assert.equal(await stage.table(), null);
});

test('the child that owns the table dies, and the table has an owner again', { skip }, async t => {
  const stage = await stageFor(t, 'played', nft!);
  await stage.serve(nft!);
  await stage.call('Enable', NARROW);
  const before = await stage.table();
  const { pid } = stage.state()!;
  for (const child of execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
    .trim()
    .split('\n'))
    signal(Number(child), 'SIGKILL');
  assert.match((await stage.table())!, /policy drop/);
  await until(
    async () =>
      !(await stage.nft('delete', 'table', 'inet', 'culvert').then(
        () => true,
        () => false,
      )),
  );
  await until(async () => (await stage.table()) === before);
  assert.equal(JSON.parse((await stage.call('Status')).text).protection, 'owner-persist');
});
