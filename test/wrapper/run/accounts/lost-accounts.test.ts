// The table of what names an account, what keeps it from being used, and what runs then.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { FULL, third } from '../../../support/thoroughness.ts';
import { type RunOptions, type Sandbox, sandbox } from '../../../support/wrapper/sandbox.ts';

const config = (box: Sandbox) => path.join(box.config, 'config.toml');
const catalog = (box: Sandbox) => path.join(box.config, 'providers.toml');
const keys = (box: Sandbox) => path.join(box.config, 'keys.env');
const edit = (file: string, change: (text: string) => string) =>
  fs.writeFileSync(file, change(fs.readFileSync(file, 'utf8')), { mode: 0o600 });

const NAMINGS = ['none', 'variable', 'variable for the tool', 'directory', 'job'] as const;
type Naming = (typeof NAMINGS)[number];

/** Login of the run: an account's credential, the machine's own (with a line on stderr), or none, with an exit status. */
type Ran = 'ka' | 'kb' | 'machine' | 'machine, a line' | 2 | 69 | 78;

interface Outcomes {
  none: Ran;
  named: Ran;
}

interface Loss {
  what: string;
  args: string[];
  /** Takes the account away. */
  lose?: (box: Sandbox) => void;
  env?: (box: Sandbox) => Record<string, string>;
  /** The account that is named. */
  name?: string;
  /** Outcomes with two accounts, of which b is the default, and with account a only. */
  two: Outcomes;
  one: Outcomes;
  reason?: RegExp;
}

/** Lets account a have another source of its credential. */
const setSource =
  (source: string, settings = '') =>
  (box: Sandbox) =>
    edit(config(box), text => settings + text.replace(/"file:[^"]*#fake_a"/, `"${source}"`));
const both = (none: Ran, named: Ran) => ({ two: { none, named }, one: { none, named } });

const LOSSES: Loss[] = [
  { what: 'nothing', args: ['x'], two: { none: 'kb', named: 'ka' }, one: { none: 'ka', named: 'ka' } },
  { what: 'no arguments', args: [], two: { none: 'kb', named: 'ka' }, one: { none: 'ka', named: 'ka' } },
  { what: 'a passthrough word', args: ['login'], ...both('machine', 'machine') },
  {
    what: 'a broken configuration',
    args: ['x'],
    lose: box => edit(config(box), text => `${text}[[[`),
    ...both('machine, a line', 78),
    reason: /config\.toml can't be used/,
  },
  {
    what: 'a missing configuration',
    args: ['x'],
    lose: box => fs.rmSync(config(box)),
    ...both('machine, a line', 78),
    reason: /config\.toml is missing/,
  },
  {
    what: 'another HOME',
    args: ['x'],
    env: box => ({ HOME: path.join(box.home, 'other') }),
    ...both('machine, a line', 78),
    reason: /its accounts are in .*config\.toml, and HOME leads to/,
  },
  {
    what: 'another XDG_CONFIG_HOME',
    args: [],
    env: box => ({ XDG_CONFIG_HOME: path.join(box.home, 'other') }),
    ...both('machine, a line', 78),
    reason: /its accounts are in .*config\.toml, and XDG_CONFIG_HOME leads to/,
  },
  {
    what: 'an account that does not exist',
    args: ['x'],
    name: 'ghost',
    two: { none: 'kb', named: 2 },
    one: { none: 'ka', named: 2 },
    reason: /"ghost".* does not exist/,
  },
  {
    what: 'a disabled account',
    args: ['x'],
    lose: box => edit(config(box), text => text.replace('name = "a"', 'name = "a"\nenabled = false')),
    two: { none: 'kb', named: 2 },
    one: { none: 'machine, a line', named: 2 },
    reason: /"a".* is disabled|all accounts are disabled/,
  },
  ...Object.entries({
    'an empty credential': (box: Sandbox) => edit(keys(box), text => text.replace('fake_a=ka', 'fake_a=')),
    'a credential that is gone': (box: Sandbox) => edit(keys(box), text => text.replace('fake_a=ka\n', '')),
    'a secret file that is gone': (box: Sandbox) =>
      edit(config(box), text => text.replace(/keys\.env(?=#fake_a)/, 'x')),
    'a credential command that fails': setSource('command:exit 4'),
    'a credential command that does not end': setSource('command:sleep 60', 'secret_timeout = "200ms"\n'),
    'a variable that is not set': setSource('env:NOT_SET'),
    'a locked keyring': setSource('keyring:'),
    'a store of passwords that fails': setSource('pass:work/fake'),
    'a prepare command that fails': (box: Sandbox) =>
      edit(catalog(box), text => `${text}prepare_command = '[ {account} = b ]'\n`),
  }).map(
    ([what, lose]): Loss => ({
      what,
      lose,
      args: [],
      two: { none: 'kb', named: 69 },
      one: { none: 69, named: 69 },
      reason: /"a", which is named, can't be used \(a: |no account can be used \(a: /,
    }),
  ),
];

function namedBy(
  naming: Naming,
  name: string,
  { box, args, project }: { box: Sandbox; args: string[]; project: string },
) {
  const options: RunOptions & { args: string[] } = { args, cwd: box.home };
  if (naming === 'variable') options.env = { CULVERT_WRAP_ACCOUNT: name };
  if (naming === 'variable for the tool') options.env = { CULVERT_WRAP_ACCOUNT: `npm=ci, fake=${name}` };
  if (naming === 'directory') {
    fs.mkdirSync(path.join(project, 'below'), { recursive: true });
    box.choose(project, `[accounts]\nfake = "${name}"\n`);
    options.cwd = path.join(project, 'below');
  }
  if (naming === 'job') options.args = [...args, '--id=job-1'];
  return options;
}

function check(what: string, ran: Ran, result: Awaited<ReturnType<Sandbox['run']>>, reason: RegExp | undefined) {
  const { exit, stdout } = result;
  // the variable of the machine is named wherever an account replaces it
  const stderr = result.stderr.replace(/^culvert-wrap: fake: FAKE_KEY is not used, because .*\n/, '');
  if (typeof ran === 'number') {
    assert.deepEqual([exit, stdout], [ran, ''], `${what}: ${stderr}`);
    assert.match(stderr, reason!, what);
    return;
  }
  const [credential, line] = ran.split(', ');
  assert.deepEqual([exit, stdout], [0, `${credential}\n`], `${what}: ${stderr}`);
  if (line === undefined) assert.equal(stderr, '', what);
  else assert.match(stderr, new RegExp(`^culvert-wrap: .*(?:${reason!.source}).*\n$`), what);
}

/** All ways to name an account in a full run; otherwise no name and one of the others, another with each loss. */
function namingsFor(loss: Loss): readonly Naming[] {
  return FULL ? NAMINGS : ['none', NAMINGS[1 + (LOSSES.indexOf(loss) % (NAMINGS.length - 1))]!];
}

for (const count of ['one', 'two'] as const) {
  // a short run tries a third of each outcome: with one account the shell decides
  for (const loss of third(LOSSES, loss => String(loss[count].named))) {
    test(`with ${count} account(s) and ${loss.what}, a named account is used or nothing runs`, async t => {
      const box = sandbox(t);
      box.script('fake', `#!/bin/sh\necho "$FAKE_KEY"\n`);
      box.provider('fake', 'inject = ["FAKE_KEY"]\npassthrough = ["login"]');
      box.accounts('fake', count === 'one' ? { a: 'ka' } : { b: 'kb', a: 'ka' });
      box.remember('fake', { jobs: { 'job-1': { account: loss.name ?? 'a', at: Date.now() } } });
      await box.shim('fake', ['x']);
      assert.equal(fs.existsSync(path.join(box.state, 'plans/fake.sh')), count === 'one', 'the shortcut');
      const project = path.join(box.home, 'project');
      const env = { ...loss.env?.(box), FAKE_KEY: 'machine' };
      for (const dir of Object.values(loss.env?.(box) ?? {})) fs.mkdirSync(dir);
      loss.lose?.(box);
      for (const naming of namingsFor(loss)) {
        if (naming === 'none' && loss.name) continue;
        const { args, ...options } = namedBy(naming, loss.name ?? 'a', { box, args: loss.args, project });
        const result = await box.shim('fake', args, { ...options, env: { ...env, ...options.env } });
        const { none, named } = loss[count];
        check(`${naming}, ${loss.what}`, naming === 'none' ? none : named, result, loss.reason);
      }
      for (const dir of Object.values(loss.env?.(box) ?? {})) assert.deepEqual(fs.readdirSync(dir), [], 'left alone');
    });
  }
}
