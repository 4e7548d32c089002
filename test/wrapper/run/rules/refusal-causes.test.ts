// Refusals with the status of a refused credential: which of them are about the network or a right, by words of many providers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classify } from '../../../../wrapper/run/rules/classify.ts';
import { verdictOf } from '../../../../wrapper/run/rules/http-errors.ts';
import { verdictOf as verdictOfMcp } from '../../../../wrapper/run/rules/mcp-messages.ts';
import { CAUSE_NOTES, causeOf } from '../../../../wrapper/run/rules/refusal-causes.ts';
import { providers } from '../../../support/wrapper/shipped.ts';

type Meaning = 'address' | 'activity' | 'right' | 'key';

const google = (message: string, status: string, reason: string) => ({
  error: { code: 403, message, status, details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason }] },
});
const openai = (message: string, code: string | null, type = 'invalid_request_error') => ({
  error: { message, type, param: null, code },
});
const cloudflare = (code: number, message: string) => ({ success: false, errors: [{ code, message }], result: null });

/** Provider, words, and what they are about. */
const WORDS: [provider: string, said: unknown, meaning: Meaning][] = [
  [
    'OpenAI',
    openai('Your request IP does not match the configured IP allowlist for your project.', 'ip_not_authorized'),
    'address',
  ],
  [
    'OpenAI',
    openai('Country, region, or territory not supported', 'unsupported_country_region_territory', 'request_forbidden'),
    'address',
  ],
  [
    'OpenAI',
    openai('You have insufficient permissions for this operation. Missing scopes: model.read.', null),
    'right',
  ],
  ['OpenAI', openai('Project `p` does not have access to model `m`', 'model_not_found'), 'right'],
  [
    'OpenAI',
    openai('OpenAI-Organization header should match organization for API key', 'mismatched_organization'),
    'right',
  ],
  [
    'OpenAI',
    openai('Incorrect API key provided: sk-0. You can find your API key at https://x.', 'invalid_api_key'),
    'key',
  ],
  ['OpenAI', openai("You didn't provide an API key.", null), 'key'],
  [
    'Anthropic',
    {
      type: 'error',
      error: {
        type: 'permission_error',
        message: 'Your API key does not have permission to use the specified resource.',
      },
    },
    'right',
  ],
  ['Anthropic', { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } }, 'key'],
  ['Anthropic', { type: 'error', error: { type: 'authentication_error', message: 'OAuth token has expired.' } }, 'key'],
  [
    'Google',
    google(
      'The provided API key has an IP address restriction. The originating IP address of the call (203.0.113.7) violates this restriction.',
      'PERMISSION_DENIED',
      'API_KEY_IP_ADDRESS_BLOCKED',
    ),
    'address',
  ],
  ['Google', { error: { code: 400, message: 'User location is not supported for the API use.' } }, 'address'],
  [
    'Google',
    google('Requests from referer <empty> are blocked.', 'PERMISSION_DENIED', 'API_KEY_HTTP_REFERRER_BLOCKED'),
    'right',
  ],
  ['Google', google('Requests to this API are blocked.', 'PERMISSION_DENIED', 'API_KEY_SERVICE_BLOCKED'), 'right'],
  [
    'Google',
    google('Request had insufficient authentication scopes.', 'PERMISSION_DENIED', 'ACCESS_TOKEN_SCOPE_INSUFFICIENT'),
    'right',
  ],
  ['Google', google('API key expired. Please renew the API key.', 'INVALID_ARGUMENT', 'API_KEY_INVALID'), 'key'],
  [
    'Google',
    {
      error: {
        code: 403,
        message: 'Your API key was reported as leaked. Please use another API key.',
        status: 'PERMISSION_DENIED',
      },
    },
    'key',
  ],
  ['Cloudflare', cloudflare(9109, 'Cannot use the access token from location: 203.0.113.7'), 'address'],
  ['Cloudflare', cloudflare(9109, 'Invalid access token'), 'key'],
  ['Cloudflare', cloudflare(1000, 'Invalid API Token'), 'key'],
  ['Cloudflare', cloudflare(10000, 'Authentication error'), 'key'],
  [
    'GitHub',
    {
      message:
        'Although you appear to have the correct authorization credentials, the `org` organization has an IP allow list enabled, and your IP address is not permitted to access this resource.',
    },
    'address',
  ],
  [
    'GitHub',
    {
      message:
        'Resource protected by organization SAML enforcement. You must grant your Personal Access token access to this organization.',
    },
    'right',
  ],
  ['GitHub', { message: 'Resource not accessible by personal access token' }, 'right'],
  ['GitHub', { message: 'Bad credentials', documentation_url: 'https://docs.github.com/rest' }, 'key'],
  ['Exa', { requestId: '0', error: 'x-api-key header is invalid', tag: 'INVALID_API_KEY' }, 'key'],
  ['Exa', { requestId: '0', error: 'This feature is disabled for your team', tag: 'FEATURE_DISABLED' }, 'right'],
  [
    'ElevenLabs',
    {
      detail: {
        status: 'missing_permissions',
        message: 'The API key you used is missing the permission text_to_speech to execute this operation.',
      },
    },
    'right',
  ],
  [
    'ElevenLabs',
    { detail: { status: 'detected_unusual_activity', message: 'Unusual activity detected.' } },
    'activity',
  ],
  ['ElevenLabs', { detail: { status: 'invalid_api_key', message: 'Invalid API key' } }, 'key'],
  ['Firecrawl', { success: false, error: 'Unauthorized: Invalid token' }, 'key'],
  ['Firecrawl', { success: false, error: 'Unauthorized: IP address not allowed for this API key' }, 'address'],
  ['Tavily', { detail: { error: 'Unauthorized: missing or invalid API key.' } }, 'key'],
  ['GitLab', { error: 'insufficient_scope', error_description: 'The request requires higher privileges.' }, 'right'],
  ['GitLab', { error: 'invalid_token', error_description: 'Token was revoked. You have to re-authorize.' }, 'key'],
  ['Stripe', { error: { message: 'The API key provided does not allow requests from your IP address.' } }, 'address'],
  ['Stripe', { error: { message: 'Invalid API Key provided: sk_test_0' } }, 'key'],
  [
    'Stripe',
    { error: { message: 'The provided key does not have the required permissions for this endpoint.' } },
    'right',
  ],
  ['Atlassian', { code: 401, message: 'Unauthorized; scope does not match' }, 'right'],
  ['Slack', { ok: false, error: 'missing_scope', needed: 'chat:write' }, 'right'],
  ['Slack', { ok: false, error: 'token_revoked' }, 'key'],
  ['Slack', { ok: false, error: 'invalid_auth' }, 'key'],
  ['Notion', { code: 'restricted_resource', message: 'Insufficient permissions for this endpoint.' }, 'right'],
  ['Discord', { message: 'Missing Permissions', code: 50013 }, 'right'],
  ['Airtable', { error: { type: 'INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND', message: 'Invalid permissions' } }, 'right'],
  ['Binance', { code: -2015, msg: 'Invalid API-key, IP, or permissions for action.' }, 'address'],
  ['Coinbase', { message: 'ip address not whitelisted' }, 'address'],
  ['Zoom', { code: 4711, message: 'Invalid access token, does not contain scopes:[user:read].' }, 'right'],
  ['Figma', { status: 403, err: 'Invalid scope(s): file_read. This endpoint requires the files:read scope' }, 'right'],
  ['Sentry', { detail: 'Invalid token' }, 'key'],
  ['Sentry', { detail: { code: 'sso-required', message: 'Must login via SSO' } }, 'right'],
  ['Sentry', { detail: 'You do not have permission to perform this action.' }, 'right'],
  ['Vercel', { error: { code: 'forbidden', message: 'Not authorized', invalidToken: true } }, 'key'],
  ['Netlify', { code: 401, message: 'Access Denied' }, 'key'],
  ['Supabase', { message: 'Your IP address is banned' }, 'address'],
  ['npm', { error: 'You must be logged in to publish packages.' }, 'key'],
  ['Hugging Face', { error: 'Your IP is blocked from using this API' }, 'address'],
  ['Hugging Face', { error: 'Access to model m is restricted. You must accept the license to access it.' }, 'right'],
  ['SendGrid', { errors: [{ message: 'The provided authorization grant is invalid, expired, or revoked' }] }, 'key'],
  ['Groq', openai('Access denied. Please check your network settings.', 'forbidden'), 'key'],
  ['Mistral', { message: 'Unauthorized', request_id: '0' }, 'key'],
  ['a firewall', { error: 'ipNotAllowed' }, 'address'],
  ['a firewall', { error: 'GEO-BLOCKED', message: 'Service not available in your country' }, 'address'],
  ['a VPN filter', { error: 'VPN or proxy detected, please disable it' }, 'address'],
  ['a plan', { error: 'This endpoint is not available on your current plan' }, 'right'],
  ['a tip behind a dead key', { error: 'Your API key is invalid. Check its permissions at https://x.' }, 'key'],
  ['an address with dots', { error: 'Your IP address 1.2.3.4 is not allowed' }, 'address'],
  ['an address with dots', 'IP address 1.2.3.4 is not allowed to access this resource.', 'address'],
  ['an address with dots', 'Your IP 1.2.3.4 is blocked', 'address'],
  ['an address with dots', 'The IP address (1.2.3.4) is not whitelisted', 'address'],
  ['an address with colons', 'IP address 2001:db8::1 is not allowed', 'address'],
  ['an address and no other word', 'Access from 203.0.113.7 is not allowed', 'address'],
  ['a host', 'Your IP is, says gate.example.com, not allowed', 'address'],
  ['a dead key from an address', 'Invalid API key (client 1.2.3.4)', 'key'],
  ['a network', 'Access from your network has been blocked by the administrator', 'address'],
  ['a network', 'Your network is not allowed', 'address'],
  ['a network', 'Connection from outside the allowed networks', 'address'],
  ['a network', { error: { message: 'Access denied due to Virtual Network/Firewall rules.' } }, 'address'],
  ['a network', 'We do not allow VPN connections', 'address'],
  ['a country', 'Requests from embargoed countries are rejected', 'address'],
  ['an address', 'Your request is coming from an unauthorized IP', 'address'],
  ['an address', { error: { code: 'ACCESS_DENIED_IP', message: 'x' } }, 'address'],
  ['an organization', 'You must be a member of an organization to use the API', 'right'],
  ['a second factor', 'Two-factor authentication on your account is required', 'right'],
  ['a role', { message: 'Must have admin rights to Repository.' }, 'right'],
  ['a key to read', 'Your token has read-only access', 'right'],
  ['a method', 'Method not allowed with this API key', 'right'],
  ['a dead key', 'This API key has been revoked because of suspicious activity', 'key'],
  [
    'a dead key',
    { error: 'This API key has been revoked because of suspicious activity', tag: 'INVALID_API_KEY' },
    'key',
  ],
  ['a code of a dead key', { error: 'We saw suspicious activity', tag: 'INVALID_API_KEY' }, 'key'],
  ['a dead account', 'User account is deactivated, you do not have access', 'key'],
  ['a dead key', 'API key was not found in this region', 'key'],
  ['a dead key', 'Your API key is no longer active. Keys require permission from admin.', 'key'],
  ['a dead key', 'We disabled this key because it was exposed in a public location; access is denied', 'key'],
  ['a dead key', 'Invalid key. Check that your VPN or proxy is not blocked', 'key'],
  [
    'a dead key with a link',
    { message: 'Bad credentials', documentation_url: 'https://docs.github.com/rest/ip-allow-list' },
    'key',
  ],
  [
    'a link alone',
    { message: 'Unauthorized', documentation_url: 'https://docs.example.com/ip_not_allowed/sso-required' },
    'key',
  ],
  ['Anthropic', 'Unfortunately, Claude is only available in certain regions right now.', 'address'],
  [
    'Anthropic',
    'Access to Anthropic models is not allowed from unsupported countries, regions, or territories.',
    'address',
  ],
  ['Anthropic', { error: { message: 'This organization has been disabled.' } }, 'key'],
  ['Azure', 'This request is not authorized to perform this operation because of its network', 'address'],
  ['Azure', 'Public access is disabled. Please configure private endpoint.', 'address'],
  ['a VPN filter', 'This service cannot be used over Tor or anonymous proxies', 'address'],
  ['a network', 'Requests from datacenter IPs are refused', 'address'],
  ['an address', 'This API key cannot be used from 203.0.113.5', 'address'],
  ['a place', 'Token not valid from this location', 'address'],
  ['a place', 'App unavailable in region', 'address'],
  ['a place', 'You have been geo-blocked', 'address'],
  ['two causes', 'Invalid API key, or your IP is not allowed', 'address'],
  ['a dead key', 'Invalid credentials. Your IP address has been logged; repeated attempts are blocked.', 'key'],
  ['a dead key', 'Wrong API key! For security, IP 1.2.3.4 will be blocked after 5 failures', 'key'],
  ['a dead key', 'Token revoked because the IP address changed; not allowed', 'key'],
  ['a dead key', 'Api key expired. Access from IP 1.2.3.4 denied', 'key'],
  ['a dead key', 'Your API key has been blocked', 'key'],
  ['DeepSeek', 'Authentication Fails, Your api key: ****0000 is invalid', 'key'],
  ['OpenAI', 'Your access token could not be refreshed because your refresh token was already used.', 'key'],
  ['AWS', 'The security token included in the request is invalid.', 'key'],
  [
    'Google',
    google(
      'Generative Language API has not been used in project 1 before or it is disabled.',
      'PERMISSION_DENIED',
      'SERVICE_UNUSED',
    ),
    'right',
  ],
  ['a model', 'This API key is not allowed to access this model', 'right'],
  ['an endpoint', 'Your token is not authorized for this endpoint', 'right'],
  ['an endpoint', 'API keys are not permitted on this endpoint; use OAuth', 'right'],
  ['a key to read', 'The key is read only', 'right'],
  ['a key to read', 'Your current token has no write permission', 'right'],
  ['a role', 'Your role does not permit this action', 'right'],
  ['a role', 'You need to be a team admin', 'right'],
  ['a model', 'You are trying to access a gated repo. Make sure to have access to it', 'right'],
  ['a new account', 'Please verify your email address', 'right'],
  ['a VPN filter', 'We have detected that you are using a VPN. Please turn it off.', 'address'],
  ['a VPN filter', 'It looks like you’re behind an anonymous proxy', 'address'],
  ['a VPN filter', 'Turn off your VPN and try again', 'address'],
  ['a VPN filter', 'Requests through anonymizing services (VPN, Tor) are refused', 'address'],
  ['a VPN filter', 'Anonymous proxies are prohibited', 'address'],
  ['a VPN filter', { code: 'vpn_detected', message: 'x' }, 'address'],
  ['a VPN filter', { error: 'PROXY_NOT_ALLOWED' }, 'address'],
  ['an address', 'This key may only be used from IP 198.51.100.7', 'address'],
  ['an address', 'This key may only be used from 198.51.100.0/24', 'address'],
  ['an address', 'The token is only valid from the office network', 'address'],
  ['an address', { error: { code: 'ip_address_rejected', message: 'x' } }, 'address'],
  ['an address', { code: 'IP_WAS_REFUSED' }, 'address'],
  ['a country', 'Sorry, we do not serve customers in your country', 'address'],
  ['a country', "We don't currently offer the API in your region", 'address'],
  ['a country', 'Our services aren’t provided to certain countries', 'address'],
  ['a country', 'Service is not available where you are', 'address'],
  ['a country', { code: 'country_forbidden' }, 'address'],
  ['a watch', 'We noticed suspicious login behavior on your account', 'activity'],
  ['a watch', 'Suspicious sign-in attempt was blocked', 'activity'],
  ['a watch', 'Abnormal traffic from this account', 'activity'],
  ['a watch', 'Your account has been flagged for abuse', 'activity'],
  ['a watch', 'Your organization was automatically flagged as potentially fraudulent', 'activity'],
  ['a watch', 'Automated traffic detected. Please verify that you are human', 'activity'],
  ['a watch', 'Our systems have detected bots', 'activity'],
  ['a watch', 'Solve the captcha to go on', 'activity'],
  ['a watch', 'Account temporarily suspended due to unusual usage patterns', 'activity'],
  ['a watch', { code: 'suspicious_login', message: 'x' }, 'activity'],
  ['a watch', { code: 'BOT_DETECTED', message: 'x' }, 'activity'],
  ['a dead key behind a proxy', 'Invalid API key. Requests from a proxy need one as well', 'key'],
  ['a key from a page', 'Invalid token. You can only use keys from the dashboard', 'key'],
  [
    'Google',
    google(
      "Permission denied: Consumer 'api_key:AIza0' has been suspended.",
      'PERMISSION_DENIED',
      'CONSUMER_SUSPENDED',
    ),
    'key',
  ],
  ['Google', "Permission denied: Consumer 'api_key:AIza0' has been suspended.", 'key'],
  ...['This organization has been disabled.', 'This API key has been archived.', 'Your workspace is suspended'].map(
    (message): (typeof WORDS)[number] => [
      'Anthropic',
      { type: 'error', error: { type: 'permission_error', message } },
      'key',
    ],
  ),
  ['a suspended key', { code: 'forbidden', message: 'The key has been suspended; permission denied' }, 'key'],
  ['a suspended account', { code: 'permission_denied', message: 'Suspended account' }, 'key'],
  ['a suspended account', { code: 'ORGANIZATION_SUSPENDED', message: 'You lack permissions' }, 'key'],
  ['an archived project', { code: 'project_archived', message: 'Missing permission' }, 'key'],
  ['a suspended account', 'Account suspended: access from your country is not allowed', 'address'],
  ['a rotated key', { error: 'permission_denied', message: 'Token was rotated. You no longer have access.' }, 'key'],
  ['a dead key', 'The token you supplied is expired. Access denied to this location.', 'key'],
  ['a dead key', 'The API key that you have provided was revoked. Missing permissions', 'key'],
  ['an account without a right', 'API access is disabled for your account, a permission is required', 'right'],
  ['a zip code', { error: 'Invalid token: recipient 203 not found' }, 'key'],
];

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
