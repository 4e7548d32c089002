// What counts as a split-tunnel entry, when two are the same, and lists that survive being written and read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Entry, formatList, parseEntry, parseList, valuesOf } from '../../../daemon/cli/routes.ts';

const ENTRIES: [string, string, string][] = [
  ['10.0.0.1', 'ip', '10.0.0.1'],
  ['2001:DB8:0:0::1', 'ip', '2001:db8::1'],
  ['::ffff:192.0.2.1', 'ip', '::ffff:c000:201'],
  ['10.0.0.0/8', 'range', '10.0.0.0/8'],
  ['10.1.2.3/8', 'range', '10.0.0.0/8'],
  ['192.0.2.130/25', 'range', '192.0.2.128/25'],
  ['0.0.0.0/0', 'range', '0.0.0.0/0'],
  ['203.0.113.9/32', 'ip', '203.0.113.9'],
  ['2001:DB8::1/128', 'ip', '2001:db8::1'],
  ['fd00::1/8', 'range', 'fd00::/8'],
  ['2001:db8:ffff:ffff::/33', 'range', '2001:db8:8000::/33'],
  ['::/0', 'range', '::/0'],
  ['1:2:3:4:5:6:7:8/127', 'range', '1:2:3:4:5:6:7:8/127'],
  ['Example.COM', 'host', 'example.com'],
  ['*.example.com', 'host', '*.example.com'],
  ['example.com.', 'host', 'example.com'],
  ['_dmarc.example.com', 'host', '_dmarc.example.com'],
  ['intranet', 'host', 'intranet'],
  ['bücher.example', 'host', 'xn--bcher-kva.example'],
];
for (const [word, kind, value] of ENTRIES) {
  test(`${word} is the ${kind} ${value}`, () => assert.deepEqual(parseEntry(word), { kind, value }));
}

const REFUSED = [
  ['10.0.0', /four numbers/],
  ['256.1.1.1', /four numbers/],
  ['10.0.0.0/33', /prefix length/],
  ['10.0.0.0/08', /prefix length/],
  ['10.0.0.0/', /prefix length/],
  ['10.0.0.0/8/8', /not a range/],
  ['example.com/8', /not a range/],
  ['fd00::/129', /prefix length/],
  ['fe80::1%eth0', /zone/],
  ['12345::', /not an IPv6 address/],
  ['https://example.com', /not a range/],
  ['example.com:443', /without scheme and port/],
  ['-rf', /neither/],
  ['--help', /neither/],
  ['a b', /neither/],
  ['a..b', /neither/],
  ['*.*.example.com', /neither/],
  ['1.2.3.0x10', /neither/],
  [`${'a'.repeat(64)}.com`, /neither/],
  ['', /neither/],
] as const;
for (const [word, why] of REFUSED) {
  test(`"${word}" is refused with a reason`, () => assert.match(String(parseEntry(word)), why));
}

test('a list is read with comments, blank lines, foreign line ends and a byte order mark', () => {
  const lines = parseList('\ufeff# mine\r\n10.0.0.0/8 # home\r\n\r\n  example.com\rfoo bar\n');
  assert.deepEqual(
    lines.map(({ number, text, entry }) => [number, text, typeof entry === 'string' ? 'refused' : entry.value]),
    [
      [2, '10.0.0.0/8', '10.0.0.0/8'],
      [4, 'example.com', 'example.com'],
      [5, 'foo bar', 'refused'],
    ],
  );
});

test('what is exported is imported as the same entries, whatever a description holds', () => {
  const split = {
    mode: 'exclude' as const,
    ips: [
      { value: '10.0.0.0/8', description: 'a # b\nevil.example' },
      { value: 'fd00::/8', description: null },
    ],
    hosts: [{ value: '*.example.com', description: null }],
  };
  const read = parseList(formatList(split));
  assert.deepEqual(
    read.map(({ text }) => text),
    ['10.0.0.0/8', 'fd00::/8', '*.example.com'],
  );
  assert.deepEqual(new Set(read.map(({ entry }) => (entry as Entry).value)), valuesOf(split));
});
