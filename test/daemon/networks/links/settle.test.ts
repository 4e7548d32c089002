// The networks that are read once all is quiet are the same, whatever the order of events.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import type { Objects } from '../../../../daemon/networks/links/bus.ts';
import { normalize } from '../../../../daemon/networks/links/links.ts';
import { linksOfNetworkManager, NM } from '../../../../daemon/networks/links/network-manager.ts';
import { createSettler } from '../../../../daemon/networks/links/settle.ts';

const SETTLE_MS = 2_000;
const ROOT = '/org/freedesktop/NetworkManager';

/** A property that NetworkManager sets: object, interface, name, value. */
type Event = [path: string, interfaceName: string, name: string, value: unknown];

/** A laptop with six networks around it is docked and joins one of them; a VPN and a bridge come up as well. */
const EVENTS: Event[] = [
  [ROOT, NM, 'Connectivity', 4],
  ...device('wlan0', 2, 'wifi'),
  [`${ROOT}/Devices/wlan0`, `${NM}.Device.Wireless`, 'ActiveAccessPoint', `${ROOT}/AccessPoint/1`],
  ...device('eth0', 1, 'dock'),
  ...device('docker0', 13, 'docker0'),
  ...device('CloudflareWARP', 16, 'warp'),
  ...[1, 2, 3, 4, 5, 6].flatMap((number): Event[] => [
    [
      `${ROOT}/AccessPoint/${number}`,
      `${NM}.AccessPoint`,
      'Ssid',
      [...Buffer.from(number === 2 ? 'Net 1' : `Net ${number}`)],
    ],
    [`${ROOT}/AccessPoint/${number}`, `${NM}.AccessPoint`, 'HwAddress', `00:00:00:00:00:0${number}`],
    [`${ROOT}/AccessPoint/${number}`, `${NM}.AccessPoint`, 'RsnFlags', number === 2 ? 0 : 0x188],
  ]),
];

function device(name: string, type: number, connection: string): Event[] {
  const [path, active] = [`${ROOT}/Devices/${name}`, `${ROOT}/ActiveConnection/${connection}`];
  return [
    [path, `${NM}.Device`, 'Interface', name],
    [path, `${NM}.Device`, 'DeviceType', type],
    [path, `${NM}.Device`, 'State', 100],
    [path, `${NM}.Device`, 'ActiveConnection', active],
    [active, `${NM}.Connection.Active`, 'Id', connection],
    [active, `${NM}.Connection.Active`, 'Uuid', `uuid-${connection}`],
  ];
}

/** mulberry32, so that a failure can be repeated. */
function randomOf(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  const copy = [...list];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [copy[i], copy[j]] = [copy[j]!, copy[i]!];
  }
  return copy;
}

/** Performs the events, each after a pause shorter than the settling time, and returns everything that was published. */
async function publishedBy(events: readonly Event[], random: () => number): Promise<unknown[]> {
  const objects = new Map<string, Record<string, Record<string, unknown>>>();
  const published: unknown[] = [];
  const read = async () => normalize(linksOfNetworkManager(objects as Objects), new Map());
  const settler = createSettler(SETTLE_MS, read, links => published.push(links));
  for (const [path, interfaceName, name, value] of events) {
    const object = objects.get(path) ?? {};
    objects.set(path, { ...object, [interfaceName]: { ...object[interfaceName], [name]: value } });
    settler.changed();
    mock.timers.tick(Math.floor(random() * (SETTLE_MS - 1)));
    await Promise.resolve();
  }
  mock.timers.tick(SETTLE_MS);
  await new Promise(setImmediate);
  settler.stop();
  return published;
}

test('200 random orders of events end in the same networks as the sorted order, published once', async t => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const expected = await publishedBy(EVENTS, randomOf(0));
  assert.equal(expected.length, 1);
  assert.deepEqual(
    (expected[0] as { device: string; name: string; security: string }[]).map(each => [
      each.device,
      each.name,
      each.security,
    ]),
    [
      ['eth0', 'dock', null],
      ['wlan0', 'Net 1', 'psk'],
    ],
  );
  for (let seed = 1; seed <= 200; seed++) {
    const random = randomOf(seed);
    assert.deepEqual(await publishedBy(shuffled(EVENTS, random), random), expected, `seed ${seed}`);
  }
});

test('a read that a change overtakes is dropped', async t => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const published: number[] = [];
  const replies: ((value: number) => void)[] = [];
  const settler = createSettler(
    SETTLE_MS,
    () => new Promise<number>(resolve => replies.push(resolve)),
    value => published.push(value),
  );
  settler.changed();
  mock.timers.tick(SETTLE_MS);
  settler.changed();
  replies[0]!(1);
  await new Promise(setImmediate);
  mock.timers.tick(SETTLE_MS);
  replies[1]!(2);
  await new Promise(setImmediate);
  settler.changed();
  settler.stop();
  mock.timers.tick(SETTLE_MS);
  assert.deepEqual([published, replies.length], [[2], 2]);
});

test('a network that comes and goes is read once, when it has stayed', async t => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  let isUp = false;
  let reads = 0;
  const published: boolean[] = [];
  const read = async () => {
    reads += 1;
    return isUp;
  };
  const settler = createSettler(SETTLE_MS, read, value => published.push(value));
  for (let flap = 0; flap < 21; flap++) {
    isUp = !isUp;
    settler.changed();
    mock.timers.tick(SETTLE_MS - 1);
  }
  assert.equal(reads, 0);
  mock.timers.tick(1);
  await new Promise(setImmediate);
  assert.deepEqual([published, reads], [[true], 1]);
});
