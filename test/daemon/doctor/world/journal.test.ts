// The journal of the service is shown in bug reports: nothing secret of it is, also where a secret has several lines.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machineRedactor } from '../../../../daemon/doctor/diagnose/bundle.ts';
import {
  patternOf,
  readServiceJournal,
  redactLine,
  registrationIn,
  seenIn,
} from '../../../../daemon/doctor/world/journal.ts';
import { redact } from '../../../../daemon/state/redact.ts';
import { KNOWLEDGE, snapshot } from '../../../support/doctor/world.ts';

const CANARY = 'CaNaRy77';
const body = Array.from({ length: 3 }, () => `${CANARY}${'A'.repeat(56)}`);

/** The texts of the lines that a check may show. */
async function read(stdout: string, hide: (text: string) => string = redact): Promise<string[]> {
  const lines = await readServiceJournal({ run: async () => ({ stdout, stderr: '', exitCode: 0 }) }, hide);
  return lines.map(({ text }) => text);
}

/** Output of `journalctl -o json` for these messages. */
const asJson = (messages: readonly (string | number[])[], at = 1_700_000_000_000_000) =>
  messages.map(MESSAGE => JSON.stringify({ MESSAGE, __REALTIME_TIMESTAMP: String(at) })).join('\n');

/** Lines of the journal by the secret in them. */
const SECRETS: Record<string, readonly string[]> = {
  'a key': ['-----BEGIN PRIVATE KEY-----', ...body, '-----END PRIVATE KEY-----'],
  'a key within a line': ['key: -----BEGIN EC PRIVATE KEY-----', ...body, '-----END EC PRIVATE KEY----- was read'],
  'a key that the first line cuts': [...body, '-----END RSA PRIVATE KEY-----'],
  'a key that the last line cuts': ['-----BEGIN PGP PRIVATE KEY BLOCK-----', '', ...body],
  'a document of several lines': ['{', '  "auth_token":', `    "${CANARY}"`, '}'],
  'a line longer than what is shown': [`${'x'.repeat(480)} token: ${CANARY}`],
};

for (const [name, lines] of Object.entries(SECRETS))
  test(`the journal of the service shows nothing of ${name}`, async () => {
    const stdout = [...lines, ''].join('\n');
    for (const printed of [stdout, asJson(lines)]) {
      const shown = await read(printed);
      assert.doesNotMatch(shown.join('\n'), /CaNaR/);
      assert.match(shown.join('\n'), /\[redacted\]/);
    }
  });

test('the journal of the service keeps the lines around a key', async () => {
  const key = ['-----BEGIN PRIVATE KEY-----', ...body, '-----END PRIVATE KEY-----'];
  const stdout = ['WARN before', ...key, 'ERROR after', ''].join('\n');
  assert.deepEqual(await read(stdout), [
    'WARN before',
    '-----BEGIN PRIVATE KEY-----[redacted]-----END PRIVATE KEY-----',
    'ERROR after',
  ]);
});

test('patterns are tried on the start of a long line, and where an entry names its line, on that one only', () => {
  const found = (text: string) => seenIn([{ at: null, text }], KNOWLEDGE.patterns, { now: 0 })?.pattern.id ?? null;
  assert.equal(found(`${'x'.repeat(900)} Failed to run NFT command`), 'firewall-nft-failed');
  assert.equal(found(`${'x'.repeat(2_000)} Failed to run NFT command`), null);
  const explained = (text: string) => patternOf(text, KNOWLEDGE.patterns)?.id ?? null;
  const certificate = 'invalid peer certificate: InvalidCertificate(UnknownIssuer)';
  assert.equal(explained(certificate), null);
  assert.equal(explained(`https://api.cloudflareclient.com: ${certificate}`), 'api-intercepted');
  assert.equal(explained(`${certificate} at api.cloudflareclient.com`), 'api-intercepted');
  assert.equal(explained("thread 'main' panicked at 'failed printing to stdout: Broken pipe (os error 32)'"), null);
});

test('a panic of warp-cli, whose reader ended first, is no crash of the service', () => {
  const found = (...texts: string[]) => {
    const lines = texts.map(text => ({ at: null, text }));
    return seenIn(lines, KNOWLEDGE.patterns, { now: 0 })?.pattern.id ?? null;
  };
  const where = "thread 'main' panicked at library/std/src/io/stdio.rs:1165:9:";
  assert.equal(found(where, 'failed printing to stdout: Broken pipe (os error 32)'), null);
  assert.equal(found("thread 'main' panicked at 'failed printing to stdout: Broken pipe (os error 32)'"), null);
  assert.equal(found("thread 'main' panicked at src/main.rs:7:5:", 'no worker thread'), 'service-panicked');
  const own = 'thread \'main\' panicked at src/ipc.rs:7:5: Os { code: 32, kind: BrokenPipe, message: "Broken pipe" }';
  assert.equal(found(own), 'service-panicked', 'the service lost a pipe of its own');
});

test('addresses, names of this machine and identifiers are replaced, but not the host of the API', async () => {
  const redactor = machineRedactor(snapshot({ account: { organization: 'Grandma GmbH' } }), KNOWLEDGE);
  const [shown] = await read(
    'API error for NewRegistration request id: 9b2803cc-7671-4688-9ee5-638f09e92faa, url: "https://api.cloudflareclient.com./v0/reg", peer 203.0.113.77, org Grandma GmbH',
    redactor.text,
  );
  assert.doesNotMatch(shown!, /9b2803cc|203\.0\.113|Grandma/);
  assert.match(shown!, /https:\/\/api\.cloudflareclient\.com/);
});

test('messages of several lines, of bytes and without text are read, each with its time', async () => {
  const messages = ['WARN one\nCaused by:', [...Buffer.from('\x1b[31mtwo\x1b[0m')], ''];
  const lines = await readServiceJournal(
    { run: async () => ({ stdout: asJson(messages), stderr: '', exitCode: 0 }) },
    text => text,
  );
  assert.deepEqual(
    lines,
    ['WARN one', 'Caused by:', 'two'].map(text => ({ at: 1_700_000_000_000, text })),
  );
});

test('at most 400 lines of 500 characters are kept, the newest ones, also of an output that is far longer', async () => {
  const stdout = Array.from({ length: 3_000 }, (_, i) => `${i} ${'x'.repeat(900)}`).join('\n');
  const lines = await read(stdout, text => text);
  assert.ok(lines.length <= 400 && lines.length > 200, String(lines.length));
  assert.ok(lines.every(line => line.length <= 500));
  assert.match(lines.at(-1)!, /^2999 /);
});

test('journalctl is asked for a format without the names of months', async () => {
  let asked: readonly string[] = [];
  const run = async (_: string, words: readonly string[]) => {
    asked = words;
    return { stdout: '', stderr: '', exitCode: 0 };
  };
  await readServiceJournal({ run }, text => text);
  assert.match(asked.join(' '), /-u warp-svc .*-o json /);
});

const LINK = 'Unable to read local policy file error=Too many levels of symbolic links (os error 40)';
const NFT = 'nft command failed with return code: 256';
const NOW = 1_700_000_000_000;
for (const [title, lines, expected] of [
  ['a recent line counts', [[NFT, 9]], 'firewall-nft-failed'],
  ['an old line of a kind that passes does not', [[NFT, 11]], undefined],
  ["an old line of the service's start does", [[LINK, 600]], 'policy-link'],
  [
    "a line from before the service's last start does not",
    [
      [LINK, 600],
      ['INFO warp::warp_service: Starting WarpService pid=15', 5],
    ],
    undefined,
  ],
  [
    'the newest line wins',
    [
      [LINK, 3],
      [NFT, 2],
    ],
    'firewall-nft-failed',
  ],
  [
    'the end by the system counts since the computer started',
    [
      ['A process of this unit has been killed by the OOM killer.', 6_000],
      ['Starting WarpService', 5_999],
    ],
    'service-killed-for-memory',
  ],
  ['a normal stop of the service says nothing', [['Dropping WarpService', 1]], undefined],
] as const)
  test(`${title}`, () => {
    const journal = lines.map(([text, minutes]) => ({ text, at: NOW - minutes * 60_000 }));
    assert.equal(seenIn(journal, KNOWLEDGE.patterns, { now: NOW })?.pattern.id, expected);
  });

test('words that a redaction replaces are found, and the found line is redacted', async () => {
  const text =
    '2026-09-07T10:11:38.236Z ERROR api: API error for x, url: "https://api.cloudflareclient.com./v0/reg", source: TimedOut';
  // a machine with the name of a word that the table searches for
  const hide = (line: string) => line.replaceAll(/\bAPI\b/gi, '<host-1>');
  const found = registrationIn([{ at: null, text }], KNOWLEDGE.patterns, { now: NOW })!;
  assert.deepEqual([found.code, found.host], ['api-unreachable', 'api.cloudflareclient.com']);
  assert.doesNotMatch((await redactLine({ at: null, text: found.line }, hide)).text, /\bapi\b/i);
  const other = text.replace('cloudflareclient.com', 'corp.example');
  assert.equal(registrationIn([{ at: null, text: other }], KNOWLEDGE.patterns, { now: NOW })?.host, null);
});

test('a newest line of a megabyte does not hide the others', async () => {
  const lines = await read(['WARN before', 'x'.repeat(1024 * 1024)].join('\n'));
  assert.deepEqual([lines.length, lines[0], lines[1]?.length], [2, 'WARN before', 500]);
});

const TIME = '2026-09-07T10:11:38.236Z';
for (const [title, lines, expected] of [
  [
    'no link is seen in a line on another file',
    [`${TIME}  WARN x: Unable to read local policy file`, `${TIME}  WARN y: a symbolic link is in the way`],
    'policy-not-read',
  ],
  [
    'a missing policy file is no error, also where a cause says so',
    [`${TIME}  WARN x: Unable to read local policy file`, 'Caused by:', '    No such file or directory (os error 2)'],
    undefined,
  ],
  [
    'nft is not missing because of a line on another file',
    [`${TIME}  WARN x: Could not update firewall rules`, `${TIME} DEBUG y: cache: No such file or directory`],
    'firewall-refused',
  ],
  ['rules that were applied are no error', [`${TIME} DEBUG firewall: apply firewall rules took 3ms`], undefined],
  ['an intention to connect is no error', [`${TIME} DEBUG x: no API error so far, will connect later`], undefined],
  [
    'a refused connection is one',
    [`${TIME} ERROR x: API error for y: hyper_util::client::legacy::Error(Connect, ConnectError("dns error"))`],
    'api-unreachable',
  ],
] as const)
  test(title, () => {
    const journal = lines.map(text => ({ text, at: NOW }));
    assert.equal(seenIn(journal, KNOWLEDGE.patterns, { now: NOW })?.pattern.id, expected);
  });
