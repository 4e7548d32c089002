// Choices that the user made without culvert-wrap, against accounts: for every variable and option of every shipped entry.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'smol-toml';
import { loadCatalog } from '../../../../wrapper/catalog/catalog.ts';
import type { OwnFile, ValueFile, VariableFile } from '../../../../wrapper/catalog/fields.ts';
import type { Provider } from '../../../../wrapper/catalog/provider.ts';
import { whoseAccount } from '../../../../wrapper/manage/compile.ts';
import { choosingVariables, isOtherHost, ownChoice, ruleOn } from '../../../../wrapper/run/accounts/own-choice.ts';
import { accountEnvironment } from '../../../../wrapper/run/accounts/ready.ts';
import { missing } from '../../../support/temporary.ts';
import { type Sandbox, sandbox } from '../../../support/wrapper/sandbox.ts';

const shipped = fileURLToPath(new URL('../../../../wrapper/catalog/providers.toml', import.meta.url));
const { providers } = loadCatalog(shipped, missing({ after }));
const tools = Object.entries(providers).filter(([, { programs_only: isForPrograms }]) => !isForPrograms);
/** A host that is in no entry. */
const ELSEWHERE = 'https://else.example';
const ACCOUNT = { cli: 'x', name: 'a', enabled: true, env: {} };

function known(cli: string, provider: Provider, account: { env: Record<string, string> } = ACCOUNT) {
  return { cli, provider, accounts: [{ ...ACCOUNT, cli, ...account }], ...whoseAccount(provider, undefined) };
}

/** Everything by which the user of a tool may choose: the environment and the arguments that do. */
function waysOf(cli: string, provider: Provider) {
  const { accounts, hosts } = choosingVariables(known(cli, provider));
  const words = (option: string, value: string) => {
    const [name, key] = option.split(' ');
    if (key === undefined) return [name!, value];
    if (!key.startsWith('{')) return [name!, `${key.replace('*', 'x')}="${value}"`];
    const path = key.slice(1, -1).split('.');
    return [name!, JSON.stringify(path.reduceRight<unknown>((inner, each) => ({ [each]: inner }), value))];
  };
  const option = (name: string, value: string, isHost: boolean, isFixed = isHost) => ({
    name: name.replace(/[{}]/g, ''),
    env: {} as Record<string, string>,
    args: words(name, value),
    isHost,
    isFixed,
  });
  const variable = (name: string, value: string, isHost: boolean) => ({
    name,
    env: { [name]: value } as Record<string, string>,
    args: [] as string[],
    isHost,
    isFixed: false,
  });
  return [
    ...accounts.map(name => variable(name, 'mine', false)),
    ...provider.choice.options.map(name => option(name, 'mine', false)),
    ...provider.own_credential.map(name => option(name, 'mine', false, true)),
    ...hosts.map(name => variable(name, ELSEWHERE, true)),
    ...provider.hosts.options.map(name => option(name, ELSEWHERE, true)),
  ];
}

test('every shipped entry says what an account is, to which hosts its credential goes, and how another one is named', () => {
  const raw = parse(fs.readFileSync(shipped, 'utf8')) as { providers: Record<string, Record<string, unknown>> };
  for (const [cli, { hosts, http, usage, check, ...provider }] of Object.entries(providers)) {
    assert.ok(raw.providers[cli]!.account_is, `${cli}: account_is`);
    assert.ok(hosts.names.length > 0, `${cli}: hosts.names`);
    assert.ok(hosts.env.length + hosts.options.length > 0, `${cli}: a variable or an option`);
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

/** A file of settings: what it says with a value, and a text that says other things. */
interface FileCase {
  cli: string;
  provider: Provider;
  of: OwnFile;
  below: readonly string[];
  texts: (value: string) => [string, string];
}

/** Texts of a file with one value. */
function settingsWith(value: string, { file, key, pattern = '' }: ValueFile): [string, string] {
  if (key !== undefined && file.endsWith('.toml'))
    // a line that begins with a bracket is no table
    return [
      `x = [\n["y"],\n]\n"${key}" = '''${value}'''\n`,
      `# ${key} = "${value}"\nother = "${value}"\n[t]\n${key} = "${value}"\n`,
    ];
  if (key !== undefined) {
    const document = key.split('.').reduceRight<unknown>((inner, each) => ({ [each]: inner }), value);
    return [JSON.stringify(document), JSON.stringify({ other: value, env: { OTHER: value } })];
  }
  const names = ['url', 'registry', 'compliance_region', 'token'];
  const texts = [
    ...names.map(name => `# mine\nx = "y"\n  ${name} = ${value}\n[${name}]\n`),
    `[remote "origin"]\n\turl = git@x.ghe.com:o/r.git\n`,
    `a=b\n//registry.npmjs.org/:_authToken=${value}\n`,
    `${value}\n`,
  ];
  const text = texts.find(each => [value, 'x.ghe.com'].includes(new RegExp(pattern).exec(each)?.[1] ?? ''))!;
  return [
    text,
    pattern.startsWith('^\\s*') ? '\n' : `#${text.slice(text.indexOf(value) - 5)}\nother_url = "${value}"\n[table]\n`,
  ];
}

/** Texts of a file with a variable. */
const variableWith =
  (name: string, { at }: VariableFile): FileCase['texts'] =>
  value =>
    at === undefined
      ? [`X=1\nexport ${name}="${value}"\n`, `#${name}=${value}\nOTHER=${value}\n`]
      : [JSON.stringify({ [at]: { [name]: value } }), JSON.stringify({ [name]: value, [at]: { OTHER: value } })];

/** Every file in which a tool reads a host, with a text that names one. */
const FILES: FileCase[] = tools.flatMap(([cli, provider]) => [
  ...provider.hosts.files.map(of => ({
    cli,
    provider,
    of,
    below: of.below,
    texts: (host: string) => settingsWith(host, of),
  })),
  ...provider.hosts.env_files.flatMap(of =>
    provider.hosts.env.map(name => ({
      cli,
      provider,
      of,
      below: of.before_env ? [] : [name],
      texts: variableWith(name, of),
    })),
  ),
]);

/** A home with a repository, and the file of a case in it. */
function placeOf(t: TestContext, { cli, provider, of }: Pick<FileCase, 'cli' | 'provider' | 'of'>) {
  const { home } = sandbox(t);
  const project = path.join(home, 'x/repository');
  const inner = path.join(project, 'a/b');
  fs.mkdirSync(path.join(project, '.git'), { recursive: true });
  fs.mkdirSync(inner, { recursive: true });
  // a part of the name may be the value of an option
  const [part, names] = /\{([\w|-]+)\}/.exec(of.file) ?? [];
  const option = names?.split('|').find(each => each.startsWith('-'));
  const args = option === undefined ? [] : [option, 'some'];
  const named = names !== undefined && option === undefined ? { [names]: 'some' } : {};
  const file = part === undefined ? of.file : of.file.replace(part, 'some');
  const isOfUser = /^[~{]/.test(file);
  const at = (directory: string) => path.join(directory, file);
  const real = isOfUser
    ? file.replace(/\{\w+:([^}]*)\}/, '$1').replace('~', home)
    : at(of.up === 'none' ? inner : project);
  const write = (text: string, place = real) => {
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.writeFileSync(place, text);
    return `~${place.slice(home.length)}`;
  };
  const find = (env: Record<string, string> = {}, cwd = inner, more: readonly string[] = args) =>
    ownChoice(known(cli, provider), ['list', ...more], { HOME: home, ...named, ...env }, cwd);
  return { home, inner, isOfUser, at, real, shown: `~${real.slice(home.length)}`, write, find, args };
}

test('a host in a file of the user or of the project gets no credential, and the line names the file', t => {
  assert.ok(FILES.length > 20);
  for (const each of FILES) {
    const { cli, provider, of, below, texts } = each;
    if (of.file.startsWith('/')) continue;
    const { home, inner, isOfUser, at, real, shown, write, find, args } = placeOf(t, each);
    const plan = known(cli, provider);
    const [other, unrelated] = texts(ELSEWHERE);
    const where = `${cli} ${of.file} ${below}`;
    assert.equal(find(), undefined, where);
    write(unrelated);
    assert.equal(find(), undefined, `${where}: ${unrelated}`);
    const usual = texts(provider.hosts.names[0]!.replace('*', 'x'))[0];
    if (!usual.includes('ghe.com')) {
      write(usual);
      assert.equal(find(), undefined, `${where}: the usual host`);
    }
    write(other);
    const own = find();
    assert.deepEqual(own?.hosts, [shown], `${where}: ${other}`);
    assert.deepEqual(own.fixed, { option: shown, why: 'other-host' });
    const { runs, line } = ruleOn(own, { by: 'default' }, plan);
    assert.equal(runs, 'original');
    assert.ok(line.startsWith(`${cli}: ${shown} may lead to another host than `), line);
    assert.throws(() => ruleOn(own, { by: 'environment', name: 'a' }, plan), { code: 'other-host', exit: 69 });
    // a run around this one has chosen
    assert.equal(find({ CULVERT_WRAP_ACTIVE: `${cli}=b` }), undefined, where);
    for (const name of below) {
      assert.equal(find({ [name]: provider.hosts.names[0]!.replace('*', 'x') }), undefined, `${where}: ${name}`);
      // a named account takes it out of the environment, and the file counts again
      assert.deepEqual(find({ [name]: ELSEWHERE })?.hosts, [name, shown], `${where}: ${name}`);
      const bringing = known(cli, provider, { env: { [name]: 'file:/k#K' } });
      assert.equal(ownChoice(bringing, ['list', ...args], { HOME: home }, inner), undefined, `${where}: ${name}`);
    }
    fs.rmSync(real);
    for (const name of of.moved_by) {
      const moved = write(other, path.join(home, 'x/moved.file'));
      const isOption = name.startsWith('-');
      const value = path.relative(inner, path.join(home, 'x/moved.file'));
      const ways = isOption ? [[name, value], [`${name}=${value}`], [name, 'none', value]] : [[]];
      for (const words of ways)
        assert.deepEqual(find(isOption ? {} : { [name]: value }, inner, words)?.hosts, [moved], `${where}: ${words}`);
      if (!isOption) assert.deepEqual(find({ [name]: `none,${value}` })?.hosts, [moved], `${where}: ${name}`);
      assert.equal(find(), undefined, `${where}: ${name}`);
    }
    if (isOfUser) continue;
    // above the repository
    const outside = write(other, at(path.join(home, 'x')));
    assert.deepEqual(find()?.hosts, of.up === 'root' ? [outside] : undefined, where);
    assert.deepEqual(find({}, path.join(home, 'x'))?.hosts, [outside], where);
    for (const option of provider.directory_options)
      assert.deepEqual(find({}, inner, [...args, option, '../../..'])?.hosts, [outside], `${where}: ${option}`);
  }
});

/** Every file in which a tool reads a credential or another choice of an account. */
const CREDENTIALS = tools.flatMap(([cli, provider]) => {
  const { accounts } = choosingVariables(known(cli, provider));
  return [
    ...provider.hosts.env_files.flatMap(of =>
      accounts.map(name => ({
        cli,
        provider,
        of,
        name,
        isBeforeEnv: of.before_env,
        texts: variableWith(name, of),
        isFixed: of.before_env || provider.credentials.includes(name),
      })),
    ),
    ...provider.choice.files.map(of => ({
      cli,
      provider,
      of,
      name: of.name ?? of.key!,
      isBeforeEnv: false,
      isFixed: false,
      texts: (value: string) => settingsWith(value, of),
    })),
  ];
});

test("a credential of the user's own in such a file counts before the accounts of a place, and is named by its file", t => {
  assert.ok(CREDENTIALS.length > 40);
  for (const each of CREDENTIALS) {
    const { cli, provider, of, name, texts, isBeforeEnv, isFixed } = each;
    if (of.file.startsWith('/')) continue;
    const { home, shown, write, find } = placeOf(t, each);
    const plan = known(cli, provider);
    const [mine, unrelated] = texts('mine');
    const where = `${cli} ${of.file} ${name}`;
    write(unrelated);
    assert.equal(find(), undefined, `${where}: ${unrelated}`);
    write(mine);
    const own = find();
    const words = `${name} in ${shown}`;
    assert.deepEqual([own?.hosts, own?.accounts], [[], [words]], where);
    assert.deepEqual(own!.fixed, isFixed ? { option: words, why: 'own-credential' } : undefined, where);
    const { runs, line } = ruleOn(own!, { by: 'default' }, plan);
    assert.equal(runs, 'original', where);
    assert.ok(line.startsWith(`${cli}: ${words} is given, so the command runs as it is`), line);
    assert.doesNotMatch(line, /mine/);
    const named = () => ruleOn(own!, { by: 'environment', name: 'a' }, plan);
    if (isFixed) assert.throws(named, { code: 'own-credential', exit: 69 }, where);
    else assert.equal(named().runs, 'accounts', where);
    const bringing = known(cli, provider, { env: { [name]: 'file:/k#K' } });
    const other = ownChoice(bringing, ['list'], { HOME: home }, path.join(home, 'x/repository/a/b'));
    assert.ok(isBeforeEnv || other?.fixed === undefined, where);
    assert.equal(find({ CULVERT_WRAP_ACTIVE: `${cli}=b` }), undefined, where);
  }
});

test('a credential in a file is not used where accounts are quotas, and one line names it', t => {
  const { firecrawl } = providers;
  const { home } = sandbox(t);
  fs.writeFileSync(path.join(home, '.env'), 'FIRECRAWL_API_KEY=mine\n');
  const file = { file: '.env', up: 'repository' as const, moved_by: [], before_env: false };
  const provider = { ...firecrawl!, hosts: { ...firecrawl!.hosts, env_files: [file] } };
  const plan = known('firecrawl', provider, { env: { FIRECRAWL_API_KEY: 'file:/k#K' } });
  const { runs, line } = ruleOn(ownChoice(plan, ['list'], { HOME: home }, home)!, { by: 'default' }, plan);
  assert.equal(runs, 'accounts');
  assert.equal(line, 'firecrawl: FIRECRAWL_API_KEY in ~/.env is not used, because firecrawl has accounts');
});

test("a login that the tool's own command has stored is no choice", t => {
  const { home } = sandbox(t);
  const find = (cli: string) => ownChoice(known(cli, providers[cli]!), [], { HOME: home }, home);
  fs.writeFileSync(path.join(home, '.sentryclirc'), '[auth]\ntoken=mine\n');
  fs.writeFileSync(path.join(home, '.npmrc'), '//registry.npmjs.org/:_authToken=mine\n');
  for (const cli of ['sentry-cli', 'npm']) assert.equal(find(cli), undefined, cli);
  // the variable is a choice where it is set
  fs.mkdirSync(path.join(home, 'p'));
  fs.writeFileSync(path.join(home, 'p/.npmrc'), `//registry.npmjs.org/:_authToken=\${NPM_TOKEN}\n`);
  assert.equal(ownChoice(known('npm', providers.npm!), [], { HOME: home }, path.join(home, 'p')), undefined);
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

test('the remotes of a worktree are those of its repository', t => {
  const { home } = sandbox(t);
  const find = () => ownChoice(known('gh', providers.gh!), ['pr', 'list'], { HOME: home }, path.join(home, 'tree'));
  fs.mkdirSync(path.join(home, 'r/.git/worktrees/tree'), { recursive: true });
  fs.mkdirSync(path.join(home, 'tree'));
  fs.writeFileSync(path.join(home, 'tree/.git'), 'gitdir: ../r/.git/worktrees/tree\n');
  fs.writeFileSync(path.join(home, 'r/.git/worktrees/tree/commondir'), '../..\n');
  fs.writeFileSync(path.join(home, 'r/.git/config'), '[remote "o"]\n\turl = https://github.com/o/r\n');
  assert.equal(find(), undefined);
  for (const url of ['https://x.ghe.com/o/r', 'git@x.ghe.com:o/r.git', 'ssh://git@x.ghe.com:22/o/r']) {
    fs.writeFileSync(path.join(home, 'r/.git/config'), `[remote "o"]\n\turl = ${url}\n`);
    assert.deepEqual(find()?.hosts, ['~/tree/.git/config'], url);
  }
});

test('a header counts as a credential only where it carries one', () => {
  const plan = known('sentry-cli', providers['sentry-cli']!);
  const chosenBy = (header: string) => ownChoice(plan, ['--header', header, 'info'], { HOME: '/h' }, '/')?.accounts;
  for (const header of ['Authorization: Bearer x', 'authorization:x'])
    assert.deepEqual(chosenBy(header), ['--header authorization']);
  assert.equal(chosenBy('X-Trace: authorization'), undefined);
});

test('a file of settings that cannot be read may name another host', t => {
  const { home } = sandbox(t);
  const find = (cli: string) => ownChoice(known(cli, providers[cli]!), [], { HOME: home }, home)?.hosts;
  const write = (name: string, text: string) => {
    fs.mkdirSync(path.dirname(path.join(home, name)), { recursive: true });
    fs.writeFileSync(path.join(home, name), text);
  };
  write('.claude/settings.json', '// mine\n{ "env": { "A": "https://x//y" }, /* none */ "model": "x", }\n');
  assert.equal(find('claude'), undefined);
  write('.claude/settings.json', `{ "env": { "ANTHROPIC\\u005fBASE_URL": "${ELSEWHERE}" } }\n`);
  assert.deepEqual(find('claude'), ['~/.claude/settings.json']);
  write('.claude/settings.json', '{ "env": {\n');
  assert.deepEqual(find('claude'), ['~/.claude/settings.json']);
  // in a time in proportion to the length, which a quadratic reader would turn into minutes
  for (const part of ['\\"/*', '"a', ',  ']) {
    write('.claude/settings.json', `{"a":"${part.repeat(200_000)}`);
    assert.deepEqual(find('claude'), ['~/.claude/settings.json']);
  }
  write('.codex/config.toml', 'x = [');
  assert.deepEqual(find('codex'), ['~/.codex/config.toml']);
  write('.claude/settings.json', '');
  assert.equal(find('claude'), undefined);
  // an empty variable names none, and programs differ in which of several lines counts
  write('.env', 'SENTRY_URL=\nSENTRY_URL = ""\n#SENTRY_URL=https://else.example\n');
  assert.equal(find('sentry-cli'), undefined);
  for (const line of [`SENTRY_URL=${ELSEWHERE} # mine`, `export SENTRY_URL: '${ELSEWHERE}'`])
    for (const lines of [`${line}\nSENTRY_URL=https://sentry.io\n`, `SENTRY_URL=https://sentry.io\n${line}\n`]) {
      write('.env', lines);
      assert.deepEqual(find('sentry-cli'), ['~/.env'], lines);
    }
  fs.rmSync(path.join(home, '.env'));
  write('.sentryclirc', `[a]\nurl=https://sentry.io\n[defaults]\nurl=${ELSEWHERE}\n`);
  assert.deepEqual(find('sentry-cli'), ['~/.sentryclirc']);
  fs.rmSync(path.join(home, '.sentryclirc'));
  fs.mkdirSync(path.join(home, '.env'));
  assert.deepEqual(find('sentry-cli'), ['~/.env']);
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
        await box.run(provider.bin, ['items']);
        const result = await box.run(provider.bin, ['items', ...args], { env });
        const isOwn = isHost || provider.account_is === 'place';
        assert.equal(result.stdout.includes('key-a'), !isOwn, `${what}: ${result.stdout}`);
        assert.match(result.stderr, new RegExp(`^culvert-wrap: ${cli}: ${name} [^\n]*\n$`), what);
        const report = JSON.parse((await box.wrap(['explain', cli, 'items', ...args, '--json'], { env })).stdout);
        assert.deepEqual(
          report.choice,
          { names: name, counts: isOwn, why: isHost ? 'other-host' : 'own-choice' },
          what,
        );
        const { entries } = JSON.parse((await box.wrap(['audit', '--json'])).stdout);
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
  const named = await box.run('claude', ['x'], { env: { ...own, CULVERT_WRAP_ACCOUNT: 'b' } });
  assert.equal(named.stdout, 'key-b  \n');
  assert.match(
    named.stderr,
    /^culvert-wrap: claude: ANTHROPIC_BASE_URL, ANTHROPIC_AUTH_TOKEN is not used, .*"b" is named\n$/,
  );
  const asItIs = await box.run('claude', ['x'], { env: own });
  assert.equal(asItIs.stdout, ' mine https://gateway.example\n');
  const nested = ['nest', 'env', 'CULVERT_WRAP_ACCOUNT=b', 'claude', 'x'];
  assert.deepEqual(await box.run('claude', nested), { exit: 0, signal: null, stdout: 'key-b  \n', stderr: '' });
  const project = path.join(box.home, 'p');
  fs.mkdirSync(project);
  fs.writeFileSync(path.join(project, '.culvert-wrap.toml'), '[accounts]\nclaude = "b"\n');
  await box.wrap(['trust'], { cwd: project });
  assert.equal((await box.run('claude', ['x'], { cwd: project, env: own })).stdout, 'key-b  \n');
});

test('an option that names another host is refused for a named account, and runs nothing', async t => {
  const box = sandbox(t);
  recorder(box, 'firecrawl', ['FIRECRAWL_API_KEY']);
  box.accounts('firecrawl', { a: 'fc-a', b: 'fc-b' }, 'FIRECRAWL_API_KEY');
  const args = ['search', '--api-url', 'http://selfhosted:3002', 'x'];
  const result = await box.run('firecrawl', args, { env: { CULVERT_WRAP_ACCOUNT: 'b' } });
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
    const named = await box.run(provider.bin, ['items', ...args], { env: { CULVERT_WRAP_ACCOUNT: 'b' } });
    assert.deepEqual([named.exit, named.stdout], [69, ''], cli);
    assert.match(named.stderr, new RegExp(`${name} gives a credential, and the account "b" is named`), cli);
    assert.match(named.stderr, /leave one of them out/, cli);
    const asItIs = await box.run(provider.bin, ['items', ...args]);
    assert.ok(asItIs.stdout.endsWith(`[${variable}=]\n`), `${cli}: ${asItIs.stdout}`);
    assert.match(asItIs.stderr, new RegExp(`^culvert-wrap: ${cli}: ${name} is given, [^\n]*\n$`), cli);
    const { entries } = JSON.parse((await box.wrap(['audit', '--json'])).stdout);
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
      box.run(cli, ['items', ...more], { cwd: path.join(box.home, cwd), env: variables });
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
    const { entries } = JSON.parse((await box.wrap(['audit', '--json'])).stdout);
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
    const { stdout, stderr } = await box.run(provider.bin, ['items'], { env: { ...env, CULVERT_WRAP_ACCOUNT: 'b' } });
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
  const vercel = await box.run('vercel', ['ls'], { env: { VERCEL_TOKEN: 'mine' } });
  assert.equal(vercel.stdout, 'ls [VERCEL_TOKEN=key-a]\n');
  assert.match(vercel.stderr, /^culvert-wrap: vercel: VERCEL_TOKEN is not used, because vercel has accounts\n$/);
  const tvly = await box.run('tvly', ['search', 'x'], { env: { TAVILY_API_KEY: 'mine' } });
  assert.equal(tvly.stdout, 'search x [TAVILY_API_KEY=mine]\n');
  assert.match(tvly.stderr, /^culvert-wrap: tvly: TAVILY_API_KEY is given, so the command runs as it is, [^\n]*\n$/);
  fs.appendFileSync(config, '[tools.nope]\nfailover = true\n');
  const { findings } = JSON.parse((await box.wrap(['doctor', '--json'])).stdout);
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
  assert.deepEqual(await box.run('fake', ['x'], { env }), {
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
    const { stdout, stderr } = await box.run(provider.bin, args);
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
