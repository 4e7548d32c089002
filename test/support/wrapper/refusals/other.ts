// Refusals of services that the catalog does not name, and of what stands in front of them: each may be behind an entry of one's own.
import type { RefusalCase } from './refusals.ts';

const [S, M, H] = [1_000, 60_000, 3_600_000];
/** The clock of the table, 2026-11-28T12:00:00Z. */
const NOON = 1_795_867_200;

type Headers = Record<string, string>;
type Meaning = Pick<RefusalCase, 'means' | 'pause' | 'left'>;
const QUOTA: Meaning = { means: 'quota', pause: H };
const AUTH: Meaning = { means: 'auth', pause: H };
const NONE: Meaning = { means: 'none' };
const rate = (pause: number): Meaning => ({ means: 'rate', pause });

const TYPES = {
  json: 'application/json',
  problem: 'application/problem+json',
  html: 'text/html; charset=UTF-8',
  text: 'text/plain; charset=utf-8',
  xml: 'application/xml',
  lines: 'application/x-ndjson',
  events: 'text/event-stream',
};

type Row = [source: string, status: number, body: unknown, meaning: Meaning, headers?: Headers];
/** An answer to a gateway for a service with its own key. */
function row(...[source, status, body, meaning, headers = {}]: Row): RefusalCase {
  const isText = typeof body === 'string';
  const own: Headers = isText ? {} : { 'content-type': TYPES.json };
  return {
    source,
    cli: 'openai',
    door: 'gateway',
    status,
    headers: { ...own, ...headers },
    body: isText ? body : JSON.stringify(body),
    ...meaning,
  };
}
const typed = (type: keyof typeof TYPES, more: Headers = {}): Headers => ({ 'content-type': TYPES[type], ...more });
const PAGE = '<!DOCTYPE html>\n<html><head><title>%</title></head><body></body></html>';
const page = (title: string) => PAGE.replace('%', title);
const cloudflare = (code: number, status: number, name: string) => ({
  type: `https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-1xxx-errors/error-${code}/`,
  title: `Error ${code}`,
  status,
  detail: 'The site owner has restricted access.',
  error_code: code,
  error_name: name,
  cloudflare_error: true,
  retryable: status === 429,
  retry_after: 30,
});

export const OTHER_REFUSALS: readonly RefusalCase[] = [
  // in front of the provider
  row(
    'Cloudflare 1015, for browsers',
    429,
    page('Access denied | api.example.com used Cloudflare'),
    NONE,
    typed('html'),
  ),
  row('Cloudflare 1015, for programs', 429, 'error code: 1015', NONE, typed('text')),
  row('Cloudflare 1015, RFC 9457', 429, cloudflare(1015, 429, 'rate_limited'), NONE, typed('problem')),
  row('Cloudflare 1020, for programs', 403, 'error code: 1020', NONE, typed('text')),
  row('Cloudflare 1020, RFC 9457', 403, cloudflare(1020, 403, 'access_denied'), NONE, typed('problem')),
  row('Cloudflare challenge', 403, page('Just a moment...'), NONE, typed('html', { 'cf-mitigated': 'challenge' })),
  row('Cloudflare Access', 401, page('Sign in ・ Cloudflare Access'), NONE, typed('html')),
  row('AWS WAF, CAPTCHA', 405, '', NONE, { 'x-amzn-waf-action': 'captcha' }),
  row('AWS WAF, block', 403, page('ERROR: The request could not be satisfied'), NONE, typed('html')),
  row('Zscaler', 403, page('Internet Security by Zscaler'), NONE, typed('html')),
  row('Fortinet', 403, page('Web Filter Violation'), NONE, typed('html')),
  row('Palo Alto', 503, page('Web Page Blocked'), NONE, typed('html')),
  row('Squid', 407, page('ERROR: Cache Access Denied'), NONE, typed('html', { 'proxy-authenticate': 'Negotiate' })),
  row('a proxy that names no type', 402, '\n  <HTML><BODY>Payment</BODY></HTML>', NONE),
  row('IIS', 401, '{}', NONE, typed('json', { 'www-authenticate': 'Negotiate, NTLM' })),
  row('nginx', 429, page('429 Too Many Requests'), NONE, typed('html')),
  row('nginx, as Perplexity answers to a dead key', 401, page('401 Authorization Required'), NONE, typed('html')),
  row('Squid, a short page', 401, { error: 'access denied' }, NONE, {
    server: 'squid/5.7',
    'x-squid-error': 'ERR_CACHE_ACCESS_DENIED 0',
  }),
  row('Squid, 403 in words', 403, 'ERR_ACCESS_DENIED: your network is not allowed', NONE, { server: 'squid/6.1' }),
  row('Zscaler, in JSON', 401, { message: 'authentication required' }, NONE, { server: 'Zscaler/6.2' }),
  row('Zscaler, in words', 429, 'Too many requests', NONE, typed('text', { server: 'Zscaler/6.2' })),
  row('Netskope', 403, { message: 'blocked for your location' }, NONE, { 'x-netskope-activity': '1' }),
  row('McAfee Web Gateway', 402, {}, NONE, { server: 'McAfee Web Gateway 11.2' }),
  row('Blue Coat', 401, '', NONE, { server: 'BlueCoat-Proxy', 'www-authenticate': 'Bearer' }),
  row('RFC 8908', 401, { captive: true, 'user-portal-url': 'https://x' }, NONE, {
    'content-type': 'application/captive+json',
  }),
  row('XHTML', 401, `<?xml version="1.0"?>\n${page('x').replace('html>', 'html PUBLIC "x">')}`, NONE, typed('xml')),
  row('a page behind a comment', 401, `\uFEFF<!-- portal -->\n${page('x')}`, NONE),
  row('a page that leads on', 429, '<meta http-equiv="refresh" content="0;url=http://x">', NONE),
  row('a page that is a script', 402, '<script>location="http://x/login"</script>', NONE, typed('text')),
  row('a page without a head', 429, '<center><h1>429 Too Many Requests</h1></center>', NONE),
  row(
    'WISPr',
    402,
    '<?xml version="1.0"?><WISPAccessGatewayParam><Redirect/></WISPAccessGatewayParam>',
    NONE,
    typed('xml'),
  ),
  row('WISPr, a short one', 402, '<wispr/>', NONE, typed('xml')),
  ...['<br><b>Web Page Blocked</b>', '<table><tr><td>Too many</td></tr></table>', '<font>x</font>', '<h2>x</h2>'].map(
    body => row('a page that is a piece', 429, body, NONE, typed('text')),
  ),
  row('Cloudflare Access, for programs', 401, '', NONE, {
    'www-authenticate': 'Cloudflare-Access resource_metadata="x"',
  }),
  row('Cloudflare Access, a header', 401, { message: 'Forbidden' }, NONE, { 'cf-access-domain': 'x' }),
  ...['Symantec-WSS', 'BIG-IP', 'BigIP', 'Privoxy 3.0', 'Cloudflare-Gateway', 'Cisco-WSA/14.5'].flatMap(server => [
    row(server, 401, { error: 'blocked' }, NONE, { server }),
    row(server, 402, '', NONE, { server }),
  ]),
  row('Blue Coat, a header', 401, { message: 'Forbidden' }, NONE, { 'x-bluecoat-via': '0' }),
  ...['1.1 proxy (McAfee Web Gateway 11)', '1.1 wsa:80 (Cisco-WSA/14.5)', '1.1 x (squid/5.7)'].flatMap(via => [
    row(via, 402, { status: 'deny', reason: 'Category: AI tools' }, NONE, { via }),
    row(via, 429, 'Your organization has blocked this site', NONE, typed('text', { via })),
    row(`behind ${via}`, 401, { error: 'invalid api key' }, AUTH, { via }),
    row(`behind ${via}, no body`, 401, '', NONE, { via, server: 'nginx' }),
  ]),
  row('a gateway that says nothing', 401, '', NONE, typed('text')),
  row('Zscaler, in JSON without headers', 401, { error_description: 'Zscaler: user not authenticated' }, NONE),
  row('Kong in between', 401, { message: 'No API key found in request' }, NONE, { server: 'kong' }),
  ...['Tyk', 'Apigee', 'kong/3.4.0'].map(server => row(server, 401, { error: 'no' }, NONE, { server })),
  // answers of the provider that a proxy only passes on
  row('behind Squid', 401, { error: 'invalid api key' }, AUTH, { via: '1.1 x (squid/5.7)', 'x-cache': 'MISS from x' }),
  row('behind Cloudflare', 401, { error: 'invalid api key' }, AUTH, { server: 'cloudflare', 'cf-ray': '0' }),
  row('a server of the provider', 429, { error: 'slow down' }, rate(M), { server: 'nginx' }),
  row('a key with a page in the words', 401, { error: 'invalid api key', docs: '<html>' }, AUTH),
  // gateways that a provider runs
  row('Amazon API Gateway, throttling', 429, { message: 'Too Many Requests' }, rate(M)),
  row('Amazon API Gateway, no key', 403, { message: 'Missing Authentication Token' }, NONE),
  row(
    'Azure API Management, rate',
    429,
    { statusCode: 429, message: 'Rate limit is exceeded. Try again in 28 seconds.' },
    rate(28 * S),
  ),
  row(
    'Azure API Management, key',
    401,
    { statusCode: 401, message: 'Access denied due to invalid subscription key.' },
    AUTH,
  ),
  row(
    'Azure OpenAI',
    429,
    { error: { code: '429', message: 'Requests have exceeded token rate limit. Please retry after 7 seconds.' } },
    rate(7 * S),
  ),
  row('Kong, rate', 429, { message: 'API rate limit exceeded' }, rate(21 * S), {
    'ratelimit-remaining': '0',
    'ratelimit-reset': '21',
  }),
  row('Kong, key of who knows', 401, { message: 'Unauthorized' }, NONE, { 'www-authenticate': 'Key realm="kong"' }),
  row('Tyk', 429, { error: 'Rate limit exceeded' }, rate(M)),
  row('Traefik', 429, 'Too Many Requests', rate(S), typed('text', { 'retry-after': '1' })),
  row('Envoy', 429, 'local_rate_limited', rate(M), typed('text')),
  row('slowapi', 429, { error: 'Rate limit exceeded: 5 per 1 minute' }, rate(M)),
  row('FastAPI', 401, { detail: 'Not authenticated' }, AUTH, { 'www-authenticate': 'Bearer' }),
  // standards
  row(
    'RFC 9457: rate',
    429,
    { type: 'about:blank', title: 'Too Many Requests', status: 429, retryAfter: 5 },
    rate(5 * S),
    typed('problem'),
  ),
  row(
    'RFC 9457: credit',
    402,
    { type: 'https://example.com/probs/out-of-credit', title: 'No credit.', status: 402 },
    QUOTA,
    typed('problem'),
  ),
  row(
    'RFC 9457, 3: 403',
    403,
    { type: 'https://example.com/probs/out-of-credit', title: 'No credit.' },
    NONE,
    typed('problem'),
  ),
  row('draft-ietf-httpapi-ratelimit-headers-10', 429, {}, rate(42 * S), {
    ratelimit: '"default";r=0;t=42',
    'ratelimit-policy': '"default";q=100;w=60',
  }),
  row('the same with two policies', 429, {}, rate(7 * S), { ratelimit: '"day";r=10;t=3600, "minute";r=0;t=7' }),
  row('google.rpc.Status', 429, { code: 8, message: 'quota exceeded', details: [] }, rate(M)),
  row('JSON-RPC 2.0', 401, { jsonrpc: '2.0', error: { code: -32001, message: 'Unauthorized' }, id: null }, AUTH),
  row('GraphQL', 200, { errors: [{ message: 'API rate limit exceeded', type: 'RATE_LIMITED' }] }, NONE),
  row(
    'an error in a stream of events',
    200,
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n',
    NONE,
    typed('events'),
  ),
  row('an error in lines', 200, '{"error":"insufficient_quota"}\n', NONE, typed('lines')),
  row('Amazon S3', 401, '<?xml version="1.0"?><Error><Code>InvalidAccessKeyId</Code></Error>', AUTH, typed('xml')),
  row('no body: who knows', 401, '', NONE),
  row('no body: credit', 402, '', QUOTA),
  row('no body: forbidden', 403, '', NONE),
  row('a list', 401, [{ error: { status: 'UNAUTHENTICATED' } }], AUTH),
  row('a byte order mark', 401, '\uFEFF{"error":"invalid api key"}', AUTH, typed('json')),
  row('a body that is cut', 402, '{"error":"Insufficient cre', QUOTA, typed('json')),
  row('plain words of who knows', 401, 'Zugriff verweigert', NONE, typed('text')),
  // services with their own interface
  row('Discord', 429, { message: 'You are being rate limited.', retry_after: 3.2, global: false }, rate(3.2 * S), {
    'x-ratelimit-reset-after': '3.2',
  }),
  row('X', 429, { title: 'Too Many Requests', status: 429 }, rate(90 * S), {
    'x-rate-limit-remaining': '0',
    'x-rate-limit-reset': String(NOON + 90),
  }),
  row('Stripe', 429, { error: { code: 'rate_limit', type: 'invalid_request_error' } }, rate(M)),
  row('Mistral', 401, { message: 'Unauthorized', request_id: '0' }, AUTH),
  row('Mistral, tier', 429, { object: 'error', type: 'service_tier_capacity_exceeded', code: '3505' }, rate(M)),
  row('Cohere', 429, { message: 'You are using a Trial key, which is limited to 40 API calls / minute.' }, rate(M)),
  row(
    'DeepSeek',
    402,
    { error: { message: 'Insufficient Balance', type: 'unknown_error', code: 'invalid_request_error' } },
    QUOTA,
  ),
  row(
    'Moonshot',
    429,
    {
      error: {
        message: 'Your account is suspended, please check your plan and billing details',
        type: 'exceeded_current_quota_error',
      },
    },
    QUOTA,
  ),
  row(
    'OpenAI, billing',
    429,
    { error: { message: 'Your account is not active', type: 'billing_not_active', code: 'billing_not_active' } },
    QUOTA,
  ),
  row(
    'new-api',
    403,
    { error: { message: '用户额度不足', type: 'new_api_error', code: 'insufficient_user_quota' } },
    QUOTA,
  ),
  row('GLM, in Chinese', 429, { error: { code: '1302', message: '您的账户已达到速率限制,请您控制请求频率' } }, rate(M)),
  row(
    'Jina',
    402,
    {
      code: 402,
      name: 'InsufficientBalanceError',
      message: 'Account balance not enough to run this query, please recharge.',
    },
    QUOTA,
  ),
  row('Serper', 400, { message: 'Not enough credits', statusCode: 400 }, NONE),
  row('Brave, second', 429, { type: 'ErrorResponse', error: { status: 429, code: 'RATE_LIMITED' } }, rate(S), {
    'x-ratelimit-remaining': '0, 1523',
    'x-ratelimit-reset': '1, 1419704',
  }),
  row('Brave, month', 429, { type: 'ErrorResponse', error: { status: 429, code: 'QUOTA_LIMITED' } }, rate(H), {
    'x-ratelimit-remaining': '1, 0',
    'x-ratelimit-reset': '1, 1419704',
  }),
  row('Vercel AI Gateway', 402, { error: { message: 'Insufficient funds.', type: 'insufficient_funds' } }, QUOTA),
  row('Together', 429, { error: { type: 'model_rate_limit' } }, rate(S), {
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': '1',
  }),
  row('SerpApi', 429, { error: 'Your account has run out of searches.' }, rate(M)),
  row('Anthropic, overload', 529, { type: 'error', error: { type: 'overloaded_error' } }, NONE),
  row('maintenance', 503, { error: 'maintenance' }, NONE, { 'retry-after': '120' }),
  // times
  row('Groq', 429, {}, rate(90 * S), { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1m30s' }),
  row('a header with units', 429, {}, rate(90 * S), { 'retry-after': '1m30s' }),
  row('milliseconds below zero', 429, {}, rate(M), { 'retry-after-ms': '-5' }),
  row('a date in a field', 429, { retry_after: '2026-11-28T12:00:40Z' }, rate(40 * S)),
  row('an hour in words', 429, { message: 'Too many attempts, please wait 1 hour.' }, rate(H)),
  row('more than an hour in words', 429, { message: 'Try again in 2 hours 3 minutes.' }, rate(H)),
];
