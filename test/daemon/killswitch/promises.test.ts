// SECURITY.md names what passes the packet filter all the same: no rule can stop it, so the promise has to leave it out.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const text = readFileSync(new URL('../../../SECURITY.md', import.meta.url), 'utf8').replace(/\s+/g, ' ');
const row = (state: string) => text.split(' | | ').find(each => each.includes(`${state} |`)) ?? '';

for (const [what, place, pattern] of [
  [
    'packets that wait for a neighbor',
    row('the change itself'),
    /each neighbor whose address is being asked for up to 208 KiB/,
  ],
  ['packets in the queue of a traffic shaper', row('the change itself'), /the queue of a traffic shaper/],
  [
    'the same, beside the promise about older flows',
    text,
    /No flow from before .*, but what waits for a neighbor or in a shaper's queue/,
  ],
  [
    'a netdev egress chain or tc rule of root that redirects',
    text,
    /a `netdev` egress chain or `tc` rule that redirects to a device/,
  ],
] as const)
  test(`the limits of the kill switch name ${what}`, () => assert.match(place, pattern));
