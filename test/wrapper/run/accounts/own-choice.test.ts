// Choices that the user made without culvert-wrap, by variables and options, against accounts: for every shipped entry.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { parse } from 'smol-toml';
import { readCatalogText } from '../../../../wrapper/catalog/files.ts';
import { isOtherHost, ownChoice, ruleOn } from '../../../../wrapper/run/accounts/own-choice.ts';
import { accountEnvironment } from '../../../../wrapper/run/accounts/ready.ts';
import { sandbox } from '../../../support/wrapper/sandbox.ts';
import { catalogFile, ELSEWHERE, known, providers, tools, waysOf } from '../../../support/wrapper/shipped.ts';

/** Providers whose servers read no variable with an address. */
const FIXED = ['brave', 'jina', 'serpapi', 'serper'];

test('every shipped entry says what an account is, to which hosts its credential goes, and how another one is named', () => {
  const raw = parse(readCatalogText(catalogFile)!) as { providers: Record<string, Record<string, unknown>> };
  for (const [cli, { hosts, http, usage, check, ...provider }] of Object.entries(providers)) {
    assert.ok(raw.providers[cli]!.account_is, `${cli}: account_is`);
    assert.ok(hosts.names.length > 0, `${cli}: hosts.names`);
    if (!FIXED.includes(cli)) assert.ok(hosts.env.length + hosts.options.length > 0, `${cli}: a variable or an option`);
    // others are switches, which always lead elsewhere
    for (const option of hosts.options)
      if (option !== '--oss')
        assert.ok(provider.value_options.includes(option.split(' ')[0]!), `${cli}: ${option} takes a value`);
    for (const { below } of hosts.files)
      for (const name of below) assert.ok(hosts.env.includes(name), `${cli}: ${name}`);
    if (hosts.env_files.length > 0) assert.ok(hosts.env.length > 0, `${cli}: variables for files`);
    if (http?.base_variable) assert.ok(hosts.env.includes(http.base_variable), `${cli}: ${http.base_variable}`);
    const templates = [usage?.url, usage?.moment?.url, check?.url].filter(url => url !== undefined);
    for (const url of templates) {
      const [, variable] = /^\{(\w+):/.exec(url) ?? [];
      if (variable !== undefined) assert.ok(hosts.env.includes(variable), `${cli}: ${variable} of ${url}`);
      assert.ok(!isOtherHost(url.replace(/^\{\w+:([^}]*)\}/, '$1'), hosts), `${cli}: ${url}`);
    }
    for (const base of [http?.base, ...(http?.bases ?? []).map(each => each.base)])
      if (base !== undefined) assert.ok(!isOtherHost(base, hosts), `${cli}: ${base}`);
  }
});

test('each way to choose counts before the accounts of a place, is named where accounts are quotas, and gives way to a name', () => {
  for (const [cli, provider] of tools) {
    const plan = known(cli, provider);
    for (const { name, env, args, isHost, isFixed } of waysOf(cli, provider)) {
      const own = ownChoice(plan, ['list', ...args], env);
      assert.ok(own, `${cli} ${name}`);
      // programs with yargs take a name in this spelling as well
      const camel = args.map(arg => arg.replace(/(?<=^--[\w-]+)-(\w)/g, (_, letter: string) => letter.toUpperCase()));
      assert.deepEqual(ownChoice(plan, ['list', ...camel], env), own, `${cli} ${camel.join(' ')}`);
      const ruling = ruleOn(own, { by: 'default' }, plan);
      assert.equal(
        ruling.runs,
        isFixed || isHost || provider.account_is === 'place' ? 'original' : 'accounts',
        `${cli} ${name}`,
      );
      assert.ok(ruling.line.startsWith(`${cli}: ${name} `), ruling.line);
      assert.doesNotMatch(ruling.line, /mine|else\.example/);
      const named = () => ruleOn(own, { by: 'environment', name: 'a' }, plan);
      const isRefused = { code: isHost ? 'other-host' : 'own-credential', exit: 69 };
      if (isFixed) assert.throws(named, isRefused, `${cli} ${name}`);
      else assert.equal(named().runs, 'accounts', `${cli} ${name}`);
      // after `--` the words are another program's; a run around this one has set the variable
      assert.equal(ownChoice(plan, ['x', '--', ...args], {}), undefined, `${cli} ${name}`);
      const inner = ownChoice(plan, [], { ...env, CULVERT_WRAP_ACTIVE: `${cli}=b` });
      assert.equal(inner, undefined, `${cli} ${name}`);
    }
    assert.equal(ownChoice(plan, ['list', '--json'], { PATH: '/bin', HOME: '/h' }), undefined, cli);
  }
});

test('a repository or an address on another host gets no credential, however it is named', t => {
  const plan = known('gh', providers.gh!);
  const { home } = sandbox(t);
  const chosenBy = (args: readonly string[], env = {}) => ownChoice(plan, args, { HOME: home, ...env }, home);
  for (const [args, name] of [
    [['pr', 'list', '-R', 'x.ghe.com/o/r'], '-R'],
    [['pr', 'list', '-Rx.ghe.com/o/r'], '-R'],
    [['issue', 'list', '--repo=https://git.company.example/o/r'], '--repo'],
    [['issue', 'list', '--repo', 'git@git.company.example:o/r.git'], '--repo'],
    [['repo', 'clone', 'x.ghe.com/o/r'], 'x.ghe.com'],
    [['repo', 'clone', 'https://me@x.ghe.com/o/r', '--', '--depth=1'], 'x.ghe.com'],
    [['repo', 'fork', 'ssh://git@x.ghe.com/o/r.git', '--clone'], 'x.ghe.com'],
    [['api', '--paginate', 'https://api.x.ghe.com/user'], 'api.x.ghe.com'],
    [['api', 'http://api.github.com/user'], 'http://api.github.com'],
    [['pr', 'view', 'https://git.company.example/o/r/pull/1'], 'git.company.example'],
  ] as [string[], string][]) {
    const own = chosenBy(args);
    assert.deepEqual(own?.hosts, [name], args.join(' '));
    assert.match(ruleOn(own!, { by: 'default' }, plan).line, / may lead to another host than github\.com, so/);
    assert.throws(() => ruleOn(own!, { by: 'environment', name: 'a' }, plan), { code: 'other-host', exit: 69 });
  }
  for (const repository of ['x.ghe.com/o/r', 'https://x.ghe.com/o/r'])
    assert.deepEqual(chosenBy(['pr', 'list'], { GH_REPO: repository })?.hosts, ['GH_REPO']);
  assert.equal(chosenBy(['pr', 'list'], { GH_REPO: 'o/r' }), undefined);
  for (const args of [
    ['pr', 'list', '-R', 'o/r'],
    ['pr', 'list', '-R', 'github.com/o/r'],
    ['repo', 'clone', 'o/r.js'],
    ['repo', 'clone', 'git@github.com:o/r.git'],
    ['repo', 'create', 'r', '--homepage', 'https://else.example'],
    ['api', 'repos/o/r/contents/a.b/c'],
    ['api', 'https://api.github.com/user', '-f', 'url=https://else.example'],
    ['issue', 'create', '--title', 'x', '--body', 'https://else.example/o/r'],
    ['release', 'upload', 'v1', 'build.d/linux/file.tgz'],
    ['search', 'code', 'https://else.example'],
  ])
    assert.equal(chosenBy(args), undefined, args.join(' '));
});

test('a header counts as a credential only where it carries one', () => {
  const plan = known('sentry-cli', providers['sentry-cli']!);
  const chosenBy = (header: string) => ownChoice(plan, ['--header', header, 'info'], { HOME: '/h' }, '/')?.accounts;
  for (const header of ['Authorization: Bearer x', 'authorization:x'])
    assert.deepEqual(chosenBy(header), ['--header authorization']);
  assert.equal(chosenBy('X-Trace: authorization'), undefined);
});

test('a variable that turns a kind of account off is no choice', () => {
  const seen = tools.flatMap(([cli, provider]) =>
    waysOf(cli, provider).flatMap(({ name, env, args }) => {
      if (!name.includes('_USE_')) return [];
      for (const value of ['false', '0', 'No', 'off']) {
        const off = Object.fromEntries(Object.keys(env).map(key => [key, value]));
        const words = args.map(word => word.replace('"mine"', JSON.stringify(value)));
        assert.equal(ownChoice(known(cli, provider), words, off), undefined, `${cli} ${name} ${value}`);
      }
      return [name];
    }),
  );
  assert.ok(seen.length > 5);
});

test('no account has its credential in an environment that leads to another host, unless it brings the address itself', () => {
  for (const [cli, provider] of Object.entries(providers)) {
    for (const name of provider.hosts.env) {
      const plan = known(cli, provider);
      const paths = { state: '/s' };
      const env = accountEnvironment(plan, plan.accounts[0]!, { KEY: 'k' }, { caller: { [name]: ELSEWHERE }, paths });
      assert.equal(env[name], undefined, `${cli} ${name}`);
      const brings = { KEY: 'k', [name]: ELSEWHERE };
      const own = accountEnvironment(plan, plan.accounts[0]!, brings, {
        caller: { [name]: 'https://x.example' },
        paths,
      });
      assert.equal(own[name], ELSEWHERE, `${cli} ${name}`);
      const bringing = known(cli, provider, { env: { [name]: 'file:/k#K' } });
      assert.equal(ownChoice(bringing, [], { [name]: ELSEWHERE }), undefined, `${cli} ${name}`);
    }
  }
});

test('an address is of a host only if every program reads it so', () => {
  const hosts = { names: ['api.x.example', '*.y.example', 'http://127.0.0.1', 'builtin'] };
  for (const own of [
    'https://api.x.example',
    'https://API.x.example/v1/',
    'api.x.example/v2',
    'https://eu.y.example',
    'builtin',
  ])
    assert.equal(isOtherHost(own, hosts), false, own);
  for (const own of ['http://127.0.0.1:9/v1', ' "https://api.x.example" '])
    assert.equal(isOtherHost(own, hosts), false, own);
  for (const other of [
    'http://api.x.example',
    'https://api.x.example.evil.example',
    'https://evil-y.example',
    'https://y.example',
    'https://api.x.example@evil.example',
    'https://evil.example\\@api.x.example',
    'https://evil.example#.y.example',
    'ftp://127.0.0.1',
    'http://127.0.0.2',
    '/home/me/profile.yaml',
    'https://',
    '',
  ])
    assert.equal(isOtherHost(other, hosts), true, other);
  assert.equal(isOtherHost(ELSEWHERE, { names: [] }), false, 'an entry without hosts');
});

test('settings of claude choose by their text, by a file, and by what cannot be read beforehand', t => {
  const plan = known('claude', providers.claude!);
  const box = sandbox(t);
  const chosenBy = (text: string) => ownChoice(plan, ['-p', 'x', '--settings', text], { HOME: box.home }, box.home);
  const file = (name: string, text: string) => fs.writeFileSync(path.join(box.home, name), text);
  file('other.json', JSON.stringify({ env: { ANTHROPIC_BASE_URL: ELSEWHERE } }));
  file('own.json', JSON.stringify({ env: { ANTHROPIC_AUTH_TOKEN: 'mine' } }));
  file('usual.json', JSON.stringify({ env: { ANTHROPIC_BASE_URL: 'https://api.anthropic.com' }, model: 'x' }));
  file('odd.json', '// not JSON');
  const host = '--settings env.ANTHROPIC_BASE_URL';
  for (const name of ['other.json', '~/other.json', path.join(box.home, 'other.json')])
    assert.deepEqual(chosenBy(name)?.hosts, [host], name);
  assert.deepEqual(chosenBy('own.json')?.accounts, ['--settings env.ANTHROPIC_AUTH_TOKEN']);
  for (const name of ['usual.json', 'missing.json', '{"permissions":{}}'])
    assert.equal(chosenBy(name), undefined, name);
  for (const unread of ['odd.json', '/dev/null', '{"env":'])
    assert.deepEqual(
      chosenBy(unread),
      { hosts: ['--settings'], accounts: ['--settings'], fixed: { option: '--settings', why: 'other-host' } },
      unread,
    );
  assert.match(
    ruleOn(chosenBy('odd.json')!, { by: 'default' }, plan).line,
    /^claude: --settings may lead to another host than [\w.]+, so the command runs as it is, without an account$/,
  );
  // with comments, as editors write it
  file('comments.json', '// mine\n{ "env": { "X": "https://x" /* none */ }, "model": "x", }');
  assert.equal(chosenBy('comments.json'), undefined);
  file('comments.json', `{ "env": { /* mine */ "ANTHROPIC_BASE_URL": "${ELSEWHERE}" } // here\n}`);
  assert.deepEqual(chosenBy('comments.json')?.hosts, [host]);
});

test('a local model of codex gets no credential', () => {
  const plan = known('codex', providers.codex!);
  for (const args of [
    ['--oss'],
    ['exec', '--oss', 'say openai'],
    ['--oss', 'openai'],
    ['exec', '--oss', '--local-provider', 'ollama'],
  ]) {
    const own = ownChoice(plan, args, { HOME: '/h' });
    assert.match(
      ruleOn(own!, { by: 'default' }, plan).line,
      /^codex: --oss may lead to another host than api\.openai\.com, so/,
    );
    assert.throws(() => ruleOn(own!, { by: 'environment', name: 'a' }, plan), { code: 'other-host' });
  }
  assert.equal(ownChoice(plan, ['exec', '--', '--oss'], { HOME: '/h' }), undefined);
});

test('each way to select a provider of codex counts, except for the built-in provider', () => {
  const plan = known('codex', providers.codex!);
  for (const args of [
    ['-c', 'model_provider=mine'],
    ['-cmodel_provider="mine"'],
    ['--config=model_provider = mine'],
    ['-c', 'model_providers.x.base_url="https://else.example"'],
    ['-c', 'model_providers={x={base_url="https://else.example"}}'],
    ['--profile', 'work'],
    ['-pwork'],
  ])
    assert.equal(ownChoice(plan, ['exec', ...args], {})?.fixed?.why, 'other-host', args.join(' '));
  for (const args of [
    ['-c', 'model_provider=openai'],
    ['-c', 'model="gpt-5"'],
    ['-c', 'model_providers_x=1'],
  ])
    assert.equal(ownChoice(plan, ['exec', ...args], {}), undefined, args.join(' '));
});

test('the usual directory or file of a tool is no choice, with or without a final slash', () => {
  for (const [cli, provider] of tools)
    for (const [name, usual] of Object.entries(provider.choice.unless))
      for (const end of ['', '/', '//']) {
        const value = usual.replace('~', '/h') + end;
        assert.equal(
          ownChoice(known(cli, provider), [], { HOME: '/h', [name]: value }, '/'),
          undefined,
          `${cli} ${value}`,
        );
        const other = ownChoice(known(cli, provider), [], { HOME: '/h', [name]: `${value}x` }, '/');
        assert.deepEqual(other?.accounts, [name], cli);
      }
});

test('npm in a script of npm finds the usual path of its configuration, which is no choice', () => {
  const plan = known('npm', providers.npm!);
  const env = { HOME: '/h', npm_config_userconfig: '/h/.npmrc' };
  assert.equal(ownChoice(plan, ['publish'], env), undefined);
  assert.ok(ownChoice(plan, ['publish'], { ...env, npm_config_userconfig: '/h/work.npmrc' }));
});
