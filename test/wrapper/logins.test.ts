// Accounts that are logins of a tool, for every entry of the catalog that has such: made, adopted, chosen, and never failed over.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import type { Login, Provider } from '../../wrapper/catalog/provider.ts';
import { until } from '../support/until.ts';
import {
  buildWrapper,
  finished,
  launcher,
  type RunOptions,
  type Sandbox,
  sandbox,
} from '../support/wrapper/sandbox.ts';
import { providers } from '../support/wrapper/shipped.ts';
import { atTerminal } from '../support/wrapper/terminal.ts';

type WithLogin = Provider & { login: Login };
const hasLogin = (entry: [string, Provider]): entry is [string, WithLogin] => entry[1].login !== undefined;
/** Entries of the catalog whose accounts may be logins. */
const LOGINS = Object.entries(providers).filter(hasLogin);
const DIRECTORIES = LOGINS.filter(([, { login }]) => login.kind === 'directory');

const wordsOf = ({ login }: WithLogin, place: string) => login.command.join(' ').replaceAll('{login}', place);

/** A tool that logs in, says by whose login it runs and with which key, and fails with the words in a file. */
function toolFor({ login, home, inject }: WithLogin): string {
  const place = `$${home[0]}`;
  const stored = login.stored?.file ?? 'none';
  const store =
    login.kind === 'profile'
      ? 'touch "$HOME/profile-$3"'
      : `mkdir -p "$(dirname "${place}/${stored}")"
    printf 'github.com:\\n    oauth_token: secret\\n' > "${place}/${stored}"`;
  return `#!/bin/sh
case "$*" in
  '${wordsOf({ login } as WithLogin, 'work')}'|'${wordsOf({ login } as WithLogin, 'home')}')
    [ -e "$HOME/no-login" ] && exit 3
    ${store}
    exit 0 ;;
esac
echo "${place}|$${/^\w+$/.test(inject[0]!) ? inject[0] : 'NONE'}|$*" >> "$HOME/calls"
echo "by ${place}"
[ -e "$HOME/answer" ] && { cat "$HOME/answer" >&2; exit 4; }
exit 0
`;
}

const RULES = `rules = [
  { class = "quota", stderr = "^used up", rest = "period" },
  { class = "rate", stderr = "^slow down" },
  { class = "auth", stderr = "^refused" },
]`;

function withTool(t: Parameters<typeof sandbox>[0], [cli, provider]: [string, WithLogin], rules = ''): Sandbox {
  const box = sandbox(t);
  box.script(provider.bin, toolFor(provider));
  box.provider(cli, rules);
  box.install(cli);
  return box;
}

/** Starts `culvert-wrap` as a program: a login of a tool has its streams. */
const culvert = (box: Sandbox, args: readonly string[], options?: RunOptions) =>
  box.run(process.execPath, [buildWrapper(), ...args], options);

async function withLogins(t: Parameters<typeof sandbox>[0], entry: [string, WithLogin], rules = ''): Promise<Sandbox> {
  const box = withTool(t, entry, rules);
  for (const name of ['work', 'home']) {
    const added = await culvert(box, ['accounts', 'add', entry[0], name, '--login']);
    assert.equal(added.exit, 0, added.stderr);
  }
  return box;
}

const calls = (box: Sandbox) => {
  const file = path.join(box.home, 'calls');
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : '';
  fs.rmSync(file, { force: true });
  return text === '' ? [] : text.split('\n');
};
const directoryOf = (box: Sandbox, cli: string, name: string) => path.join(box.state, 'homes', cli, name);
const placeOf = (box: Sandbox, [cli, { login }]: [string, WithLogin], name: string) =>
  login.kind === 'profile' ? name : directoryOf(box, cli, name);
/** The run of a tool, as it writes it down. */
const runOf = (box: Sandbox, entry: [string, WithLogin], name: string, words: string) => {
  const given = entry[1].login.arguments.map(word => word.replaceAll('{login}', name));
  return `${placeOf(box, entry, name)}||${[...given, words].join(' ')}`;
};

test('the catalog has the tools that hold several logins, and the own variable of the user precedes each', () => {
  const names = LOGINS.map(([cli]) => cli);
  for (const cli of ['claude', 'codex', 'gemini', 'gh', 'wrangler']) assert.ok(names.includes(cli), cli);
  for (const [cli, { home, choice, account_is: is }] of LOGINS) {
    assert.ok(home.length > 0 && home.every(name => choice.env.includes(name)), cli);
    assert.equal(is, 'place', cli);
  }
  for (const [cli, { home, login }] of Object.entries(providers))
    assert.equal(home.length > 0, login !== undefined, cli);
});

for (const entry of LOGINS) {
  const [cli, provider] = entry;
  const { bin, login, home } = provider;

  test(`${cli}: two logins side by side are made by the tool itself, and chosen by name, by directory and by \`use\``, async t => {
    const box = await withLogins(t, entry);
    for (const name of ['work', 'home']) {
      if (login.kind === 'profile') assert.ok(fs.existsSync(path.join(box.home, `profile-${name}`)));
      else assert.equal(fs.statSync(directoryOf(box, cli, name)).mode & 0o777, 0o700);
    }
    const project = path.join(box.home, 'project');
    fs.mkdirSync(project);
    const choice = `[accounts]\n${cli} = "home"\n`;
    const run = async (options: RunOptions = {}) => {
      const { exit, stdout, stderr } = await box.shim(bin, ['-x', 'items'], options);
      assert.deepEqual([exit, calls(box)[0]?.startsWith(stdout.trim().slice(3))], [0, true], stderr);
      return [stdout, stderr];
    };
    const served = (name: string, why: string) => [
      `by ${placeOf(box, entry, name)}\n`,
      `culvert-wrap: ${cli}: account "${name}" serves this (${why}, login in ${login.kind === 'profile' ? name : `~/.local/state/culvert-wrap/homes/${cli}/${name}`})\n`,
    ];
    assert.deepEqual(await run(), served('work', 'default'));
    assert.deepEqual(
      await run({ env: { CULVERT_WRAP_ACCOUNT: 'home' } }),
      served('home', 'named by CULVERT_WRAP_ACCOUNT'),
    );
    assert.deepEqual(await run({ env: { CULVERT_WRAP_QUIET: '1' } }), [served('work', '')[0], '']);
    fs.writeFileSync(path.join(project, '.culvert-wrap.toml'), choice);
    const untrusted = await run({ cwd: project });
    assert.deepEqual([untrusted[0], /is not trusted and ignored/.test(untrusted[1]!)], [served('work', '')[0], true]);
    box.choose(project, choice);
    assert.deepEqual(await run({ cwd: project }), served('home', 'chosen for this directory'));
    await box.wrap(['accounts', 'use', cli, 'home']);
    assert.deepEqual(await run(), served('home', 'default'));
    const direct = await box.run(launcher(), ['run', cli, '--', '-x', 'items']);
    assert.deepEqual([direct.stdout, direct.stderr], served('home', 'default'));
  });

  test(`${cli}: reports a limit and a refusal, and never tries another login`, async t => {
    const box = await withLogins(t, entry, RULES);
    box.choose(path.join(box.home, 'project'), `[accounts]\n${cli} = "work"\n`);
    const ways: RunOptions[] = [{}, { env: { CULVERT_WRAP_ACCOUNT: 'work' } }, { cwd: path.join(box.home, 'project') }];
    const settings = ['', `[tools.${cli}]\nfailover = true\n`, `[capacity.${cli}]\nstrategy = "round-robin"\n`];
    for (const setting of settings) {
      box.configure(setting);
      for (const [answer, told] of [
        ['used up', 'has no quota left'],
        ['slow down', 'is rate limited'],
        ['refused', 'was refused'],
      ] as const) {
        fs.writeFileSync(path.join(box.home, 'answer'), `${answer}\n`);
        for (const way of ways) {
          const { exit, stderr } = await box.shim(bin, ['-x', 'items'], way);
          assert.deepEqual(calls(box), [runOf(box, entry, 'work', '-x items')], `${setting} ${answer}: ${stderr}`);
          assert.ok(exit === 4 || exit === 69, `${answer}: ${exit}`);
          assert.ok(stderr.includes(`account "work" ${told}`), `${setting} ${answer}: ${stderr}`);
          assert.ok(!stderr.includes('"home" serves'), stderr);
        }
      }
    }
    fs.rmSync(path.join(box.home, 'answer'));
    // after its limits the same login runs
    assert.equal((await box.shim(bin, ['-x', 'items'])).exit, 0);
    assert.deepEqual(calls(box), [runOf(box, entry, 'work', '-x items')]);
  });

  test(`${cli}: the user's own variable wins and is named, also before a login`, async t => {
    const box = await withLogins(t, entry);
    for (const name of [...home, provider.inject[0]!]) {
      if (!/^\w+$/.test(name)) continue;
      const { stdout, stderr } = await box.shim(bin, ['-x', 'items'], { env: { [name]: '/mine' } });
      assert.equal(stdout, `by ${home.includes(name) ? '/mine' : ''}\n`);
      assert.equal(
        stderr,
        `culvert-wrap: ${cli}: ${name} is given, so the command runs as it is, without an account\n`,
      );
      const named = await box.shim(bin, ['-x', 'items'], { env: { [name]: '/mine', CULVERT_WRAP_ACCOUNT: 'home' } });
      assert.equal(named.stdout, `by ${placeOf(box, entry, 'home')}\n`);
      assert.match(named.stderr, new RegExp(`${name} is not used, because the account "home" is named`));
      assert.ok(!calls(box).at(-1)!.includes('|/mine|'), 'the key does not compete with the login');
    }
  });

  test(`${cli}: a login that fails adds no account, and leaves nothing behind`, async t => {
    const box = withTool(t, entry);
    fs.writeFileSync(path.join(box.home, 'no-login'), '');
    const { exit, stderr } = await culvert(box, ['accounts', 'add', cli, 'work', '--login']);
    assert.equal(exit, 69);
    assert.match(stderr, /"work" was not added: it ended with exit status 3\n/);
    assert.deepEqual((await box.json('accounts', 'list')).clis, []);
    assert.ok(!fs.existsSync(directoryOf(box, cli, 'work')));
  });
}

for (const entry of DIRECTORIES) {
  const [cli, { bin, login, home }] = entry;

  test(`${cli}: an existing login is adopted where it is, and stays there; the tool's usual one runs without the variable`, async t => {
    const box = withTool(t, entry);
    const usual = path.join(box.home, login.usual.replace(/\{\w+:([^}]*)\}/, '$1').slice(2));
    const other = path.join(box.home, 'other login');
    for (const directory of [usual, other]) {
      const file = path.join(directory, login.stored!.file);
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, 'github.com:\n    oauth_token: x\n');
    }
    const list = () => fs.readdirSync(other, { recursive: true });
    const before = list();
    assert.equal((await box.wrap(['accounts', 'add', cli, 'first', '--login', usual])).exit, 0);
    assert.equal((await box.wrap(['accounts', 'add', cli, 'second', '--login', other])).exit, 0);
    const taken = await box.wrap(['accounts', 'add', cli, 'third', '--login', other]);
    assert.deepEqual([taken.exit, /is the login of "second"/.test(taken.stderr)], [2, true]);
    assert.equal((await box.shim(bin, ['-x', 'items'])).stdout, 'by \n');
    const named = await box.shim(bin, ['-x', 'items'], { env: { CULVERT_WRAP_ACCOUNT: 'second' } });
    assert.equal(named.stdout, `by ${other}\n`);
    for (const name of ['second', 'first']) {
      const { stdout } = await box.wrap(['accounts', 'remove', cli, name]);
      assert.match(stdout, new RegExp(`removed "${name}" of ${cli}; its login stays in /`));
    }
    assert.deepEqual(list(), before);
    assert.ok(fs.existsSync(path.join(usual, login.stored!.file)));
    const gone = await box.wrap(['accounts', 'add', cli, 'none', '--login', path.join(box.home, 'nowhere')]);
    assert.deepEqual([gone.exit, /there is no directory/.test(gone.stderr)], [66, true]);
  });

  test(`${cli}: a directory that culvert-wrap made is deleted only after a yes`, async t => {
    const box = await withLogins(t, entry);
    const remove = (name: string) => `${process.execPath} ${buildWrapper()} accounts remove ${cli} ${name}`;
    const { stdout } = await box.wrap(['accounts', 'remove', cli, 'work']);
    assert.match(stdout, /its login stays in .*, which you may delete/);
    assert.ok(fs.existsSync(directoryOf(box, cli, 'work')));
    const again = await culvert(box, ['accounts', 'add', cli, 'work', '--login']);
    assert.deepEqual([again.exit, /there already/.test(again.stderr)], [2, true]);
    const adopted = await culvert(box, ['accounts', 'add', cli, 'work', '--login', directoryOf(box, cli, 'work')]);
    assert.equal(adopted.exit, 0, adopted.stderr);
    const answering = (word: string) => {
      let isAnswered = false;
      return (screen: string) => {
        if (isAnswered || !screen.includes('[y/N]')) return undefined;
        isAnswered = true;
        return `${word}\n`;
      };
    };
    await atTerminal(box, remove('work'), { answer: answering('n') });
    assert.ok(fs.existsSync(directoryOf(box, cli, 'work')));
    const { screen } = await atTerminal(box, remove('home'), { answer: answering('y') });
    assert.match(screen, new RegExp(`removed "home" of ${cli}, and /`));
    assert.ok(!fs.existsSync(directoryOf(box, cli, 'home')));
  });

  test(`${cli}: a directory that is gone is no account, and is found by doctor`, async t => {
    const box = await withLogins(t, entry);
    fs.rmSync(directoryOf(box, cli, 'work'), { recursive: true });
    const { exit, stderr } = await box.shim(bin, ['-x', 'items']);
    assert.deepEqual([exit, calls(box)], [69, []], stderr);
    assert.match(stderr, /there is no directory/);
    const { findings } = await box.json('doctor');
    const problems = findings.filter(({ level }: { level: string }) => level === 'problem');
    assert.match(problems[0].what, new RegExp(`${cli} account "work": there is no directory`));
    assert.equal(home.length, 1);
  });
}

test('an interrupted login is ended, adds no account, and leaves no directory', async t => {
  const box = sandbox(t);
  box.script(
    'codex',
    '#!/bin/sh\ntouch "$CODEX_HOME/half" "$HOME/started"\ntrap "exit 5" TERM\nwhile :; do sleep 0.05; done\n',
  );
  const child = box.start(process.execPath, [buildWrapper(), 'accounts', 'add', 'codex', 'work', '--login']);
  const end = finished(child);
  await until(() => fs.existsSync(path.join(box.home, 'started')), 'the login');
  child.kill('SIGTERM');
  assert.equal((await end).exit, 69);
  assert.ok(!fs.existsSync(directoryOf(box, 'codex', 'work')));
  assert.deepEqual((await box.json('accounts', 'list')).clis, []);
});

test('commands that need no account are about the chosen login, and options run as they are', async t => {
  const box = await withLogins(t, ['claude', providers.claude as WithLogin]);
  const by = async (args: string[], env: Record<string, string> = {}) =>
    (await box.shim('claude', args, { env })).stdout;
  const work = `by ${directoryOf(box, 'claude', 'work')}\n`;
  assert.equal(await by(['mcp', 'add', 'x']), work);
  assert.equal(await by(['auth', 'status'], { CULVERT_WRAP_ACCOUNT: 'home' }), work.replace('work', 'home'));
  assert.equal(await by(['--version']), 'by \n');
  const unknown = await box.shim('claude', ['auth', 'logout'], { env: { CULVERT_WRAP_ACCOUNT: 'claude=none' } });
  assert.deepEqual([unknown.exit, unknown.stdout], [2, '']);
  const { entries } = await box.json('audit');
  assert.deepEqual(
    entries.slice(0, 2).map(({ account, why }: Record<string, unknown>) => [account, why]),
    [
      ['work', 'passthrough'],
      ['home', 'passthrough'],
    ],
  );
});

test("values of a project's file precede a login, and those of the login's directory belong to it", async t => {
  const box = await withLogins(t, ['claude', providers.claude as WithLogin]);
  const own = path.join(directoryOf(box, 'claude', 'work'), 'settings.json');
  fs.writeFileSync(own, '{"apiKeyHelper":"x","env":{"ANTHROPIC_BASE_URL":"https://else.example"}}');
  fs.mkdirSync(path.join(box.home, '.claude'));
  fs.copyFileSync(own, path.join(box.home, '.claude/settings.json'));
  // above a repository no file is the project's
  const project = path.join(box.home, 'project');
  fs.mkdirSync(path.join(project, '.git'), { recursive: true });
  const run = async () => (await box.shim('claude', ['-p', 'hi'], { cwd: project })).stderr;
  assert.match(await run(), /account "work" serves this/);
  fs.mkdirSync(path.join(project, '.claude'));
  fs.writeFileSync(path.join(project, '.claude/settings.json'), '{"apiKeyHelper":"x"}');
  assert.match(await run(), /apiKeyHelper in .* is given, so the command runs as it is/);
});

test('a directory in which gh would take the token of the keyring is no login', async t => {
  const box = withTool(t, ['gh', providers.gh as WithLogin]);
  const directory = path.join(box.home, 'gh');
  fs.mkdirSync(directory);
  fs.writeFileSync(path.join(directory, 'hosts.yml'), 'github.com:\n    user: octocat\n');
  const { exit, stderr } = await box.wrap(['accounts', 'add', 'gh', 'work', '--login', directory]);
  assert.equal(exit, 66);
  assert.match(stderr, /hosts\.yml holds no login, and gh would use another one/);
});

/** `codex app-server`: answers a request with what is in a file. */
const APP_SERVER = `#!/bin/sh
[ "$*" = app-server ] || exit 9
while read -r line; do
  case $line in
    *'"id":0'*) echo '{"id":0,"result":{}}'; echo '{"method":"remoteControl/status/changed","params":{}}' ;;
    *account/rateLimits/read*) echo "$CODEX_HOME" >> "$HOME/asked"; cat "$HOME/limits" ;;
  esac
done
`;

test('status shows the windows that codex reports, asks once a minute, and says what it does not know', async t => {
  const box = sandbox(t);
  box.script('codex', '#!/bin/sh\ntouch "$CODEX_HOME/auth.json"\n');
  assert.equal((await culvert(box, ['accounts', 'add', 'codex', 'work', '--login'])).exit, 0);
  box.script('codex', APP_SERVER);
  const limits = (text: string) => fs.writeFileSync(path.join(box.home, 'limits'), `${text}\n`);
  const soon = Math.floor(Date.now() / 1_000) + 3_600;
  const windows = (used: number) =>
    JSON.stringify({
      id: 1,
      result: {
        rateLimits: {
          primary: { usedPercent: used, windowDurationMins: 300, resetsAt: soon },
          secondary: { usedPercent: 12, windowDurationMins: 10_080, resetsAt: null },
        },
      },
    });
  limits('{"id":1,"error":{"code":-32600,"message":"chatgpt authentication required"}}');
  const text = async () => (await box.wrap(['status', 'codex'])).stdout;
  assert.match(await text(), /work .* ready; limits not reported: chatgpt authentication required/);
  limits(windows(37));
  assert.match(await text(), /ready; 5 h: 37 % used until \d{4}-\d\d-\d\d \d\d:\d\d, week: 12 % used$/m);
  limits(windows(100));
  assert.match(await text(), /5 h: 37 % used/, 'the answer of the same minute');
  assert.equal(fs.readFileSync(path.join(box.home, 'asked'), 'utf8').split('\n').length, 3);
  box.remember('codex', { salt: 's' });
  const { accounts, usable } = await box.json('status', 'codex');
  const resets = new Date(soon * 1_000).toISOString();
  assert.deepEqual(accounts[0].login.windows, [
    { name: '5 h', percent: 100, resets },
    { name: 'week', percent: 12, resets: null },
  ]);
  assert.deepEqual([usable, accounts[0].usable], [0, false]);
  box.remember('codex', { salt: 's' });
  limits('{"id":1,"result":{"rateLimits":{"primary":null,"secondary":null}}}');
  assert.match(await text(), /limits not reported: its answer names no window/);
  fs.rmSync(path.join(box.bin, 'codex'));
  assert.match(await text(), /limits not reported: there is no command codex on PATH/);
});

test('status shows the hours of gh, and says that claude reports none', async t => {
  const box = await withLogins(t, ['gh', providers.gh as WithLogin]);
  const figures = (remaining: number) => ({ limit: 5_000, remaining, reset: 1_900_000_000 });
  const answer = { resources: { core: figures(4_000), graphql: figures(5_000) } };
  box.uninstall('gh');
  box.script(
    'gh',
    `#!/bin/sh\n[ "$*" = 'api rate_limit' ] && [ -z "$GH_TOKEN" ] && echo '${JSON.stringify(answer)}'\n`,
  );
  const { accounts } = await box.json('status', 'gh');
  assert.deepEqual(
    accounts[0].login.windows.map(({ name, percent }: { name: string; percent: number }) => [name, percent]),
    [
      ['1 h (REST)', 20],
      ['1 h (GraphQL)', 0],
    ],
  );
  const other = await withLogins(t, ['claude', providers.claude as WithLogin]);
  assert.match((await other.wrap(['status', 'claude'])).stdout, /work .* ready; limits not reported$/m);
});

test('logins are listed, exported and imported with their directory, and explained', async t => {
  const box = await withLogins(t, ['codex', providers.codex as WithLogin]);
  assert.match((await box.wrap(['accounts', 'list'])).stdout, /codex +work +enabled +login in ~\/\.local\//);
  const { stdout } = await box.wrap(['accounts', 'export', 'codex']);
  const file = path.join(box.home, 'accounts.toml');
  fs.writeFileSync(file, stdout);
  for (const name of ['work', 'home']) await box.wrap(['accounts', 'remove', 'codex', name]);
  const imported = await box.wrap(['accounts', 'import', file]);
  assert.equal(imported.exit, 0, imported.stderr);
  assert.equal((await box.shim('codex', ['-x'])).stdout, `by ${directoryOf(box, 'codex', 'work')}\n`);
  const { how, accounts } = await box.json('explain', 'codex', 'exec');
  assert.equal(how, 'with one account only: another login is never tried by itself');
  assert.deepEqual([accounts[0].name, accounts[0].login], ['work', '~/.local/state/culvert-wrap/homes/codex/work']);
});
