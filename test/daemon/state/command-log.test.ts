// The command log is shown to every client of this user, so a canary secret must never come out of it.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { LogEntry } from '../../../daemon/api/schema.ts';
import { createLog, redact, redactArgv, secretsIn } from '../../../daemon/state/command-log.ts';

const entry = (stdout = ''): Omit<LogEntry, 'id'> => ({
  at: '2026-01-01T00:00:00.000Z',
  source: 'read',
  argv: ['warp-cli', 'status'],
  ok: true,
  exitCode: 0,
  durationMs: 1,
  stdout,
  stderr: '',
});

test('entries get rising ids, come oldest first, and the ring forgets the oldest', () => {
  const told: number[] = [];
  const log = createLog({ capacity: 3, onEntry: ({ id }) => told.push(id) });
  assert.equal(log.lastId, 0);
  for (let count = 0; count < 5; count++) log.append(entry(String(count)));
  assert.deepEqual(told, [1, 2, 3, 4, 5]);
  assert.deepEqual(
    log.since(0, 10).map(({ id, stdout }) => [id, stdout]),
    [
      [3, '2'],
      [4, '3'],
      [5, '4'],
    ],
  );
  assert.deepEqual(
    log.since(4, 10).map(({ id }) => id),
    [5],
  );
  assert.deepEqual(
    log.since(0, 1).map(({ id }) => id),
    [3],
  );
  assert.deepEqual(log.since(5, 10), []);
  assert.equal(log.lastId, 5);
  assert.equal(log.capacity, 3);
});

test('a long output is cut in the log', () => {
  const stored = createLog({ capacity: 1 }).append(entry('x'.repeat(1_000_000)));
  assert.ok(stored.stdout.length < 20_000);
  assert.match(stored.stdout, /\[cut in the log\]$/);
});

const CANARY = 'CaNaRy77';
const LICENSE = `${CANARY}-${CANARY}-aaaa1234`;

test('secrets are blanked out of text in every form they are known in', () => {
  for (const text of [
    `License: ${LICENSE}`,
    `Your key ${LICENSE} was applied`,
    `{"license":"${LICENSE}"}`,
    `{\n  "license": "${CANARY}${CANARY}"\n}`,
    `com.cloudflare.warp://acme.cloudflareaccess.com/auth?token=${CANARY}&x=1`,
    `Authorization: Bearer ${CANARY}${CANARY}`,
    `eyJhbGciOiJ.${CANARY}.${CANARY}`,
    `{"auth_token": "${CANARY}", "private_key":"${CANARY}"}`,
    `Private key: ${CANARY}`,
    `API token: ${CANARY}`,
  ]) {
    const once = redact(text);
    assert.doesNotMatch(once, new RegExp(CANARY), text);
    assert.equal(redact(once), once, 'redacting twice changes nothing');
  }
});

test('the last four characters of a license stay visible', () => {
  assert.equal(redact(`License: ${LICENSE}\n`), 'License: ****1234\n');
});

test('text without a secret stays as it is', () => {
  for (const text of [
    'Status update: Connected\nNetwork: healthy\n',
    'Device ID: 00000000-0000-0000-0000-000000000000',
    'Public key: 3059301306',
    '{"status":"Unable","reason":{"RegistrationMissing":"DaemonStartup"}}',
    'Error: Invalid JWT provided.',
  ]) {
    assert.equal(redact(text), text);
  }
});

test('arguments that are secret by their position are masked, wherever the global options are', () => {
  const cases: [argv: string[], shown: string[]][] = [
    [
      ['--accept-tos', 'registration', 'license', LICENSE],
      ['--accept-tos', 'registration', 'license', '****1234'],
    ],
    [
      ['set-license', LICENSE],
      ['set-license', '****1234'],
    ],
    [
      ['registration', 'token', CANARY],
      ['registration', 'token', '[redacted]'],
    ],
    [
      ['teams-enroll-token', CANARY],
      ['teams-enroll-token', '[redacted]'],
    ],
    [
      ['-j', 'override', 'unlock', '1234567'],
      ['-j', 'override', 'unlock', '[redacted]'],
    ],
    [
      ['override', '1234567'],
      ['override', '[redacted]'],
    ],
    [
      ['override', 'local-network', 'allow'],
      ['override', 'local-network', 'allow'],
    ],
    [
      ['registration', 'new', 'acme'],
      ['registration', 'new', 'acme'],
    ],
    [
      ['tunnel', 'ip', 'add', '192.0.2.1'],
      ['tunnel', 'ip', 'add', '192.0.2.1'],
    ],
    [[], []],
  ];
  for (const [argv, shown] of cases) assert.deepEqual(redactArgv(argv), shown);
});

test('a secret of the command line is blanked out of the answer that repeats it', () => {
  const secrets = secretsIn(['override', 'unlock', '7654321']);
  assert.equal(
    redact("error: invalid value '7654321' for '<CODE>'", secrets),
    "error: invalid value '[redacted]' for '<CODE>'",
  );
});
