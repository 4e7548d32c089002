// A small run of the simulation in test/bench/pool/simulation.ts: what the pool saves, with the real script.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alone, pooled } from '../../bench/pool/simulation.ts';
import { storeServer } from '../../support/wrapper/store-server.ts';

test('a pool serves as much as machines by themselves, without a wasted request and with fewer questions', async t => {
  const server = await storeServer(t);
  const load = { machines: 20, days: 3, seed: 7 };
  const [one, inOrder, asking] = [await pooled(load, server), alone(load, false), alone(load, true)];
  assert.equal(one.wasted, 0);
  assert.ok(inOrder.wasted > load.machines, `${inOrder.wasted} requests are wasted without a pool`);
  assert.equal(one.served, asking.served);
  assert.ok(one.questions < asking.questions / 4, `${one.questions} questions, and ${asking.questions} without a pool`);
  assert.ok(one.fairness > 0.98, String(one.fairness));
});
