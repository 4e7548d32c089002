// Classification rules proposed from the output of a failure, without its secrets.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { Rule } from '../../../wrapper/catalog/provider.ts';
import { proposeRule } from '../../../wrapper/manage/propose-rule.ts';
import { classify } from '../../../wrapper/run/rules/classify.ts';
import { sandbox } from '../../support/wrapper/sandbox.ts';

/** Messages of providers, each with its class. */
const MESSAGES: [string, string][] = [
  ['auth', 'Error: Incorrect API key provided: sk-proj-abc. Check your quota at https://platform.openai.com/account.'],
  ['auth', 'Error code: 401 - {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}'],
  ['auth', 'Invalid API key. See your usage limit and billing in the dashboard'],
  ['auth', 'Error: Unauthorized: Invalid token. Your quota could not be read'],
  ['auth', 'API key is invalid, so no quota could be found'],
  ['auth', 'authentication_error: invalid x-api-key; rate limits apply'],
  ['auth', 'Your access token has expired. Rate limits and credits are shown after login'],
  ['auth', "You didn't provide an API key. Limits apply to each key."],
  ['auth', 'Failed to authenticate: credits can be bought once you are logged in'],
  ['auth', '403 Forbidden'],
  ['auth', 'Error: API key not found (quota project: none)'],
  ['auth', 'ExpiredToken: The security token included in the request is expired'],
  ['auth', 'The API key has been revoked; billing is not affected'],
  ['auth', 'Error: not logged in. Run `x login` to see your credits'],
  ['auth', 'Error: key sk-CANARY-abcdefghijkl99 was rejected'],
  ['auth', 'Error: key 9f8e7d6c-5b4a-4321-8765-0123456789ab, was rejected; see your quota'],
  ['auth', 'Login expired, please sign in again'],
  ['auth', 'Error: the signature does not match'],
  ['quota', 'Monthly usage cap reached'],
  ['rate', 'You are sending requests too quickly'],
  ['quota', 'You exceeded your current quota, please check your plan and billing details.'],
  ['quota', 'Error code: 429 - You exceeded your current quota, please check your plan and billing details.'],
  ['quota', 'HTTP 401: quota_exceeded: This request exceeds your quota of 10000. You have 0 credits remaining'],
  ['quota', 'Error: Insufficient credits to perform this request. Check your API key'],
  ['quota', "This request exceeds your plan's set usage limit. Please upgrade your plan"],
  ['quota', 'Your credit balance is too low to access the API; your API key is fine, quota 0'],
  ['quota', 'HTTP 402 Payment Required'],
  ['quota', '403 Forbidden: monthly quota exceeded'],
  ['quota', 'Error: out of credits for this token'],
  ['quota', 'API key has reached its spending limit'],
  ['quota', 'insufficient_quota'],
  ['quota', 'UsageLimitExceeded'],
  ['rate', 'Rate limit exceeded. Upgrade your plan at https://x for more credits'],
  ['rate', 'Error: HTTP 429 at https://api.example/v1'],
  [
    'rate',
    "API rate limit exceeded for 1.2.3.4. (But here's the good news: Authenticated requests get a higher rate limit.)",
  ],
  ['rate', "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user'"],
  ['rate', 'HTTP 403: You have exceeded a secondary rate limit. Check your token'],
  ['rate', 'ThrottlingException: Too many requests'],
  ['rate', 'Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000. Add a payment method'],
  ['rate', 'rate_limit_error: This request would exceed your rate limit of 50 requests per minute'],
  ['rate', 'Too many failed login attempts with this API key'],
];

for (const [expected, message] of MESSAGES) {
  test(`the failure "${message}" is one of the class ${expected}`, () => {
    assert.equal(proposeRule({ exit: 1, stdout: '', stderr: `note: hello\n${message}\n` })?.class, expected);
    assert.equal(proposeRule({ exit: 1, stdout: JSON.stringify({ message }), stderr: '' })?.class, expected);
  });
}

test('the line that says most about the failure is the one to recognize', () => {
  const stderr = 'warning: no quota information\nError: Invalid API key\nsee the quota page\n';
  assert.match(String(proposeRule({ exit: 1, stdout: '', stderr })?.stderr), /^\^Error: Invalid API key/);
});

const SECRETS = [
  'sk-CANARYabcdefghijkl99',
  'fc-0a1b2c3d4e5f',
  'onlylettersoflowercase',
  '9f8e7d6c-5b4a-4321-8765-0123456789ab',
  'user:pa55w0rd/with+chars==',
  'xK9 with blanks 42',
  'Zq7Zq7',
];
/** Forms in which a message may repeat a credential. */
const FORMS: Record<string, (secret: string) => string> = {
  whole: secret => secret,
  quoted: secret => `"${secret}".`,
  uppercase: secret => secret.toUpperCase(),
  'in a sentence of its own': secret => `(key=${secret},v=1)`,
  'encoded for an address': secret => `/?k=${encodeURIComponent(secret)}`,
  'in Base64': secret => Buffer.from(secret).toString('base64'),
  'in Base64 behind a name': secret => Buffer.from(`user:${secret}`).toString('base64'),
  'in Base64 before a colon': secret => Buffer.from(`${secret}:`).toString('base64'),
  'masked in the middle': secret => `${secret.slice(0, 6)}...${secret.slice(-4)}`,
  'masked with stars': secret => `${secret.slice(0, 4)}************${secret.slice(-4)}`,
  'by its end': secret => `ending in ${secret.slice(-4)}`,
  'by its start': secret => `starting with ${secret.slice(0, 5)}`,
  'behind a long text': secret => `${'word '.repeat(17)}${secret}`,
};

for (const secret of SECRETS) {
  test(`no part of ${secret} gets into a rule, however a message repeats it`, () => {
    for (const [form, write] of Object.entries(FORMS)) {
      const message = `Error: Incorrect API key provided: ${write(secret)} was refused`;
      for (const failure of [
        { exit: 1, stdout: '', stderr: `${message}\n` },
        { exit: 1, stdout: JSON.stringify({ error: { message } }), stderr: '' },
      ]) {
        const rule = proposeRule(failure, [secret]);
        const fixed = message.replace(write(secret), '');
        const text = JSON.stringify(rule);
        for (let at = 0; at + 4 <= secret.length; at++) {
          const part = secret.slice(at, at + 4);
          if (fixed.toLowerCase().includes(part.toLowerCase())) continue;
          assert.ok(!text.toLowerCase().includes(part.toLowerCase()), `${form}: ${text} contains ${part}`);
        }
        const kind = classify({ signal: null, command: '', ...failure }, [Rule.parse(rule)]).kind;
        assert.equal(kind, 'retry', `${form}: ${text}`);
      }
    }
  });
}

test('a credential is left out behind letters whose lower case is longer', () => {
  for (const letters of ['İ', 'İİİİİİİİİİİİ']) {
    const stderr = `Error: the token ${letters} FC-(0a1b2c3d4e5f) is not valid\n`;
    const rule = proposeRule({ exit: 1, stdout: '', stderr }, ['fc-(0a1b2c3d4e5f)']);
    assert.equal(rule?.stderr, `^Error: the token ${letters} \\S+ is not valid`);
  }
});

test('words that look like a credential are left out even if they are not a known one', () => {
  for (const key of [
    'ghp_abcdefghijklmnop',
    'AKIAABCDEFGHIJKLMNOP',
    'eyJhbGciOi.eyJzdWIi.c2ln',
    'a1b2c3d4e5f6a7b8',
    'abcd****wxyz',
  ]) {
    const rule = proposeRule({ exit: 1, stdout: '', stderr: `Error: the token ${key} is not valid\n` });
    assert.equal(rule?.stderr, '^Error: the token \\S+ is not valid', key);
  }
});

test('a message that is nothing but a credential makes no rule', () => {
  assert.equal(
    proposeRule({ exit: 1, stdout: '', stderr: 'sk-CANARYabcdefghijkl99\n' }, ['sk-CANARYabcdefghijkl99']),
    undefined,
  );
});

test('learn --write knows the credentials of the environment, of options, of accounts and of the CLI itself', async t => {
  const box = sandbox(t);
  const keys = {
    environment: 'envsecretvalue',
    option: 'optionvaluexyz',
    account: 'accountvaluexyz',
    stored: 'storedvaluexyz',
  };
  box.script('mytool', '#!/bin/sh\necho "Error: Incorrect API key provided: $REPEATED refused" >&2; exit 3\n');
  box.provider(
    'mytool',
    `inject = ["MY_KEY"]\nown_credential = ["-k"]\nstored = [{ file = "~/.mytool", pattern = 'key=(.+)' }]\n`,
  );
  box.accounts('mytool', { a: keys.account }, 'MY_KEY');
  fs.writeFileSync(path.join(box.home, '.mytool'), `key=${keys.stored}\n`);
  const catalog = path.join(box.config, 'providers.toml');
  const before = fs.readFileSync(catalog, 'utf8');
  for (const [name, key] of Object.entries({ ...keys, joined: keys.option })) {
    fs.writeFileSync(catalog, before);
    const env = { MY_KEY: keys.environment, REPEATED: key };
    const option = name === 'joined' ? [`-k${key}`] : ['-k', keys.option];
    const learned = await box.wrap(['catalog', 'learn', '--write', 'mytool', '--', 'x', ...option], { env });
    assert.equal(learned.exit, 0, learned.stderr);
    const written = fs.readFileSync(catalog, 'utf8').slice(before.length);
    assert.match(
      written,
      /class = "auth"\nexit = \[3\]\nstderr = '\^Error: Incorrect API key provided: \\S\+ refused'/,
    );
    assert.doesNotMatch(written + learned.stdout, new RegExp(key));
  }
});
