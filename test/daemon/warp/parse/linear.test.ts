// Every parser of the tunnel CLI's output takes linear time: no output, however made, can hold the event loop.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redact, SECRETS } from '../../../../daemon/state/redact.ts';
import { parseVersion } from '../../../../daemon/warp/cli/version.ts';
import { createSplitter } from '../../../../daemon/warp/listen/listener.ts';
import { failureOf, jsonOf, linesOf } from '../../../../daemon/warp/parse/output.ts';
import { parseDevices, parseRegistration, parseStats } from '../../../../daemon/warp/parse/reads.ts';
import { parseRoutes, parseSettings } from '../../../../daemon/warp/parse/settings.ts';
import { parseStatus, parseStatusText } from '../../../../daemon/warp/parse/status.ts';
import { FULL } from '../../../support/thoroughness.ts';

/** Enough to tell linear from quadratic time; a run of the tunnel CLI keeps a mebibyte (see run.ts). */
const LENGTH = (FULL ? 256 : 64) * 1024;
/** On an idle machine a parser takes up to 40 ms for the worst 256 KiB. */
const LIMIT_MS = 1000;

const HOSTILE = [
  '\r',
  '\n',
  '\r\n',
  ' ',
  '\t',
  ';',
  '-',
  '\\',
  '"',
  '\x1b[',
  '\x1b]',
  '\x9b',
  '\u2028',
  'a',
  'a ',
  'a.',
  'a-',
  '://',
  '://a@',
  '://git@',
  'x\n',
  'A:\n',
  'A:\n B\n',
  'Mode:\n',
  'Reason:\n',
  ' a: b\n',
  'id: x\n',
  'Sent: 1; ',
  '(x)\t',
  '1.',
  '1. ',
  'Status update: Connected\n',
  'Status update:',
  'Error: ',
  'error(',
  'Success',
  'Accept Terms of Service ',
  'eyJaaaaaaaa.',
  '?token=',
  'license: ',
  'bearer aaaaaaaaa ',
  '"token":"',
  'aaaaaaaa-',
  'x token: ',
  '{',
  '[',
  '}',
  '}\n',
  '{}\n',
  '[]',
  ',{}',
  '{"error":',
  '{"a":',
  'eyJ-',
  ': ',
  '. ',
  '"_',
  'license ',
  'basic  ',
  '? ',
  '(',
  '1m ',
  '9',
  ' on port ',
].map(text => text.repeat(Math.ceil(LENGTH / text.length)).slice(0, LENGTH));
const PREFIXED = [
  `{"a":[\n${',{}\n'.repeat(LENGTH / 4)}`,
  `{"a":[${'{},'.repeat(LENGTH / 6)}\n${'}\n'.repeat(LENGTH / 4)}`,
  `Status update: ${' '.repeat(LENGTH)}\u2028x`,
  `a: x${' '.repeat(LENGTH)}y`,
  `Excluded routes:\n  a${' '.repeat(LENGTH)}(b`,
  `Excluded routes:\n${'10.0.0.0/8 (a)\n'.repeat(LENGTH / 15)}`,
  `Always On: true\nExclude mode, with hosts/ips:\n${'  10.0.0.0/8 (a)\n'.repeat(LENGTH / 17)}`,
];

const both = (text: string) => ({ stdout: text, stderr: text, exitCode: 1 });
const split = (text: string, size: number) => {
  const splitter = createSplitter();
  for (let at = 0; at < text.length; at += size) splitter.push(text.slice(at, at + size));
  return splitter.end();
};
const PARSERS: Record<string, (text: string) => unknown> = {
  jsonOf,
  linesOf,
  failureOf: text => failureOf(both(text)),
  parseStatus: text => parseStatus(both(text)),
  parseStatusText,
  parseSettings,
  parseStats,
  parseRoutes,
  parseRegistration,
  parseDevices,
  parseVersion,
  redact,
  'messages in large chunks': text => split(text, 65_536),
  'messages in small chunks': text => split(text, 512),
};

/** Fails when `work` takes longer than the limit. */
function assertQuick(text: string, work: () => void, limitMs = LIMIT_MS): void {
  const before = process.cpuUsage();
  work();
  const ms = process.cpuUsage(before).user / 1000;
  assert.ok(ms < limitMs, `${JSON.stringify(text.slice(0, 40))}: ${ms.toFixed()} ms`);
}

for (const [name, parse] of Object.entries(PARSERS))
  test(`${name}: hostile text is parsed within a second`, () => {
    for (const text of [...HOSTILE, ...PREFIXED]) assertQuick(text, () => parse(text));
  });

/** Each start of a secret, repeated, with what may follow it. */
const STARTS = SECRETS.flatMap(([example]) => {
  const [start = ''] = example.split('CaNaRy77');
  const tails = ['a', '"', "'", '\\', ' ', '\n', ',', '%', ':', '=', '@', '-', 'a b ', '9'];
  const units = [start, start.trim(), `${start}a`, `${start}a `, `${start}"`, `"${start}\\"`, `${start}a\n`].filter(
    Boolean,
  );
  return [
    ...units.map(unit => unit.repeat(Math.ceil(LENGTH / unit.length))),
    ...tails.map(tail => start + tail.repeat(LENGTH / tail.length)),
  ];
});
test('redact: many starts of a secret take less than a second', () => {
  for (const text of STARTS) assertQuick(text, () => redact(text));
});

/** All that a run of the tunnel CLI keeps. */
const MIB = 1 << 20;
/** Limit for two parsers, which take up to 60 ms together and block the event loop. */
const HELD_MS = 400;

for (const unit of ['\r', '\n', '\x1b[', '\x1b[0m', '\x9b', '{\n'])
  test(`a megabyte of ${JSON.stringify(unit)} holds nothing up`, () => {
    const text = unit.repeat(MIB / unit.length);
    const parse = () => {
      parseStatus(both(text));
      failureOf(both(text));
    };
    assertQuick(text, parse, HELD_MS);
  });
