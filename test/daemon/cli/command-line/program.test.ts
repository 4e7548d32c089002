// The command line as a whole: every command has help, every wrong word an answer, and the shells know them all.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { COMMANDS, expand, resolved, TABLE } from '../../../../daemon/cli/command-line/program.ts';
import type { CommandSpec } from '../../../../daemon/cli/context.ts';
import { CONFIG_VALUES } from '../../../../daemon/cli/labels.ts';
import { accepts, expected } from '../../../../daemon/config/types.ts';
import { createHome, culvert } from '../../../support/daemon/command.ts';

/** Every command as its words; an alias alone. */
function walk(specs: readonly CommandSpec[], path: string[] = []): string[][] {
  return specs.flatMap(spec => (spec.commands ? walk(spec.commands, [...path, spec.name]) : [[...path, spec.name]]));
}
const ALL = walk(COMMANDS);

const FLAGS = ['--no-open', '--no-tray', '--no-panel', '--port', '--demo', '--status', '--version', '--help'];

test('--help, help and no word at all print the tasks with their commands, in about ten lines', async t => {
  const home = createHome(t);
  const { code, stdout, stderr } = await culvert(home, ['--help']);
  assert.deepEqual([code, stderr], [0, '']);
  for (const { title, commands } of TABLE) {
    const line = stdout.split('\n').find(each => each.startsWith(`  ${title}  `)) ?? '';
    for (const { name, aliasOf } of commands) if (!aliasOf) assert.match(line, new RegExp(`[ ,]${name}(,|$)`), name);
  }
  assert.ok(TABLE.length <= 10, 'ten tasks at most');
  assert.match(stdout, /culvert --help --all/);
  for (const words of [['-h'], ['help'], []]) assert.deepEqual(await culvert(home, words), { code, stdout, stderr });
});

test('--help --all prints every command, launcher flag and exit code', async t => {
  const home = createHome(t);
  const { code, stdout, stderr } = await culvert(home, ['--help', '--all']);
  assert.deepEqual([code, stderr], [0, '']);
  for (const { name } of COMMANDS) assert.match(stdout, new RegExp(`^ {2}${name}\\b`, 'm'));
  for (const flag of FLAGS) assert.ok(stdout.includes(`  ${flag}`) || stdout.includes(`, ${flag}`), flag);
  assert.match(stdout, /^Exit codes:$/m);
  for (const words of [
    ['--all', '--help'],
    ['help', '--all'],
  ])
    assert.deepEqual(await culvert(home, words), { code, stdout, stderr });
});

test('every command belongs to one task, and every alias to a command', () => {
  assert.equal(new Set(COMMANDS.map(({ name }) => name)).size, COMMANDS.length);
  for (const spec of COMMANDS) {
    assert.equal(spec.aliasOf === undefined, resolved(spec) === spec, spec.name);
    assert.ok(!spec.aliasOf || spec.summary.startsWith(`alias of ${spec.aliasOf}`), spec.name);
  }
});

test('every command prints its own help, lists --json, and has code', async t => {
  const home = createHome(t);
  assert.ok(ALL.length > 30);
  const load = (specs: readonly CommandSpec[]): Promise<unknown[]> =>
    Promise.all(
      specs
        .filter(({ aliasOf }) => !aliasOf)
        .map(spec =>
          spec.commands ? load(spec.commands) : spec.load!().then(run => assert.equal(typeof run, 'function')),
        ),
    );
  await load(COMMANDS);
  for (const words of [['routes', 'add'], ['config', 'set'], ['status'], ['account', 'register']]) {
    const { code, stdout } = await culvert(home, ['help', ...words]);
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`^Usage: culvert ${words.join(' ')} `));
    assert.match(stdout, / --json /);
  }
});

test('no word stands twice in a help', () => {
  const check = (specs: readonly CommandSpec[]): void => {
    for (const { summary, details = '', options = [], commands = [] } of specs) {
      for (const text of [summary, details, ...options.map(option => option.summary)])
        assert.doesNotMatch(text, /\b([a-z]+) \1\b/);
      check(commands);
    }
  };
  check(COMMANDS);
});

for (const [words, said] of [
  [['start'], /\nUse: culvert\n$/],
  [['report'], /\nUse: culvert diagnose\n$/],
  [['uninstall'], /\nUse: \.\/culvert-tool uninstall in the clone, or the package manager/],
  [['up'], /\nUse: culvert connect\n$/],
  [['ip'], /\nUse: culvert status --long\n$/],
  [['kill'], /\nUse: culvert stop\n$/],
  [['ks'], /\nUse: culvert killswitch\n$/],
  [['vpn'], /\nUse: culvert status\n$/],
  [['warp'], /\nUse: culvert status\n$/],
  [['reload'], /\nUse: culvert restart\n$/],
  [['-v'], /unknown option '-v'\.\nUse: culvert --version\n$/],
  [['-V'], /unknown option '-V'\.\nUse: culvert --version\n$/],
  [['conect'], /unknown command 'conect'\.\nDid you mean connect\?/],
  [['stauts'], /Did you mean status\?/],
  [['split', 'ad'], /Did you mean add\?/],
  [['status', '--wach'], /unknown option '--wach'\.\nDid you mean --watch\?/],
  [['status', 'now'], /too many arguments/],
  [['logs', '--limit'], /argument missing/],
  [['split', 'add'], /Name an address, a range or a host/],
  [['routes', 'remove'], /missing required argument 'entry'/],
  [['--nonsense'], /unknown option '--nonsense'\.\nSee: culvert help\n$/],
  [['status', '--port', '1'], /unknown option '--port'/],
  [['nonsense'], /unknown command 'nonsense'\.\nSee: culvert help\n$/],
  [['split', 'nonsense'], /unknown command 'nonsense'\.\nSee: culvert help split\n$/],
  [['bogus'], /unknown command 'bogus'\.\nSee: culvert help\n$/],
  [['help', 'nope'], /unknown command 'nope'\.\nSee: culvert help\n$/],
  [['status', '--match'], /unknown option '--match'\.\nSee: culvert help status\n$/],
  [['Status'], /Did you mean status\?/],
  [['help', 'nonsense'], /unknown command 'nonsense'\.\nSee: culvert help\n$/],
  [['help', 'stauts'], /Did you mean status\?/],
  [['help', 'split', 'nope'], /unknown command 'nope'/],
  [['__proto__'], /unknown command/],
] as const) {
  test(`"${words.join(' ')}" is wrong usage, with a suggestion or the reason`, async t => {
    const { code, stdout, stderr } = await culvert(createHome(t), [...words]);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, said);
  });
}

test('wrong usage is a JSON document too', async t => {
  const { code, stdout } = await culvert(createHome(t), ['status', '--wach', '--json']);
  assert.deepEqual([code, JSON.parse(stdout).code], [2, 'usage']);
});

test('a group alone means its fallback, and help of a command its --help', () => {
  assert.deepEqual(expand(['routes']), ['routes', 'show']);
  assert.deepEqual(expand(['routes', '--json']), ['routes', 'show', '--json']);
  assert.deepEqual(expand(['routes', '--help']), ['routes', '--help']);
  assert.deepEqual(expand(['help', 'routes', 'add']), ['routes', 'add', '--help']);
  assert.deepEqual(expand(['status', '--watch']), ['status', '--watch']);
});

for (const [typed, meaning] of [
  ['split', 'routes list'],
  ['split --json', 'routes list --json'],
  ['split list', 'routes list'],
  ['split add x', 'routes add x'],
  ['split remove x --yes', 'routes remove x --yes'],
  ['split import file', 'routes import --add file'],
  ['split import', 'routes import --add'],
  ['split export', 'routes export'],
  ['split reset --ips', 'routes reset --ips'],
  ['split --help', 'routes --help'],
  ['help split', 'routes --help'],
  ['help split add', 'routes add --help'],
  ['on --wait', 'connect --wait'],
  ['off --for 15m', 'disconnect --for 15m'],
  ['help off', 'disconnect --help'],
] as const)
  test(`"${typed}" means "${meaning}"`, () => assert.deepEqual(expand(typed.split(' ')), meaning.split(' ')));

test('version works without a daemon', async t => {
  const { code, stdout } = await culvert(createHome(t), ['version']);
  assert.deepEqual(
    [code, stdout],
    [0, `culvert 9.9.9 (Node ${process.versions.node})\nThe Culvert daemon is not running.\n`],
  );
});

test('without HOME the failure says which variable to set', async t => {
  const home = createHome(t);
  const { code, stderr } = await culvert({ ...home, env: { PATH: home.env.PATH! } }, ['status']);
  assert.equal(code, 1);
  assert.match(stderr, /Set HOME/);
});

test('bash completes commands, subcommands, flags, words and files', async t => {
  const home = createHome(t);
  assert.equal((await culvert(home, ['__generate', home.path])).code, 0);
  const complete = (...words: string[]) =>
    execFileSync(
      'bash',
      [
        '--norc',
        '-c',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: bash's, not ours
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _culvert 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"',
        'bash',
        join(home.path, 'culvert.bash'),
        'culvert',
        ...words,
      ],
      { encoding: 'utf8' },
    )
      .trim()
      .split('\n');
  assert.deepEqual(complete('st').sort(), ['status', 'stop']);
  assert.deepEqual(complete('split', 're').sort(), ['remove', 'reset']);
  assert.deepEqual(complete('mode', 'warp').sort(), ['warp', 'warp+doh', 'warp+dot']);
  assert.deepEqual(complete('status', '--w'), ['--watch']);
  assert.deepEqual(complete('config', 'set', 'ui.'), ['ui.openBrowser', 'ui.theme', 'ui.locale', 'ui.firstSteps']);
  assert.deepEqual(complete('--no-').sort(), ['--no-open', '--no-panel', '--no-tray']);
  assert.deepEqual(complete('config', 'set', '--session', 'tray'), [
    'tray.autostart',
    'tray.startHidden',
    'tray.shortcuts',
  ]);
  assert.deepEqual(complete('config', 'set', 'ui.theme', ''), ['system', 'light', 'dark']);
  assert.deepEqual(complete('config', 'set', 'server.port', ''), [''], 'the keys are not offered again');
  assert.deepEqual(complete('config', 'get', 'ui.theme', ''), ['']);
  assert.deepEqual(complete('action', 'setProtocol', ''), ['MASQUE', 'WireGuard']);
  assert.deepEqual(complete('action', 'setProtocol', 'MASQUE', ''), ['']);
  assert.deepEqual(complete('action', 'connect', ''), ['']);
  assert.deepEqual(complete('mode', 'warp', ''), ['']);
  assert.deepEqual(complete('help', 'conn'), ['connect']);
  assert.deepEqual(complete('help', 'split', 're'), ['remove', 'reset']);
});

test('the values that completions offer for a key are those that the key takes', () => {
  for (const [key, values] of Object.entries(CONFIG_VALUES)) {
    for (const value of values)
      assert.ok(
        [value, value === 'true', value === 'false'].some(v => accepts(key, v)),
        key,
      );
    assert.equal(values.length === 0, !/^(one of|true or false)/.test(expected(key)), key);
    if (expected(key).startsWith('one of ')) assert.equal(expected(key), `one of ${values.join(', ')}`);
  }
});

test('the manual page has every command and no error that groff would warn of', async t => {
  const home = createHome(t);
  await culvert(home, ['__generate', home.path]);
  const { stdout, stderr, status } = spawnSync(
    'groff',
    ['-man', '-Tutf8', '-ww', '-rLL=200n', '-P-c', '-P-b', '-P-u', join(home.path, 'culvert.1')],
    {
      encoding: 'utf8',
    },
  );
  assert.deepEqual([status, stderr], [0, '']);
  for (const words of ALL) assert.match(stdout, new RegExp(`^ *culvert ${words.join(' ')}\\b`, 'm'));
  // the ways out for a user without network
  const lockedOut = /^LOCKED OUT\n(.*?)^EXIT STATUS/ms.exec(stdout)?.[1] ?? '';
  for (const way of ['culvert killswitch off', 'sudo busctl call org.culvert.KillSwitch1', 'culvert-killswitch-remove'])
    assert.ok(lockedOut.includes(way), way);
});

test('zsh and fish know every command', async t => {
  const home = createHome(t);
  await culvert(home, ['__generate', home.path]);
  const zsh = readFileSync(join(home.path, '_culvert'), 'utf8');
  const fish = readFileSync(join(home.path, 'culvert.fish'), 'utf8');
  for (const words of ALL) {
    assert.ok(zsh.includes(`('${words.join(' ')}')`), words.join(' '));
    assert.match(fish, new RegExp(` -a '${words.at(-1)}' `));
  }
});
