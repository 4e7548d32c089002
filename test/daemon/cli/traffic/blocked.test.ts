// `culvert killswitch blocked --watch`: which entries of a list are news.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BlockedEntry } from '../../../../daemon/api/schema.ts';
import { compare } from '../../../../daemon/cli/commands/traffic/blocked.ts';

const ENTRY: BlockedEntry = {
  rule: 'dns',
  uid: 1000,
  unit: null,
  programs: [],
  source: null,
  protocol: 'udp',
  address: '203.0.113.53',
  port: 53,
  packets: 1,
  since: '2026-11-26T07:01:00Z',
  last: '2026-11-26T07:02:00Z',
};

test('a destination that left the list is news when it is blocked again, as often as before', () => {
  const other = { ...ENTRY, address: '203.0.113.54' };
  const more = { ...other, packets: 2 };
  let packets: ReadonlyMap<string, number> = new Map();
  const news = [[ENTRY], [other, ENTRY], [other], [more, ENTRY], []].map(entries => {
    const next = compare(entries, packets);
    packets = next.packets;
    return next.further;
  });
  assert.deepEqual(news, [[ENTRY], [other], [], [more, ENTRY], []]);
  assert.equal(packets.size, 0);
});
