// A refused or unreadable credential, where another account holds other projects: nothing moves to it without the user.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { anotherPlace } from '../../../../wrapper/run/candidates.ts';
import type { Account } from '../../../../wrapper/store/config.ts';
import { missing } from '../../../support/temporary.ts';
import { calls } from '../../../support/wrapper/fake-cli.ts';
import { sandbox } from '../../../support/wrapper/sandbox.ts';
import { PLACES, providers } from '../../../support/wrapper/shipped.ts';

const CLOUDFLARE = '✘ [ERROR] A request to the Cloudflare API (/accounts/x/workers/scripts/y) failed.\n\n  ';

/** Words with which each of them refuses a credential, on stderr or, in JSON, on stdout. */
const REFUSALS: Record<string, string[]> = {
  netlify: ['›   Error: JSONHTTPError: Unauthorized', 'JSONHTTPError: Unauthorized'],
  wrangler: [`${CLOUDFLARE}Authentication error [code: 10000]`, `${CLOUDFLARE}Invalid access token [code: 9109]`],
  'sentry-cli': [
    'error: API request failed\n\nCaused by:\n    sentry reported an error: Invalid token (http status: 401)',
    'error: Auth token is required for this request.',
  ],
  npm: ['npm error code E401', 'npm notice Access token expired or revoked. Please try logging in again.'],
  vercel: [
    'Error: Not authorized',
    'Error: The specified token is not valid. Use `vercel login` to generate a new one.',
  ],
  neonctl: ['ERROR: Authentication failed: the Neon API rejected the API key'],
  supabase: ['unexpected list projects status 401: {"message":"Unauthorized"}', 'Invalid access token format.'],
  gh: ['gh: Bad credentials (HTTP 401)', 'HTTP 401: Bad credentials (https://api.github.com/graphql)'],
  claude: ['{"is_error":true,"api_error_status":401,"result":"Invalid API key"}'],
  codex: [
    'ERROR: unexpected status 401 Unauthorized: Incorrect API key provided: sk-x.',
    '{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: Incorrect API key"}}',
  ],
  gemini: [
    'Error when talking to Gemini API Full report available at: /tmp/x.json _ApiError: {"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}',
  ],
  railway: [
    "Unauthorized. Please check that your RAILWAY_API_TOKEN is valid and has access to the resource you're trying to use.",
    "Invalid RAILWAY_TOKEN. Please check that it is valid and has access to the resource you're trying to use.",
    'Unauthorized. Please login with `railway login`',
  ],
  hf: [
    "Error: Client error '401 Unauthorized' for url 'https://huggingface.co/api/x' (Request ID: y)\nInvalid credentials in Authorization header",
  ],
};

const RULES = `account_is = "place"
inject = ["KEY"]
[[providers.fake.rules]]
class = "auth"
stderr = "^refused"
[[providers.fake.rules]]
class = "quota"
stderr = "^used up"
[[providers.fake.rules]]
class = "rate"
stderr = "^slow down"
`;

/** Writes the key of each run down. */
const SCRIPT = `#!/bin/sh
echo "$KEY $*" >> "$HOME/calls"
echo "out of $KEY"
case $KEY in
  bad*) echo "$(cat "$HOME/answer")" >&2; exit 3 ;;
esac
`;

function withPlace(t: Parameters<typeof sandbox>[0], answer = 'refused', rules = RULES) {
  const box = sandbox(t);
  box.script('fake', SCRIPT);
  fs.writeFileSync(path.join(box.home, 'answer'), answer);
  box.provider('fake', rules);
  box.accounts('fake', { customer: 'bad-c', private: 'good-p' }, 'KEY');
  return box;
}

for (const [answer, text] of [
  ['refused', 'was refused (auth)'],
  ['used up', 'has no quota left (quota'],
] as const) {
  test(`"${answer}" ends a command with 69, shows the answer, names \`use\`, and the next command stays with the account`, async t => {
    const box = withPlace(t, answer);
    for (const named of [undefined, 'customer']) {
      const result = await box.shim('fake', ['deploy'], { env: { CULVERT_WRAP_ACCOUNT: named } });
      assert.deepEqual([result.exit, result.stdout], [69, 'out of bad-c\n'], result.stderr);
      const [shown, line, ...more] = result.stderr.trim().split('\n');
      assert.deepEqual([shown, more], [answer, []]);
      assert.ok(line!.startsWith(`culvert-wrap: fake: account "customer" ${text}`), line);
      assert.match(
        line!,
        /another account holds other projects.*`fake accounts use NAME` selects one \(customer, private\)$/,
      );
    }
    assert.deepEqual(calls(box), ['bad-c deploy', 'bad-c deploy']);
    await box.wrap(['accounts', 'default', 'fake', 'private']);
    assert.equal((await box.shim('fake', ['deploy'])).stdout, 'out of good-p\n');
  });
}

test("a refusal names the provider's terms where they are the reason that no other account is tried", async t => {
  const box = withPlace(t, 'refused', `accounts = "one-per-person"\n${RULES}`);
  const result = await box.shim('fake', ['deploy']);
  assert.equal(result.exit, 69);
  assert.match(
    result.stderr,
    /was refused \(auth\); by the provider's terms no other account is tried; `fake accounts use NAME` selects one \(customer, private\)\n$/,
  );
  assert.doesNotMatch(result.stderr, /set of things/);
  const accounts = ['a', 'b'].map(name => ({ name, enabled: true }) as Account);
  for (const cli of PLACES) {
    const provider = providers[cli]!;
    const isTerms = /terms/.test(anotherPlace({ accounts, provider }));
    assert.equal(isTerms, provider.accounts === 'one-per-person', cli);
  }
});

test('a rate limit keeps the exit status of the tool, and leads to no other account either', async t => {
  const box = withPlace(t, 'slow down');
  const result = await box.shim('fake', ['deploy']);
  assert.equal(result.exit, 3);
  assert.deepEqual(calls(box), ['bad-c deploy']);
});

test('the user can have failover', async t => {
  const box = withPlace(t);
  box.configure('[tools.fake]\nfailover = true\n');
  const result = await box.shim('fake', ['deploy']);
  assert.deepEqual([result.exit, result.stdout], [0, 'out of good-p\n']);
  assert.deepEqual(calls(box), ['bad-c deploy', 'good-p deploy']);
});

test('a credential that cannot be read, as in a locked keyring, ends the command with 69 and runs no other account', async t => {
  const box = withPlace(t);
  box.script('secret-tool', '#!/bin/sh\nexit 1\n');
  const config = path.join(box.config, 'config.toml');
  const text = fs.readFileSync(config, 'utf8');
  for (const source of ['keyring:', 'command:exit 1', 'env:NOT_SET', `file:${missing(t)}#K`]) {
    fs.writeFileSync(config, text.replace(/"file:[^"]*#fake_customer"/, JSON.stringify(source)));
    const result = await box.shim('fake', ['deploy']);
    assert.deepEqual([result.exit, result.stdout], [69, ''], source);
    assert.match(
      result.stderr,
      /the account can't be used \(customer: KEY from [^\n]*\)\n[^\n]*`fake accounts use NAME` selects one/,
    );
  }
  assert.equal(fs.existsSync(path.join(box.home, 'calls')), false);
});

for (const cli of PLACES) {
  test(`${cli}: a refused credential ends a command with 69, names \`use\`, and no other account runs`, async t => {
    const box = sandbox(t);
    box.script(
      cli,
      `#!/bin/sh
echo "$KEY" >> "$HOME/calls"
case $(cat "$HOME/answer") in '{'*) cat "$HOME/answer" ;; *) cat "$HOME/answer" >&2 ;; esac
exit 1
`,
    );
    // some names can't be variables of a shell
    box.provider(cli, 'inject = ["KEY"]');
    box.accounts(cli, { customer: 'bad-c', private: 'good-p' }, 'KEY');
    const answers = REFUSALS[cli] ?? [];
    assert.ok(answers.length > 0, `words with which ${cli} refuses a credential`);
    for (const answer of answers) {
      fs.writeFileSync(path.join(box.home, 'answer'), answer);
      const { exit, stderr } = await box.shim(cli, ['deploy']);
      assert.equal(exit, 69, `${answer}: ${stderr}`);
      const { auth_command: words } = providers[cli]!;
      assert.ok(stderr.endsWith(`\`${cli} ${words} use NAME\` selects one (customer, private)\n`), stderr);
      const { entries } = await box.json('audit');
      assert.equal(entries.at(-1).class, 'auth', answer);
    }
    assert.deepEqual(new Set(calls(box)), new Set(['bad-c']));
    assert.match((await box.wrap(['explain', cli, 'deploy'])).stdout, /with one account only/);
  });
}

test('a refusal that may be about a permission or this address leads to no other account with failover either', async t => {
  for (const [cli, { rules }] of Object.entries(providers)) {
    if (!rules.some(({ stays }) => stays)) continue;
    const box = sandbox(t);
    box.script(cli, `#!/bin/sh\necho "$KEY" >> "$HOME/calls"\ncat "$HOME/answer" >&2\nexit 1\n`);
    fs.writeFileSync(path.join(box.home, 'answer'), REFUSALS[cli]![0]!);
    box.provider(cli, 'inject = ["KEY"]');
    box.accounts(cli, { customer: 'bad-c', private: 'good-p' }, 'KEY');
    box.configure(`[tools.${cli}]\nfailover = true\n`);
    const { exit, stderr } = await box.shim(cli, ['deploy']);
    assert.deepEqual([exit, calls(box)], [69, ['bad-c']], stderr);
    assert.match(stderr, /refuses this token: .*WARP.*`wrangler login use NAME` selects one/);
  }
});
