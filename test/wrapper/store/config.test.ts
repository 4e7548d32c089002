// The configuration: a change is seen however it was made, and a mistake is named by its line.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { calls, setUp } from '../../support/wrapper/fake-cli.ts';

test('M1: a configuration is seen whatever its time, and however it was put in place', async t => {
  const box = setUp(t);
  fs.mkdirSync(box.config, { recursive: true });
  const config = path.join(box.config, 'config.toml');
  const text = (key: string) => `[[accounts]]\ncli = "fake"\nname = "a"\nenv = { FAKE_KEY = "command:echo ${key}" }\n`;
  const elsewhere = path.join(box.home, 'store');
  fs.mkdirSync(elsewhere);
  const runs: string[] = [];
  const run = async (what: string) => {
    await box.shim('fake', [what]);
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
    const { stderr } = await box.wrap(['explain', 'fake', 'x']);
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /canary/);
    const line = Number(/line (\d+)/.exec(stderr)![1]);
    assert.ok(line > text.split('\n').length - 1, stderr);
  }
  // every command reads the file in one way
  assert.match((await box.shim('fake', ['x'])).stderr, cases.at(-1)![1]);
  for (const command of [['config'], ['status', '--check'], ['accounts', 'list']]) {
    const refused = await box.wrap(command);
    assert.match(refused.stderr, cases.at(-1)![1]);
    assert.equal(refused.exit, 78, command.join(' '));
  }
  assert.match((await box.wrap(['doctor'])).stdout, cases.at(-1)![1]);
  fs.writeFileSync(config, text);
  fs.appendFileSync(path.join(box.config, 'providers.toml'), '[[providers.fake.rules]]\nclass = "quotta"\n');
  assert.match(
    (await box.shim('fake', ['x'])).stderr,
    /line 14: rules\[2\]\.class: .*"quota"\|"rate"\|"auth"\|"usage"/,
  );
});

test('a CLI that the configuration names and the catalog does not have is reported', async t => {
  const box = setUp(t, { a: 'k1' });
  const tables =
    '[capacity.fack]\nreserve = 3\n[[accounts]]\ncli = "faek"\nname = "b"\n[pool]\nurl = "valkey://127.0.0.1:9/0"\nmachine = "m"\naccounts = { feka = ["b"] }\n';
  box.configure(tables);
  const { stdout } = await box.wrap(['doctor']);
  for (const name of ['fack', 'faek', 'feka'])
    assert.match(stdout, new RegExp(`warning .*config\\.toml names "${name}", .*catalog`));
  assert.doesNotMatch(stdout, /names "fake"/);
});
