// Refusals as providers write them, and what each means. Names of organizations, keys and requests are left out or replaced.
import { readFileSync } from 'node:fs';
import { MCP_REFUSALS } from './mcp.ts';
import { OTHER_REFUSALS } from './other.ts';

/** A refusal, where it comes in, and what it means for the account. */
export interface RefusalCase {
  /** Source of the text: a thread, a page of documentation, or a recording of this project. */
  source: string;
  cli: string;
  /** An answer to the gateway, the end of a wrapped command, or the error of an MCP server. */
  door: 'gateway' | 'shim' | 'mcp';
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  exit?: number;
  stdout?: string;
  stderr?: string;
  /** Result of a tool, or error of JSON-RPC. */
  answer?: { result: Record<string, unknown> } | { error: Record<string, unknown> };
  /** `none`: nothing about the account. `other`: no other account is tried, with these words. `check`: the provider is asked. */
  means: 'quota' | 'rate' | 'auth' | 'other' | 'none' | 'check';
  /** Milliseconds of the pause from `REFUSED_AT` on; `null` until the credential changes. */
  pause?: number;
  /** Units that the account has left. */
  left?: number;
  words?: RegExp;
}

export const REFUSED_AT = Date.parse('2026-11-28T12:00:00Z');
const [S, M, H] = [1_000, 60_000, 3_600_000];

const JSON_TYPE = { 'content-type': 'application/json' };
const HTML = { 'content-type': 'text/html; charset=utf-8' };

type More = Partial<RefusalCase>;
/** An answer in JSON. */
type Answer = [source: string, cli: string, status: number, body: unknown, more: Meaning];
const answer = (...[source, cli, status, body, more]: Answer) =>
  ({
    source,
    cli,
    door: 'gateway',
    status,
    headers: JSON_TYPE,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...more,
  }) as RefusalCase;
/** A command that ended with 1 and these lines. */
const command = (source: string, cli: string, stderr: string, more: Meaning) =>
  ({ source, cli, door: 'shim', exit: 1, stderr, ...more }) as RefusalCase;

type Meaning = More & Pick<RefusalCase, 'means'>;
const QUOTA: Meaning = { means: 'quota', pause: H };
const AUTH: Meaning = { means: 'auth', pause: H };
const NONE: Meaning = { means: 'none' };
const rate = (pause: number): Meaning => ({ means: 'rate', pause });
const other = (words: RegExp): Meaning => ({ means: 'other', words });

const openai = (message: string, code: string, type = 'tokens') => ({ error: { message, type, param: null, code } });
const groq = (wait: string) =>
  openai(
    `Rate limit reached for model \`llama-3.3-70b\` in organization \`org\` on tokens per minute (TPM): Limit 6000, Used 3513, Requested 3166. Please try again in ${wait}. Visit https://console.groq.com/docs/rate-limits`,
    'rate_limit_exceeded',
  );
const elevenlabs = (status: string, message: string) => ({ detail: { status, message } });
const CLOUDFLARE_FAILED = '✘ [ERROR] A request to the Cloudflare API (/accounts/0/workers/scripts/x) failed.\n\n';
const ALLOW_LIST =
  'Although you appear to have the correct authorization credentials, the `org` organization has an IP allow list enabled, and your IP address is not permitted to access this resource.';
const SAML =
  'Resource protected by organization SAML enforcement. You must grant your OAuth token access to this organization.';
const BLOCKED =
  '<!DOCTYPE html><html><head><title>Internet Security by Zscaler</title></head><body>Access denied</body></html>';
const NOT_ALLOWED = 'API Error: 403 {"error":{"type":"forbidden","message":"Request not allowed"}}';

export const REFUSALS: readonly RefusalCase[] = [
  // the interface of OpenAI
  answer(
    'openai/codex#88',
    'openai',
    429,
    openai(
      'Rate limit reached for o4-mini in organization org-0 on tokens per min (TPM): Limit 200000, Used 162960, Requested 42288. Please try again in 1.574s.',
      'rate_limit_exceeded',
    ),
    rate(1.574 * S),
  ),
  answer(
    'continuedev/continue#10410, OthersideAI/self-operating-computer#29',
    'openai',
    429,
    openai(
      'You exceeded your current quota, please check your plan and billing details.',
      'insufficient_quota',
      'insufficient_quota',
    ),
    QUOTA,
  ),
  answer('danielmiessler/Fabric#364', 'openai', 429, groq('50.597142857s'), rate(50.597 * S)),
  answer('bklieger-groq/stockbot-on-groq#46', 'openai', 429, groq('1m47.5854s'), rate(107.585 * S)),
  answer('continuedev/continue#10920', 'openai', 429, groq('9m38.016s'), rate(578.016 * S)),
  answer('continuedev/continue#2343', 'openai', 429, groq('399ms'), rate(399)),
  answer('elizaOS/eliza#4040', 'openai', 429, groq('4.77s'), rate(4.77 * S)),
  answer('openinterpreter/openinterpreter#408', 'openai', 429, groq('6.780999999s'), rate(6.781 * S)),
  answer('OpenHands/OpenHands#4167', 'openai', 429, groq('1m0.363142857s'), rate(60.363 * S)),
  answer(
    'elizaOS/eliza#4040, the first text',
    'openai',
    413,
    openai(
      'Request too large for model `llama-3.1-8b-instant`: Limit 6000, Requested 6294, please reduce your message size and try again.',
      'rate_limit_exceeded',
    ),
    NONE,
  ),
  answer(
    'Pythagora-io/gpt-pilot#862, headers of Groq',
    'openai',
    429,
    {},
    {
      headers: {
        ...JSON_TYPE,
        'retry-after': '2',
        'x-ratelimit-reset-requests': '2m59.56s',
        'x-ratelimit-reset-tokens': '7.66s',
      },
      means: 'rate',
      pause: 2 * S,
    },
  ),
  answer(
    'platform.openai.com/docs/guides/rate-limits, headers',
    'openai',
    429,
    {},
    {
      headers: {
        ...JSON_TYPE,
        'x-ratelimit-remaining-requests': '12',
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '6m0s',
      },
      means: 'rate',
      pause: 6 * M,
    },
  ),
  answer(
    'openai-node, README: retry-after-ms',
    'openai',
    429,
    {},
    { headers: { ...JSON_TYPE, 'retry-after-ms': '1500', 'retry-after': '2' }, means: 'rate', pause: 1_500 },
  ),
  answer(
    'Gitlawb/openclaude#936',
    'openai',
    429,
    {
      error: {
        message: 'Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day',
        code: 429,
      },
    },
    {
      headers: { ...JSON_TYPE, 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(REFUSED_AT + 8 * H) },
      means: 'rate',
      pause: H,
    },
  ),
  answer(
    'Gitlawb/openclaude#1549',
    'openai',
    429,
    {
      error: {
        message: 'Rate limit exceeded: free-models-per-day-high-balance.',
        type: 'rate_limit_error',
        code: '429',
      },
    },
    rate(M),
  ),
  answer(
    'astrio-labs/forall#76',
    'openai',
    402,
    {
      error: {
        message:
          'This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford 2666.',
        code: 402,
      },
    },
    { means: 'quota', pause: H, left: 2666 },
  ),
  answer(
    'anomalyco/opencode#12219',
    'openai',
    402,
    {
      error: {
        message:
          'This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 0.',
        code: 402,
      },
    },
    { means: 'quota', pause: H, left: 0 },
  ),
  answer(
    'MiniMax-AI/MiniMax-M2.7#36',
    'openai',
    429,
    {
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message:
          'usage limit exceeded, 5-hour usage limit reached for Token Plan Starter (0/0 used), resets at 2026-11-28T12:30:00Z (2056)',
      },
    },
    rate(30 * M),
  ),
  answer('ovh/shai#105', 'openai', 429, { message: 'API rate limit exceeded', request_id: '0' }, rate(M)),
  answer('xqicxx/dsh-telegram#37: no body', 'openai', 429, '', { headers: {}, means: 'rate', pause: M }),
  answer(
    'letterstory/lettertrace#34',
    'openai',
    429,
    {
      error: {
        code: 429,
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '38s' }],
      },
    },
    rate(38 * S),
  ),
  answer(
    'browserbase/mcp-server-browserbase#129',
    'openai',
    429,
    {
      error: {
        code: 429,
        message:
          'You exceeded your current quota, please check your plan and billing details.\nPlease retry in 47.434392449s.',
        status: 'RESOURCE_EXHAUSTED',
      },
    },
    rate(47.434 * S),
  ),
  answer(
    'googleapis/python-genai#2114',
    'openai',
    429,
    {
      error: {
        code: 429,
        message: 'Please retry in 58.934310785s.',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ retryDelay: '58s' }],
      },
    },
    rate(58 * S),
  ),
  answer(
    'google-gemini/gemini-cli#1811',
    'openai',
    429,
    { error: { code: 429, message: 'Resource has been exhausted (e.g. check quota).', status: 'RESOURCE_EXHAUSTED' } },
    rate(M),
  ),
  answer(
    'anthropics/claude-code#71670',
    'openai',
    429,
    {
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message: "This request would exceed your account's rate limit. Please try again later.",
      },
    },
    {
      headers: {
        ...JSON_TYPE,
        'anthropic-ratelimit-requests-remaining': '0',
        'anthropic-ratelimit-requests-reset': '2026-11-28T12:00:45Z',
      },
      means: 'rate',
      pause: 45 * S,
    },
  ),
  answer(
    'anthropics/claude-code#54839',
    'openai',
    400,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'Your credit balance is too low to access the Anthropic API.' },
    },
    NONE,
  ),
  answer(
    'openai: platform.openai.com/docs/guides/error-codes',
    'openai',
    401,
    openai('Incorrect API key provided: sk-x.', 'invalid_api_key', 'invalid_request_error'),
    AUTH,
  ),
  // ElevenLabs
  answer(
    'danielmiessler/LifeOS#2053',
    'elevenlabs',
    401,
    {
      detail: {
        type: 'invalid_request',
        code: 'quota_exceeded',
        message:
          'This request exceeds your quota of 34292. You have 12 credits remaining, while 91 credits are required for this request.',
      },
    },
    { means: 'quota', pause: H, left: 12 },
  ),
  answer(
    'danielmiessler/LifeOS#2053, cut',
    'elevenlabs',
    401,
    '{"detail":{"type":"invalid_request","code":"quota_exceeded","message":"This request',
    QUOTA,
  ),
  answer(
    'home-assistant/core#160414',
    'elevenlabs',
    401,
    elevenlabs(
      'quota_exceeded',
      'This request exceeds your quota of 10000. You have 0 credits remaining, while 91 credits are required for this request.',
    ),
    { means: 'quota', pause: H, left: 0 },
  ),
  answer(
    'AutoGPT#263',
    'elevenlabs',
    401,
    elevenlabs(
      'quota_exceeded',
      'This request exceeds your quota. You have 11 characters remaining, while 70 characters are required for this request.',
    ),
    { means: 'quota', pause: H, left: 11 },
  ),
  answer(
    'OWASP/Nest#3861',
    'elevenlabs',
    401,
    elevenlabs(
      'detected_unusual_activity',
      'Unusual activity detected. Free Tier usage disabled. If you are using a proxy/VPN you might need to purchase a Paid Plan',
    ),
    other(/unusual activity; a VPN or proxy such as WARP may be the cause.*no other account/),
  ),
  answer(
    'danielmiessler/LifeOS#667',
    'elevenlabs',
    401,
    elevenlabs(
      'missing_permissions',
      'The API key you used is missing the permission user_read to execute this operation.',
    ),
    other(/lacks a permission/),
  ),
  answer(
    'VapiAI/docs#1198',
    'elevenlabs',
    401,
    elevenlabs(
      'missing_permissions',
      'The API key you used is missing the permission voices_read to execute this operation.',
    ),
    other(/lacks a permission/),
  ),
  answer(
    'danielmiessler/LifeOS#667, another key',
    'elevenlabs',
    401,
    elevenlabs('invalid_api_key', 'Invalid API key'),
    AUTH,
  ),
  answer(
    'elevenlabs.io/docs/resources/errors',
    'elevenlabs',
    429,
    elevenlabs('too_many_concurrent_requests', 'Too many concurrent requests'),
    rate(M),
  ),
  answer(
    'elevenlabs/elevenlabs-docs#301',
    'elevenlabs',
    401,
    elevenlabs(
      'quota_exceeded',
      'Thanks for trying out our speech synthesis! You have reached the limit of available requests on the landing page.',
    ),
    QUOTA,
  ),
  {
    source: 'recordings of @elevenlabs/cli 1.3.0: a 401 without details',
    cli: 'elevenlabs',
    door: 'shim',
    exit: 2,
    stdout: '{"error":{"code":401,"reason":"authError"}}',
    means: 'check',
  },
  {
    source: 'OWASP/Nest#3861, through the CLI',
    cli: 'elevenlabs',
    door: 'shim',
    exit: 2,
    stdout: JSON.stringify({
      error: { code: 401, reason: 'authError', details: elevenlabs('detected_unusual_activity', 'x') },
    }),
    means: 'other',
    words: /unusual activity/,
  },
  // Firecrawl, Tavily, Exa, DeepL
  answer(
    'firecrawl/firecrawl#2189',
    'firecrawl',
    402,
    {
      success: false,
      error:
        'Insufficient credits to perform this request. For more credits, you can upgrade your plan at https://firecrawl.dev/pricing or try changing the request limit to a lower value.',
    },
    QUOTA,
  ),
  answer(
    'firecrawl/firecrawl#4641',
    'firecrawl',
    402,
    {
      success: false,
      error: 'Insufficient credits to perform this request.',
      agent_hints: ['Let the user know that the connected Firecrawl account is low on credits.'],
    },
    QUOTA,
  ),
  answer(
    'docs.firecrawl.dev/rate-limits',
    'firecrawl',
    429,
    {
      success: false,
      error:
        'Rate limit exceeded. Consumed (req/min): 11, Remaining (req/min): 0. Upgrade your plan or please retry after 23s, resets at Thu Jan 01 2026',
    },
    rate(23 * S),
  ),
  answer(
    'docs.tavily.com/documentation/rate-limits',
    'tvly',
    429,
    { detail: { error: 'Your request has been blocked due to excessive requests. Please reduce rate of requests.' } },
    { headers: { ...JSON_TYPE, 'retry-after': '60' }, means: 'rate', pause: M },
  ),
  answer(
    'help.tavily.com, HTTP errors',
    'tvly',
    432,
    {
      detail: {
        error:
          "This request exceeds your plan's set usage limit. Please upgrade your plan or contact support@tavily.com",
      },
    },
    QUOTA,
  ),
  answer(
    'package tavily-mcp 0.2.22: the new envelope',
    'tvly',
    429,
    { error: { code: 'rate_limited', message: 'You have reached the keyless rate limit.', retry_after_seconds: 3600 } },
    rate(H),
  ),
  answer(
    'DDDMUC/dsh-free-search#22',
    'exa',
    402,
    { requestId: '0', error: 'You have exceeded your credits limit.', tag: 'NO_MORE_CREDITS' },
    QUOTA,
  ),
  answer('tinyhumansai/openhuman#5977', 'exa', 429, { error: 'rate limit' }, rate(M)),
  answer('developers.deepl.com/docs/best-practices/error-handling', 'deepl', 456, { message: 'Quota Exceeded' }, QUOTA),
  // answers of a proxy, a gate or a page in between
  ...[401, 402, 403, 429].map(status =>
    answer(
      'a login page of a network',
      'firecrawl',
      status,
      '<!DOCTYPE html><html><body>Sign in to continue</body></html>',
      { headers: HTML, means: 'none' },
    ),
  ),
  answer('an inspection without a type', 'exa', 401, '<html><head><title>Access denied</title>', {
    headers: {},
    means: 'none',
  }),
  answer('a proxy that asks for a login (RFC 9110, 15.5.8)', 'openai', 407, '{}', {
    headers: { ...JSON_TYPE, 'proxy-authenticate': 'Basic realm="proxy"' },
    means: 'none',
  }),
  answer('a gate of an intranet (RFC 9110, 11.6.1)', 'openai', 401, '{}', {
    headers: { ...JSON_TYPE, 'www-authenticate': 'Basic realm="intranet"' },
    means: 'none',
  }),
  answer('a captive portal (RFC 6585, 6)', 'exa', 511, '{}', NONE),
  answer('words of a filter', 'exa', 401, 'Blocked by policy 17', {
    headers: { 'content-type': 'text/plain' },
    means: 'none',
  }),
  answer('a gate of the provider (RFC 6750, 3)', 'openai', 401, openai('Invalid authentication', 'invalid_api_key'), {
    headers: { ...JSON_TYPE, 'www-authenticate': 'Bearer realm="OpenAI API"' },
    means: 'auth',
    pause: H,
  }),
  // times that say nothing
  ...(
    [
      ['-1', M],
      ['0', M],
      ['1.5', 1.5 * S],
      ['Sat, 28 Nov 2026 11:59:00 GMT', M],
      ['Sat, 28 Nov 2026 12:00:30 GMT', 30 * S],
      ['99999999', H],
      [String(REFUSED_AT / S + 60), M],
      ['soon', M],
    ] as const
  ).map(([value, pause]) =>
    answer(
      'RFC 9110, 10.2.3, and what servers make of it',
      'exa',
      429,
      {},
      { headers: { ...JSON_TYPE, 'retry-after': value }, means: 'rate', pause },
    ),
  ),
  // tools
  command('cli/cli#8321', 'gh', 'GraphQL: API rate limit already exceeded for user ID 0.', rate(H)),
  command('cli/cli#12145', 'gh', 'gh: API rate limit exceeded for user ID 0. (HTTP 403)', rate(H)),
  command(
    'rjmurillo/ai-agents#4550',
    'gh',
    'HTTP 403: You have exceeded a secondary rate limit. Please wait a few minutes before you try again. (https://api.github.com/graphql)',
    rate(M),
  ),
  command(
    'pmcfadin/cqlite#3839',
    'gh',
    'github.com\n  X Failed to log in to github.com using token (GH_TOKEN)\n  - The token in GH_TOKEN is invalid.',
    NONE,
  ),
  command(
    'aws/aws-durable-execution-sdk-js#429',
    'npm',
    readFileSync(new URL('../../../fixtures/refusals/npm-dead-token.txt', import.meta.url), 'utf8'),
    AUTH,
  ),
  command(
    'npm: a package that is not there',
    'npm',
    "npm error code E404\nnpm error 404 Not Found - GET https://registry.example/none - Not found\nnpm error 404  'none@*' is not in this registry.",
    NONE,
  ),
  command(
    'openstreetmap/id-tagging-schema#2810',
    'netlify',
    readFileSync(new URL('../../../fixtures/refusals/netlify-credits.txt', import.meta.url), 'utf8'),
    other(/credits of this Netlify team are used up/),
  ),
  command('netlify/cli#206', 'netlify', ' ›   Error: API Request rate limit surpassed for application', NONE),
  command('cloudflare/workers-sdk#3582', 'wrangler', `${CLOUDFLARE_FAILED}  Authentication error [code: 10000]`, {
    means: 'auth',
    words: /limited to other addresses \(a VPN or proxy such as WARP may be the cause/,
  }),
  command(
    'cloudflare/workers-sdk#2863',
    'wrangler',
    `${CLOUDFLARE_FAILED}  Authentication error [code: 10000]\n  \n  If you think this is a bug`,
    { means: 'auth', words: /lack a permission/ },
  ),
  command(
    'developers.cloudflare.com/fundamentals/api/troubleshooting',
    'wrangler',
    `${CLOUDFLARE_FAILED}  Cannot use the access token from location: 203.0.113.7 [code: 9109]`,
    other(/this network address or location, not the key/),
  ),
  command(
    'cloudflare/workers-sdk#1422',
    'wrangler',
    `${CLOUDFLARE_FAILED}  Unauthorized to access requested resource [code: 9109]`,
    AUTH,
  ),
  command('recordings of firecrawl-cli', 'firecrawl', 'Error: Request failed with status code 402', QUOTA),
  command(
    'recordings of tvly',
    'tvly',
    "  > Error: This request exceeds your plan's set usage\n  limit. Please upgrade your plan",
    { exit: 4, means: 'quota', pause: H },
  ),
  // tools of which an account is only selected: the words behind a 403 are about the network or a right
  ...(
    [
      ['cli/cli#12150', `HTTP 403: ${ALLOW_LIST} (https://api.github.com/graphql)`, /network address, not the token/],
      ['cli/cli#12150, of `gh api`', `gh: ${ALLOW_LIST} (HTTP 403)`, /network address, not the token/],
      ['cli/cli#2661', `GraphQL: ${SAML}`, /lacks a right/],
      ['cli/cli#2661, of `gh api`', `gh: ${SAML} (HTTP 403)`, /lacks a right/],
      ['docs.github.com', 'gh: Must have admin rights to Repository. (HTTP 403)', /lacks a right/],
      ['docs.github.com', 'gh: Resource not accessible by personal access token (HTTP 403)', /lacks a right/],
    ] as const
  ).map(([source, stderr, words]) => command(source, 'gh', stderr, { means: 'other', words })),
  command(
    'openai/codex#9714',
    'codex',
    'ERROR: unexpected status 403 Forbidden: Country, region, or territory not supported',
    other(/this location, not the key/),
  ),
  command('openai/codex#9714, with --json', 'codex', '', {
    stdout:
      '{"type":"turn.failed","error":{"message":"unexpected status 403 Forbidden: Country, region, or territory not supported"}}',
    means: 'other',
    words: /this location, not the key/,
  }),
  command(
    'openai/codex#8516',
    'codex',
    'ERROR: unexpected status 403 Forbidden: <!DOCTYPE html><html lang="en-US">',
    NONE,
  ),
  ...(
    [
      ['google-gemini/gemini-cli#4430', 400, 'API key expired. Please renew the API key.', AUTH],
      ['a leaked key', 403, 'Your API key was reported as leaked. Please use another API key.', { means: 'auth' }],
      [
        'ai.google.dev/gemini-api/docs/troubleshooting',
        400,
        'User location is not supported for the API use.',
        other(/this location, not the key/),
      ],
    ] as [string, number, string, Meaning][]
  ).map(([source, code, message, meaning]) =>
    command(
      source,
      'gemini',
      `Error when talking to Gemini API Full report available at: /tmp/x _ApiError: ${JSON.stringify({ error: { code, message } })}`,
      meaning,
    ),
  ),
  command('an answer in JSON with the words of anthropics/claude-code#1613', 'claude', '', {
    stdout: JSON.stringify({ is_error: true, api_error_status: 403, result: NOT_ALLOWED }),
    means: 'other',
    words: /may not be supported/,
  }),
  // a page of what stands in between, in the words of a tool
  ...(
    [
      ['codex', `ERROR: unexpected status 401 Unauthorized: ${BLOCKED}`],
      ['sentry-cli', `sentry reported an error: ${BLOCKED} (http status: 401)`],
      ['npm', `npm error code E401\nnpm error 401 Unauthorized - PUT https://registry.npmjs.org/x - ${BLOCKED}`],
      ['npm', 'npm error code E401\nnpm error Unable to authenticate, need: Negotiate, NTLM'],
      ['firecrawl', `Error: Unauthorized ${BLOCKED}`],
    ] as const
  ).map(([cli, stderr]) => command('a page in between', cli, stderr, other(/a login page on the way/))),
  ...[401, 429].map(status =>
    command('a page in between', 'claude', '', {
      stdout: JSON.stringify({ is_error: true, api_error_status: status, result: `API Error: ${status} ${BLOCKED}` }),
      means: 'other',
      words: /a login page on the way/,
    }),
  ),
  ...[401, 429].map(status =>
    command('a page in between', 'claude', '', {
      stdout: `API Error: ${status} ${BLOCKED}`,
      means: 'other',
      words: /a login page on the way/,
    }),
  ),
  command('a page in between', 'codex', '', {
    stdout: JSON.stringify({
      type: 'turn.failed',
      error: { message: `unexpected status 401 Unauthorized: ${BLOCKED}` },
    }),
    means: 'other',
    words: /a login page on the way/,
  }),
  // a page that a tool was asked for, and an address with such words
  command('a page of the web', 'firecrawl', 'Error: https://squid.example/html - Insufficient credits', {
    stdout: '<!doctype html><html>',
    means: 'quota',
    pause: H,
  }),
  // dead credentials
  command('a dead token of Cloudflare', 'wrangler', `${CLOUDFLARE_FAILED}  Invalid API Token [code: 1000]`, AUTH),
  command(
    'a dead token of Supabase',
    'supabase',
    'unexpected list functions status 401: {"message":"JWT expired"}',
    AUTH,
  ),
  command(
    'a dead token of Hugging Face',
    'hf',
    "Error: Client error '401 Unauthorized' for url 'https://huggingface.co/api/x' (Request ID: 0) Invalid user token.",
    AUTH,
  ),
  command('a dead token of Hugging Face', 'hf', 'Error: Invalid user token. The token from HF_TOKEN is invalid.', AUTH),
  // `claude -p` prints an error in place of the answer
  ...(
    [
      ['anthropics/claude-code#5666', 'Invalid API key · Fix external API key', AUTH],
      ['anthropics/claude-code#6331', 'Invalid API key · Please run /login', AUTH],
      [
        'anthropics/claude-code#9694',
        'API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}',
        AUTH,
      ],
      [
        'the same, with what it means',
        'Failed to authenticate. API Error: 401 {"type":"error","error":{"type":"authentication_error"}}',
        AUTH,
      ],
      [
        'a limit of requests',
        'API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"x"}}',
        rate(M),
      ],
      ['anthropics/claude-code#1613', NOT_ALLOWED, other(/may not be supported/)],
      ['a plan of five hours', '5-hour limit reached ∙ resets 3pm', QUOTA],
      ['a plan that is used up', 'Credit balance is too low', QUOTA],
      [
        'a plan with its reset',
        `Claude AI usage limit reached|${REFUSED_AT / S + 7200}`,
        { means: 'quota', pause: 2 * H },
      ],
      ['an overload', 'API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}', NONE],
      ['an answer about errors', 'The log says: API Error: 401', NONE],
    ] as [string, string, Meaning][]
  ).map(
    ([source, stdout, meaning]): RefusalCase => ({ source, cli: 'claude', door: 'shim', exit: 1, stdout, ...meaning }),
  ),
  ...MCP_REFUSALS,
  ...OTHER_REFUSALS,
];
