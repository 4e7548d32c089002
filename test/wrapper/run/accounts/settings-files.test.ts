// Hosts and credentials in files of a user or a project, against accounts: for every file of every shipped entry.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { OwnFile, ValueFile, VariableFile } from '../../../../wrapper/catalog/fields.ts';
import type { Provider } from '../../../../wrapper/catalog/provider.ts';
import { choosingVariables, ownChoice, ruleOn } from '../../../../wrapper/run/accounts/own-choice.ts';
import { sandbox } from '../../../support/wrapper/sandbox.ts';
import { ELSEWHERE, known, providers, tools } from '../../../support/wrapper/shipped.ts';

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
  const common = path.join(home, 'r/.git/worktrees/tree/commondir');
  // a device that can be read comes first: without a check, a pipe would be waited for
  for (const put of [() => fs.symlinkSync('/dev/null', common), () => execFileSync('mkfifo', [common])]) {
    fs.rmSync(common);
    put();
    assert.deepEqual(find()?.hosts, ['~/tree/.git/config']);
  }
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
