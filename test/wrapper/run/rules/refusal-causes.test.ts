// Refusals with the status of a refused credential: which of them are about the network or a right, by words of many providers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { classify } from '../../../../wrapper/run/rules/classify.ts';
import { verdictOf } from '../../../../wrapper/run/rules/http-errors.ts';
import { verdictOf as verdictOfMcp } from '../../../../wrapper/run/rules/mcp-messages.ts';
import { CAUSE_NOTES, causeOf } from '../../../../wrapper/run/rules/refusal-causes.ts';
import { providers } from '../../../support/wrapper/shipped.ts';

type Meaning = 'address' | 'activity' | 'right' | 'key';

/** Provider, words, and what they are about. */
const WORDS: [provider: string, said: unknown, meaning: Meaning][] = readFileSync(
  'test/fixtures/refusal-causes.jsonl',
  'utf8',
)
  .trim()
  .split('\n')
  .map(line => JSON.parse(line));

test('a refusal for the network or a right is distinguished from one of the key, whatever the provider', () => {
  for (const [provider, said, meaning] of WORDS)
    assert.equal(causeOf(said) ?? 'key', meaning, `${provider}: ${JSON.stringify(said)}`);
});

const EXA = { retry: [], key_scheme: 'Bearer' } as const;
const JSON_TYPE = { 'content-type': 'application/json' };

test('a gateway blames the key only for what the words blame on it', () => {
  for (const [provider, said, meaning] of WORDS) {
    const found = verdictOf(
      { status: 401, headers: JSON_TYPE, body: JSON.stringify(said) },
      { ...EXA, retry: [] },
      false,
    );
    const got = found?.kind === 'retry' ? 'key' : found?.kind === 'final' ? found.note : undefined;
    assert.equal(got, meaning === 'key' ? 'key' : CAUSE_NOTES[meaning], provider);
  }
});

test('a limit that is one of unusual activity leads to no other account, at each door', () => {
  const said = 'Rate limit exceeded: we detected automated traffic';
  for (const [words, isLimit] of [
    [said, false],
    ['Rate limit exceeded: your country is not supported', true],
    ['Rate limit exceeded', true],
  ] as const) {
    for (const status of [402, 429]) {
      const answer = { status, headers: JSON_TYPE, body: JSON.stringify({ error: words }) };
      assert.equal(verdictOf(answer, { ...EXA, retry: [] }, false)?.kind, isLimit ? 'retry' : 'final', words);
    }
    const { rules, mcp } = providers.firecrawl!;
    const end = { exit: 1, signal: null, stdout: '', stderr: `Error: ${words}`, command: 'search' };
    assert.equal(classify(end, rules).kind, isLimit ? 'retry' : 'final', words);
    const failure = { text: words, fields: { status: 429 } };
    assert.equal(verdictOfMcp({ failure, result: undefined }, mcp[0]!)?.class, isLimit ? 'rate' : undefined, words);
  }
});

test('the name of an error says that a key is refused also where the status is one of a missing right', () => {
  const judge = (document: object) =>
    verdictOf({ status: 403, headers: JSON_TYPE, body: JSON.stringify(document) }, { ...EXA, retry: [] }, false);
  for (const code of ['CONSUMER_SUSPENDED', 'key_revoked', 'API_KEY_INVALID', 'organization_disabled']) {
    const found = judge({ error: { code, message: 'Permission denied' } });
    assert.equal(found?.kind === 'retry' && found.class, 'auth', code);
  }
  assert.equal(judge({ error: { code: 'API_KEY_SERVICE_BLOCKED' } })?.kind, 'final');
  // a page that a key has asked for may hold any sentence
  assert.equal(judge({ error: 'This token is expired' }), undefined);
});

test('headers say it as well', () => {
  const ask = (headers: Record<string, string>) =>
    verdictOf({ status: 401, headers: { ...JSON_TYPE, ...headers }, body: '{}' }, { ...EXA, retry: [] }, false)?.kind;
  assert.equal(ask({ 'www-authenticate': 'Bearer error="insufficient_scope", scope="read"' }), 'final');
  assert.equal(ask({ 'x-github-sso': 'required; url=https://github.com/orgs/x/sso' }), 'final');
  assert.equal(ask({ 'www-authenticate': 'Bearer error="invalid_token"' }), 'retry');
});

/** Ends of commands and errors of servers that the catalog takes for a refused key, and what they are. */
const ENDS: [cli: string, part: { exit?: number; stdout?: string; stderr?: string }, means: string][] = [
  ['firecrawl', { stderr: 'Error: Unauthorized: IP address not allowed' }, 'other'],
  ['firecrawl', { stderr: 'Error: Unauthorized: Invalid token' }, 'auth'],
  ['gh', { stderr: 'gh: Bad credentials (HTTP 401)' }, 'auth'],
  ['netlify', { stderr: ' ›   Error: JSONHTTPError: Unauthorized: your IP is blocked' }, 'other'],
  ['vercel', { stderr: 'Error: Not authorized: your team requires SAML single sign-on' }, 'other'],
  ['vercel', { stderr: 'Error: Not authorized' }, 'auth'],
  [
    'npm',
    { stderr: 'npm error code E401\nnpm error Unable to authenticate: IP address not on the allow list' },
    'other',
  ],
  ['codex', { stderr: 'ERROR: unexpected status 401 Unauthorized: Missing scopes: api.responses.write' }, 'other'],
  ['codex', { stderr: 'ERROR: unexpected status 401 Unauthorized: Incorrect API key provided' }, 'auth'],
  [
    'elevenlabs',
    {
      exit: 2,
      stdout: '{"error":{"reason":"authError","details":{"detail":{"status":"missing_permissions","message":"x"}}}}',
    },
    'other',
  ],
];

test('a wrapped command that ends for the network or a right leaves its account as it is', () => {
  for (const [cli, part, means] of ENDS) {
    const { rules } = providers[cli]!;
    const found = classify({ exit: 1, signal: null, stdout: '', stderr: '', command: '', ...part }, rules);
    assert.equal('class' in found && found.class, means, `${cli}: ${JSON.stringify(part)}`);
    assert.equal('note' in found, means === 'other');
  }
});

test('so does an error of an MCP server', () => {
  const [server] = providers.firecrawl!.mcp;
  const judge = (detail: string) =>
    verdictOfMcp({ failure: { text: 'x', fields: { status: 401, detail } }, result: undefined }, server!)?.class;
  assert.equal(judge('Your IP address is not allowed'), undefined);
  assert.equal(judge('The key lacks the required scope'), undefined);
  assert.equal(judge('Invalid token'), 'auth');
});
