// culvert-killswitch(8) names what passes the packet filter anyway: no rule can stop it, so the page has to say it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const page = readFileSync(new URL('../../../data/man/culvert-killswitch.8', import.meta.url), 'utf8').replace(
  /\s+/g,
  ' ',
);

for (const [what, pattern] of [
  ['packets that wait for a neighbor', /leaves afterwards: packets that wait for a neighbor's address/],
  ['packets in the queue of a traffic shaper', /leaves afterwards: .* the queue of a traffic shaper/],
  ['a netdev egress chain or tc rule of root that redirects', /a netdev egress chain or a tc rule that redirects to a/],
] as const)
  test(`the limits of the kill switch name ${what}`, () => assert.match(page, pattern));
