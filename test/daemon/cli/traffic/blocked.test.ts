// `culvert killswitch blocked --watch`: which entries of a list are news.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare } from '../../../../daemon/cli/commands/traffic/killswitch.ts';
import { BLOCKED_ENTRY as ENTRY } from '../../../support/killswitch/blocked-entry.ts';

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
