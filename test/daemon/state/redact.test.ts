// The command log is shown to every client of this user, so a canary secret must never come out of it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { redact, redactArgv, SECRETS, secretsIn } from '../../../daemon/state/redact.ts';

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
    `Authorization: ${CANARY}`,
    `curl -H "Proxy-Authorization: Negotiate ${CANARY}" https://example.org`,
    `--proxy-user ann:${CANARY}`,
    `--user='ann:${CANARY}'`,
    `--client-secret ${CANARY}`,
    `password = ${CANARY}`,
    `client_secret: ${CANARY}`,
    `  client.secret_key: '${CANARY}',`,
    `pass: ${CANARY}`,
    `export GH_TOKEN="${CANARY} x"`,
    `{"clientSecret":"${CANARY}"}`,
    `private_key=${CANARY}`,
    `https://example.org/?a=1&X-Amz-Signature=${CANARY}`,
    `key: "-----BEGIN EC PRIVATE KEY-----\\n${CANARY}\\n-----END EC PRIVATE KEY-----\\n"`,
    `-----BEGIN OPENSSH PRIVATE KEY-----\n${CANARY}`,
    `http:\\/\\/ann:${CANARY}@proxy.example`,
    `http://ann:${CANARY}'b@proxy.example`,
    `http%3A%2F%2Fann:${CANARY}@proxy.example`,
  ]) {
    const once = redact(text);
    assert.doesNotMatch(once, new RegExp(CANARY), text);
    assert.equal(redact(once), once, 'redacting twice changes nothing');
  }
});

test('each pattern alone hides the secret of its example', () => {
  for (const [example, pattern] of SECRETS) {
    assert.doesNotMatch(example.replace(pattern, ''), new RegExp(CANARY), String(pattern));
    assert.doesNotMatch(redact(example), new RegExp(CANARY), example);
    assert.equal(redact(redact(example)), redact(example), example);
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
    'The password = is wrong',
    'pass: 3 of 5 checks',
    'sudo -u ann:staff x --user ann',
    'Authorization failed: https://example.org/@user, https://example.org and ann@example.org',
    '{"url":"http://example.org:80","mail":"ann@example.org","bypass":"on"}',
    'https%3A%2F%2Fexample.org%2F%3Fmail%3Dann%40example.org',
    '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----',
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
