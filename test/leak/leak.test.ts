// The short form of the leak test, for every run of the suite. The full one is ./culvert-tool leaktest.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { FULL } from '../support/thoroughness.ts';
import { createGround, type Ground } from './machine.ts';
import { missing } from './missing.ts';
import { createRig, type Rig } from './rig.ts';
import { ALLOWED_SCENARIOS } from './scenarios/allowed-scenarios.ts';
import { FOREIGN_SCENARIOS } from './scenarios/foreign-scenarios.ts';
import { NETWORK_SCENARIOS } from './scenarios/scenarios.ts';
import { missingForService, SERVICE_SCENARIOS } from './scenarios/service-scenarios.ts';
import { SIGN_IN_SCENARIOS } from './scenarios/sign-in-scenarios.ts';
import type { Scenario } from './stage.ts';

/**
 * Scenarios of full runs only: variants of others, those that test/daemon/killswitch/crash.test.ts tries as well, proofs that a
 * change of the rules in two steps would leak, and all but one of the proofs that a foreign program's packets would.
 */
const VARIANTS =
  /^((imposter-ipvlan|vrf|flowtable|advertisement-global|better-uplink)(-control)?|(imposter|advertisement|edges|swap|flush)-control|(reroute|edges)-lan|torn|service-killed)$/;
const isTried = ({ name, quick }: Scenario) => quick && (FULL || !VARIANTS.test(name));

describe('the kill switch in a network with a real tunnel', { skip: missing }, () => {
  let ground: Ground;
  let rig: Rig;
  before(async () => {
    ground = createGround();
    rig = await createRig(ground);
  });
  after(() => ground?.close());

  for (const { name, title, run, missing } of [
    ...NETWORK_SCENARIOS,
    ...ALLOWED_SCENARIOS,
    ...SIGN_IN_SCENARIOS,
    ...FOREIGN_SCENARIOS,
  ].filter(isTried))
    it(`${title} (${name})`, { skip: missing?.() ?? false }, async () =>
      assert.deepEqual((await run({ ground, rig, quick: true })).faults, []),
    );
  for (const { name, title, run } of SERVICE_SCENARIOS.filter(isTried))
    it(`${title} (${name})`, { skip: missingForService }, async () =>
      assert.deepEqual((await run({ ground, rig, quick: true })).faults, []),
    );
});
