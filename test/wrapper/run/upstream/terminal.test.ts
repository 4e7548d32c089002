// A wrapped command at a terminal: sizes, questions, keys and signals.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { loadCatalog } from '../../../../wrapper/catalog/catalog.ts';
import { missing } from '../../../support/temporary.ts';
import { sample } from '../../../support/thoroughness.ts';
import { calls, setUp as withTool } from '../../../support/wrapper/fake-cli.ts';
import { type Sandbox, sandbox } from '../../../support/wrapper/sandbox.ts';
import { atTerminal, typing } from '../../../support/wrapper/terminal.ts';

const RULES = `inject = ["FAKE_KEY"]
once = ["crawl"]
job_id = 'Job ID: (\\S+)'
silent_jobs = [{ command = "crawl", given = ["--wait"], unless = ["--progress"] }]
[[providers.fake.rules]]
class = "quota"
stderr = "^Error: quota"
[[providers.fake.rules]]
class = "quota"
json = { path = "error", matches = "^quota" }
`;

function setUp(t: TestContext, script: string, keys: Record<string, string>, rules = RULES) {
  const box = withTool(t, keys, { script, rules });
  return { box, calls: () => calls(box) };
}

/** The same command in a pipe and at a terminal. */
const places = {
  pipe: async (box: Sandbox, args: string[]) => {
    const { exit, stdout, stderr } = await box.run('fake', args);
    return { exit, screen: stdout + stderr };
  },
  terminal: (box: Sandbox, args: string[]) => atTerminal(box, `fake ${args.join(' ')}`),
};

for (const [place, run] of Object.entries(places)) {
  test(`H1: in a ${place}, a job that may exist without a printed id is never created twice`, async t => {
    const { box, calls } = setUp(t, 'echo "Error: quota" >&2; exit 1\n', { a: 'k1', b: 'k2' });
    const result = await run(box, ['crawl', 'u', '--wait']);
    assert.equal(result.exit, 1);
    assert.match(result.screen, /may have created a job without printing its id \(--progress shows it\)/);
    assert.deepEqual(calls(), ['k1 crawl u --wait']);
    for (const args of [
      ['crawl', 'u'],
      ['crawl', 'u', '--wait', '--progress'],
    ]) {
      fs.rmSync(path.join(box.home, 'calls'));
      fs.rmSync(path.join(box.state, 'accounts/fake.json'), { force: true });
      await run(box, args);
      assert.deepEqual(calls(), [`k1 ${args.join(' ')}`, `k2 ${args.join(' ')}`]);
    }
  });

  test(`H2: in a ${place}, follow-ups to a job go to the account that created it`, async t => {
    const { box, calls } = setUp(t, 'echo "Job ID: j-$FAKE_KEY"\n', { a: 'k1', b: 'k2' });
    await run(box, ['crawl', 'u']);
    await box.auth('fake', ['use', 'b']);
    await run(box, ['crawl', 'j-k1']);
    assert.deepEqual(calls(), ['k1 crawl u', 'k1 crawl j-k1']);
  });

  test(`H3: in a ${place}, a limit reported in JSON on stdout leads to the next account`, async t => {
    const script = `case $FAKE_KEY in k1) echo '{"error":"quota"}'; exit 4 ;; esac; echo '{"ok":true}'\n`;
    const { box, calls } = setUp(t, script, { a: 'k1', b: 'k2' });
    const result = await run(box, ['search', '--json']);
    assert.equal(result.exit, 0);
    assert.match(result.screen, /"ok":true/);
    assert.doesNotMatch(result.screen, /"error"/);
    assert.deepEqual(calls(), ['k1 search --json', 'k2 search --json']);
  });

  test(`in a ${place}, a command is repeated only while nothing of its standard output was shown`, async t => {
    const script = `echo "first $FAKE_KEY"; [ "$1" = quick ] || sleep 1; case $FAKE_KEY in k1) echo "Error: quota" >&2; exit 1 ;; esac\n`;
    const rules = 'inject = ["FAKE_KEY"]\n[[providers.fake.rules]]\nclass = "quota"\nstderr = "^Error: quota"\n';
    const { box, calls } = setUp(t, script, { a: 'k1', b: 'k2' }, rules);
    const slow = await run(box, ['slow']);
    assert.equal(slow.exit, 1);
    assert.match(slow.screen, /not repeated, because part of its output has been passed on/);
    fs.rmSync(path.join(box.state, 'accounts/fake.json'));
    const quick = await run(box, ['quick']);
    assert.equal(quick.exit, 0);
    assert.match(quick.screen, /first k2/);
    assert.doesNotMatch(quick.screen, /first k1/);
    assert.deepEqual(calls(), ['k1 slow', 'k1 quick', 'k2 quick']);
  });

  test(`in a ${place}, a limit is recognized behind a question on standard error that was answered`, async t => {
    const script = `printf 'name? ' >&2; sleep 0.5; case $FAKE_KEY in k1) echo "Error: quota" >&2; exit 1 ;; esac; echo done\n`;
    const { box, calls } = setUp(t, script, { a: 'k1', b: 'k2' });
    const result = await run(box, ['x']);
    assert.deepEqual([result.exit, calls()], [0, ['k1 x', 'k2 x']], result.screen);
    assert.doesNotMatch(result.screen, /Error: quota/);
    assert.match(result.screen, /name\? /);
  });

  test(`in a ${place}, the last account's limit is remembered as well`, async t => {
    const { box } = setUp(t, 'echo "Error: quota" >&2; exit 1\n', { a: 'k1', b: 'k2' });
    assert.match((await run(box, ['x'])).screen, /account "b" has no quota left .*no account is left/);
    const { paused } = JSON.parse(fs.readFileSync(path.join(box.state, 'accounts/fake.json'), 'utf8'));
    assert.deepEqual(Object.keys(paused).sort(), ['a', 'b']);
  });
}

test('at a terminal the upstream prints to terminals of the right size, in its colors, and can ask', async t => {
  const script = `[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo "all terminals"
stty size <&1; stty size <&2
printf '\\033[32mgreen\\033[0m\\n'
printf 'Name? '; read name; echo "hello $name"; echo done >&2\n`;
  const { box } = setUp(t, script, { a: 'k1', b: 'k2' });
  const answer = typing([/Name\? /, 'Ada\n']);
  const result = await atTerminal(box, 'stty rows 33 cols 77; fake x', { answer });
  assert.equal(result.exit, 0);
  assert.match(result.screen, /all terminals\n33 77\n33 77\n/);
  assert.ok(result.screen.includes('\x1b[32mgreen\x1b[0m\n'), JSON.stringify(result.screen));
  assert.match(result.screen, /hello Ada\n/);
  assert.match(result.screen, /done\n/);
});

test('at a terminal a question on standard error is shown while the answer is awaited', async t => {
  const { box, calls } = setUp(t, `printf 'name? ' >&2; read n; echo "Hello $n"\n`, { a: 'k1', b: 'k2' });
  const { exit, screen } = await atTerminal(box, 'fake x', { answer: typing([/name\? /, 'Ada\n']) });
  assert.equal(exit, 0);
  assert.match(screen, /name\? Ada\nHello Ada\n/);
  assert.deepEqual(calls(), ['k1 x']);
});

test('at a terminal a change of the window size reaches the upstream', async t => {
  const script = `trap 'sleep 0.3; stty size <&1; exit 0' WINCH; echo ready; while :; do sleep 0.05; done\n`;
  const { box } = setUp(t, script, { a: 'k1', b: 'k2' });
  const result = await atTerminal(
    box,
    'stty rows 20 cols 60; (while ! grep -q x calls; do sleep 0.1; done; sleep 1; stty rows 44 cols 99 < /dev/tty) & fake x',
  );
  assert.match(result.screen, /44 99/);
});

const LINES = 'i=0; while [ $((i += 1)) -le 200 ]; do echo "line $i"; done';
/** After the command: how it ended, and what the next program reads. */
const AFTER =
  'stty rows 24 cols 80; fake x; echo "exit $?"; stty -a | tr " ;" "\\n\\n" | grep -E "^-?(icanon|echo|isig)$"; read l; echo "next: $l"';

for (const [what, script] of Object.entries({
  'less, which opens the terminal behind standard error': `${LINES} | less`,
  'more, which reads standard error': `${LINES} | more`,
  'a screen program, which sets standard output and reads standard input': `stty -icanon -echo <&1
for page in 23 46; do printf "line $page\\n--"; until [ "$(dd bs=1 count=1 2>/dev/null)" != x ]; do :; done; done
stty icanon echo <&1`,
})) {
  test(`at a terminal the keyboard reaches ${what}`, async t => {
    const { box } = setUp(t, script, { a: 'k1', b: 'k2' });
    const { screen } = await atTerminal(box, AFTER, {
      answer: typing([/line 23\s/, ' '], [/line 46\s/, 'q'], [/echo\s/, 'for the next program\n']),
    });
    assert.match(screen, /exit 0\nisig\nicanon\necho\nfor the next program\nnext: for the next program\n/);
  });
}

const KEY = `printf '? ' >&2; key=$(dd bs=1 count=1 2>/dev/null); stty icanon echo <&2; echo "key $key"`;
/** Types the key once the terminal gives single keys, and says so on the screen before. */
const ARMED =
  '(until stty -a < /dev/tty | grep -q -- -icanon; do sleep 0.05; done; echo armed > /dev/tty) & stty rows 24 cols 80; fake x; echo "exit $?"; stty -a | grep -o -- "-*icanon"';

for (const [what, script] of Object.entries({
  'waits at standard input and reads standard error, as `more FILE` does': `(${LINES}) > page; exec more page`,
  'reads standard input': `stty -icanon -echo <&2; ${KEY}`,
  'reads /dev/tty': `stty -icanon -echo <&2; exec < /dev/tty; ${KEY}`,
})) {
  for (const [when, command] of Object.entries({ before: 'fake x; echo "exit $?"', after: ARMED })) {
    test(`at a terminal one key, typed ${when} the keyboard is passed on, is enough for a program that sets standard error and ${what}`, async t => {
      const { box } = setUp(t, script, { a: 'k1', b: 'k2' });
      const asked = when === 'after' ? /armed/ : /--More--|\? /;
      const { screen } = await atTerminal(box, command, { answer: typing([asked, 'q']) });
      assert.match(screen, /exit 0\n/);
      if (!script.includes('more')) assert.match(screen, /key q\n/);
      if (when === 'after') assert.match(screen, /exit 0\nicanon\n/);
    });
  }
}

test('at a terminal no key is taken from a program that does not ask for single keys', async t => {
  const script = `printf 'working '; sleep 1; exec < /dev/tty
stty -echo; printf 'Password: '; read p; stty echo; echo "secret of \${#p}"; printf 'half a line'; sleep 1\n`;
  const { box } = setUp(t, script, { a: 'k1', b: 'k2' });
  const { screen } = await atTerminal(box, AFTER, {
    answer: typing([/working /, ''], [/Password: /, 'hunter2\n'], [/half a line/, 'for the next program\n']),
  });
  assert.match(screen, /secret of 7\n/);
  assert.doesNotMatch(screen, /hunter2/);
  assert.match(screen, /exit 0\nisig\nicanon\necho\n.*next: for the next program\n/s);
});

test('at a terminal Ctrl-C reaches a program that asks for keys, and the terminal is restored', async t => {
  const script = `stty -icanon -echo <&2; trap 'stty icanon echo <&2; echo interrupted; exit 3' INT
printf '? '; while read -r line <&2; do echo "got $line"; done\n`;
  const { box } = setUp(t, script, { a: 'k1', b: 'k2' });
  const { screen } = await atTerminal(box, `trap : INT; ${AFTER}`, {
    answer: typing([/\? /, 'k\n'], [/got k/, '\x03'], [/echo\s/, 'more\n']),
  });
  assert.match(screen, /interrupted\nexit 3\nisig\nicanon\necho\n/);
});

test('at a terminal the keyboard is given back when the wrapper is killed', async t => {
  const script = `stty -icanon -echo <&2; echo "$PPID" > parent; printf '? '; dd bs=1 count=1 <&2 >&2 2>/dev/null
kill -9 "$PPID"; exec sleep 0.5\n`;
  const { box } = setUp(t, script, { a: 'k1', b: 'k2' });
  const { screen } = await atTerminal(
    box,
    'fake x; until stty -a | grep -q " icanon"; do sleep 0.05; done; read l; echo "next: $l"',
    { answer: typing([/\? /, 'k'], [/Killed/, 'for the next program\n']) },
  );
  assert.match(screen, /next: for the next program\n/);
});

test('at a terminal without pseudo-terminals, decisions on output for programs stay the same', async t => {
  const script = `case $FAKE_KEY in k1) echo '{"error":"quota"}'; exit 4 ;; esac; [ -t 1 ] || echo '{"ok":true}'\n`;
  const { box } = setUp(t, script, { a: 'k1', b: 'k2' });
  box.script('perl', '#!/bin/sh\nexit 1\n');
  const result = await atTerminal(box, 'fake search --json');
  assert.equal(result.screen.split('\n').filter(line => line.includes('ok')).length, 1);
});

test('H4: standard input of a loop is not eaten by a command that does not read it', async t => {
  const { box, calls } = setUp(t, 'case $FAKE_KEY in k1) echo "Error: quota" >&2; exit 1 ;; esac; echo ok\n', {
    a: 'k1',
    b: 'k2',
  });
  const loop = await box.run('/bin/sh', ['-c', `printf 'p1\\np2\\np3\\n' | while read p; do fake "$p"; done`]);
  assert.equal(loop.stdout, 'ok\nok\nok\n');
  assert.deepEqual(calls(), ['k1 p1', 'k2 p1', 'k2 p2', 'k2 p3']);
});

test('H4: no entry of the catalog reads ahead of a command that is not known to read standard input', async t => {
  const box = sandbox(t);
  const { providers } = loadCatalog('wrapper/catalog/providers', missing(t));
  const asked = Object.entries(providers).filter(([, { inject, line_repl }]) => inject[0] && !line_repl);
  for (const [cli, provider] of sample(asked, 3)) {
    const variable = provider.inject[0];
    box.script(provider.bin, '#!/bin/sh\necho "$@"\n');
    box.accounts(cli, { a: 'k1', b: 'k2' }, `"${variable}"`);
    const loop = await box.run('/bin/sh', ['-c', `printf 'p1\\np2\\n' | while read p; do ${provider.bin} "$p"; done`]);
    assert.equal(loop.stdout, 'p1\np2\n', cli);
  }
});
