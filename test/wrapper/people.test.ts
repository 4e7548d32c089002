// Situations of people at a terminal: keys, mistakes in files, the queue and its repairs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { FULL } from '../support/thoroughness.ts';
import { calls, FAKE, setUp, stored } from '../support/wrapper/fake-cli.ts';
import { buildWrapper } from '../support/wrapper/sandbox.ts';
import { atTerminal } from '../support/wrapper/terminal.ts';

test('H5: a key comes from any pipe, however late and however long', async t => {
  const box = setUp(t);
  const add = (name: string, writer: string) => box.run('/bin/sh', ['-c', `${writer} | fake auth add ${name} --file`]);
  for (const [name, writer] of Object.entries({
    late: '(sleep 0.5; echo k1)',
    node: `${process.execPath} -e 'process.stdout.write("k2")'`,
    slow: '(printf k; sleep 0.2; echo 3)',
    long: "head -c 100000 /dev/zero | tr '\\0' k",
  })) {
    const result = await add(name, writer);
    assert.equal(result.exit, 0, `${name}: ${result.stderr}`);
  }
  assert.match(stored(box), /^late\/FAKE_KEY=k1\nnode\/FAKE_KEY=k2\nslow\/FAKE_KEY=k3\nlong\/FAKE_KEY=k{100000}\n$/);
  const huge = await add('huge', "head -c 1000000 /dev/zero | tr '\\0' k");
  assert.equal(huge.exit, 65);
  assert.match(huge.stderr, /longer than an environment variable may be/);
  assert.match((await add('bytes', "printf '\\377\\376'")).stderr, /not UTF-8/);
  assert.match((await add('arrow', "printf 'ab\\033[Dc'")).stderr, /control character/);
});

test('H6: the queue keeps what failed for a passing reason, and runs it again', async t => {
  const box = setUp(t, { a: 'bad' });
  fs.appendFileSync(path.join(box.config, 'config.toml'), '[capacity.fake]\npolicy = "queue"\n');
  const keys = path.join(box.config, 'keys.env');
  const setKey = (key: string) => {
    fs.writeFileSync(keys, `fake_a=${key}\n`);
    fs.rmSync(path.join(box.state, 'accounts/fake.json'), { force: true });
  };
  const queue = async () => JSON.parse((await box.wrap(['queue', '--json'])).stdout).queue;
  const first = await box.run('fake', ['-', 'one'], { input: 'from stdin' });
  assert.equal(first.exit, 75, first.stderr);
  assert.deepEqual(
    (await queue()).map((entry: { args: string[]; hasStdin: boolean }) => [entry.args, entry.hasStdin]),
    [[['-', 'one'], true]],
  );
  fs.rmSync(path.join(box.state, 'accounts/fake.json'));
  assert.equal((await box.wrap(['queue', 'run'])).exit, 1);
  assert.equal((await queue())[0].failed.why, 'limit');
  setKey('net');
  assert.equal((await box.wrap(['queue', 'run'])).exit, 1);
  assert.deepEqual([(await queue())[0].failed.why, (await queue())[0].tries], ['other', 2]);
  setKey('good');
  assert.equal((await box.wrap(['queue', 'run'])).stdout, 'from stdinok\n');
  assert.deepEqual(await queue(), []);
});

test('H6: what can never succeed stays visible and is run on request only', async t => {
  const box = setUp(t, { a: 'bad' });
  fs.appendFileSync(path.join(box.config, 'config.toml'), '[capacity.fake]\npolicy = "queue"\n');
  await box.run('fake', ['wrong']);
  fs.writeFileSync(path.join(box.config, 'keys.env'), 'fake_a=good\n');
  fs.rmSync(path.join(box.state, 'accounts/fake.json'));
  await box.wrap(['queue', 'run']);
  const before = calls(box).length;
  const again = JSON.parse((await box.wrap(['queue', 'run', '--json'])).stdout);
  assert.deepEqual([again.run, again.left, calls(box).length], [[], 1, before]);
  const [{ id }] = JSON.parse((await box.wrap(['queue', '--json'])).stdout).queue;
  await box.wrap(['queue', 'run', id]);
  assert.equal(calls(box).length, before + 1);
});

test('L5: an unknown entry is an error, and a damaged one is seen everywhere and can be dropped', async t => {
  const box = setUp(t, { a: 'good' });
  assert.equal((await box.wrap(['queue', 'run', 'nope'])).exit, 2);
  const dir = path.join(box.state, 'queue');
  fs.mkdirSync(dir, { recursive: true });
  for (const [name, text] of Object.entries({
    'a-1': '{',
    'a-2': '{}',
    'a-3': JSON.stringify({ id: 'a-3', cli: 'fake', args: 'x', cwd: '/', at: '' }),
    'a-4': JSON.stringify({ id: 'other', cli: 'fake', args: [], cwd: '/', at: '' }),
    'a-5': JSON.stringify({ id: 'a-5', cli: 'fake', args: [], cwd: '/', at: '', stdin: '!' }),
  }))
    fs.writeFileSync(path.join(dir, `${name}.json`), text);
  const { damaged } = JSON.parse((await box.wrap(['queue', '--json'])).stdout);
  assert.equal(damaged.length, 5);
  assert.match((await box.wrap(['queue'])).stdout, /a-1 .*damaged/);
  assert.match((await box.wrap(['queue', 'run'])).stderr, /a-5 is damaged/);
  assert.equal(JSON.parse((await box.wrap(['status', '--json'])).stdout).queue.damaged, 5);
  assert.equal((await box.wrap(['status', '--check'])).exit, 3);
  assert.match((await box.wrap(['doctor'])).stdout, /PROBLEM .*a-3\.json is damaged/);
  assert.equal((await box.wrap(['queue', 'drop', 'a-1'])).exit, 0);
  await box.wrap(['queue', 'drop', '--all']);
  assert.deepEqual(fs.readdirSync(dir), []);
});

test('H7: a key that is typed as soon as the prompt is seen is not echoed', async t => {
  const box = setUp(t);
  // a race: a full run tries it more often
  for (let round = 0; round < (FULL ? 8 : 3); round++) {
    let answered = false;
    const { screen, exit } = await atTerminal(box, `fake auth add a${round} --file`, {
      answer: shown => {
        if (answered || !shown.includes('FAKE_KEY for')) return undefined;
        answered = true;
        return `canary-${round}\r`;
      },
    });
    assert.equal(exit, 0, screen);
    assert.doesNotMatch(screen, /canary/);
    assert.ok(stored(box).includes(`a${round}/FAKE_KEY=canary-${round}\n`));
  }
});

test('H7: what was typed before the prompt, and so was echoed, is not taken for a key', async t => {
  const box = setUp(t);
  let answered = false;
  const { screen, exit } = await atTerminal(box, 'fake auth add a --file', {
    early: 'early\nsecond\nhalf',
    answer: shown => {
      if (answered || !shown.includes('FAKE_KEY for')) return undefined;
      answered = true;
      return 'canary\r';
    },
  });
  assert.equal(exit, 0, screen);
  assert.doesNotMatch(screen, /canary/);
  assert.equal(stored(box), 'a/FAKE_KEY=canary\n');
});

test('M8: keys that produce no character do not become part of a secret', async t => {
  const box = setUp(t);
  const type = async (typed: string) => {
    let answered = false;
    return atTerminal(box, 'fake auth add a --file --replace', {
      answer: shown => {
        if (answered || !shown.includes('FAKE_KEY for')) return undefined;
        answered = true;
        return typed;
      },
    });
  };
  const session = await type('ab\x1b[D\x1b[A\x1b[3~\x1bOP\x1b[1;5Cc\tx\x7fd\r');
  assert.equal(session.exit, 0, session.screen);
  assert.equal(stored(box), 'a/FAKE_KEY=abcd\n');
  await type('wrong\x15äöü€\r');
  assert.equal(stored(box), 'a/FAKE_KEY=äöü€\n');
  for (const keys of ['abc\x03', '\x04']) {
    const ended = await type(keys);
    assert.equal(ended.exit, 1, JSON.stringify(ended));
    assert.match(ended.screen, /interrupted; nothing was stored/);
  }
  await type('ab\x04c\r');
  assert.equal(stored(box), 'a/FAKE_KEY=abc\n');
});

test('the keyring is tested before a key is asked for, and a file is offered', async t => {
  const box = setUp(t);
  box.script('secret-tool', '#!/bin/sh\nexit 1\n');
  let step = 0;
  const session = await atTerminal(box, 'fake auth add a', {
    answer: screen => {
      const asked = step === 0 ? '[y/N]' : 'FAKE_KEY for';
      if (step > 1 || !screen.includes(asked)) return undefined;
      step++;
      return step === 1 ? 'y\n' : 'canary-1\r';
    },
  });
  assert.equal(session.exit, 0, session.screen);
  assert.match(session.screen, /the keyring can't be used: it is locked or not running/);
  assert.doesNotMatch(session.screen, /canary/);
  assert.equal(stored(box), 'a/FAKE_KEY=canary-1\n');
});

test('M1: a configuration is seen whatever its time, and however it was put in place', async t => {
  const box = setUp(t);
  fs.mkdirSync(box.config, { recursive: true });
  const config = path.join(box.config, 'config.toml');
  const text = (key: string) => `[[accounts]]\ncli = "fake"\nname = "a"\nenv = { FAKE_KEY = "command:echo ${key}" }\n`;
  const elsewhere = path.join(box.home, 'store');
  fs.mkdirSync(elsewhere);
  const runs: string[] = [];
  const run = async (what: string) => {
    await box.run('fake', [what]);
    runs.push(calls(box).at(-1)!);
  };
  await run('none');
  fs.writeFileSync(config, '# nothing yet\n', { mode: 0o600 });
  fs.utimesSync(config, 1, 1);
  await run('empty');
  fs.writeFileSync(`${config}.new`, text('k1'), { mode: 0o600 });
  fs.utimesSync(`${config}.new`, 1, 1);
  fs.renameSync(`${config}.new`, config);
  await run('renamed-old');
  fs.rmSync(config);
  await run('gone');
  for (const name of ['one', 'two']) {
    const file = path.join(elsewhere, name);
    fs.writeFileSync(file, name === 'one' ? '# nothing\n' : text('k2'), { mode: 0o644 });
    fs.utimesSync(file, 1, 1);
    fs.rmSync(config, { force: true });
    fs.symlinkSync(file, config);
    await run(`linked-${name}`);
  }
  assert.deepEqual(runs, ['none', ' empty', 'k1 renamed-old', ' gone', ' linked-one', 'k2 linked-two']);
});

test('M4: accounts are managed without a shim, and leave nothing behind', async t => {
  const box = setUp(t);
  box.uninstall('fake');
  fs.rmSync(path.join(box.bin, 'fake'));
  const accounts = (...args: string[]) => box.wrap(['accounts', ...args], { input: 'key-1\n' });
  assert.equal((await accounts('add', 'fake', 'a', '--file')).exit, 0);
  assert.equal((await accounts('add', 'fake', 'b', '--env', 'FAKE_KEY=env:B')).exit, 0);
  assert.equal((await accounts('rename', 'fake', 'a', 'main')).exit, 0);
  assert.equal(stored(box), 'main/FAKE_KEY=key-1\n');
  assert.match((await accounts('disable', 'fake', 'main')).stdout, /fake now uses "b"/);
  assert.equal((await accounts('default', 'fake')).stdout, 'b\n');
  await accounts('enable', 'fake', 'main');
  assert.match((await accounts('use', 'fake', 'main')).stdout, /now uses "main"/);
  assert.equal((await accounts('wake', 'fake', 'main')).exit, 0);
  for (const name of ['main', 'b']) assert.equal((await accounts('remove', 'fake', name)).exit, 0);
  assert.equal(stored(box), '');
  assert.equal((await accounts('remove', 'fake', 'b')).exit, 2);
  assert.match((await accounts('list')).stdout, /there are no accounts/);
});

test('M6: the default that is shown is the one that runs use', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' });
  await box.run('fake', ['auth', 'use', 'a']);
  assert.match((await box.run('fake', ['auth', 'disable', 'a'])).stdout, /disabled; fake now uses "b"/);
  assert.equal((await box.run('fake', ['auth', 'default'])).stdout, 'b\n');
  assert.match((await box.run('fake', ['auth', 'list'])).stdout, /^\* +b /m);
  await box.run('fake', ['x']);
  assert.deepEqual(calls(box), ['k2 x']);
  assert.match((await box.run('fake', ['auth', 'disable', 'b'])).stdout, /runs without an account/);
  assert.match((await box.run('fake', ['auth', 'default'])).stdout, /no enabled account/);
});

test('M7: on a full or read-only disk every command says so and changes nothing; uninstalling works', async t => {
  if (process.getuid?.() !== 0) return t.skip('a small file system can be mounted by root only');
  const box = setUp(t, { a: 'k1', b: 'k2' });
  box.uninstall('fake');
  const small = fs.mkdtempSync('/tmp/culvert-wrap-small-');
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', small]).status !== 0) {
    return t.skip('no file system can be mounted here');
  }
  t.after(() => {
    spawnSync('umount', ['-l', small]);
    fs.rmdirSync(small);
  });
  const env = { XDG_STATE_HOME: path.join(small, 'state'), XDG_CONFIG_HOME: path.join(small, 'config') };
  fs.cpSync(path.join(box.home, '.config'), path.join(small, 'config'), { recursive: true });
  assert.equal((await box.wrap(['install', 'fake'], { env })).exit, 0);
  const config = fs.readFileSync(path.join(small, 'config/culvert-wrap/config.toml'), 'utf8');
  try {
    fs.writeFileSync(path.join(small, 'fill'), Buffer.alloc(1024 * 1024));
  } catch {
    // Full, as intended.
  }
  assert.equal((await box.run('fake', ['x'], { env })).stdout, 'ok\n');
  for (const args of [
    ['auth', 'use', 'b'],
    ['auth', 'add', 'c', '--env', 'FAKE_KEY=env:C'],
    ['auth', 'add', 'd', '--file'],
    ['auth', 'disable', 'a'],
  ]) {
    const result = await box.run('fake', args, { env, input: 'key\n' });
    assert.equal(result.exit, 73, `${args.join(' ')}: ${result.stderr}`);
    assert.match(result.stderr, /No space left on disk\n.*make room/);
  }
  assert.equal(fs.readFileSync(path.join(small, 'config/culvert-wrap/config.toml'), 'utf8'), config);
  const uninstalled = await box.wrap(['uninstall', 'fake'], { env });
  assert.equal(uninstalled.exit, 0, uninstalled.stderr);
  assert.equal(fs.readFileSync(path.join(box.bin, 'fake'), 'utf8'), FAKE);
  spawnSync('mount', ['-o', 'remount,ro', small]);
  const readOnly = await box.wrap(['install', 'fake'], { env });
  assert.notEqual(readOnly.exit, 70);
  assert.doesNotMatch(readOnly.stderr, /unexpected error/);
});

test('L4: a secret never outlives its account unseen', async t => {
  const box = setUp(t, { a: 'k1' });
  fs.mkdirSync(path.join(box.config, 'secrets'), { recursive: true });
  fs.writeFileSync(path.join(box.config, 'secrets/fake.env'), 'ghost/FAKE_KEY=left-behind\n', { mode: 0o600 });
  assert.match((await box.wrap(['doctor'])).stdout, /holds ghost\/FAKE_KEY, which no account uses\n.*accounts purge/);
  assert.match((await box.wrap(['accounts', 'purge'])).stdout, /removed ghost\/FAKE_KEY/);
  assert.equal(stored(box), '');
});

test('L6: what is wrong with a file is named by line, key and what is allowed', async t => {
  const box = setUp(t, { a: 'k1' });
  const config = path.join(box.config, 'config.toml');
  const text = fs.readFileSync(config, 'utf8');
  const cases: [string, RegExp][] = [
    ['[capacity.fake]\npolicy = "queu"\n', /line \d+: capacity\.fake\.policy: .*"execute".*"queue".*"shed"/],
    ['[capacity.fake\nreserve = 3\n', /config\.toml can't be used: line \d+: Invalid TOML/],
    ['[capacity.fake]\nreserv = 3\n', /line \d+: capacity\.fake\.reserv: there is no such key/],
    [
      '[capacity.fake]\nswitch_below = 100\nreturn_above = 50\n',
      /line \d+: capacity\.fake\.return_above: needs switch_below, and must not be less/,
    ],
    ['[capacity.fake]\nreturn_above = 50\n', /line \d+: capacity\.fake\.return_above: needs switch_below/],
    ['[capacity.fake]\nwarn_command = "true"\n', /line \d+: capacity\.fake\.warn_command: needs warn_below/],
    ['[[accounts]]\ncli = "fake"\nname = "b"\nenabled = "yes"\n', /line \d+: accounts\[1\]\.enabled: .*boolean/],
    [
      '[[accounts]]\ncli = "fake"\nname = "b"\nkey = "canary-1"\n',
      /line \d+: accounts\[1\]\.key: there is no such key/,
    ],
  ];
  for (const [addition, message] of cases) {
    fs.writeFileSync(config, text + addition);
    const { stderr } = await box.run('fake', ['x']);
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /canary/);
    const line = Number(/line (\d+)/.exec(stderr)![1]);
    assert.ok(line > text.split('\n').length - 1, stderr);
    for (const command of [['config'], ['status', '--check'], ['explain', 'fake', 'x'], ['accounts', 'list']]) {
      const refused = await box.wrap(command);
      assert.match(refused.stderr, message);
      assert.equal(refused.exit, 78, command.join(' '));
    }
    assert.match((await box.wrap(['doctor'])).stdout, message);
  }
  fs.writeFileSync(config, text);
  fs.appendFileSync(path.join(box.config, 'providers.toml'), '[[providers.fake.rules]]\nclass = "quotta"\n');
  assert.match((await box.run('fake', ['x'])).stderr, /line 14: rules\[2\]\.class: .*"quota"\|"rate"\|"auth"\|"usage"/);
});

test('a CLI that the configuration names and the catalog does not have is reported', async t => {
  const box = setUp(t, { a: 'k1' });
  const tables =
    '[capacity.fack]\nreserve = 3\n[[accounts]]\ncli = "faek"\nname = "b"\n[pool]\nurl = "valkey://127.0.0.1:9/0"\nmachine = "m"\naccounts = { feka = ["b"] }\n';
  fs.appendFileSync(path.join(box.config, 'config.toml'), tables);
  const { stdout } = await box.wrap(['doctor']);
  for (const name of ['fack', 'faek', 'feka'])
    assert.match(stdout, new RegExp(`warning .*config\\.toml names "${name}", .*catalog`));
  assert.doesNotMatch(stdout, /names "fake"/);
});

test('L9: the prompt has editing and history, takes the account commands, and survives Ctrl-C', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' });
  fs.appendFileSync(path.join(box.config, 'providers.toml'), '[providers.fake.line_repl]\nexit = ["exit"]\n');
  const keys = ['fake search one\r', '\x1b[A two\r', 'lost\x03', 'auth use b\r', 'sxx\x7f\x7fearch three\r', '\x04'];
  let typed = 0;
  let since = 0;
  const { exit, screen } = await atTerminal(box, 'fake', {
    answer: shown => {
      // editing shows the prompt again in its line; only one in a new line takes the next
      const ready = /(?:^|\n)(?:\x1b\[\d*[GJ])*fake> (?:\x1b\[\d*[GJ])*$/.test(shown.slice(since));
      if (!ready || (typed > 0 && !shown.includes('\n', since))) return undefined;
      since = shown.length;
      return keys[typed++];
    },
  });
  assert.equal(exit, 0, screen);
  assert.deepEqual(calls(box), ['k1 search one', 'k1 search one two', 'k2 search three'], screen);
});

const PROMPT = '[providers.fake.line_repl]\nexit = ["exit"]\n';

test('every line of a paste at the prompt runs in its order, also of one that arrives in many pieces', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' });
  fs.appendFileSync(path.join(box.config, 'providers.toml'), PROMPT);
  const long = Array.from({ length: 60 }, (_, i) => `search ${i} ${'x'.repeat(120)}`);
  const pastes = [
    'search one\rsearch two\r\rsearch three\rsea',
    'rch four\r',
    `${long.join('\r')}\rexit\rsearch late\r`,
  ];
  const prompt = /fake> (?:\x1b\[\d*[GJ])*(?:sea)?(?:\x1b\[\d*[GJ])*$/;
  let since = 0;
  const { exit, screen } = await atTerminal(box, 'fake', {
    answer: shown => {
      const seen = fs.existsSync(path.join(box.home, 'calls')) ? calls(box).length : 0;
      // the first immediately, the second after three runs, the third after the fourth run
      if (pastes.length !== 3 - (seen === 0 ? 0 : seen === 3 ? 1 : seen === 4 ? 2 : 9)) return undefined;
      if (!prompt.test(shown.slice(since))) return undefined;
      since = shown.length;
      return pastes.shift();
    },
  });
  assert.equal(exit, 0, screen);
  const expected = ['one', 'two', 'three', 'four'].map(word => `k1 search ${word}`);
  assert.deepEqual(calls(box), [...expected, ...long.map(line => `k1 ${line}`)], screen);
});

test('Ctrl-C in a pasted line ends the paste, and says what was not run', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' });
  fs.appendFileSync(path.join(box.config, 'providers.toml'), PROMPT);
  const original = JSON.parse(fs.readFileSync(path.join(box.state, 'installs.json'), 'utf8')).fake.original;
  fs.writeFileSync(
    original,
    '#!/bin/sh\necho "$*" >> "$HOME/calls"\n[ "$1" != wait ] || { echo waiting; exec sleep 60; }\n',
  );
  const steps: [RegExp, string][] = [
    [/fake> /, 'one\rwait\rthree\rfour\r'],
    [/waiting/, '\x03'],
    [/2 pasted lines are not run.*fake> /s, 'five\r'],
    [/five.*fake> /s, '\x04'],
  ];
  let at = 0;
  const { exit, screen } = await atTerminal(box, 'trap : INT; fake', {
    answer: shown => {
      if (!steps[0]?.[0].test(shown.slice(at))) return undefined;
      at = shown.length;
      return steps.shift()![1];
    },
  });
  assert.equal(exit, 0, screen);
  assert.deepEqual(calls(box), ['one', 'wait', 'five'], screen);
});

test('L11: a state directory that others control is refused, and the audit log follows no symlink', async t => {
  const box = setUp(t, { a: 'k1' });
  box.uninstall('fake');
  fs.mkdirSync(box.state, { recursive: true });
  fs.chmodSync(box.state, 0o777);
  const refused = await box.wrap(['install', 'fake']);
  assert.equal(refused.exit, 77);
  assert.match(refused.stderr, /others can write to it\n.*chmod go-w/);
  fs.chmodSync(box.state, 0o700);
  box.install('fake');
  const target = path.join(box.home, 'precious');
  fs.writeFileSync(target, 'precious\n');
  fs.rmSync(path.join(box.state, 'audit.jsonl'), { force: true });
  fs.symlinkSync(target, path.join(box.state, 'audit.jsonl'));
  assert.equal((await box.run('fake', ['x'])).stdout, 'ok\n');
  assert.equal(fs.readFileSync(target, 'utf8'), 'precious\n');
});

test('L12: installing without names leaves system directories alone and asks at a terminal', async t => {
  const box = setUp(t);
  box.script('tvly', '#!/bin/sh\necho tvly\n');
  const asked = (await box.wrap(['install', '--help'])).stdout.replace(/\s+/g, ' ');
  assert.match(asked, /without names: of every known CLI in your own directories/);
  const installed = JSON.parse((await box.wrap(['install', '--json'])).stdout);
  const bins = installed.installed.map(({ bin }: { bin: string }) => bin);
  assert.ok(bins.includes(path.join(box.bin, 'tvly')));
  assert.ok(
    bins.every((bin: string) => bin.startsWith(box.bin)),
    bins.join(' '),
  );
  assert.match((await box.wrap(['uninstall'])).stdout, /restored/);
  const program = `'${process.execPath}' '${buildWrapper()}'`;
  const declined = await atTerminal(box, `${program} install`, {
    answer: screen => (/\[y\/N\] (?:\x1b\[\d*G)?$/.test(screen) ? 'n\n' : undefined),
  });
  assert.match(declined.screen, /puts shims in place of .*tvly/);
  assert.equal(fs.readFileSync(path.join(box.bin, 'tvly'), 'utf8'), '#!/bin/sh\necho tvly\n');
});

test('L15: a shim that an upgrade has replaced is noticed by the next run through any wrapped command', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' });
  box.script('other', FAKE);
  box.provider('other', 'inject = ["FAKE_KEY"]');
  box.accounts('other', { a: 'k1', b: 'k2' });
  assert.equal((await box.run('other', ['x'])).stderr, '');
  fs.rmSync(path.join(box.bin, 'fake'));
  box.script('fake', `${FAKE}# upgraded\n`);
  const line = /^culvert-wrap: fake: an upgrade has replaced the shim .*run `culvert-wrap install fake`\n$/;
  assert.match((await box.run('other', ['x'])).stderr, line);
  assert.equal((await box.run('other', ['x'])).stderr, '');
  box.install('fake');
  assert.equal((await box.run('other', ['x'])).stderr, '');
});
