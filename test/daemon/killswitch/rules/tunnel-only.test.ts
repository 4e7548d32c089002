// The rules for programs that are kept in the tunnel, as text; test/daemon/killswitch/programs/tunnel-only.test.ts tries them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cgroupOf, sliceOf } from '../../../../daemon/killswitch/rules/place.ts';
import { renderPrograms } from '../../../../daemon/killswitch/rules/tunnel-only.ts';

test('each user has a cgroup within the slice of that user', () => {
  assert.equal(sliceOf(1000), 'user-1000-culvert.slice');
  assert.equal(cgroupOf(0), 'user.slice/user-0.slice/user-0-culvert.slice');
  for (const uid of [-1, 1.5, Number.NaN, 2 ** 53]) assert.throws(() => cgroupOf(uid), /no user/);
});

test('names, output and input each match every user, and never by what a packet is not', () => {
  const text = renderPrograms({ uids: [0, 1000] });
  for (const uid of [0, 1000]) {
    const matches = text.match(new RegExp(`socket cgroupv2 level 3 "${cgroupOf(uid)}"`, 'g'));
    assert.equal(matches?.length, 3, text);
  }
  assert.doesNotMatch(text, /cgroupv2[^\n]*!=/);
  assert.equal(renderPrograms({ uids: [] }).includes('cgroupv2'), false);
});

test('replaces the table in one transaction, also one with an owner', () => {
  assert.match(
    renderPrograms({ uids: [1] }),
    /^add table inet culvert_programs\ndelete table inet culvert_programs\ntable /,
  );
  const owned = renderPrograms({ uids: [1], flags: ['owner', 'persist'] });
  assert.match(
    owned,
    /^destroy table inet culvert_programs\ntable inet culvert_programs \{\n {2}flags owner, persist\n/,
  );
});

test('takes no name of an interface that could end its place in a rule', () => {
  assert.throws(() => renderPrograms({ uids: [1], tunnelInterfaces: ['a" accept; #'] }), /no interface name/);
  assert.match(renderPrograms({ uids: [1], tunnelInterfaces: ['wg0'] }), /oifname \{ "wg0" \}/);
});
