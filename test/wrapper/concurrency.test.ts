import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { FILE_CALLS, fileOperations } from '../support/file-operations.ts';
import { sample } from '../support/thoroughness.ts';
import { buildWrapper, finished, sandbox } from '../support/wrapper/sandbox.ts';

const FAKE = '#!/bin/sh\ncase "$FAKE_KEY" in bad*) echo "Error: quota" >&2; exit 1 ;; esac\necho "$FAKE_KEY"\n';
const rules = (name: string) =>
  `auth_command = "auth"\ninject = ["FAKE_KEY"]\n[[providers.${name}.rules]]\nclass = "quota"\nstderr = "^Error: quota"\n`;

test('50 failovers on one provider and another at once keep every default and every account', async t => {
  const box = sandbox(t);
  for (const name of ['one', 'two']) {
    box.script(name, FAKE);
    box.provider(name, rules(name));
    box.accounts(name, { a: `bad-${name}`, b: `good-${name}` });
  }
  const before = fs.readFileSync(path.join(box.config, 'config.toml'), 'utf8');
  const adding = Array.from({ length: 4 }, (_, i) => ['one', 'auth', 'add', `new${i}`, '--env', 'FAKE_KEY=env:X']);
  const running = Array.from({ length: 50 }, (_, i) => [i % 2 ? 'one' : 'two', `${i}`]);
  const results = await Promise.all([...running, ...adding].map(([cli, ...args]) => finished(box.start(cli!, args))));
  for (const [index, result] of results.entries()) assert.equal(result.exit, 0, `${index}: ${result.stderr}`);
  for (const name of ['one', 'two']) {
    const state = JSON.parse(fs.readFileSync(path.join(box.state, `accounts/${name}.json`), 'utf8'));
    assert.equal(state.default, 'b');
    assert.equal(state.resting.a.class, 'quota');
  }
  const after = fs.readFileSync(path.join(box.config, 'config.toml'), 'utf8');
  assert.ok(after.startsWith(before));
  for (let i = 0; i < 4; i++) assert.match(after, new RegExp(`name = "new${i}"`));
  const left = fs.readdirSync(path.join(box.state, 'accounts')).sort();
  assert.deepEqual(left, ['one.json', 'two.json']);
});

/**
 * Runs the bundled program under strace.
 * @param inject for example `rename:signal=SIGKILL:when=2`; without it, the trace is written to `log`
 */
function traced(args: readonly string[], env: NodeJS.ProcessEnv, { log, inject }: { log?: string; inject?: string }) {
  const wanted = inject
    ? ['-e', `trace=${inject.split(':')[0]}`, '-e', `inject=${inject}`]
    : ['-e', `trace=${FILE_CALLS}`];
  const options = ['-qq', '-y', '-o', log ?? '/dev/null', ...wanted];
  return spawnSync('strace', [...options, process.execPath, buildWrapper(), ...args], { env, encoding: 'utf8' });
}

for (const kind of ['file', 'link'] as const) {
  test(`kill -9 at any file operation of install and uninstall of a ${kind} loses nothing`, async t => {
    if (spawnSync('strace', ['-V']).status !== 0) return t.skip('strace is not installed');
    const box = sandbox(t);
    const base = path.dirname(box.home);
    const log = path.join(base, 'trace');
    const tool = path.join(box.bin, 'tool');
    const fresh = () => {
      fs.rmSync(box.state, { recursive: true, force: true });
      for (const name of fs.readdirSync(box.bin)) fs.rmSync(path.join(box.bin, name));
      fs.writeFileSync(path.join(base, 'real'), '#!/bin/sh\necho tool\n', { mode: 0o755 });
      if (kind === 'link') fs.symlinkSync('../real', tool);
      else fs.writeFileSync(tool, '#!/bin/sh\necho tool\n', { mode: 0o755 });
    };
    box.provider('tool', 'inject = ["FAKE_KEY"]');
    const works = () => spawnSync(tool, { env: box.env, encoding: 'utf8' }).stdout === 'tool\n';
    const restored = () =>
      kind === 'link'
        ? fs.readlinkSync(tool) === '../real'
        : fs.readFileSync(tool, 'utf8') === '#!/bin/sh\necho tool\n';

    let injections = 0;
    for (const verb of ['install', 'uninstall'] as const) {
      fresh();
      if (verb === 'uninstall') box.install('tool');
      traced([verb, 'tool'], box.env, { log });
      const points = fileOperations(log, base, 'changes');
      assert.ok(points.length > 8, `only ${points.length} file operations seen`);
      for (const { call, ordinal } of sample(points, 5)) {
        fresh();
        if (verb === 'uninstall') box.install('tool');
        traced([verb, 'tool'], box.env, { inject: `${call}:signal=SIGKILL:when=${ordinal}` });
        const where = `${verb} killed at ${call} ${ordinal}`;
        assert.ok(works(), where);
        assert.doesNotThrow(() => box[verb]('tool'), where);
        assert.ok(works(), `${where}, then ${verb}`);
        box.uninstall('tool');
        assert.ok(restored(), `${where}, then uninstalled`);
        assert.deepEqual(fs.readdirSync(box.bin), ['tool'], where);
        injections++;
      }
    }
    t.diagnostic(`${injections} kills`);
  });
}

test('kill -9 at any file operation of adding an account and of a failover leaves old or new state, and both go on', async t => {
  if (spawnSync('strace', ['-V']).status !== 0) return t.skip('strace is not installed');
  const box = sandbox(t);
  const base = path.dirname(box.home);
  box.script('one', FAKE);
  box.provider('one', rules('one'));
  box.accounts('one', { a: 'bad', b: 'good' });
  const config = path.join(box.config, 'config.toml');
  const text = fs.readFileSync(config, 'utf8');
  const state = path.join(box.state, 'accounts/one.json');
  const original = path.join(box.state, 'originals/one');
  const reset = () => {
    fs.writeFileSync(config, text);
    fs.rmSync(state, { force: true });
  };
  const commands = {
    add: ['auth', 'one', original, 'auth', 'add', 'c', '--env', 'FAKE_KEY=env:C'],
    failover: ['shim', 'one', original, 'x'],
  };
  const env = { ...box.env, CULVERT_WRAP_SHIM: '1' };
  const log = path.join(base, 'trace');
  for (const [what, args] of Object.entries(commands)) {
    reset();
    traced(args, env, { log });
    const points = fileOperations(log, base, 'changes');
    assert.ok(points.length > 8, `only ${points.length} file operations of ${what} seen`);
    for (const { call, ordinal } of sample(points, 6)) {
      reset();
      traced(args, env, { inject: `${call}:signal=SIGKILL:when=${ordinal}` });
      const where = `${what} killed at ${call} ${ordinal}`;
      const now = fs.readFileSync(config, 'utf8');
      assert.ok(now === text || now.startsWith(text.trimEnd()), where);
      if (fs.existsSync(state)) JSON.parse(fs.readFileSync(state, 'utf8'));
      assert.equal((await box.run('one', ['x'])).stdout, 'good\n', where);
      assert.equal(JSON.parse(fs.readFileSync(state, 'utf8')).default, 'b', where);
      const { accounts } = JSON.parse((await box.run('one', ['auth', 'list', '--json'])).stdout);
      assert.deepEqual(
        accounts.slice(0, 2).map((account: { name: string }) => account.name),
        ['a', 'b'],
        where,
      );
    }
  }
});
