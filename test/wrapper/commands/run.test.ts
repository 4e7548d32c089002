// `culvert-wrap run`: a tool runs as behind its shim, without one and next to one.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { until } from '../../support/until.ts';
import { calls } from '../../support/wrapper/fake-cli.ts';
import { finished, launcher, type RunOptions, type Sandbox, sandbox } from '../../support/wrapper/sandbox.ts';
import { atTerminal } from '../../support/wrapper/terminal.ts';

const RULES = `inject = ["FAKE_KEY"]
stdin_commands = ["read"]
[[providers.fake.rules]]
class = "quota"
stderr = "^Error: quota"
`;

const TOOL = `#!/bin/sh
echo "$FAKE_KEY $*" >> "$HOME/calls"
case $1 in
  fail) case $FAKE_KEY in bad*) echo "Error: quota" >&2; exit 1 ;; esac; echo "ok $FAKE_KEY" ;;
  exit) exit "$2" ;;
  signal) kill -s "$2" $$; sleep 60 ;;
  read) cat; echo end ;;
  reopen) echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin ;;
  env) env | grep -v '^_=' | sort ;;
  words) shift; printf '<%s>' "$@" ;;
  open) for fd in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/self/fd/$fd ] && printf %s $fd; done ;;
  hold) trap 'echo got; exit 9' TERM; echo held; while :; do sleep 0.05; done ;;
  tty) for fd in 0 1 2; do [ -t $fd ] && printf %s $fd; done; stty size ;;
esac
`;

/** Ways to run the tool: behind its shim, without any, and directly while the shim is on PATH. */
const WAYS = ['shim', 'without', 'beside'] as const;
type Way = (typeof WAYS)[number];

function withTool(
  t: Parameters<typeof sandbox>[0],
  way: Way,
  keys: Record<string, string> = { a: 'bad-a', b: 'good-b' },
) {
  const box = sandbox(t);
  box.script('fake', TOOL);
  box.provider('fake', RULES);
  box.accounts('fake', keys);
  box.install('fake');
  if (way === 'without') box.uninstall('fake');
  return box;
}

function runBy(box: Sandbox, way: Way, args: readonly string[], options: RunOptions = {}) {
  return way === 'shim' ? box.run('fake', args, options) : box.run(launcher(), ['run', 'fake', '--', ...args], options);
}

const CASES: [args: string[], options?: RunOptions][] = [
  [['fail']],
  [['exit', '7']],
  [['signal', 'TERM']],
  [['signal', 'KILL']],
  [['read'], { input: Buffer.from([0, 255, 10, 13, 0]) }],
  [['reopen'], { input: 'in\n' }],
  [['words', 'a b', '', '--json', '--', '-x', "it's", '$HOME', '*']],
  [['env'], { env: { here: '1', node: '2', NODE_OPTIONS: '--no-warnings', CULVERT_WRAP_ACCOUNT: 'b' } }],
  [['open']],
  [['--version']],
];

for (const way of ['without', 'beside'] as const) {
  test(`${way}: output, input, exit status, signal and environment are those behind the shim`, async t => {
    for (const [args, options] of CASES) {
      const [shimmed, direct] = [withTool(t, 'shim'), withTool(t, way)];
      const [expected, got] = await Promise.all([
        runBy(shimmed, 'shim', args, options),
        runBy(direct, way, args, options),
      ]);
      const plain = (box: Sandbox, value: object) => JSON.stringify(value).replaceAll(path.dirname(box.home), '');
      assert.equal(plain(direct, got), plain(shimmed, expected), args.join(' '));
      assert.deepEqual(calls(direct), calls(shimmed), args.join(' '));
      const audit = async (box: Sandbox) =>
        (await box.json('audit')).entries.map(({ account, outcome, class: kind }: Record<string, unknown>) => [
          account,
          outcome,
          kind,
        ]);
      assert.deepEqual(await audit(direct), await audit(shimmed), args.join(' '));
    }
  });

  test(`${way}: a signal to the run reaches the tool, whose end is the run's`, async t => {
    const box = withTool(t, way);
    const child = box.start(launcher(), ['run', 'fake', '--', 'hold']);
    let out = '';
    child.stdout?.on('data', chunk => {
      out += chunk;
    });
    const end = finished(child);
    await until(() => out.includes('held'), 'the tool');
    child.kill('SIGTERM');
    const { exit, stdout } = await end;
    assert.deepEqual([exit, stdout], [9, 'held\ngot\n']);
  });

  test(`${way}: at a terminal the tool has the terminal`, async t => {
    const box = withTool(t, way, { a: 'good-a' });
    const by = async (command: string) => (await atTerminal(box, command)).screen;
    const direct = await by(`${launcher()} run fake -- tty`);
    assert.match(direct, /^012\d+ \d+\n$/);
    if (way === 'beside') assert.equal(direct, await by('fake tty'));
  });
}

test('the tool is found behind a shim in a separate directory, and after an upgrade has replaced the shim', async t => {
  const box = withTool(t, 'without');
  const shims = path.join(box.home, 'shims');
  fs.mkdirSync(shims);
  const env = { PATH: `${shims}:${box.env.PATH}` };
  assert.equal((await box.wrap(['install', 'fake', '--dir', shims], { env })).exit, 0);
  const run = () => box.run(launcher(), ['run', 'fake', 'fail'], { env });
  assert.equal((await run()).stdout, 'ok good-b\n');
  box.script('fake', TOOL.replace('ok ', 'newer '));
  assert.equal((await run()).stdout, 'newer good-b\n');
  assert.deepEqual(calls(box), ['bad-a fail', 'good-b fail', 'good-b fail']);
});

test('a first "--" is no argument of the tool, and a second one is', async t => {
  const box = withTool(t, 'without', { a: 'good-a' });
  const words = async (...args: string[]) => (await box.run(launcher(), ['run', ...args])).stdout;
  assert.equal(await words('fake', '--', 'words', 'x'), '<x>');
  assert.equal(await words('fake', 'words', '--', 'x'), '<--><x>');
  assert.equal(await words('fake', 'words', '--help', '-V'), '<--help><-V>');
  assert.match(await words('--help'), /^Usage: culvert-wrap run /);
  await words('fake', '--', '--', 'words');
  assert.equal(calls(box).at(-1), 'good-a -- words');
});

/** Obstacles that keep a run from starting, with the exit status and the message. */
const REFUSED: [what: string, args: string[], exit: number, words: RegExp, before?: (box: Sandbox) => void][] = [
  ['an unknown tool', ['ghost', '--', 'x'], 2, /ghost is not in the catalog\n.*known: /],
  ['an entry without a tool', ['exa', '--', 'x'], 2, /exa has no tool.*\n.*serve exa/],
  [
    'a tool that is not installed',
    ['netlify', '--', 'x'],
    127,
    /no command netlify on PATH\n.*npm install -g netlify-cli/,
  ],
  [
    'no account',
    ['fake', '--', 'exit', '0'],
    69,
    /fake has no account, so it was not run\n.*accounts add fake NAME/,
    box => fs.writeFileSync(path.join(box.config, 'config.toml'), ''),
  ],
  [
    'no enabled account',
    ['fake', '--', 'exit', '0'],
    69,
    /fake has no enabled account.*\n.*accounts enable fake NAME/,
    box => {
      const file = path.join(box.config, 'config.toml');
      fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replaceAll('env =', 'enabled = false\nenv ='));
    },
  ],
  [
    'a broken configuration',
    ['fake', '--', 'exit', '0'],
    78,
    /config\.toml can't be used/,
    box => fs.writeFileSync(path.join(box.config, 'config.toml'), 'accounts = nonsense'),
  ],
];

for (const [what, args, exit, words, before] of REFUSED)
  test(`${what}: nothing runs, and the reason is said with the exit status ${exit}`, async t => {
    const box = withTool(t, 'without');
    before?.(box);
    const result = await box.run(launcher(), ['run', ...args]);
    assert.deepEqual([result.exit, result.stdout], [exit, ''], result.stderr);
    assert.match(result.stderr, words);
    assert.ok(!fs.existsSync(path.join(box.home, 'calls')));
  });

test('without an account, an exported credential and a command that needs none run the tool as it is', async t => {
  const box = withTool(t, 'without');
  fs.writeFileSync(path.join(box.config, 'config.toml'), '');
  const exported = await box.run(launcher(), ['run', 'fake', '--', 'fail'], { env: { FAKE_KEY: 'good-mine' } });
  assert.deepEqual([exported.exit, exported.stdout], [0, 'ok good-mine\n']);
  assert.match(exported.stderr, /^culvert-wrap: fake: FAKE_KEY is given, so the command runs as it is[^\n]*\n$/);
  assert.equal((await box.run(launcher(), ['run', 'fake', '--', '--version'])).exit, 0);
  const bypass = await box.run(launcher(), ['run', 'fake', 'exit', '3'], { env: { CULVERT_WRAP_BYPASS: '1' } });
  assert.equal(bypass.exit, 3);
});

test('inside a run of the same tool, the tool goes on with the same account', async t => {
  const box = withTool(t, 'without', { a: 'good-a' });
  box.script('fake', `#!/bin/sh\necho "$FAKE_KEY $*"\n[ "$1" = inner ] || exec ${launcher()} run fake -- inner\n`);
  const { stdout, exit } = await box.run(launcher(), ['run', 'fake', '--', 'outer']);
  assert.deepEqual([exit, stdout], [0, 'good-a outer\ngood-a inner\n']);
});
