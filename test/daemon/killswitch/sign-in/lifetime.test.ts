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
    stopped: 0,
    events: null as HelperEvents | null,
    work: null as HelperWork | null,
    isBroken: false,
    ring: null as (() => void) | null,
    reports: [] as unknown[],
    lastWords: () => {},
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
          lastWords: async () => world.lastWords(),
          stop() {
            world.stopped += 1;
          },
        };
      },
      now: () => world.now,
      alarm(seconds, ring) {
        world.ring = seconds === null ? null : ring;
      },
      reports: {
        keep: running => void world.reports.push(running),
        end: (running, ended) => void world.reports.push({ ...running, ended }),
        take: () => [],
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
  assert.deepEqual(world.kernel, OPEN);
  await beat();
  assert.deepEqual([world.kernel, world.fills, window.isOpen()], [OPEN, 2, true]);
  world.events!.ended();
  await until(() => world.stopped === 1);
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
  test(`ends when ${what}, and reports what was let through until then`, async () => {
    const { world, window, signIn } = play();
    await signIn(300);
    const total = { host: 'login.example', sent: 1, received: 2 };
    world.events!.reported(total);
    world.events!.reported({ host: 'a b', sent: 1, received: 2 });
    world.lastWords = () => world.events!.reported({ ...total, received: 3 });
    await change(world, window);
    world.events!.beat();
    await until(() => !window.isOpen() && world.reports.length > 1);
    assert.deepEqual([world.kernel, world.stopped, world.ring], [CLOSED, 1, null]);
    assert.deepEqual(world.reports.at(-1), { uid: USER, hosts: [{ ...total, received: 3 }], ended: why });
  });

test('the last words of a helper are not for the next window', async () => {
  const { world, window, signIn } = play();
  await signIn(300);
  const first = world.events!;
  world.lastWords = () => {
    world.lastWords = () => {};
    // queued behind the next window
    void signIn(300);
    first.released();
    first.ended();
  };
  await window.close('closed');
  await window.takeReports({ uid: USER }); // behind all of them
  assert.deepEqual([window.isOpen(), world.stopped], [true, 1]);
  const { fills } = world;
  first.beat();
  await window.takeReports({ uid: USER });
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
  assert.deepEqual([window.isOpen(), (world.reports.at(-1) as { ended: string }).ended], [false, 'logout']);
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
    assert.equal(world.stopped, 'isBroken' in change ? 1 : 0);
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

test('a test of the network lets out a helper without a user, and ends with its answer', async () => {
  const { world, window, beat } = play();
  const testing = window.detect();
  await until(() => world.work !== null);
  assert.deepEqual([world.work, world.kernel, window.isOpen()], [{ uid: null, servers: ['10.0.0.1'] }, OPEN, false]);
  await beat();
  world.events!.reported({ network: 'login', loginPage: 'http://login.example/' });
  assert.deepEqual(await testing, { network: 'login', loginPage: 'http://login.example/' });
  assert.deepEqual([world.kernel, world.stopped], [CLOSED, 1]);
});

test('a test that ends before its answer, or answers something else, found nothing', async () => {
  const unreachable = { network: 'unreachable', loginPage: null };
  for (const change of [
    ({ world }) => world.events!.ended(),
    ({ world }) => world.events!.reported({ network: 'yes' }),
    ({ world, beat }) => {
      world.now += 20;
      return beat();
    },
    ({ signIn }) => signIn(300),
  ] as ((stage: Play) => unknown)[]) {
    const stage = play();
    const testing = stage.window.detect();
    await until(() => stage.world.work !== null);
    await change(stage);
    assert.deepEqual([await testing, stage.world.stopped], [unreachable, 1]);
  }
});

test('nothing is tested during a sign-in, without a block, or with a tunnel', async () => {
  const busy = play();
  await busy.signIn(300);
  await assert.rejects(busy.window.detect(), /LimitsExceeded|Somebody is signing in/);
  assert.equal(busy.window.isOpen(), true);
  for (const [change, pattern] of [
    [{ isBlocking: false }, /does not block/],
    [{ hasTunnel: true }, /Disconnect WARP first/],
  ] as const) {
    const { world, window } = play();
    Object.assign(world, change);
    await assert.rejects(window.detect(), pattern);
    assert.equal(world.work, null);
  }
});
