// Accounts that come from files and from what the tools have stored themselves, and their export.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts that were not filled in
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { calls, setUp, stored } from '../../support/wrapper/fake-cli.ts';
import { sandbox } from '../../support/wrapper/sandbox.ts';
import { SECRET_TOOL } from '../../support/wrapper/secret-tool.ts';

test('L14: what cannot be read is said with its reason, and a key that is there already stays where it is', async t => {
  const box = setUp(t);
  const directory = await box.wrap(['accounts', 'import', box.home]);
  assert.deepEqual([directory.exit, directory.stderr.includes('it is a directory')], [66, true]);
  const file = path.join(box.home, 'a.toml');
  fs.writeFileSync(file, 'x = 1\n[[accounts\n');
  assert.match((await box.wrap(['accounts', 'import', file])).stderr, /neither TOML nor JSON \(line 2\)/);
  const document = { accounts: [{ cli: 'fake', name: 's', secrets: { FAKE_KEY: 'key-1' } }] };
  fs.writeFileSync(file, `\uFEFF${JSON.stringify(document)}`, { mode: 0o600 });
  assert.equal((await box.wrap(['accounts', 'import', file, '--file'])).stdout, 'imported "s" of fake\n');
  assert.equal((await box.wrap(['accounts', 'import', file])).stdout, 'has already "s" of fake\n');
});

test('L14: an import reports what it did, and can be repeated', async t => {
  const box = setUp(t);
  const file = path.join(box.home, 'import.toml');
  const write = (key: string) =>
    fs.writeFileSync(
      file,
      `[[accounts]]\ncli = "fake"\nname = "a"\nsecrets = { FAKE_KEY = "${key}" }\n[[accounts]]\ncli = "fake"\nname = "b"\nenv = { FAKE_KEY = "file:~/none#X" }\n`,
      { mode: 0o600 },
    );
  write('k1');
  const importing = (...args: string[]) => box.wrap(['accounts', 'import', file, '--file', ...args]);
  const check = await importing('--check');
  assert.equal(check.exit, 65);
  assert.match(check.stderr, /"b": FAKE_KEY from file:~\/none#X: the file .*none does not exist/);
  assert.equal((await importing()).exit, 0);
  assert.match((await importing()).stdout, /^has already "a" of fake\nhas already "b" of fake\n$/);
  await box.auth('fake', ['disable', 'a']);
  write('k2');
  assert.match((await importing('--check')).stdout, /would change "a"/);
  assert.match((await importing()).stdout, /^changed "a" of fake\nhas already "b"/);
  const { accounts } = JSON.parse((await box.auth('fake', ['list', '--json'])).stdout);
  assert.deepEqual(
    accounts.map((account: { name: string; enabled: boolean }) => [account.name, account.enabled]),
    [
      ['a', false],
      ['b', true],
    ],
  );
  assert.equal(stored(box), 'a/FAKE_KEY=k2\n');
});

const ENV = '# keys\nFAKE_KEY=k1\nexport FAKE_KEY_TEAM_B="k2"\nUNRELATED=x\nFAKE_KEY_LATER=\n';

for (const place of ['file', 'keyring'] as const) {
  test(`keys of a .env file are copied to the ${place}, and the file may be removed`, async t => {
    const box = setUp(t);
    box.script('secret-tool', SECRET_TOOL);
    const file = path.join(box.home, '.env');
    fs.writeFileSync(file, ENV, { mode: 0o600 });
    const arguments_ = ['accounts', 'import', file, '--name', 'team-a', ...(place === 'file' ? ['--file'] : [])];
    const imported = await box.wrap(arguments_);
    assert.equal(imported.stdout, 'imported "team-a" of fake\nimported "team-b" of fake\n', imported.stderr);
    assert.deepEqual(imported.stderr.trim().split('\n'), [
      `culvert-wrap: FAKE_KEY_LATER in ${file} is empty and is left out`,
      `culvert-wrap: left out of ${file}, because no tool of the catalog has its key in a variable of that name: UNRELATED`,
    ]);
    assert.match((await box.wrap(arguments_)).stdout, /^has already "team-a" of fake\nhas already "team-b" of fake\n$/);
    fs.rmSync(file);
    await box.shim('fake', ['x'], { env: { CULVERT_WRAP_ACCOUNT: 'team-b' } });
    assert.deepEqual(calls(box), ['k2 x']);
  });
}

test('accounts refer to a .env file on request only, which is said, and an import copies what they refer to', async t => {
  const box = setUp(t);
  const file = path.join(box.home, '.env');
  fs.writeFileSync(file, ENV, { mode: 0o600 });
  const imported = await box.wrap(['accounts', 'import', file, '--reference']);
  assert.match(imported.stdout, /imported "main" of fake\nimported "team-b" of fake/);
  assert.match(imported.stderr, /"main" of fake, "team-b" of fake read .*\.env at each run: it must stay there\n/);
  fs.writeFileSync(file, ENV.replace('k1', 'k3'));
  await box.shim('fake', ['x']);
  const exported = (await box.wrap(['accounts', 'export'])).stdout;
  assert.doesNotMatch(exported.replaceAll(box.home, ''), /k1|k2/);
  const copy = path.join(box.home, 'copy.toml');
  fs.writeFileSync(copy, exported);
  assert.match((await box.wrap(['accounts', 'import', copy])).stdout, /^has already "main"/);
  assert.match(
    (await box.wrap(['accounts', 'import', file, '--file'])).stdout,
    /changed "main" of fake\nchanged "team-b"/,
  );
  fs.rmSync(file);
  await box.shim('fake', ['y']);
  assert.deepEqual(calls(box), ['k3 x', 'k3 y']);
  for (const args of [[copy], [file, '--file'], ['--stored']])
    assert.equal((await box.wrap(['accounts', 'import', '--reference', ...args])).exit, 2, args.join());
});

for (const args of [['--file'], ['--reference'], ['--file', '--check']]) {
  test(`importing a file that others can read with ${args.join(' ')} says so, and never to remove it`, async t => {
    const box = setUp(t);
    const file = path.join(box.home, 'keys.env');
    fs.writeFileSync(file, ENV, { mode: 0o644 });
    const { stderr } = await box.wrap(['accounts', 'import', file, ...args]);
    assert.match(stderr, /others can read .*keys\.env, which holds credentials: `chmod go= .*keys\.env`/);
    assert.doesNotMatch(stderr, /remove|delete/);
  });
}

test('an import without a keyring stores nothing and names the ways that work', async t => {
  const box = setUp(t);
  const file = path.join(box.home, 'keys.env');
  fs.writeFileSync(file, ENV, { mode: 0o600 });
  box.script('secret-tool', '#!/bin/sh\nexit 1\n');
  const { exit, stderr } = await box.wrap(['accounts', 'import', file]);
  assert.equal(exit, 69);
  assert.match(stderr, /--file/);
  assert.match(stderr, /--reference/);
  assert.equal((await box.wrap(['accounts', 'export'])).stdout, '');
});

test('an import takes what CLIs have stored themselves, under the name that has the key already', async t => {
  const box = sandbox(t);
  const files = {
    '.config/firecrawl-cli/credentials.json': '{\n  "apiKey": "fc-stored",\n  "apiUrl": "https://api.firecrawl.dev"\n}',
    '.tavily/config.json': '{"api_key": "tvly-stored"}',
    '.npmrc': '//npm.example.com/:_authToken=other\n//registry.npmjs.org/:_authToken=npm-stored\n',
    '.sentryclirc': '[defaults]\norg=x\n\n[auth]\ntoken = sentry-stored\n',
    '.config/gh/hosts.yml':
      'ghe.example.com:\n    oauth_token: other\ngithub.com:\n    user: me\n    oauth_token: gh-stored\n',
    '.config/netlify/config.json': '{"users":{"5f":{"id":"5f","auth":{"token":"netlify-stored","github":{}}}}}',
    '.supabase/access-token': 'sbp_stored',
    '.codex/auth.json': '{"OPENAI_API_KEY":"sk-stored","tokens":{}}',
    '.cache/huggingface/token': 'hf_stored\n',
  };
  const nothing = await box.wrap(['accounts', 'import', '--stored']);
  assert.equal(nothing.exit, 66);
  assert.match(nothing.stderr, /there is no key in .*credentials\.json.*\.npmrc/);
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(box.home, name)), { recursive: true });
    fs.writeFileSync(path.join(box.home, name), text);
  }
  const importing = async (...args: string[]) => {
    const { stdout, stderr } = await box.wrap(['accounts', 'import', '--stored', '--json', ...args]);
    assert.doesNotMatch(stdout + stderr, /stored"|-stored/);
    return JSON.parse(stdout).checked.map(
      ({ cli, name, change }: Record<string, string>) => `${cli} ${name} ${change}`,
    );
  };
  const clis = ['firecrawl', 'tvly', 'netlify', 'sentry-cli', 'npm', 'supabase', 'gh', 'codex', 'hf'];
  const all = (change: string) => clis.map(cli => `${cli} main ${change}`).sort();
  assert.deepEqual((await importing('--check')).sort(), all('add'));
  assert.deepEqual(fs.existsSync(box.config), false);
  assert.deepEqual((await importing('--file')).sort(), all('add'));
  assert.deepEqual((await importing()).sort(), all('keep'));
  const secrets = path.join(box.config, 'secrets');
  const values = fs
    .readdirSync(secrets)
    .map(name => fs.readFileSync(path.join(secrets, name), 'utf8').split('=').at(-1));
  assert.deepEqual(values.map(value => value?.replace(/[-_]stored\n/, '')).sort(), [
    'fc',
    'gh',
    'hf',
    'netlify',
    'npm',
    'sbp',
    'sentry',
    'sk',
    'tvly',
  ]);
  await box.wrap(['accounts', 'rename', 'firecrawl', 'main', 'team-a']);
  assert.deepEqual(await importing('--cli', 'firecrawl'), ['firecrawl team-a keep']);
  fs.writeFileSync(path.join(box.home, '.tavily/config.json'), '{"api_key": "tvly-new"}');
  assert.deepEqual(await importing('--cli', 'tvly', '--file'), ['tvly main change']);
  assert.match(
    (await box.wrap(['accounts', 'import', '--stored', '--cli', 'wrangler'])).stderr,
    /names no file of wrangler/,
  );
  for (const args of [[], ['x.env', '--stored']])
    assert.equal((await box.wrap(['accounts', 'import', ...args])).exit, 2);
});

test('a .env file is read as shells read it, and a stored key comes back as it was', async t => {
  const box = setUp(t);
  const file = path.join(box.home, 'keys.env');
  fs.writeFileSync(
    file,
    'FAKE_KEY=k1 # mine\nexport FAKE_KEY_B="k:2" # quoted\nFAKE_KEY_C=\'k#3\'\nFAKE_KEY_D=k#4\nFAKE_KEY_E=#5\nFAKE_KEY_F= # none\n',
  );
  assert.equal((await box.wrap(['accounts', 'import', file, '--reference'])).exit, 0);
  for (const [name, key] of Object.entries({ odd: 'a #b', quoted: '"q"', single: "'s'", both: `"it's` }))
    assert.equal((await box.wrap(['accounts', 'add', 'fake', name, '--file'], { input: `${key}\n` })).exit, 0);
  for (const name of ['main', 'b', 'c', 'd', 'e', 'odd', 'quoted', 'single', 'both'])
    await box.shim('fake', [name], { env: { CULVERT_WRAP_ACCOUNT: name } });
  assert.deepEqual(calls(box), [
    'k1 main',
    'k:2 b',
    'k#3 c',
    'k#4 d',
    '#5 e',
    'a #b odd',
    '"q" quoted',
    "'s' single",
    `"it's both`,
  ]);
});

test('a list says where a credential is without repeating the path of the list', async t => {
  const box = setUp(t, { a: 'k1' });
  await box.wrap(['accounts', 'add', 'fake', 'b', '--file'], { input: 'k2\n' });
  const all = (await box.wrap(['accounts', 'list'])).stdout.split('\n');
  assert.match(all[1]!, /file:.*keys\.env#fake_a$/);
  assert.match(all[2]!, /enabled +its own file$/);
  const own = (await box.auth('fake', ['list'])).stdout;
  assert.match(own, /FAKE_KEY from its own file/);
  assert.match((await box.wrap(['accounts', 'list', '--json'])).stdout, /secrets\/fake\.env#b\/FAKE_KEY/);
});

/** Files as people have them: the accounts with their keys, and what is said about the rest. */
const KEPT: {
  name: string;
  file?: string;
  text: string;
  keys: Record<string, string>;
  left?: RegExp[];
  args?: string[];
}[] = [
  { name: 'commas', text: 'FAKE_KEY=k1,k2', keys: { main: 'k1', 'main-2': 'k2' } },
  { name: 'commas and blanks in quotes', text: 'export FAKE_KEY="k1, k2"', keys: { main: 'k1', 'main-2': 'k2' } },
  { name: 'the plural, with semicolons', text: 'FAKE_KEYS="k1;k2"', keys: { main: 'k1', 'main-2': 'k2' } },
  {
    name: 'one a line, in quotes',
    text: 'FAKE_KEYS="\nk1\nk2\n"\nX=1',
    keys: { main: 'k1', 'main-2': 'k2' },
    left: [/left out of .*: X\n/],
  },
  { name: 'blanks', text: 'FAKE_KEY="k1 k2"', keys: { main: 'k1', 'main-2': 'k2' } },
  { name: 'bars', text: 'FAKE_KEY=k1|k2 | k3', keys: { main: 'k1', 'main-2': 'k2', 'main-3': 'k3' } },
  { name: 'one and more', text: 'FAKE_KEY=k1\nFAKE_KEYS=k2,k3', keys: { main: 'k1', 'main-2': 'k2', 'main-3': 'k3' } },
  {
    name: 'placeholders',
    text: 'FAKE_KEY=k1\nFAKE_KEY_B=<your-key>\nFAKE_KEY_C=your_api_key_here\nFAKE_KEY_D=pass:work/fake\n',
    keys: { main: 'k1' },
    left: [/FAKE_KEY_B .* a placeholder/, /FAKE_KEY_C .* a placeholder/, /FAKE_KEY_D .* reference \(pass:…\)/],
  },
  {
    name: 'names of other programs',
    text: 'FAKE_KEY=k1\nFIRECRAWL_KEY=k2\nXI_API_KEY=k3\nNPM_TOKEN=k4\nPATH_TO=x\nCLOUDFLARE_API_KEY=k5\n',
    keys: { main: 'k1' },
    left: [
      /FIRECRAWL_KEY in .* looks like FIRECRAWL_API_KEY and is left out; name it FIRECRAWL_API_KEY_NAME/,
      /NPM_TOKEN in .* `culvert-wrap accounts add npm NAME`/,
      /left out of .*keys\.env, because no tool .*: XI_API_KEY, CLOUDFLARE_API_KEY, PATH_TO\n/,
    ],
  },
  {
    name: 'numbers',
    text: 'FAKE_KEY=k1\nFAKE_KEY_2=k2\nFAKE_KEY3=k3\nFAKE_KEY_TEAM_B=k4\nFAKE_KEY__5=k5\nFAKE_KEY_X__Y=k6',
    keys: { main: 'k1', 2: 'k2', 3: 'k3', 'team-b': 'k4', 5: 'k5', 'x-y': 'k6' },
  },
  {
    name: 'references',
    text: 'FAKE_KEY=k1\nFAKE_KEY_B=op://Private/x/key\nFAKE_KEY_C=${OTHER}\nFAKE_KEY_D=$OTHER\nFAKE_KEY_E=k5,op://x/y',
    keys: { main: 'k1', e: 'k5' },
    left: [
      /FAKE_KEY_B in .* is left out: it is a reference .*op read/,
      /FAKE_KEY_C .*env:NAME/,
      /FAKE_KEY_D /,
      /FAKE_KEY_E /,
    ],
  },
  {
    name: 'another name',
    text: 'FAKE_KEY=k1\nTEAM_B_FAKE_KEY=k2\nUNRELATED=x',
    keys: { main: 'k1' },
    left: [
      /TEAM_B_FAKE_KEY in .* looks like FAKE_KEY and is left out; name it FAKE_KEY_NAME/,
      /left out of .*: UNRELATED/,
    ],
  },
  {
    name: 'a list of keys',
    file: 'keys.txt',
    text: '# mine\nk1\nk2\n\nk1\n',
    args: ['--cli', 'fake'],
    keys: { main: 'k1', 'main-2': 'k2' },
  },
  {
    name: 'a list with a reference',
    file: 'keys.txt',
    text: 'k1\n${KEY}\n',
    args: ['--cli', 'fake', '--name', 'x'],
    keys: { x: 'k1' },
    left: [/line 2 of .*keys\.txt is left out/],
  },
  {
    name: 'TOML',
    file: 'a.toml',
    text: '[[accounts]]\ncli = "fake"\nname = "a"\nsecrets = { FAKE_KEY = "k1,k2" }\n[[accounts]]\ncli = "fake"\nname = "b"\nsecrets = { FAKE_KEY = "op://x/y" }\n',
    keys: { a: 'k1', 'a-2': 'k2' },
    left: [/fake "b" is left out: it is a reference/],
  },
  {
    name: 'TOML with keys as they stand in other files',
    file: 'a.toml',
    text: '[[accounts]]\ncli = "fake"\nname = "a"\nsecrets = { FAKE_KEY = "Bearer k1" }\n[[accounts]]\ncli = "fake"\nname = "b"\nsecrets = { FAKE_KEY = "k2," }\n',
    keys: { a: 'k1', b: 'k2' },
  },
  {
    name: 'JSON',
    file: 'a.json',
    text: '{"accounts":[{"cli":"fake","name":"a","secrets":{"FAKE_KEY":"k1;k2"}}]}',
    keys: { a: 'k1', 'a-2': 'k2' },
  },
  {
    name: 'settings, blanks, backslashes and brackets',
    text: 'FAKE_KEY=k1;FAKE_ORG=org\nFAKE_KEY_B=k2 FAKE_PROJECT=x\nFAKE_KEY_C=Bearer k3\nFAKE_KEY_D=k4\\\nFAKE_KEY_E=["k5","k6"]\nFAKE_KEY_F="k7 of mine"\n',
    keys: { main: 'k1', b: 'k2', c: 'k3', e: 'k5', 'e-2': 'k6' },
    left: [
      /FAKE_KEY in .* a setting/,
      /FAKE_KEY_B in .* a setting/,
      /FAKE_KEY_D .* a backslash/,
      /FAKE_KEY_F .* a blank/,
    ],
  },
  ...['keys.env', 'keys.txt'].map(file => ({
    name: `lines that set nothing in ${file}`,
    file,
    text: 'FAKE_KEYS="\nk1\nk2\n"\nset X_KEY=k3\ndeclare -x FAKE_KEY_X=k4\nFAKE_KEY+=k5\nFAKE_KEY-B=k6\nsome words k7\nabcdefghijklmnopqrsk8==\nFAKE_KEY_B=k9\n',
    keys: { main: 'k1', 'main-2': 'k2', b: 'k9' },
    left: [5, 6, 7, 8, 9, 10].map(
      line => new RegExp(`line ${line} of .*keys\\.\\w+ is left out: it is not NAME=value`),
    ),
  })),
  {
    name: 'quotes, brackets, marks at the end and other characters',
    text: 'FAKE_KEY="k1";\nFAKE_KEY_B=k2,\nFAKE_KEY_C="\'k3\'"\nFAKE_KEY_D="k4\nFAKE_KEY_E=“k5”\nFAKE_KEY_F=\u200bk6\nFAKE_KEY_G=(k7 k8)\nFAKE_KEY_H=$\'k9\'\nFAKE_KEY_I=[\n',
    keys: { main: 'k1', b: 'k2', c: 'k3' },
    left: [
      /FAKE_KEY_D .* a quote or a bracket/,
      /FAKE_KEY_E .* a character/,
      /FAKE_KEY_F .* a character/,
      /FAKE_KEY_G .* a blank/,
      /FAKE_KEY_H .* a quote or a bracket/,
      /FAKE_KEY_I .* a quote or a bracket/,
    ],
  },
  {
    name: 'what is written about a key, and what is none',
    text: `FAKE_KEY=k1\n${[
      'FILE=/run/x',
      'EXPIRES=2027-01-01',
      'ID=7',
      'URL=https://x.example',
      'A=/run/secrets/x',
      'B=true',
      'C=0',
      'D=2027-01-01',
      'E=fake-abc...xyz',
      'F=a1$OTHER',
      'G=https://x.example/keys',
    ]
      .map(line => `FAKE_KEY_${line}\n`)
      .join('')}`,
    keys: { main: 'k1' },
    left: ['FILE', 'EXPIRES', 'ID', 'URL', 'A', 'B', 'C', 'D', 'E', 'F', 'G'].map(
      name => new RegExp(`FAKE_KEY_${name} in .* is left out`),
    ),
  },
  {
    name: 'keys with = in them',
    text: 'FAKE_KEY=sntrys_eyJpYXQiOjF9bGw6bnVsbH0=_KzJkk1\nFAKE_KEY_B=ab12=cd\nFAKE_KEY_C=ab==\n',
    keys: { main: 'sntrys_eyJpYXQiOjF9bGw6bnVsbH0=_KzJkk1', b: 'ab12=cd', c: 'ab==' },
  },
  {
    name: 'a list of keys with = in them, in a file for settings',
    text: 'FAKE_KEY=k1\nsntrys_eyJpYXQiOjF9bGw6bnVsbH0=_KzJkk2\n',
    keys: { main: 'k1' },
    left: [/line 2 of .*keys\.env is left out: it is not NAME=value/],
  },
  {
    name: 'a text of several lines',
    text: 'NOTE="first\nFAKE_KEY=k1\nlast" # mine\nFAKE_KEY_B="k2\nFAKE_KEY_C="k3"\n',
    keys: { c: 'k3' },
    left: [/line 2 of .* is within the value of NOTE/, /FAKE_KEY_B .* a quote/, /left out of .*: NOTE\n/],
  },
  {
    name: 'a table',
    file: 'keys.csv',
    text: 'name,key\nproduction,k1\nk2\n',
    args: ['--cli', 'fake'],
    keys: { main: 'k2' },
    left: [/line 1 of .* a word/, /line 2 of .* a word/],
  },
  {
    name: 'a list with comments and words',
    file: 'keys.txt',
    text: '# mine\nk1 # first\nsome words k2\nk3\n',
    args: ['--cli', 'fake'],
    keys: { main: 'k1', 'main-2': 'k3' },
    left: [/line 3 of .*keys\.txt is left out: it has a blank/],
  },
];

test('a file of another encoding or with other line ends is not read, with its reason', async t => {
  const box = setUp(t);
  const file = path.join(box.home, 'keys.env');
  for (const [text, why] of [
    [Buffer.from('\uFEFFFAKE_KEY=k1\n', 'utf16le'), /it is not UTF-8/],
    [Buffer.from('FAKE_KEY=k1\n', 'utf16le'), /it is not UTF-8/],
    [Buffer.from('FAKE_KEY=k1\rFAKE_KEY_B=k2\r'), /its lines end with CR/],
    [Buffer.from('FAKE_KEY=k1\rFAKE_KEY_B=k2\r\nFAKE_KEY_C=k3\n'), /its lines end with CR/],
  ] as const) {
    fs.writeFileSync(file, text, { mode: 0o600 });
    const { exit, stderr } = await box.wrap(['accounts', 'import', file, '--file']);
    assert.equal(exit, 66);
    assert.match(stderr, why);
  }
});

test('a document without accounts is refused in words that show nothing of it', async t => {
  const box = setUp(t);
  for (const [name, text] of [
    ['keys.json', '{"FAKE_KEY": "k1"}'],
    ['keys.json', '{"k1": {}}'],
    ['list.json', '["k1"]'],
    ['keys.toml', '[k1]\na = 1\n'],
  ] as const) {
    const file = path.join(box.home, name);
    fs.writeFileSync(file, text, { mode: 0o600 });
    const { exit, stderr } = await box.wrap(['accounts', 'import', file, '--file']);
    assert.equal(exit, 66, text);
    assert.match(stderr, /can't be imported: it has no table "accounts"\n.*\[\[accounts\]\]/, text);
    assert.doesNotMatch(stderr.replaceAll(box.home, ''), /k1/);
  }
});

for (const { name, file = 'keys.env', text, keys, left = [], args = [] } of KEPT)
  test(`an import of ${name} makes an account of each key, and names what it leaves out`, async t => {
    const box = setUp(t);
    const source = path.join(box.home, file);
    fs.writeFileSync(source, text, { mode: 0o600 });
    const { exit, stderr } = await box.wrap(['accounts', 'import', source, '--file', ...args]);
    assert.equal(exit, 0, stderr);
    const lines = stored(box).trim().split('\n').sort();
    assert.deepEqual(
      lines,
      Object.entries(keys)
        .map(([account, key]) => `${account}/FAKE_KEY=${key}`)
        .sort(),
    );
    for (const line of left) assert.match(stderr, line);
    assert.equal(stderr.split('\n').filter(line => line.includes('left out')).length, left.length, stderr);
    // the name of a temporary directory may hold the same letters
    assert.doesNotMatch(stderr.replaceAll(box.home, ''), /k\d|Private/);
  });

for (const text of ['FAKE_KEY=op://x/y\n', 'FAKE_KEY=$OTHER\n'])
  test(`a file with nothing but ${text.trim()} imports nothing, and an account that reads it is skipped`, async t => {
    const box = setUp(t);
    const file = path.join(box.home, 'keys.env');
    fs.writeFileSync(file, text, { mode: 0o600 });
    const imported = await box.wrap(['accounts', 'import', file, '--file']);
    assert.equal(imported.exit, 66);
    assert.match(imported.stderr, /FAKE_KEY in .* is left out/);
    await box.wrap(['accounts', 'add', 'fake', 'a', '--env', `FAKE_KEY=file:${file}#FAKE_KEY`]);
    const run = await box.shim('fake', ['x']);
    assert.match(run.stderr, /FAKE_KEY from file:.*(?:reference|stands for)/);
    assert.deepEqual(fs.existsSync(path.join(box.home, 'calls')) ? calls(box) : [], []);
  });

test('a file of keys alone needs the name of their tool, and no account can refer to a list', async t => {
  const box = setUp(t);
  const list = path.join(box.home, 'keys.txt');
  fs.writeFileSync(list, 'k1\nk2\n', { mode: 0o600 });
  const nameless = await box.wrap(['accounts', 'import', list, '--file']);
  assert.deepEqual([nameless.exit, /--cli/.test(nameless.stderr)], [2, true]);
  const file = path.join(box.home, 'keys.env');
  fs.writeFileSync(file, 'FAKE_KEY=k1,k2\nFAKE_KEY_3=k3\n', { mode: 0o600 });
  const referring = await box.wrap(['accounts', 'import', file, '--reference']);
  assert.equal(referring.stdout, 'imported "3" of fake\n');
  assert.match(referring.stderr, /FAKE_KEY in .* holds several keys and is left out/);
  const added = await box.wrap(['accounts', 'add', 'fake', 'c', '--env', `FAKE_KEY=file:${file}#FAKE_KEY`]);
  assert.match(added.stderr, /FAKE_KEY from file:.*: it holds several keys, .*accounts import/);
});

test('a list given to `accounts add` makes an account of each key, and none where one of them is no key', async t => {
  const box = setUp(t);
  const add = (name: string, input: string, ...more: string[]) =>
    box.wrap(['accounts', 'add', 'fake', name, '--file', ...more], { input });
  assert.equal((await add('a', 'k1,k2\n')).stdout, 'added "a" of fake\nadded "a-2" of fake\n');
  assert.equal(stored(box), 'a/FAKE_KEY=k1\na-2/FAKE_KEY=k2\n');
  const again = await add('b', 'k3;k4\n', '--json');
  assert.deepEqual(JSON.parse(again.stdout).accounts, ['b', 'b-2']);
  for (const [name, input, exit] of [
    ['c', 'k5,op://Private/x\n', 65],
    ['c', '${OTHER}\n', 65],
    ['c', 'k5;FAKE_ORG=org\n', 65],
    ['c', 'k5 FAKE_PROJECT=x\n', 65],
    ['a', 'k5,k6\n', 2],
  ] as const)
    assert.equal((await add(name, input)).exit, exit, input);
  assert.doesNotMatch(stored(box), /k5|op:/);
});
