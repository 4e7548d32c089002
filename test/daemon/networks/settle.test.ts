// Networks are read once events have settled, and the result does not depend on the order of events.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import type { Objects } from '../../../daemon/networks/bus.ts';
import { linksOfNetworkManager, normalize } from '../../../daemon/networks/links.ts';
import { createSettler } from '../../../daemon/networks/networks.ts';
import { LAPTOP, type NetworkEvent, randomOf, shuffled } from '../../support/networks/events.ts';

const SETTLE_MS = 2_000;
/** Performs the events, each after a pause shorter than the settling time, and returns everything that was published. */
async function publishedBy(events: readonly NetworkEvent[], random: () => number): Promise<unknown[]> {
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
  const expected = await publishedBy(LAPTOP, randomOf(0));
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
    assert.deepEqual(await publishedBy(shuffled(LAPTOP, random), random), expected, `seed ${seed}`);
  }
});

test('drops the result of a read if a change arrives before it ends', async t => {
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

test('reads a network that comes and goes once, after it has settled', async t => {
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
