// The lifetime of a sign-in, with everything around it played.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Elements, renderElements } from '../../../../daemon/killswitch/rules/rules.ts';
import type { Link } from '../../../../daemon/killswitch/sign-in/link.ts';
import {
  createWindow,
  type HelperEvents,
  type HelperWork,
  type Presence,
} from '../../../../daemon/killswitch/sign-in/window.ts';
import { until } from '../../../support/until.ts';

const USER = 1000;
const LINK: Link = { device: 'wlan0', index: '3', gateway: '10.0.0.1', hardware: null };
const OPEN: Elements = {
  sign_in_helpers: ['61999 . "wlan0"', '61999 . "lo"'],
  sign_in_servers: ['61999 . "wlan0" . 10.0.0.1'],
};
const CLOSED: Elements = { sign_in_helpers: [], sign_in_servers: [] };

type Play = ReturnType<typeof play>;

function play() {
  const world = {
    link: LINK as Link | null,
    isIpv6Only: false,
    servers: ['10.0.0.1'],
    hasTunnel: false,
    isBlocking: true,
    presence: 'active' as Presence | null,
    now: 100,
    kernel: CLOSED,
    fills: 0,
    stopped: [] as string[],
    events: null as HelperEvents | null,
    work: null as HelperWork | null,
    isBroken: false,
    ring: null as (() => void) | null,
    stopping: () => {},
  };
  const window = createWindow(
    {
      async fill(elements) {
        if (world.isBroken && elements.sign_in_helpers!.length) throw new Error('nft: no');
        world.kernel = elements;
        world.fills += 1;
      },
      link: () => world.link,
      isIpv6Only: () => world.isIpv6Only,
      servers: async () => world.servers,
      hasTunnel: () => world.hasTunnel,
      isBlocking: () => world.isBlocking,
      presence: async () => world.presence,
      async startHelper(events) {
        world.events = events;
        return {
          uid: 61_999,
          async begin(work) {
            world.work = work;
          },
          async stop(why) {
            world.stopped.push(why);
            world.stopping();
          },
        };
      },
      now: () => world.now,
      alarm(seconds, ring) {
        world.ring = seconds === null ? null : ring;
      },
      report() {},
    },
    () => {},
  );
  const beat = async () => {
    const before = world.fills;
    world.events!.beat();
    await until(() => world.fills > before);
  };
  return { world, window, beat, signIn: (seconds: number, uid = USER) => window.signIn({ uid, seconds }) };
}

test('each heartbeat repeats the elements, and its end removes them', async () => {
  const { world, window, beat, signIn } = play();
  assert.deepEqual(await signIn(300), { signIn: true, seconds: 300 });
  assert.deepEqual([world.kernel, world.work], [OPEN, { uid: USER, servers: ['10.0.0.1'] }]);
  await beat();
  assert.deepEqual([world.kernel, world.fills, window.isOpen()], [OPEN, 2, true]);
  world.events!.ended();
  await until(() => world.stopped.length === 1);
  assert.deepEqual([world.kernel, window.isOpen()], [CLOSED, false]);
});

for (const [what, why, change] of [
  ['the time is over', 'time', world => (world.now += 300)],
  ['the kill switch is turned off', 'unblocked', world => (world.isBlocking = false)],
  ['there is a tunnel', 'tunnel', world => (world.hasTunnel = true)],
  ['the link is gone', 'network', world => (world.link = null)],
  ['the gateway is another one', 'network', world => (world.link = { ...LINK, gateway: '10.0.0.2' })],
  ['the screen is locked', 'away', world => (world.presence = 'away')],
  ['the session ends', 'logout', world => (world.presence = 'gone')],
  ['the session at the screen ends, and one elsewhere stays', 'logout', world => (world.presence = 'elsewhere')],
  ['the machine sleeps', 'sleep', (_, window) => window.close('sleep')],
  ['its helper ends', 'helper', world => world.events!.ended()],
  ['its helper stands still', 'helper', world => world.ring!()],
  ['its command lets go', 'closed', world => world.events!.released()],
] as [string, string, (world: Play['world'], window: Play['window']) => unknown][])
  test(`ends when ${what}, and the helper says so`, async () => {
    const { world, window, signIn } = play();
    await signIn(300);
    await change(world, window);
    world.events!.beat();
    await until(() => !window.isOpen() && world.stopped.length > 0);
    assert.deepEqual([world.kernel, world.stopped, world.ring], [CLOSED, [why], null]);
  });

test('the last words of a helper are not for the next window', async () => {
  const { world, window, signIn } = play();
  await signIn(300);
  const first = world.events!;
  world.stopping = () => {
    world.stopping = () => {};
    // queued behind the next window
    void signIn(300);
    first.released();
    first.ended();
  };
  await window.close('closed');
  await signIn(300); // behind all of them
  assert.deepEqual([window.isOpen(), world.stopped], [true, ['closed']]);
  const { fills } = world;
  first.beat();
  await signIn(300);
  assert.equal(world.fills, fills);
});

test('ends where the gateway, once it is known, answers with another hardware address', async () => {
  const { world, window, beat, signIn } = play();
  await signIn(300);
  world.link = { ...LINK, hardware: 'aa:bb:cc:dd:ee:01' };
  await beat();
  assert.equal(window.isOpen(), true);
  world.link = { ...LINK, hardware: 'aa:bb:cc:dd:ee:02' };
  await beat();
  assert.equal(window.isOpen(), false);
});

test('ends if logind fails twice in a row to say whether the user is still there', async () => {
  const { world, window, beat, signIn } = play();
  await signIn(300);
  for (const presence of [null, 'active', null] as const) {
    world.presence = presence;
    await beat();
    assert.equal(window.isOpen(), true);
  }
  await beat();
  assert.deepEqual([window.isOpen(), world.stopped], [false, ['logout']]);
});

test('a sign-in that began without a session, or at no screen, does not end with one', async () => {
  for (const [before, after, isOpen] of [
    [null, 'away', true],
    ['gone', 'away', true],
    ['active', null, true],
    ['elsewhere', 'away', true],
    ['elsewhere', 'gone', false],
    ['away', 'gone', false],
  ] as const) {
    const { world, window, beat, signIn } = play();
    world.presence = before;
    await signIn(300);
    world.presence = after;
    await beat();
    assert.equal(window.isOpen(), isOpen, `${before} ${after}`);
  }
});

test('fifteen minutes from the beginning are the end, however often it is extended', async () => {
  const { world, window, beat, signIn } = play();
  await signIn(300);
  world.now += 600;
  assert.deepEqual(await signIn(900), { signIn: true, seconds: 300 });
  world.now += 299;
  await beat();
  assert.equal(window.isOpen(), true);
  world.now += 1;
  await beat();
  assert.equal(window.isOpen(), false);
});

test('does not begin without a block, with a tunnel, or without a network, and leaves nothing where the kernel refuses', async () => {
  for (const [change, pattern] of [
    [{ isBlocking: false }, /does not block/],
    [{ hasTunnel: true }, /Disconnect WARP first/],
    [{ link: null }, /on no network/],
    [{ link: null, isIpv6Only: true }, /IPv6 alone/],
    [{ servers: [] }, /on no network/],
    [{ isBroken: true }, /nft: no/],
  ] as const) {
    const { world, window, signIn } = play();
    Object.assign(world, change);
    await assert.rejects(signIn(300), pattern);
    assert.deepEqual([world.kernel, window.isOpen()], [CLOSED, false]);
    assert.equal(world.stopped.length, 'isBroken' in change ? 1 : 0);
  }
});

test('the elements are one transaction, which also empties the sets', () => {
  assert.equal(
    renderElements(OPEN, 'culvert'),
    'flush set inet culvert sign_in_helpers; add element inet culvert sign_in_helpers { 61999 . "wlan0", 61999 . "lo" }; ' +
      'flush set inet culvert sign_in_servers; add element inet culvert sign_in_servers { 61999 . "wlan0" . 10.0.0.1 }',
  );
  assert.doesNotMatch(renderElements(CLOSED, 'culvert'), /add/);
});
