// Lines of the history's files are read as they were written, and no other line is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseChange as parseBytes } from '../../../daemon/history/page.ts';
import {
  addTo,
  type Change,
  coloOr,
  formatChange,
  formatCounters,
  formatSample,
  modeOr,
  nameOr,
  parseCounters,
  parseSample,
  type Sample,
} from '../../../daemon/history/records.ts';

const SAMPLE: Sample = {
  at: 1_763_775_119,
  span: 5,
  count: 1,
  latency: 11_000,
  least: 10_000,
  greatest: 12_000,
  loss: 200,
  received: 1234,
  sent: 567,
};
const CHANGE: Change = {
  at: 1_763_775_119_000,
  kind: 'state',
  state: 'disconnected',
  reason: 'NoNetwork',
  blocked: null,
  network: null,
  mode: 'warp',
  colo: null,
};
const parse = (line: string) => parseSample(Buffer.from(line), 0, Buffer.byteLength(line));

/** Parses a change from a line between other bytes, as in a file. */
function parseChange(line: string) {
  const bytes = Buffer.from(`x\n${line.trimEnd()}\n{"at":7`);
  return parseBytes(bytes, 2, 2 + Buffer.byteLength(line.trimEnd()));
}

test('a change has a time that a Date can hold', () => {
  for (const at of [5, 1_763_775_119_000, 8.64e15])
    assert.deepEqual(parseChange(formatChange({ ...CHANGE, at })), { ...CHANGE, at });
  assert.equal(parseChange(formatChange({ ...CHANGE, at: 9e15 })), null);
});

test('a sample, a change and counters read as they were written', () => {
  for (const sample of [SAMPLE, { ...SAMPLE, latency: null, least: null, greatest: null, loss: null, count: 0 }])
    assert.deepEqual(parse(formatSample(sample).trimEnd()), sample);
  assert.deepEqual(parseChange(formatChange(CHANGE)), CHANGE);
  const start = { ...CHANGE, kind: 'start' as const, lastAt: 5 };
  assert.deepEqual(parseChange(formatChange(start)), start);
  assert.deepEqual(parseCounters(formatCounters({ at: 1, received: 2, sent: 3 }).trimEnd()), {
    at: 1,
    received: 2,
    sent: 3,
  });
});

test('no other line is read as a sample', () => {
  const line = formatSample(SAMPLE).trimEnd();
  for (let cut = 0; cut < line.lastIndexOf(' ') + 1; cut++) assert.equal(parse(line.slice(0, cut)), null);
  const otherLines = [
    `${line} 1`,
    `${line}x`,
    ` ${line}`,
    line.replace(' ', '  '),
    `-${line}`,
    line.replace('5', '5-'),
  ];
  for (const other of otherLines) assert.equal(parse(other), null, other);
  assert.equal(parse(line.replace('1234', '1234567890123456')), null, 'a figure that is not exact');
  assert.equal(parse(line.replace('567', '-')), null, 'bytes are never unknown');
  assert.equal(parse('# minute'), null);
});

test('no other line is read as a change or as counters', () => {
  const line = formatChange(CHANGE).trimEnd();
  for (let cut = 0; cut < line.length; cut++) assert.equal(parseChange(line.slice(0, cut)), null);
  const invalidMembers = [
    { kind: 'x' },
    { state: 'up' },
    { at: -1 },
    { at: 1.5 },
    { at: 9e15 },
    { blocked: 'x' },
    { mode: 1 },
  ];
  for (const member of invalidMembers)
    assert.equal(parseChange(JSON.stringify({ ...CHANGE, ...member })), null, JSON.stringify(member));
  for (const other of ['= 1 2', '= 1 2 3 4', '= 1 2 -', '1 2 3', '= 1 2 3x']) assert.equal(parseCounters(other), null);
});

/** Filters of text that WARP sends, with texts that each stores and texts that it drops. */
const FILTERS = [
  {
    filter: nameOr,
    stored: ['HappyEyeballsFailed', 'CF_NO_NETWORK'],
    dropped: ['Connection to 10.0.0.1', 'host.example', '10.0.0.1', '', 'a'.repeat(65), '_x', 'x-y', 'fe80::1'],
  },
  { filter: modeOr, stored: ['warp+doh', 'tunnel_only'], dropped: ['example.com', 'a'.repeat(33)] },
  { filter: coloOr, stored: ['AMS', 'AMS01'], dropped: ['ams', 'AMSTERDAM', '10.0.0.1'] },
];

test('names are stored, sentences and addresses are not', () => {
  for (const { filter, stored, dropped } of FILTERS) {
    for (const text of stored) assert.equal(filter(text), text, text);
    for (const text of dropped) assert.equal(filter(text), null, text);
  }
  assert.equal(nameOr(null), null);
});

const merge = (a: Sample, b: Sample) => {
  const sum = { ...a };
  addTo(sum, b);
  return sum;
};

test('samples are summed up: bytes add, latency and loss are means of their readings', () => {
  const b: Sample = {
    ...SAMPLE,
    at: 9,
    span: 7,
    count: 3,
    latency: 19_000,
    least: 5_000,
    greatest: 30_000,
    loss: 1_000,
  };
  assert.deepEqual(merge(SAMPLE, { ...b, received: 6, sent: 3 }), {
    at: SAMPLE.at,
    span: 12,
    count: 4,
    latency: 17_000,
    least: 5_000,
    greatest: 30_000,
    loss: 800,
    received: 1240,
    sent: 570,
  });
  const silent: Sample = { ...SAMPLE, count: 0, latency: null, least: null, greatest: null, loss: null };
  for (const merged of [merge(SAMPLE, silent), merge(silent, SAMPLE)])
    assert.deepEqual(
      [merged.latency, merged.least, merged.greatest, merged.loss, merged.count],
      [11_000, 10_000, 12_000, 200, 1],
    );
});
