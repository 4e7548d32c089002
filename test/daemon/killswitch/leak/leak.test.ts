// The short form of the leak test, for every run of the suite. The full one is ./culvert-tool leaktest.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createGround, type Ground } from './machine.ts';
import { missing } from './missing.ts';
import { createRig, type Rig } from './rig.ts';
import { NETWORK_SCENARIOS } from './scenarios.ts';
import { missingForService, SERVICE_SCENARIOS } from './service-scenarios.ts';

describe('the kill switch in a network with a real tunnel', { skip: missing, timeout: 120_000 }, () => {
  let ground: Ground;
  let rig: Rig;
  before(async () => {
    ground = createGround();
    rig = await createRig(ground);
  });
  after(() => ground?.close());

  for (const { name, title, run } of NETWORK_SCENARIOS.filter(({ quick }) => quick))
    it(`${title} (${name})`, async () => assert.deepEqual((await run({ ground, rig, quick: true })).faults, []));
  for (const { name, title, run } of SERVICE_SCENARIOS.filter(({ quick }) => quick))
    it(`${title} (${name})`, { skip: missingForService }, async () =>
      assert.deepEqual((await run({ ground, rig, quick: true })).faults, []),
    );
});
