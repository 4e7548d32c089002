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
    // within a line, and as other programs print it
    `Registration { token: "${CANARY}", id: 5 }`,
    `Registration { id: 5, token: Some("${CANARY}") }`,
    `Registration { id: 5, token: Some(${CANARY}) }`,
    `2026-11-29T10:00:00Z INFO auth_token: ${CANARY} id: 5`,
    `> CF-Access-Client-Secret: ${CANARY}`,
    `> X-Auth-Key: ${CANARY}`,
    `Authorization: Digest username="ann", realm="x", response="${CANARY}"`,
    `Authorization: AWS4-HMAC-SHA256 Credential=x/s3, SignedHeaders=host, Signature=${CANARY}`,
    `{"Authorization":"Digest username=\\"ann\\", response=\\"${CANARY}\\"","id":5}`,
    `AWS4-HMAC-SHA256 Credential=x, Signature=${CANARY}`,
    `{"headers":{"authorization": "Bearer ${CANARY}"}}`,
    `warp --password "my ${CANARY}"`,
    `warp --password 'my ${CANARY}'`,
    `warp --password="my ${CANARY}"`,
    `--private-key ${CANARY}`,
    `--pass hunter${CANARY} https://example.org`,
    `curl -u ann:${CANARY} https://example.org`,
    `curl -sS -u "ann:${CANARY}" https://example.org`,
    `user = "ann:${CANARY}"`,
    `proxy-user: ann:${CANARY}`,
    `{"secretKey":"${CANARY}"}`,
    `{"secret_key": "${CANARY}", "passphrase" : "${CANARY}"}`,
    `{"password":"a\\"${CANARY}"}`,
    `{"stdout":"{\\"token\\":\\"${CANARY}\\"}"}`,
    `{"stdout":"{\\"token\\":\\"a\\\\\\"${CANARY}\\"}"}`,
    `{'token': '${CANARY}'}`,
    `<password>${CANARY}</password>`,
    `<ns:clientSecret>${CANARY}</ns:clientSecret>`,
    `next=token%3D${CANARY}%26x`,
    `next=%22token%22%3A%22${CANARY}%22`,
    `//registry.npmjs.org/:_authToken=${CANARY}`,
    `//registry.npmjs.org/:_auth=${CANARY}`,
    `_auth = ${CANARY}`,
    `//ann:${CANARY}@proxy.example`,
    `http%3a//ann:${CANARY}@proxy.example`,
    `DBPASS=${CANARY}`,
    `dbPass=${CANARY}`,
    `DB_PWD=${CANARY}`,
    `password=Ca'${CANARY}`,
    `password => ${CANARY}`,
    `AccountKey=${CANARY};x`,
    ...['ghp_', 'github_pat_11A_', 'xoxb-1-', 'AKIA', 'glpat-', 'npm_'].map(start => `x ${start}${CANARY}${CANARY}`),
    // as Rust prints values, on one line and on several
    ...[
      'Some("X")',
      'Some(\n    "X",\n)',
      'Some(ApiToken("X"))',
      'RegistrationToken { inner: "X" }',
      'Token{"X"}',
      'Some(Secret { value: "X" })',
      'Some(\n    Secret {\n        value: "X",\n    },\n)',
      'String("X")',
      'b"X"',
      'r"X"',
      '&"X"',
      'Cow::Borrowed("X")',
      'secrecy::Secret("X")',
    ].flatMap(form =>
      ['auth_token: ', '"token": ', 'client_secret=', 'license_key: '].map(name => name + form.replace('X', CANARY)),
    ),
    `auth_token: Some(Token(${CANARY}))`,
    `license: Some("${CANARY}ab")`,
    `<key>license</key><string>${CANARY}ab</string>`,
    `<key>license_key</key>\n<string>${CANARY}ab</string>`,
    `warp-cli -j override unlock ${CANARY}`,
    `registration with token "${CANARY}"`,
    `sk_live_${CANARY}${CANARY}`,
    `hf_${CANARY}${CANARY}`,
    `pypi-AgE${CANARY}${CANARY}`,
    `Ocp-Apim-Subscription-Key: ${CANARY}`,
    `curl -b 'session=${CANARY}' https://example.org`,
    `-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n${CANARY}\n-----END PGP PRIVATE KEY BLOCK-----`,
    `ok.\n${CANARY}${CANARY}\n${CANARY}\n-----END PRIVATE KEY-----`,
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

test('a document stays one when its secrets are blanked, and no other property is lost', () => {
  const texts = [
    'token=x"y',
    'password: "a1b2"',
    "its password: 'a1b2'",
    'Invalid token:',
    'Invalid token: ',
    'the value of --token ',
    'Cookie: session=abc=',
    'Cookie: a="b"; c="d"',
    'Authorization: Digest username="ann", response="x"',
    'Authorization: ',
    '-u ann:a1b2',
    'http://ann:a1b2@h',
  ];
  for (const text of texts) {
    const document = { token: 'a"b\\', a: text, password: text, b: [text], empty: '', secret: '', last: 'x' };
    for (const shown of [
      JSON.parse(redact(JSON.stringify(document))),
      JSON.parse(JSON.parse(redact(JSON.stringify({ out: JSON.stringify(document) }))).out),
    ]) {
      assert.deepEqual(Object.keys(shown), Object.keys(document), text);
      assert.deepEqual([shown.secret, shown.last], ['', 'x'], text);
    }
  }
});

test('the last four characters of a license stay visible', () => {
  assert.equal(redact(`License: ${LICENSE}\n`), 'License: ****1234\n');
});

test('a secret as a list of numbers is blanked out, and its document stays one', () => {
  for (const [text, shown] of [
    ['token: [83, 51, 99, 114], id: 5', 'token: [redacted], id: 5'],
    ['secret_key: Some(Key([\n    83,\n    51,\n    99,\n    114,\n]))', 'secret_key: Some(Key([redacted]))'],
    ['{"token": [83, 51, 99, 114], "id": 5}', '{"token": "[redacted]", "id": 5}'],
  ] as const) {
    assert.equal(redact(text), shown);
    assert.equal(redact(shown), shown);
  }
});

test('text without a secret stays as it is', () => {
  for (const text of [
    'Status update: Connected\nNetwork: healthy\n',
    'Device ID: 00000000-0000-0000-0000-000000000000',
    'Public key: 3059301306',
    'Token: valid until 2026-11-30',
    'Registration token: EOF while parsing a value',
    'failed to fetch token: timeout',
    'token: ConnectError(TimedOut), id: 5',
    'Registration { token: None, id: 5 }',
    'Password: required',
    'the password is required, and the token (see --token) must be valid',
    'the following option --token is required: --token <TOKEN>, or --password <PASSWORD>',
    'journalctl --user unit:main.service',
    'docker run --user 1000:1000 x',
    'cookie: enabled',
    '20261129-20261129-20261129',
    'https://example.org/?code=404',
    'PWD=/home/ann OLDPWD=/home/ann/src',
    'BYPASS=true COMPASS=north',
    'max_token=5',
    '{"max_token": 4096, "token": null, "secret": true}',
    'token=true, password: null',
    'License: MIT',
    'License: Apache-2.0',
    '"license": "GPL-3.0-or-later"',
    'https://h?x=a@b',
    'https://example.org:80?x=a@b',
    'basic settings and bearer authentication',
    'Digest mismatch: sha256',
    'npm_config_registry and npm_package_name',
    'sk-learn and a pk-column',
    'docker run -u 1000:1000 x',
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
