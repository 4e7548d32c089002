// The fewest runs of the tunnel CLI that turn one list into another.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonical } from '../../../daemon/routes/document.ts';
import { callsFor } from '../../../daemon/routes/split-list.ts';

const nets = Array.from({ length: 100 }, (_, at) => `20.0.${at}.0/24`);
const hosts = ['a.example', 'b.example', 'c.example'];

const CASES: [string, string[], string[], 'exclude' | 'include', boolean, string[]][] = [
  ['nothing for the same list', ['10.0.0.0/8'], ['10.0.0.0/8'], 'exclude', true, []],
  [
    'one for each entry, additions first, by the kind of the entry',
    ['10.0.0.0/8', '192.0.2.1', 'a.example'],
    ['10.0.0.0/9', '192.0.2.2', 'b.example'],
    'exclude',
    true,
    [
      'addSplitRange 10.0.0.0/9',
      'addSplitIp 192.0.2.2',
      'addSplitHost b.example',
      'removeSplitRange 10.0.0.0/8',
      'removeSplitIp 192.0.2.1',
      'removeSplitHost a.example',
    ],
  ],
  ['one reset for many that go', nets, ['10.0.0.0/8'], 'exclude', true, ['resetSplitIps', 'addSplitRange 10.0.0.0/8']],
  [
    'no reset where an entry of the user stays',
    nets,
    nets.slice(0, 1),
    'exclude',
    true,
    nets.slice(1).map(n => `removeSplitRange ${n}`),
  ],
  ['no reset in include mode', nets, [], 'include', true, nets.map(n => `removeSplitRange ${n}`)],
  ['no reset where the release has none', nets, [], 'exclude', false, nets.map(n => `removeSplitRange ${n}`)],
  ['one reset for all hosts', hosts, ['d.example'], 'exclude', true, ['resetSplitHosts', 'addSplitHost d.example']],
  [
    'no reset where a host stays',
    hosts,
    ['a.example'],
    'exclude',
    true,
    ['removeSplitHost b.example', 'removeSplitHost c.example'],
  ],
];

for (const [title, before, after, mode, supported, expected] of CASES)
  test(title, () => {
    const lists = { before: before.map(canonical), after: after.map(canonical) };
    const { resets, rest } = callsFor({ mode, ...lists, supports: () => supported });
    assert.deepEqual(
      [...resets, ...rest].map(({ action, value }) => (value === undefined ? action : `${action} ${value}`)),
      expected,
    );
  });
