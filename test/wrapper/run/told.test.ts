// Failures after which no other account is tried: they are understood, and a person reads why.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { serve } from '../../support/listen.ts';
import { auditOf, sandbox } from '../../support/wrapper/sandbox.ts';

const AB = { a: 'key-a', b: 'key-b' };

test('a limit of a tool whose accounts are only selected is reported with its end, and no other account runs', async t => {
  const box = sandbox(t);
  const log = join(box.home, 'log');
  const words = 'GraphQL: API rate limit already exceeded for user ID 0.';
  box.script('gh', `#!/bin/sh\necho $GH_TOKEN >> ${log}\necho "${words}" >&2\nexit 1\n`);
  box.accounts('gh', AB, 'GH_TOKEN');
  const { exit, stderr } = await box.shim('gh', ['pr', 'view']);
  assert.equal(exit, 1);
  const [first, second] = stderr.trim().split('\n');
  assert.equal(first, words);
  assert.match(
    second!,
    /gh: account "a" is rate limited until \d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC \(rate\); by the provider's terms/,
  );
  assert.equal(readFileSync(log, 'utf8'), 'key-a\n');
  const [audit] = auditOf(box);
  assert.deepEqual([audit.account, audit.outcome, audit.class], ['a', 'left', 'rate']);
  assert.match((await box.wrap(['accounts', 'list'])).stdout, /rate/);
});

/** Output of a tool for a refused key, whose account is only selected. */
const REFUSED: [cli: string, variable: string, words: string][] = [
  ['claude', 'ANTHROPIC_API_KEY', 'Invalid API key · Fix external API key'],
  ['gh', 'GH_TOKEN', 'gh: Bad credentials (HTTP 401)'],
];

for (const [cli, variable, words] of REFUSED)
  test(`a refused key of ${cli} is reported as one, although no account is paused`, async t => {
    const box = sandbox(t);
    box.script(cli, `#!/bin/sh\necho "${words}" ${cli === 'gh' ? '>&2' : ''}\nexit 1\n`);
    box.accounts(cli, AB, variable);
    const { stderr } = await box.shim(cli, ['-p', 'hi']);
    assert.match(stderr, /account "a" was refused \(auth\); .*no other account is tried; `\w+ accounts use NAME`/);
  });

/** Answer of the provider about the key, the accounts that run then, and what a person reads. */
const ASKED: [what: string, status: number, body: object, ran: string, words: RegExp][] = [
  [
    'that the key works',
    200,
    { character_count: 5, character_limit: 10_000 },
    'key-a\n',
    /the key works.*no other account is tried/,
  ],
  [
    'that nothing is left',
    200,
    { character_count: 10_000, character_limit: 10_000 },
    'key-a\nkey-b\n',
    /"a" has no quota left/,
  ],
  ['that the key is refused', 401, { detail: { status: 'invalid_api_key' } }, 'key-a\nkey-b\n', /"a" was refused/],
  ['unusual activity', 401, { detail: { status: 'detected_unusual_activity' } }, 'key-a\n', /unusual activity; .*WARP/],
  ['nothing that it means', 500, {}, 'key-a\n', /HTTP status 500/],
];

for (const [what, status, body, ran, words] of ASKED)
  test(`after a refusal that says too little, the provider is asked, and says ${what}`, async t => {
    const box = sandbox(t);
    const log = join(box.home, 'log');
    const url = await serve(t, (_req, res) => {
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    box.script(
      'elevenlabs',
      `#!/bin/sh
echo $ELEVENLABS_API_KEY >> ${log}
[ $ELEVENLABS_API_KEY = key-b ] && exit 0
echo '{"error":{"code":401,"reason":"authError"}}'
exit 2
`,
    );
    box.provider('elevenlabs', `usage = { url = "${url}/v1/user/subscription" }`);
    box.accounts('elevenlabs', AB, 'ELEVENLABS_API_KEY');
    const { stderr } = await box.shim('elevenlabs', ['models', 'list']);
    assert.equal(readFileSync(log, 'utf8'), ran);
    assert.match(stderr, words);
  });
