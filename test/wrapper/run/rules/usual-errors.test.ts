// The words and codes of limits and refused keys of servers that the catalog does not know.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verdictOf } from '../../../../wrapper/run/rules/mcp-messages.ts';
import { codesIn, usualErrorIn } from '../../../../wrapper/run/rules/usual-errors.ts';

/** Texts of errors, by what they mean for the account. */
const TEXTS: Record<string, string[]> = {
  rate: [
    'Error: 429 Too Many Requests',
    '429 Too Many Requests\n{"code":"RATE_LIMITED"}',
    'Request failed with status code 429',
    'Serper API error: HTTP 429',
    'Rate limit exceeded. Please try again later.',
    'API rate-limited, retry after 30 s',
    'You are being rate limited',
    'API error (code: 429)',
  ],
  quota: [
    'Error: Request failed with status code 402',
    'Payment Required',
    'Serper API error: Not enough credits',
    'Your account has run out of searches.',
    'Insufficient account balance',
    'The account has no credits',
    'Insufficient credits to perform this request. See https://example.com/pricing',
    'Monthly quota has been exceeded',
    "This request exceeds your plan's set usage limit. Please upgrade",
    'You exceeded your current quota, please check your plan',
    'Error: usage limit reached',
  ],
  auth: [
    'Error: Request failed with status code 401',
    'HTTP/1.1 401 Unauthorized',
    'Unauthorized',
    'Error: Unauthorized: Invalid token',
    'Invalid API key. Your API key should be here: https://serpapi.com/manage-api-key',
    'Invalid or missing API key',
    'The API key is invalid or revoked',
    'Your access token has been revoked',
    'Missing API key',
  ],
  none: [
    '',
    'No results found',
    'Error: Request failed with status code 404',
    'Error: Request failed with status code 500',
    'Error: the page https://example.com/a answered with HTTP 429',
    'Failed to fetch https://example.com: 401 Unauthorized',
    'Results for "rate":\nRate limit exceeded',
    'Found 429 results',
    `${'x'.repeat(300)} rate limit exceeded`,
    'Error: 4290 items',
    'Unexpected token < in JSON at position 0',
    'The key "name" is missing',
    // about a tool's own subject
    'Your card has insufficient funds',
    'insufficient funds for gas * price + value',
    'Query exceeded memory usage',
    'Memory usage limit exceeded',
    'Disk quota exceeded',
    'No searches found',
    'No credits found for this film',
    'Insufficient balance in wallet 0x0',
    'Invalid page token',
    'Invalid sync token',
    'Missing key',
    'Invalid key',
    // about a page
    'HTTP 401 while loading example.com',
    'Failed to load the page: status code 429',
    'example.com answered with HTTP 402',
    'Error: HTTP 401 from the site',
    'Could not open the link: too many requests',
  ],
};

const CODES: Record<string, (string | number)[]> = {
  rate: [
    429,
    '429',
    'rate_limited',
    'RATE_LIMITED',
    'rateLimitExceeded',
    'rate-limit-exceeded',
    'too_many_requests',
    'Throttled',
  ],
  quota: [
    402,
    'insufficient_quota',
    'QUOTA_EXCEEDED',
    'quotaExceeded',
    'insufficient_credits',
    'payment_required',
    'usage_limit_exceeded',
    'monthly_limit_reached',
  ],
  auth: [
    401,
    'CREDENTIAL_INVALID',
    'invalid_api_key',
    'Unauthorized',
    'authentication_error',
    'expired_access_token',
    'api_key_revoked',
  ],
  none: [
    'INVALID_PAGE_TOKEN',
    'invalid_key',
    'expired_token',
    'insufficient_funds',
    'insufficient_balance',
    'disk_quota_exceeded',
    403,
    404,
    500,
    'not_found',
    'limit',
    'invalid_request_error',
    'forbidden',
    'key_value_missing_field',
    '',
  ],
};

test('a text of an error has the class that its first line says', () => {
  for (const [kind, texts] of Object.entries(TEXTS))
    for (const text of texts) assert.equal(usualErrorIn([], text)?.class ?? 'none', kind, text);
  assert.equal(usualErrorIn([], 'Rate limit exceeded, try again in 30 seconds')?.match.groups?.rest, '30');
});

test('a code has its class in any spelling, and comes before the text', () => {
  for (const [kind, codes] of Object.entries(CODES))
    for (const code of codes) assert.equal(usualErrorIn([code], '')?.class ?? 'none', kind, String(code));
  assert.equal(usualErrorIn([429, 'insufficient_quota'], '')?.class, 'quota');
  assert.equal(usualErrorIn(['invalid_api_key'], '429 Too Many Requests')?.class, 'auth');
});

test('the status of an object with an address is that of the address', () => {
  const about: unknown[] = [
    { statusCode: 401, url: 'https://example.com/' },
    { error: { status: 429, url: 'https://example.com/' } },
    { url: 'https://example.com/', response: { status: '402' } },
  ];
  for (const fields of about) assert.equal(usualErrorIn(codesIn(fields), ''), undefined, JSON.stringify(fields));
  assert.equal(usualErrorIn(codesIn({ statusCode: 401 }), '')?.class, 'auth');
  assert.equal(usualErrorIn(codesIn({ response: { status: 429 } }), '')?.class, 'rate');
  assert.equal(usualErrorIn(codesIn({ url: 'x', code: 'insufficient_quota' }), '')?.class, 'quota');
});

const result = (text: string, more: object) => ({ content: [{ type: 'text', text }], ...more });

test('only an error of a server without its own rules counts by these words', () => {
  const said = (text: string, fields: unknown = undefined) => ({ failure: { text, fields }, result: undefined });
  const server = { rules: [], usual_errors: true };
  assert.equal(verdictOf(said('Too many requests'), server)?.class, 'rate');
  assert.equal(verdictOf(said('no', { error: { code: 'insufficient_quota' } }), server)?.class, 'quota');
  assert.deepEqual(verdictOf(said('Quota exceeded'), server)?.rest, { until: 'period' });
  assert.deepEqual(verdictOf(said('Invalid API key'), server)?.rest, { until: 'elapsed', ms: 600_000 });
  assert.equal(verdictOf(said('Too many requests'), server)?.usual, true);
  assert.equal(verdictOf(said('Too many requests'), { rules: [] }), undefined);
  const shown = { failure: undefined, result: result('Too many requests', {}) };
  assert.equal(verdictOf(shown, server), undefined, 'a result without isError is content');
  // the network or a missing right says nothing about the account
  assert.equal(verdictOf(said('Unauthorized: your IP address is not allowed'), server), undefined);
  // a rule of the catalog comes first
  const own = { ...server, rules: [{ class: 'auth' as const, text: '^Too many' }] };
  assert.equal(verdictOf(said('Too many requests'), own)?.class, 'auth');
});
