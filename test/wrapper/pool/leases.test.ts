// Eight machines on a real store: what the pool promises under contention, counted by the provider.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FULL } from '../../support/thoroughness.ts';
import { countingApi } from '../../support/wrapper/counting-api.ts';
import { assertFencesRise, machines } from '../../support/wrapper/pool-machines.ts';
import { endsOfLeases, storeServer } from '../../support/wrapper/store-server.ts';

const KEYS = ['a1', 'b2', 'c3', 'd4', 'e5'];
const MACHINES = 8;
const LEASES = FULL ? 1_000 : 30;

test('no account goes above its limit, and each credit is spent once', async t => {
  const server = await storeServer(t);
  // a tenth of the commands finds nothing left
  const each = Math.floor((MACHINES * LEASES * 0.9) / KEYS.length);
  const api = await countingApi(t, Object.fromEntries(KEYS.map(key => [key, each])));
  const fleet = machines(t, { url: server.url, api: api.url, keys: KEYS, machines: MACHINES, leases: LEASES });
  await fleet.ended;
  for (const key of KEYS) {
    assert.equal(api.used.get(key), each, `${key} has used its limit and not more`);
    assert.equal(api.refused.get(key) ?? 0, 0, `nobody tried ${key} in vain`);
    assert.equal(api.questions.get(key), 1, `${key} was asked for once`);
  }
  assert.ok([...api.served.values()].every(times => times === 1));
  assert.equal(fleet.seen.filter(({ none }) => none).length, MACHINES * LEASES - each * KEYS.length);
  assertFencesRise(fleet.seen);
  assert.deepEqual(await endsOfLeases(server), []);
});

test('an account never has more leases than it may have at a time', async t => {
  const server = await storeServer(t);
  const api = await countingApi(t, Object.fromEntries(KEYS.map(key => [key, 1_000_000])));
  const fleet = machines(t, {
    url: server.url,
    api: api.url,
    keys: KEYS,
    machines: MACHINES,
    leases: Math.ceil(LEASES / 2),
    max: 1,
    strategy: 'in-order',
  });
  await fleet.ended;
  const ends = new Map(fleet.seen.map(({ done, ended }) => [done, ended]));
  const leases = fleet.seen.filter(({ fence }) => fence !== undefined).sort((a, b) => a.got! - b.got!);
  assert.equal(leases.length, MACHINES * Math.ceil(LEASES / 2));
  for (const key of KEYS) {
    const own = leases.filter(({ fp }) => fp === key);
    for (const [i, lease] of own.slice(1).entries()) {
      assert.ok(lease.got! >= ends.get(own[i]!.fence)!, `${key} had two leases at a time`);
    }
  }
  assert.ok(new Set(leases.map(({ fp }) => fp)).size > 1, 'others take the next account while the first is busy');
  assertFencesRise(fleet.seen);
});
