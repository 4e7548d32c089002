// The split tunnel as a document: what each line means, and that what is written is read back.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SplitTunnel } from '../../../daemon/api/schema.ts';
import {
  addedTo,
  canonical,
  formatDocument,
  parseDocument,
  removedFrom,
  simplify,
} from '../../../daemon/routes/document.ts';
import { wordMessage } from '../../../daemon/view/message.ts';
import { english } from '../../../daemon/view/translator.ts';

const values = (text: string) => parseDocument(text).lines.flatMap(line => line.entries.map(entry => entry.value));
const reasons = (text: string) => parseDocument(text).lines.map(({ reason }) => reason && wordMessage(reason, english));

test('reads a mode, entries of every kind, and comments', () => {
  const document = parseDocument(
    '\ufeff# office\r\nmode include\n\n10.1.2.3/8   # corp\nfd00::/8\nWWW.Example.COM.\n*.bücher.example\n192.0.2.7/32\n',
  );
  assert.equal(document.mode, 'include');
  assert.deepEqual(
    document.lines.map(({ number, entries, comment }) => [number, entries[0]?.kind, entries[0]?.value, comment]),
    [
      [4, 'range', '10.0.0.0/8', 'corp'],
      [5, 'range', 'fd00::/8', null],
      [6, 'host', 'www.example.com', null],
      [7, 'host', '*.xn--bcher-kva.example', null],
      [8, 'ip', '192.0.2.7', null],
    ],
  );
});

test('expands ranges and differences to the fewest prefixes', () => {
  assert.deepEqual(values('10.0.0.1-10.0.0.9'), ['10.0.0.1', '10.0.0.2/31', '10.0.0.4/30', '10.0.0.8/31']);
  assert.deepEqual(values('10.0.0.0/30 - 10.0.0.1 - 10.0.0.2'), ['10.0.0.0', '10.0.0.3']);
  assert.equal(values('10.0.0.0/8 - 10.1.2.0/24').length, 16);
});

test('gives each prefix of a range its kind and its addresses', () => {
  const [line] = parseDocument('10.0.0.1-10.0.0.3#no space').lines;
  assert.equal(line!.comment, 'no space');
  assert.deepEqual(
    line!.entries.map(({ kind, value, range }) => [kind, value, range === null]),
    [
      ['ip', '10.0.0.1', false],
      ['range', '10.0.0.2/31', false],
    ],
  );
});

test('takes host names of up to 253 characters, whose last label is not a number', () => {
  const long = (length: number) => `${'a'.repeat(length - 192)}.${`${'b'.repeat(63)}.`.repeat(3)}`.slice(0, -1);
  const unicode = `${'ü'.repeat(50)}.`.repeat(4);
  assert.deepEqual(values(`${long(253)}\n1.example`), [long(253), '1.example']);
  for (const name of [long(254), `${unicode}${'a'.repeat(40)}`, 'example.1'])
    assert.match(reasons(name)[0]!, /nor a host name/);
});

test('numbers the lines that are refused', () => {
  const { lines } = parseDocument('\nmode both\nmode include\n\nmode exclude\nexample.com:443');
  assert.deepEqual(
    lines.map(({ number }) => number),
    [2, 5, 6],
  );
});

test('quotes at most 60 characters', () => {
  const quoted = (length: number) => /^"(.*)" is neither/.exec(reasons('_'.repeat(length - 1).concat('!'))[0]!)?.[1];
  assert.equal(quoted(60), `${'_'.repeat(59)}!`);
  assert.equal(quoted(61), `${'_'.repeat(59)}…`);
});

describe('a line that cannot be read', () => {
  for (const [text, reason] of [
    ['mode both', /"both" is not exclude or include/],
    ['mode include\nmode exclude', /second mode/],
    ['10.0.0.256', /"10\.0\.0\.256" is not an IPv4 address/],
    ['10.0.0.0/8 - 0.0.0.0/0', /leaves no address/],
    ['::/0 - ::1 - 8000::1 - 4000::1 - 2000::1', /needs more than 256 ranges/],
    ['https://example.com', /not a host name: give it without scheme/],
    ['example.com:443', /not a host name: give it without scheme/],
    ['example.com/8', /not a host name/],
    ['12345::', /not an IPv6 address/],
    ['fe80::1%eth0', /zone/],
    ['1.2.3.0x10', /nor a host name/],
    ['a b', /nor a host name/],
    ['a..b', /nor a host name/],
    ['example.com\u202e', /control or invisible characters/],
    ['a\u0000b', /control or invisible characters/],
    ['-x', /host name/],
    ['*.*.example.com', /host name/],
    [`${'a'.repeat(64)}.example`, /host name/],
    [`${'a.'.repeat(150)}example`, /host name/],
    ['1.2.3', /not an IPv4 address/],
    ['::ffff:1.2.3.4', /^"::ffff:1\.2\.3\.4" is .* Write 1\.2\.3\.4$/],
    ['::ffff:102:304/120', /Write 1\.2\.3\.4$/],
    ['::1 - ::ffff:1.2.3.4', /^"::ffff:1\.2\.3\.4" is .* Write 1\.2\.3\.4$/],
    ['10.0.0.0/33', /^"10\.0\.0\.0\/33" has a prefix length outside 0 to 32$/],
  ] as const)
    test(`is kept with its reason: ${JSON.stringify(text.slice(0, 40))}`, () => {
      const found = reasons(text).filter(Boolean);
      assert.equal(found.length, 1);
      assert.match(found[0]!, reason);
      assert.doesNotMatch(found[0]!, /[\p{Cc}\p{Cf}]/u, 'safe to print');
    });
});

test('reads back what it writes, whatever the descriptions contain', () => {
  const split: SplitTunnel = {
    mode: 'exclude',
    ips: [
      { value: '10.0.0.0/8', description: 'corp\nmode include\u001b[31m' },
      { value: 'fe80::/10', description: null },
    ],
    hosts: [{ value: '*.example.com', description: null }],
  };
  const text = formatDocument(split, value => (value === 'fe80::/10' ? 'default' : null));
  assert.equal(text, 'mode exclude\n10.0.0.0/8  # corp mode include [31m\nfe80::/10  # default\n*.example.com\n');
  assert.deepEqual(values(text), ['10.0.0.0/8', 'fe80::/10', '*.example.com']);
});

test('adds what a document does not contain, on separate lines', () => {
  const added = [
    { value: '10.0.0.0/8', comment: 'office' },
    { value: 'a.example', comment: 'own\nline' },
    { value: 'b.example', comment: null },
  ];
  const lines = 'a.example  # own line\nb.example\n';
  assert.equal(addedTo('', added), `10.0.0.0/8  # office\n${lines}`);
  for (const end of ['', '\n']) assert.equal(addedTo(`10.1.2.3/8${end}`, added), `10.1.2.3/8\n${lines}`);
});

test('removes entries, and keeps what else their lines mean', () => {
  const text = '# head\na.example # own\n10.0.0.1-10.0.0.3 # three\n10.0.0.4-10.0.0.6\nb.example';
  assert.equal(
    removedFrom(text, new Set(['a.example', '10.0.0.1', '10.0.0.6'])),
    '# head\n10.0.0.2/31  # three\n10.0.0.4/31\nb.example',
  );
  assert.equal(removedFrom(text, new Set(['c.example'])), text);
});

test('simplifies a list without changing what it means', () => {
  const entries = ['10.0.0.0/9', '10.128.0.0/9', '10.1.1.1', 'a.example', 'a.example', 'fd00::/8'].map(canonical);
  assert.deepEqual(
    simplify(entries).map(({ value }) => value),
    ['10.0.0.0/8', 'fd00::/8', 'a.example'],
  );
});

test('gives an entry one value, however the tunnel CLI prints it', () => {
  const named = (value: string) => [canonical(value).kind, canonical(value).value];
  assert.deepEqual(named('255.255.255.255/32'), ['ip', '255.255.255.255']);
  assert.deepEqual(named('FE80::/10'), ['range', 'fe80::/10']);
  assert.deepEqual(named('no such thing'), ['host', 'no such thing']);
});

test('reads a megabyte of junk, line by line, without failing', () => {
  const junk = `${'x'.repeat(1023)}\n`.repeat(1024);
  assert.equal(
    reasons(junk).every(reason => reason !== null && reason.length < 200),
    true,
  );
});
