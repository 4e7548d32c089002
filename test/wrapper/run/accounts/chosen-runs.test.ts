// Wrapped commands for which the user made a choice without culvert-wrap: who runs, with which line, and in which log entry.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { type Sandbox, sandbox } from '../../../support/wrapper/sandbox.ts';
import { ELSEWHERE, providers, tools, waysOf } from '../../../support/wrapper/shipped.ts';

/** A tool that prints its arguments and what it has of these variables. */
function recorder(box: Sandbox, cli: string, names: readonly string[]): void {
  const shown = names.filter(name => /^\w+$/.test(name)).map(name => `[${name}=$${name}]`);
  box.script(providers[cli]!.bin, `#!/bin/sh\necho "$*" "${shown.join('')}"\n`);
}

for (const count of [1, 2]) {
  test(`with ${count} account(s), each tool runs as the user chose, with one line, and says the same beforehand`, async t => {
    for (const [cli, provider] of tools) {
      const variable = provider.inject[0]!;
      if (!/^\w+$/.test(variable)) continue;
      const box = sandbox(t);
      const ways = waysOf(cli, provider);
      recorder(box, cli, [variable, ...provider.hosts.env]);
      box.accounts(cli, count === 1 ? { a: 'key-a' } : { a: 'key-a', b: 'key-b' }, variable);
      const chosen = [ways.find(({ isHost }) => !isHost)!, ways.find(({ isHost }) => isHost)!];
      for (const { env, args, name, isHost } of chosen) {
        const what = `${cli} ${name}`;
        await box.shim(provider.bin, ['items']);
        const result = await box.shim(provider.bin, ['items', ...args], { env });
        const isOwn = isHost || provider.account_is === 'place';
        assert.equal(result.stdout.includes('key-a'), !isOwn, `${what}: ${result.stdout}`);
        assert.match(result.stderr, new RegExp(`^culvert-wrap: ${cli}: ${name} [^\n]*\n$`), what);
        const report = JSON.parse((await box.wrap(['explain', cli, 'items', ...args, '--json'], { env })).stdout);
        assert.deepEqual(
          report.choice,
          { names: name, counts: isOwn, why: isHost ? 'other-host' : 'own-choice' },
          what,
        );
        const { entries } = await box.json('audit');
        const { outcome, choice } = entries.at(-1);
        assert.deepEqual([outcome === 'original', choice], [isOwn, name], what);
        if (args.length > 0) continue;
        const { findings } = JSON.parse((await box.wrap(['doctor', '--json'], { env })).stdout);
        assert.ok(
          findings.some((each: { what: string }) => each.what.startsWith(`${cli}: ${name} `)),
          what,
        );
      }
    }
  });
}

test('a named account comes before what the user chose, with one line, and within its own run without any', async t => {
  const box = sandbox(t);
  const script = '#!/bin/sh\nif [ "$1" = nest ]; then shift; exec "$@"; fi\n';
  box.script('claude', `${script}echo "$ANTHROPIC_API_KEY $ANTHROPIC_AUTH_TOKEN $ANTHROPIC_BASE_URL"\n`);
  box.accounts('claude', { a: 'key-a', b: 'key-b' }, 'ANTHROPIC_API_KEY');
  const own = { ANTHROPIC_BASE_URL: 'https://gateway.example', ANTHROPIC_AUTH_TOKEN: 'mine' };
  const named = await box.shim('claude', ['x'], { env: { ...own, CULVERT_WRAP_ACCOUNT: 'b' } });
  assert.equal(named.stdout, 'key-b  \n');
  assert.match(
    named.stderr,
    /^culvert-wrap: claude: ANTHROPIC_BASE_URL, ANTHROPIC_AUTH_TOKEN is not used, .*"b" is named\n$/,
  );
  const asItIs = await box.shim('claude', ['x'], { env: own });
  assert.equal(asItIs.stdout, ' mine https://gateway.example\n');
  const nested = ['nest', 'env', 'CULVERT_WRAP_ACCOUNT=b', 'claude', 'x'];
  assert.deepEqual(await box.shim('claude', nested), { exit: 0, signal: null, stdout: 'key-b  \n', stderr: '' });
  const project = path.join(box.home, 'p');
  fs.mkdirSync(project);
  fs.writeFileSync(path.join(project, '.culvert-wrap.toml'), '[accounts]\nclaude = "b"\n');
  await box.wrap(['trust'], { cwd: project });
  assert.equal((await box.shim('claude', ['x'], { cwd: project, env: own })).stdout, 'key-b  \n');
});

test('an option that names another host is refused for a named account, and runs nothing', async t => {
  const box = sandbox(t);
  recorder(box, 'firecrawl', ['FIRECRAWL_API_KEY']);
  box.accounts('firecrawl', { a: 'fc-a', b: 'fc-b' }, 'FIRECRAWL_API_KEY');
  const args = ['search', '--api-url', 'http://selfhosted:3002', 'x'];
  const result = await box.shim('firecrawl', args, { env: { CULVERT_WRAP_ACCOUNT: 'b' } });
  assert.deepEqual([result.exit, result.stdout], [69, '']);
  assert.match(
    result.stderr,
    /--api-url may lead to another host than api\.firecrawl\.dev, and the account "b" is named/,
  );
  const report = JSON.parse(
    (await box.wrap(['explain', 'firecrawl', ...args, '--json'], { env: { CULVERT_WRAP_ACCOUNT: 'b' } })).stdout,
  );
  assert.match(report.how, /^nothing runs: --api-url/);
});

test('an option that gives a credential is refused for a named account, in words that name both, and counts otherwise', async t => {
  for (const [cli, provider] of tools) {
    const [option] = provider.own_credential;
    const variable = provider.inject[0]!;
    if (option === undefined || !/^\w+$/.test(variable)) continue;
    const box = sandbox(t);
    recorder(box, cli, [variable]);
    box.accounts(cli, { a: 'key-a', b: 'key-b' }, variable);
    const { args, name } = waysOf(cli, provider).find(({ isFixed, isHost }) => isFixed && !isHost)!;
    const named = await box.shim(provider.bin, ['items', ...args], { env: { CULVERT_WRAP_ACCOUNT: 'b' } });
    assert.deepEqual([named.exit, named.stdout], [69, ''], cli);
    assert.match(named.stderr, new RegExp(`${name} gives a credential, and the account "b" is named`), cli);
    assert.match(named.stderr, /leave one of them out/, cli);
    const asItIs = await box.shim(provider.bin, ['items', ...args]);
    assert.ok(asItIs.stdout.endsWith(`[${variable}=]\n`), `${cli}: ${asItIs.stdout}`);
    assert.match(asItIs.stderr, new RegExp(`^culvert-wrap: ${cli}: ${name} is given, [^\n]*\n$`), cli);
    const { entries } = await box.json('audit');
    assert.deepEqual(
      entries.slice(-2).map((each: { outcome: string; why: string }) => [each.outcome, each.why]),
      [
        ['refused', 'own-credential'],
        ['original', 'own-credential'],
      ],
      cli,
    );
  }
});

test('the shortcut of an only account leaves a command to the whole program where a file or a word may choose', async t => {
  const CLAUDE = `{"env":{"ANTHROPIC_BASE_URL":"${ELSEWHERE}"}}`;
  const REGION = `CLOUDFLARE_COMPLIANCE_REGION=fedramp_high\n`;
  for (const [cli, file, text, cwd, { args = [], env = {}, line = `~/${file} may` } = {}] of [
    ['claude', '.claude/settings.json', CLAUDE, '.'],
    [
      'claude',
      'config dir/settings.json',
      CLAUDE,
      '.',
      { env: { CLAUDE_CONFIG_DIR: 'config dir' }, line: '~/config dir/settings.json, CLAUDE_CONFIG_DIR may' },
    ],
    ['claude', 'project/.claude/settings.local.json', CLAUDE, 'project/a/b'],
    [
      'claude',
      '.claude/settings.json',
      '{"apiKeyHelper":"x"}',
      '.',
      { line: 'apiKeyHelper in ~/.claude/settings.json is given' },
    ],
    ['sentry-cli', '.sentryclirc', `[defaults]\nurl=${ELSEWHERE}\n`, '.'],
    [
      'sentry-cli',
      'project/.sentryclirc',
      '[auth]\ntoken=x\n',
      'project/a',
      { line: 'token in ~/project/.sentryclirc is given' },
    ],
    ['sentry-cli', 'project/.env', `SENTRY_URL=${ELSEWHERE}\n`, 'project/a'],
    ['sentry-cli', '.env', `SENTRY_URL=${ELSEWHERE}\n`, 'project/a'],
    ['sentry-cli', 'my.env', `SENTRY_URL=${ELSEWHERE}\n`, 'project/a', { env: { SENTRY_DOTENV_PATH: 'my.env' } }],
    ['gemini', 'project/.gemini/.env', `GOOGLE_GEMINI_BASE_URL=${ELSEWHERE}\n`, 'project/a'],
    ['gemini', '.env', 'GEMINI_API_KEY=x\n', 'project/a', { line: 'GEMINI_API_KEY in ~/.env is given' }],
    ['firecrawl', '.config/firecrawl-cli/credentials.json', `{"apiUrl":"${ELSEWHERE}"}`, '.'],
    ['codex', '.codex/config.toml', 'profile = "mine"\n', '.'],
    ['wrangler', 'project/.env', REGION, 'project'],
    ['wrangler', 'project/.env.some', REGION, 'project', { args: ['-e', 'some'] }],
    ['wrangler', 'project/.env.some.local', REGION, 'project', { args: ['--env=some'] }],
    ['wrangler', 'my.env', REGION, 'project', { args: ['--env-file', '../my.env'] }],
    ['wrangler', 'project/.env', REGION, '.', { args: ['--cwd', 'project'] }],
    [
      'wrangler',
      'project/other.toml',
      'compliance_region = "fedramp_high"\n',
      'project',
      { args: ['-c', 'other.toml'] },
    ],
    ['gh', 'project/.git/config', '[remote "o"]\n\turl = https://x.ghe.com/o/r\n', 'project/a'],
    ['gh', 'any', '', '.', { args: ['-R', 'x.ghe.com/o/r'], line: '-R may' }],
    ['gh', 'any', '', '.', { env: { GH_REPO: 'x.ghe.com/o/r' }, line: 'GH_REPO may' }],
  ] as [string, string, string, string, { args?: string[]; env?: Record<string, string>; line?: string }?][]) {
    const box = sandbox(t);
    const what = `${cli} ${file} ${args.join(' ')}`;
    const [variable = ''] = providers[cli]!.inject;
    recorder(box, cli, [variable]);
    box.accounts(cli, { a: 'key-a' }, variable);
    fs.mkdirSync(path.join(box.home, 'project/.git'), { recursive: true });
    fs.mkdirSync(path.join(box.home, 'project/a/b'), { recursive: true });
    const run = (variables: Record<string, string> = {}, more: readonly string[] = []) =>
      box.shim(cli, ['items', ...more], { cwd: path.join(box.home, cwd), env: variables });
    const absolute = Object.fromEntries(
      Object.entries(env).map(([name, value]) => [
        name,
        value === file || file.startsWith(`${value}/`) ? path.join(box.home, value) : value,
      ]),
    );
    assert.equal((await run()).stdout, `items [${variable}=key-a]\n`, what);
    assert.ok(fs.existsSync(path.join(box.state, `plans/${cli}.sh`)), cli);
    assert.equal((await run()).stdout, `items [${variable}=key-a]\n`, what);
    const place = path.join(box.home, file);
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.writeFileSync(place, text);
    const { stdout, stderr } = await run(absolute, args);
    assert.equal(stdout, `items${args.map(arg => ` ${arg}`).join('')} [${variable}=]\n`, what);
    assert.ok(stderr.startsWith(`culvert-wrap: ${cli}: ${line}`) && stderr.split('\n').length === 2, stderr);
    if (cwd !== '.' || args.length > 0 || Object.keys(env).length > 0) continue;
    const { findings } = JSON.parse((await box.wrap(['doctor', '--json'], { cwd: box.home })).stdout);
    const finding = findings.find((each: { what: string }) => each.what.startsWith(`${cli}: ${line}`));
    assert.match(finding?.fix, /^remove (?:the address|it) from that file/, what);
    const report = JSON.parse((await box.wrap(['explain', cli, 'items', '--json'], { cwd: box.home })).stdout);
    assert.equal(report.choice.counts, true, what);
    const { entries } = await box.json('audit');
    assert.ok(entries.at(-1).choice.includes(`~/${file}`), what);
  }
});

test('a named account beats a directory or a profile of the user, which the tool is not given', async t => {
  for (const [cli, provider] of tools) {
    const [variable = ''] = provider.inject;
    const names = provider.choice.env.filter(name => !provider.home.includes(name) && /^[A-Z_]+$/.test(name));
    if (names.length === 0 || !/^\w+$/.test(variable)) continue;
    const box = sandbox(t);
    recorder(box, cli, [variable, ...names]);
    box.accounts(cli, { a: 'key-a', b: 'key-b' }, variable);
    const env = Object.fromEntries(names.map(name => [name, '/mine']));
    const { stdout, stderr } = await box.shim(provider.bin, ['items'], { env: { ...env, CULVERT_WRAP_ACCOUNT: 'b' } });
    const rest = names.map(name => `[${name}=]`).join('');
    assert.equal(stdout, `items [${variable}=key-b]${rest}\n`, cli);
    assert.match(stderr, /^culvert-wrap: [\w-]+: [\w, ]+ is not used, because the account "b" is named\n$/, cli);
  }
});

test('one setting turns it round, for places and for quotas', async t => {
  const box = sandbox(t);
  recorder(box, 'vercel', ['VERCEL_TOKEN']);
  recorder(box, 'tvly', ['TAVILY_API_KEY']);
  box.accounts('vercel', { a: 'key-a', b: 'key-b' }, 'VERCEL_TOKEN');
  box.accounts('tvly', { a: 'tvly-a' }, 'TAVILY_API_KEY');
  const config = path.join(box.config, 'config.toml');
  fs.appendFileSync(config, '[tools.vercel]\nprefer = "accounts"\n[tools.tvly]\nprefer = "own"\n');
  const vercel = await box.shim('vercel', ['ls'], { env: { VERCEL_TOKEN: 'mine' } });
  assert.equal(vercel.stdout, 'ls [VERCEL_TOKEN=key-a]\n');
  assert.match(vercel.stderr, /^culvert-wrap: vercel: VERCEL_TOKEN is not used, because vercel has accounts\n$/);
  const tvly = await box.shim('tvly', ['search', 'x'], { env: { TAVILY_API_KEY: 'mine' } });
  assert.equal(tvly.stdout, 'search x [TAVILY_API_KEY=mine]\n');
  assert.match(tvly.stderr, /^culvert-wrap: tvly: TAVILY_API_KEY is given, so the command runs as it is, [^\n]*\n$/);
  fs.appendFileSync(config, '[tools.nope]\nfailover = true\n');
  const { findings } = await box.json('doctor');
  assert.ok(findings.some(({ what }: { what: string }) => /names "nope", which is not in the catalog/.test(what)));
});

test("an account's own source and an entry without hosts are no choice", async t => {
  const box = sandbox(t);
  box.script('fake', '#!/bin/sh\necho "$FAKE_KEY $FAKE_URL"\n');
  box.provider('fake', 'inject = ["FAKE_KEY"]');
  box.install('fake');
  const account = '[[accounts]]\ncli = "fake"\nname = "a"\nenv = { FAKE_KEY = "env:FAKE_KEY" }\n';
  fs.writeFileSync(path.join(box.config, 'config.toml'), account, { mode: 0o600 });
  const env = { FAKE_KEY: 'k', FAKE_URL: ELSEWHERE };
  assert.deepEqual(await box.shim('fake', ['x'], { env }), {
    exit: 0,
    signal: null,
    stdout: `k ${ELSEWHERE}\n`,
    stderr: '',
  });
});

test('a login of the tool itself gets no key, and a line says what it does not change', async t => {
  for (const [cli, args] of [
    ['wrangler', ['auth', 'create', 'work']],
    ['claude', ['auth', 'logout']],
    ['gh', ['auth', 'switch']],
    ['vercel', ['switch', 'team']],
    ['hf', ['auth', 'switch']],
  ] as const) {
    const box = sandbox(t);
    const provider = providers[cli]!;
    recorder(box, cli, [provider.inject[0]!]);
    box.accounts(cli, { a: 'key-a' }, provider.inject[0]!);
    const { stdout, stderr } = await box.shim(provider.bin, args);
    assert.equal(stdout, `${args.join(' ')} [${provider.inject[0]}=]\n`);
    const use = `\`${provider.bin} ${provider.auth_command} use NAME\``;
    assert.equal(stderr, `culvert-wrap: ${cli}: this does not change the account of other commands; ${use} does\n`);
  }
  for (const [cli, { login_commands: logins, passthrough }] of tools)
    for (const login of logins)
      assert.ok(
        passthrough.some(word => login === word || login.startsWith(`${word} `)),
        `${cli} ${login} needs no account`,
      );
});
