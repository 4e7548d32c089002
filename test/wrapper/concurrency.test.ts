// Many commands at the same time, and commands that are killed: no account and no pause is lost.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { readConfig } from '../../wrapper/store/config.ts';
import { moments } from '../support/moments.ts';
import { FULL, sample } from '../support/thoroughness.ts';
import { buildWrapper, finished, sandbox } from '../support/wrapper/sandbox.ts';

const FAKE = '#!/bin/sh\ncase "$FAKE_KEY" in bad*) echo "Error: quota" >&2; exit 1 ;; esac\necho "$FAKE_KEY"\n';
const rules = (name: string) =>
  `auth_command = "auth"\ninject = ["FAKE_KEY"]\n[[providers.${name}.rules]]\nclass = "quota"\nstderr = "^Error: quota"\n`;

const FAILOVERS = FULL ? 50 : 6;

test(`${FAILOVERS} simultaneous failovers on two providers keep every default and every account`, async t => {
  const box = sandbox(t);
  for (const name of ['one', 'two']) {
    box.script(name, FAKE);
    box.provider(name, rules(name));
    box.accounts(name, { a: `bad-${name}`, b: `good-${name}` });
  }
  const before = fs.readFileSync(path.join(box.config, 'config.toml'), 'utf8');
  const adding = Array.from({ length: 4 }, (_, i) => ['one', 'auth', 'add', `new${i}`, '--env', 'FAKE_KEY=env:X']);
  const running = Array.from({ length: FAILOVERS }, (_, i) => [i % 2 ? 'one' : 'two', `${i}`]);
  const results = await Promise.all([...running, ...adding].map(([cli, ...args]) => finished(box.start(cli!, args))));
  for (const [index, result] of results.entries()) assert.equal(result.exit, 0, `${index}: ${result.stderr}`);
  for (const name of ['one', 'two']) {
    const state = JSON.parse(fs.readFileSync(path.join(box.state, `accounts/${name}.json`), 'utf8'));
    assert.equal(state.default, 'b');
    assert.equal(state.paused.a.class, 'quota');
  }
  const after = fs.readFileSync(path.join(box.config, 'config.toml'), 'utf8');
  assert.ok(after.startsWith(before));
  for (let i = 0; i < 4; i++) assert.match(after, new RegExp(`name = "new${i}"`));
  const left = fs.readdirSync(path.join(box.state, 'accounts')).sort();
  assert.deepEqual(left, ['one.json', 'two.json']);
});

for (const kind of ['file', 'link'] as const) {
  test(`kill -9 at file operations of install and uninstall of a ${kind} loses nothing`, async t => {
    if (spawnSync('strace', ['-V']).status !== 0) return t.skip('strace is not installed');
    const box = sandbox(t);
    const base = path.dirname(box.home);
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

    let kills = 0;
    for (const verb of ['install', 'uninstall'] as const) {
      fresh();
      if (verb === 'uninstall') box.install('tool');
      const all = await moments(t, base, [process.execPath, buildWrapper(), verb, 'tool'], { env: box.env });
      assert.ok(all.length > 8, `only ${all.length} moments seen`);
      for (const { after, restore } of sample(all, 3)) {
        restore();
        const where = `${verb} killed after ${after}`;
        assert.ok(works(), where);
        assert.doesNotThrow(() => box[verb]('tool'), where);
        assert.ok(works(), `${where}, then ${verb}`);
        box.uninstall('tool');
        assert.ok(restored(), `${where}, then uninstalled`);
        assert.deepEqual(fs.readdirSync(box.bin), ['tool'], where);
        kills++;
      }
    }
    t.diagnostic(`${kills} kills`);
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
  for (const [what, args] of Object.entries(commands)) {
    reset();
    const all = await moments(t, base, [process.execPath, buildWrapper(), ...args], { env });
    assert.ok(all.length > 8, `only ${all.length} moments of ${what} seen`);
    for (const { after, restore } of sample(all, 3)) {
      restore();
      const where = `${what} killed after ${after}`;
      const now = fs.readFileSync(config, 'utf8');
      assert.ok(now === text || now.startsWith(text.trimEnd()), where);
      if (fs.existsSync(state)) JSON.parse(fs.readFileSync(state, 'utf8'));
      assert.equal((await box.run('one', ['x'])).stdout, 'good\n', where);
      assert.equal(JSON.parse(fs.readFileSync(state, 'utf8')).default, 'b', where);
      const accounts = readConfig(config).accounts.map(account => account.name);
      assert.deepEqual(accounts.slice(0, 2), ['a', 'b'], where);
    }
  }
});
