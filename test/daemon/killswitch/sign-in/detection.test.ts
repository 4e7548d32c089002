// Tests for a login page are rare, however often they are asked for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Link } from '../../../../daemon/killswitch/sign-in/link.ts';
import type { Verdict } from '../../../../daemon/killswitch/sign-in/verdict.ts';
import { createDetection } from '../../../../daemon/killswitch/sign-in/window.ts';

const OPEN: Verdict = { network: 'open', loginPage: null };

function play() {
  const world = {
    now: 100,
    link: { device: 'wlan0', index: '3', gateway: '10.0.0.1', hardware: null } as Link | null,
    tests: 0,
    fails: false,
  };
  const { detect } = createDetection(
    {
      async detect() {
        world.tests += 1;
        if (world.fails) throw new Error('no');
        return OPEN;
      },
    },
    { link: () => world.link, now: () => world.now },
  );
  return { world, detect };
}

test('within half a minute, all callers get the answer of one test', async () => {
  const { world, detect } = play();
  await Promise.all([detect(), detect()]);
  world.now += 29;
  assert.deepEqual([await detect(), world.tests], [OPEN, 1]);
  world.now += 1;
  await detect();
  assert.equal(world.tests, 2);
});

test('another network waits as well, and so does one that went', async () => {
  const { world, detect } = play();
  await detect();
  world.link = { ...world.link!, gateway: '10.0.0.2' };
  await assert.rejects(detect(), { code: 'LimitsExceeded' });
  world.link = null;
  await assert.rejects(detect(), { code: 'LimitsExceeded' });
  assert.equal(world.tests, 1);
});

test('a test that could not begin delays no other', async () => {
  const { world, detect } = play();
  world.fails = true;
  await assert.rejects(detect(), /no/);
  world.fails = false;
  assert.deepEqual([await detect(), world.tests], [OPEN, 2]);
});
