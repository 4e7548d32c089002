// Errors of MCP servers as they write them, and answers that only look like one.
import type { RefusalCase } from './refusals.ts';

const [S, M, H] = [1_000, 60_000, 3_600_000];

type Meaning = Pick<RefusalCase, 'means' | 'pause'>;
const QUOTA: Meaning = { means: 'quota', pause: H };
const AUTH: Meaning = { means: 'auth', pause: H };
const rate = (pause: number): Meaning => ({ means: 'rate', pause });
const NONE: Meaning = { means: 'none' };

/** Recorded on 2026-11-28 in front of a provider on loopback, with Node.js 22. */
const FIRECRAWL = 'recording of firecrawl-mcp 3.26.0';
const TAVILY = 'recording of tavily-mcp 0.2.22';
const EXA = 'recording of exa-mcp-server 3.4.1';

const row = (source: string, cli: string, answer: RefusalCase['answer'], meaning: Meaning): RefusalCase => ({
  source,
  cli,
  door: 'mcp',
  answer: answer!,
  ...meaning,
});

/** A result with a text, and the fields of a newer server. */
function resultOf(text: string, fields?: object, isError: boolean | undefined = true) {
  return {
    result: {
      content: [{ type: 'text', text }],
      ...(fields && { structuredContent: fields }),
      ...(isError !== undefined && { isError }),
    },
  };
}
/** The same where the server does not say that it is an error. */
const unflagged = (text: string, fields?: object) => {
  const { isError: _, ...result } = resultOf(text, fields).result;
  return { result };
};
/** The remote server of Tavily, as tavily-ai/tavily-mcp#211 and #121 have it. */
const remote = (document: object, fields?: object) => resultOf(JSON.stringify(document), fields, false);

const LOW = 'Insufficient credits to perform this request.';
const LIMITED =
  'Rate limit exceeded. Consumed (req/min): 11, Remaining (req/min): 0. Upgrade your plan at https://firecrawl.dev/pricing for increased rate limits or please retry after 23s, resets at Thu Jan 01 2026';
const BANNED =
  'Unauthorized: This account has been banned. Contact support@firecrawl.com if you believe this is a mistake.';
const HINTS = ['Let the user know that the connected Firecrawl account is low on credits.'];
const hinted = (message: string) =>
  `${message}\n\nFirecrawl API agent_hints (response guidance, separate from page content):\n${JSON.stringify(HINTS, null, 2)}`;
const failed = (tool: string, message: string) => `Tool 'firecrawl_${tool}' execution failed: ${message}`;
const exchange = (status: number, message: string) => ({ code: 'exchange_error', status, message });
const INVALID =
  'The Firecrawl API key is invalid or revoked.\nFix: Replace the key on the existing Firecrawl MCP server, then start a new session.';
const recovery = (code: string, auth_mode: string) => ({ code, request_id: '0', auth_mode, message: 'x' });

const PAGE = '<!DOCTYPE html><html><head><title>Web Page Blocked</title></head></html>';
const DOCS = 'Documentation: https://docs.tavily.com/documentation/api-reference/endpoint/search';
const PLAN = "This request exceeds your plan's set usage limit.";
const BLOCKED = 'Your request has been blocked due to excessive requests. Please reduce rate of requests.';
const CONTINUE = 'Continuation options:\n- Sign up for a Tavily API key: https://app.tavily.com';
const inTavily = (error: string) => resultOf(`Tavily API error: ${JSON.stringify({ error })}\n${DOCS}`);
const inExa = (status: number, message: string, tool = 'web_search_exa') =>
  resultOf(`${tool} error (${status}): ${message}\nTimestamp: 2026-11-28T21:50:31.811Z`);

export const MCP_REFUSALS: readonly RefusalCase[] = [
  row(FIRECRAWL, 'firecrawl', resultOf(failed('search', 'Request failed with status code 401')), AUTH),
  row(FIRECRAWL, 'firecrawl', resultOf(failed('scrape', 'Unauthorized: Invalid token')), AUTH),
  row(FIRECRAWL, 'firecrawl', resultOf(LOW, exchange(402, LOW)), QUOTA),
  row(FIRECRAWL, 'firecrawl', resultOf(failed('scrape', LOW)), QUOTA),
  row(FIRECRAWL, 'firecrawl', resultOf(failed('crawl', 'Request failed with status code 402')), QUOTA),
  row(
    `${FIRECRAWL}, with the hints of firecrawl/firecrawl#4641`,
    'firecrawl',
    resultOf(hinted(LOW), { error: LOW, agent_hints: HINTS }),
    QUOTA,
  ),
  row(
    `${FIRECRAWL}, with hints`,
    'firecrawl',
    resultOf(hinted('Request failed with status code 402'), { error: 'Request failed with status code 402' }),
    QUOTA,
  ),
  row(FIRECRAWL, 'firecrawl', resultOf(BANNED, exchange(403, BANNED)), AUTH),
  row(FIRECRAWL, 'firecrawl', resultOf(failed('map', BANNED)), AUTH),
  row(FIRECRAWL, 'firecrawl', resultOf(failed('scrape', 'This website is not supported.')), NONE),
  row(FIRECRAWL, 'firecrawl', resultOf('x', exchange(403, 'This website is not supported.')), NONE),
  row(FIRECRAWL, 'firecrawl', resultOf(LIMITED, exchange(429, LIMITED)), rate(23 * S)),
  row(FIRECRAWL, 'firecrawl', resultOf(failed('map', LIMITED)), rate(23 * S)),
  row(`${FIRECRAWL}, with hints`, 'firecrawl', resultOf(hinted(LIMITED), { error: LIMITED }), rate(23 * S)),
  row(FIRECRAWL, 'firecrawl', resultOf(failed('crawl', 'Request failed with status code 429')), rate(M)),
  row(
    `${FIRECRAWL}: a 429 without words`,
    'firecrawl',
    resultOf('Alexandria request failed (HTTP 429)', exchange(429, 'Alexandria request failed (HTTP 429)')),
    rate(M),
  ),
  row(FIRECRAWL, 'firecrawl', resultOf('x', exchange(500, 'x')), NONE),
  row(
    'firecrawl/firecrawl-mcp-server#365',
    'firecrawl',
    resultOf(INVALID, recovery('CREDENTIAL_INVALID', 'credential_error')),
    AUTH,
  ),
  row('firecrawl/firecrawl-mcp-server#365, the text alone', 'firecrawl', resultOf(INVALID), AUTH),
  row(
    'package firecrawl-mcp 3.26.0: a lost login',
    'firecrawl',
    resultOf('x', recovery('OAUTH_CONNECTION_INVALID', 'oauth')),
    AUTH,
  ),
  row(
    'package firecrawl-mcp 3.26.0: no key, although ours is there',
    'firecrawl',
    resultOf('x', recovery('KEYLESS_TOOL_NOT_AVAILABLE', 'keyless')),
    AUTH,
  ),
  row(
    'package firecrawl-mcp 3.26.0: it could not ask',
    'firecrawl',
    resultOf('x', recovery('KEYLESS_ELIGIBILITY_UNAVAILABLE', 'keyless')),
    NONE,
  ),
  row('a page that quotes an error', 'firecrawl', unflagged(failed('scrape', LOW)), NONE),
  row('a page that quotes the fields', 'firecrawl', unflagged('{"code":"CREDENTIAL_INVALID","status":402}'), NONE),
  row('a page behind an error', 'firecrawl', resultOf(`could not read a page:\n${failed('scrape', LOW)}`), NONE),
  row(TAVILY, 'tvly', inTavily('Unauthorized: missing or invalid API key.'), AUTH),
  row(TAVILY, 'tvly', inTavily('The URL is not supported.'), NONE),
  row(TAVILY, 'tvly', inTavily(BLOCKED), rate(M)),
  row(TAVILY, 'tvly', inTavily(`${PLAN} Please upgrade your plan or contact support@tavily.com`), QUOTA),
  row(TAVILY, 'tvly', inTavily('This request exceeds the pay-as-you-go limit. You can increase your limit.'), QUOTA),
  row(TAVILY, 'tvly', inTavily('x'), NONE),
  row(TAVILY, 'tvly', resultOf(`Tavily API error: Request failed with status code 429\n${DOCS}`), rate(M)),
  row('a page in between', 'tvly', resultOf(`Tavily API error: Request failed with status code 429\n${PAGE}`), NONE),
  row('a page in between', 'exa', resultOf(`web_search_exa error (401): ${PAGE}`), NONE),
  row('a page in between', 'exa', resultOf(`web_search_exa error (429): ${PAGE}`), NONE),
  row('a page in between', 'firecrawl', resultOf(failed('crawl', `Request failed with status code 402 ${PAGE}`)), NONE),
  row(`${TAVILY}: research`, 'tvly', { error: { code: -32603, message: `Usage limit exceeded. ${DOCS}` } }, rate(M)),
  row(`${TAVILY}: research`, 'tvly', { error: { code: -32603, message: `Invalid API key. ${DOCS}` } }, AUTH),
  row(`${TAVILY}: the newer form`, 'tvly', unflagged(PLAN), QUOTA),
  row(`${TAVILY}: the newer form`, 'tvly', unflagged('Your API key is invalid.'), AUTH),
  row(
    `${TAVILY}: the newer form`,
    'tvly',
    unflagged(`You have reached the keyless rate limit. Sign up.\nRetry after: 3600s\n${CONTINUE}`),
    rate(H),
  ),
  row(`${TAVILY}: the newer form, without options`, 'tvly', unflagged('Too fast.\nRetry after: 30s'), rate(30 * S)),
  row(
    'a page that quotes the newer form',
    'tvly',
    unflagged(`Detailed Results:\n\nTitle: t\nURL: u\nContent: ${PLAN}\nRetry after: 3600s\n${CONTINUE}`),
    NONE,
  ),
  row(
    'an answer that quotes the newer form',
    'tvly',
    unflagged(`Answer: ${PLAN}\nRetry after: 3600s\nDetailed Results:\n`),
    NONE,
  ),
  row('a research on limits', 'tvly', unflagged(`${PLAN}\n\nThis is what users of Tavily see.`), NONE),
  row(
    'tavily-ai/tavily-mcp#211',
    'tvly',
    remote(
      { error: 'Search failed' },
      { error: 'Search failed', detail: "Invalid Tavily API key: the value does not start with 'tvly-'." },
    ),
    AUTH,
  ),
  row(
    'tavily-ai/tavily-mcp#211, the text alone',
    'tvly',
    remote({ error: 'Search failed', detail: "Invalid Tavily API key: the value does not start with 'tvly-'." }),
    AUTH,
  ),
  row('tavily-ai/tavily-mcp#121', 'tvly', remote({ error: 'Search failed', detail: 'Authentication required' }), AUTH),
  row(
    'the remote server of Tavily, with its words for a used-up plan',
    'tvly',
    remote({ error: 'Search failed', detail: { error: PLAN } }),
    QUOTA,
  ),
  row(
    'the remote server of Tavily, with its words for too many requests',
    'tvly',
    remote({ error: 'Search failed', detail: BLOCKED, retry_after_seconds: 12 }),
    rate(12 * S),
  ),
  row('the remote server of Tavily: another error', 'tvly', remote({ error: 'Search failed', detail: 'x' }), NONE),
  row(
    'a search whose pages quote the remote server',
    'tvly',
    remote({
      query: 'x',
      results: [
        { title: 'Authentication required', content: '{"error":"Search failed","detail":"Authentication required"}' },
      ],
    }),
    NONE,
  ),
  row(EXA, 'exa', inExa(401, 'Invalid API key'), AUTH),
  row(EXA, 'exa', inExa(402, 'You have exceeded your credits limit.'), QUOTA),
  row(EXA, 'exa', inExa(402, 'Payment required', 'web_fetch_exa'), QUOTA),
  row(EXA, 'exa', inExa(403, 'Access denied'), NONE),
  row(EXA, 'exa', inExa(429, 'You have exceeded your rate limit.'), rate(M)),
  row(EXA, 'exa', inExa(429, 'Request failed with status 429.', 'web_fetch_exa'), rate(M)),
  row(EXA, 'exa', inExa(500, 'x'), NONE),
  row(
    'package exa-mcp-server 3.4.1',
    'exa',
    resultOf("You've hit Exa's free MCP rate limit. To continue using without limits, create your own Exa API key."),
    rate(M),
  ),
];
