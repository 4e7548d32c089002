// The table that records what is blocked, as text; blocked.test.ts tries it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RECORDING_TABLE, renderRecording, SETS } from '../../../../daemon/killswitch/recording.ts';
import { leavingRules } from '../../../../daemon/killswitch/rules/rules.ts';

const rules = {
  allowLan: true,
  endpoints: [{ cidr: '162.159.193.0/24', protocol: 'udp' as const, ports: [2408] }],
};
const text = renderRecording({ rules, uids: [1000] });

test('can stop nothing: its chains accept, and it rejects, drops and marks no packet', () => {
  const policies = [...text.matchAll(/type filter hook \w+ priority (\S+); policy (\w+);/g)].map(found =>
    found.slice(1),
  );
  assert.deepEqual(policies, [
    ['-11', 'accept'], // before the table of programs, at -10
    ['-1', 'accept'], // before the table of the kill switch, at 0
    ['-1', 'accept'],
  ]);
  assert.doesNotMatch(text, /\b(?:drop|reject|queue|redirect|dnat|snat|masquerade|log|fwd|dup)\b|mark set/);
});

test('changes no other table, and keeps what it recorded already', () => {
  for (const [, table] of text.matchAll(/\b(?:table|flush table) inet (\w+)/g)) assert.equal(table, RECORDING_TABLE);
  assert.doesNotMatch(text, /delete|destroy|flush set/);
});

test('is bounded by the kernel: every set has a size, and its elements time out', () => {
  const definitions = [...text.matchAll(/^ {2}set (\w+) \{ (.*) \}$/gm)].filter(([, name]) => name !== 'askers');
  assert.deepEqual(
    definitions.map(([, name]) => name),
    SETS.map(({ name }) => name),
  );
  for (const [, , body] of definitions) assert.match(body!, /size 256; flags dynamic, timeout; timeout 600s;$/);
});

test('lets pass unrecorded what the kill switch lets pass', () => {
  const { local, forwarded, lan } = leavingRules(rules);
  const accepted = [...local(''), ...forwarded(''), ...lan('daddr')].filter(rule => rule.endsWith(' accept'));
  assert.ok(accepted.length > 10);
  for (const rule of accepted) assert.ok(text.includes(`    ${rule}\n`), rule);
  assert.match(text, /meta skuid 0 ip daddr \{ 162\.159\.193\.0\/24 \} udp dport \{ 2408 \} accept/);
});

test('records nothing of rules that block nothing', () => {
  const idle = renderRecording({ rules: null, uids: [] });
  assert.doesNotMatch(idle, /goto note_(?:own|forwarded)/);
  assert.doesNotMatch(idle, /goto leave/);
});
