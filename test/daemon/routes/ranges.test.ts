// Sets of addresses: parsing, union, difference and prefixes, against a model that counts every address.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contains, difference, parseRange, prefixes, type Range, union } from '../../../daemon/routes/ranges.ts';

const range = (text: string): Range => {
  const found = parseRange(text);
  if (typeof found === 'string') throw new Error(`${text} ${found}`);
  return found;
};
const text = (ranges: Range[]) => ranges.flatMap(prefixes);

describe('reading a range', () => {
  for (const [given, expected] of [
    ['10.0.0.1', ['10.0.0.1']],
    ['10.1.2.3/8', ['10.0.0.0/8']],
    ['10.0.0.0-10.0.0.255', ['10.0.0.0/24']],
    ['10.0.0.1 - 10.0.0.9', ['10.0.0.1', '10.0.0.2/31', '10.0.0.4/30', '10.0.0.8/31']],
    ['0.0.0.0/0', ['0.0.0.0/0']],
    ['::/0', ['::/0']],
    ['FD00:0:0::1', ['fd00::1']],
    ['fd00::/8', ['fd00::/8']],
    ['192.0.2.1/32', ['192.0.2.1']],
    ['2001:db8::/127', ['2001:db8::/127']],
    ['255.255.255.254-255.255.255.255', ['255.255.255.254/31']],
  ] as const)
    test(`takes ${given}`, () => assert.deepEqual(prefixes(range(given)), expected));

  for (const [given, reason] of [
    ['', /not an IPv4 address/],
    ['10.1', /not an IPv4 address/],
    ['0x0a000001', /not an IPv4 address/],
    ['010.0.0.1', /not an IPv4 address/],
    ['256.0.0.1', /not an IPv4 address/],
    ['10.0.0.0/33', /prefix length outside 0 to 32/],
    ['10.0.0.0/08', /prefix length/],
    ['10.0.0.0/-1', /not an IPv4 address|two ends|prefix/],
    ['10.0.0.0/8/8', /prefix length/],
    ['fe80::1%eth0', /zone/],
    ['::ffff:10.0.0.1', /written as IPv6\. Write %s/],
    ['1::2::3', /not an IPv6 address/],
    ['10.0.0.9-10.0.0.1', /ends before it begins/],
    ['10.0.0.1-::1', /mixes IPv4 and IPv6/],
    ['1.1.1.1-2.2.2.2-3.3.3.3', /more than two ends/],
    ['::/129', /prefix length outside 0 to 128/],
  ] as const)
    test(`refuses ${JSON.stringify(given)}`, () => assert.match(String(parseRange(given)), reason));
});

test('subtracts a range from a wider one', () => {
  assert.deepEqual(text(difference([range('10.0.0.0/8')], [range('10.128.0.0/9')])), ['10.0.0.0/9']);
  assert.deepEqual(text(difference([range('10.0.0.0/30')], [range('10.0.0.1')])), ['10.0.0.0', '10.0.0.2/31']);
  assert.deepEqual(text(difference([range('10.0.0.0/8')], [range('0.0.0.0/0')])), []);
  assert.deepEqual(text(difference([range('10.0.0.0/8')], [range('::/0')])), ['10.0.0.0/8']);
  assert.equal(text(difference([range('::/0')], [range('::1')])).length, 128);
});

test('merges what overlaps or touches, and keeps the families apart', () => {
  const merged = union(['10.0.0.128/25', '10.0.0.0/25', '10.0.1.0/24', '::/1', '8000::/1', '10.0.0.7'].map(range));
  assert.deepEqual(text(merged), ['10.0.0.0/23', '::/0']);
});

/** A small generator with a fixed seed (mulberry32), so that a failure repeats. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

test('agrees with counting every address of a small network, for 500 random sets', () => {
  const next = random(20261121);
  const some = () =>
    Array.from({ length: 1 + Math.floor(next() * 5) }, (): Range => {
      const [a, b] = [Math.floor(next() * 256), Math.floor(next() * 256)];
      const base = 0x0a000000n;
      return { family: 4, first: base + BigInt(Math.min(a, b)), last: base + BigInt(Math.max(a, b)) };
    });
  const members = (ranges: Range[]) =>
    Array.from({ length: 256 }, (_, i) => ranges.some(r => contains(r, range(`10.0.0.${i}`))));
  for (let i = 0; i < 500; i++) {
    const [a, b] = [some(), some()];
    const [inA, inB] = [members(a), members(b)];
    assert.deepEqual(members(union(a)), inA);
    assert.deepEqual(
      members(difference(a, b)),
      inA.map((has, j) => has && !inB[j]),
    );
    const again = text(union(a)).map(range);
    assert.deepEqual(union(again), union(a), 'prefixes lose nothing');
  }
});
