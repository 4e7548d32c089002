// Shims in a directory that other users run commands from, with a real second user.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { runInProcess } from '../../support/in-process.ts';
import { removeTree } from '../../support/temporary.ts';
import { buildWrapper } from '../../support/wrapper/sandbox.ts';

const UID = 54_321;
const TOOL = '#!/bin/sh\n[ "$FAKE_KEY" ] || FAKE_KEY=machine\necho "$(basename "$0") $FAKE_KEY"\n';
const options = { skip: process.getuid?.() !== 0 && 'only root can become another user' };

/** A directory of commands that root and another user share, and a home for each, where account "a" has the owner's key. */
function machine(t: TestContext) {
  const base = fs.mkdtempSync('/tmp/culvert-wrap-shared-');
  t.after(() => removeTree(base));
  const bin = path.join(base, 'bin');
  const main = path.join(base, 'share', path.basename(buildWrapper()));
  fs.cpSync(path.dirname(buildWrapper()), path.dirname(main), { recursive: true, dereference: true });
  fs.mkdirSync(bin);
  spawnSync('chmod', ['-R', 'a+rX', base]);
  const user = (name: string, uid: number) => {
    const home = path.join(base, name);
    const config = path.join(home, '.config/culvert-wrap');
    fs.mkdirSync(config, { recursive: true });
    fs.mkdirSync(path.join(home, 'bin'));
    fs.writeFileSync(path.join(config, 'providers.toml'), '[providers.tool]\nbin = "tool"\ninject = ["FAKE_KEY"]\n');
    const account = `[[accounts]]\ncli = "tool"\nname = "a"\nenv = { FAKE_KEY = "command:echo key-of-${name}" }\n`;
    fs.writeFileSync(path.join(config, 'config.toml'), account, { mode: 0o600 });
    spawnSync('chown', ['-R', `${uid}:${uid}`, home]);
    fs.chmodSync(home, 0o700);
    const env = { HOME: home, PATH: `${home}/bin:${bin}:/usr/bin:/bin`, LANG: 'C.UTF-8' };
    const run = (...command: string[]) =>
      spawnSync('setpriv', [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--', ...command], {
        env,
        cwd: '/',
        encoding: 'utf8',
      });
    /** Runs `culvert-wrap`: of this user in this process, where a start takes ten times as long. */
    const wrap = async (...args: string[]) => {
      if (uid !== process.getuid?.()) return run(process.execPath, main, ...args);
      const { code, ...text } = await runInProcess(main, args, { env, cwd: '/', input: '' });
      return { status: code, ...text };
    };
    return {
      home,
      run,
      tool: (...args: string[]) => run(path.join(bin, 'tool'), ...args),
      wrap,
      installs: path.join(home, '.local/state/culvert-wrap/installs.json'),
    };
  };
  return { base, bin, root: user('root', 0), other: user('other', UID) };
}

for (const kind of ['file', 'link'] as const) {
  test(
    `a ${kind} that root wraps in a shared directory runs for every user, with the accounts of that user`,
    options,
    async t => {
      const { base, bin, root, other } = machine(t);
      const file = path.join(bin, 'tool');
      if (kind === 'link') fs.symlinkSync('../share/tool', file);
      fs.writeFileSync(kind === 'link' ? path.join(base, 'share/tool') : file, TOOL, { mode: 0o755 });
      fs.chmodSync(path.join(base, 'share'), 0o755);
      fs.lutimesSync(file, 1_000_000, 1_000_000);
      const before = fs.lstatSync(file);
      const installed = await root.wrap('install', 'tool');
      assert.equal(installed.status, 0, installed.stderr);
      assert.match(installed.stderr, /other users of .*bin run this shim as well/);
      assert.equal(root.tool('x').stdout, 'tool key-of-root\n');
      const run = other.tool('x');
      assert.deepEqual([run.status, run.stdout, run.stderr], [0, 'tool key-of-other\n', '']);
      const again = await other.wrap('install', 'tool');
      assert.equal(again.status, 0, again.stderr);
      assert.match(again.stdout, /another user has installed a shim that uses your accounts: .*bin\/tool/);
      assert.ok(!fs.existsSync(other.installs), 'nothing is recorded');
      const doctor = await other.wrap('doctor');
      assert.equal(doctor.status, 0, doctor.stdout);
      assert.match(doctor.stdout, /ok +tool: .*bin\/tool is a shim that another user has installed/);
      assert.doesNotMatch(doctor.stdout, /PROBLEM|no shim/);
      assert.match((await other.wrap('uninstall', 'tool')).stdout, /is not installed/);
      fs.rmSync(path.join(other.home, '.config'), { recursive: true });
      assert.equal(other.tool('x').stdout, 'tool machine\n');
      assert.equal((await root.wrap('uninstall', 'tool')).status, 0);
      const after = fs.lstatSync(file);
      assert.deepEqual(
        [after.mode, after.mtimeMs, kind === 'file' && after.ino],
        [before.mode, before.mtimeMs, kind === 'file' && before.ino],
      );
      assert.deepEqual(fs.readdirSync(bin), ['tool']);
    },
  );
}

test(
  'an original that an earlier version took from other users is given back by installing again',
  options,
  async t => {
    const { bin, root, other } = machine(t);
    fs.writeFileSync(path.join(bin, 'tool'), TOOL, { mode: 0o755 });
    fs.chmodSync(bin, 0o700);
    assert.equal((await root.wrap('install', 'tool')).status, 0);
    fs.chmodSync(bin, 0o755);
    assert.notEqual(other.tool('x').status, 0);
    assert.match((await other.wrap('doctor')).stdout, /PROBLEM tool: .* is missing or not yours to run/);
    assert.match(
      (await root.wrap('doctor')).stdout,
      /warning tool: other users can run .*\n.*culvert-wrap install tool/,
    );
    const refused = await other.wrap('install', 'tool');
    assert.equal(refused.status, 77);
    assert.match(refused.stderr, /a shim of the user 0, who keeps its original\n.*culvert-wrap install tool/);
    assert.equal((await root.wrap('install', 'tool')).status, 0);
    assert.equal(other.tool('x').stdout, 'tool key-of-other\n');
    assert.equal((await root.wrap('uninstall', 'tool')).status, 0);
    assert.deepEqual(fs.readdirSync(bin), ['tool']);
  },
);

test(
  'files that others can’t run or read are named to them, and to the user who installed the shim',
  options,
  async t => {
    const { base, bin, root, other } = machine(t);
    const program = path.join(base, 'share/real-tool');
    fs.writeFileSync(program, TOOL, { mode: 0o755 });
    fs.chmodSync(path.join(base, 'share'), 0o755);
    fs.symlinkSync('../share/real-tool', path.join(bin, 'tool'));
    assert.equal((await root.wrap('install', 'tool')).status, 0);
    assert.equal((await other.wrap('doctor')).status, 0);
    assert.doesNotMatch((await root.wrap('doctor')).stdout, /other users/);
    fs.chmodSync(program, 0o700);
    const told = await other.wrap('doctor');
    assert.deepEqual([told.status, other.tool('x').status], [1, 69]);
    assert.match(told.stdout, /PROBLEM tool: .* is missing or not yours to run/);
    assert.match((await root.wrap('doctor')).stdout, /warning tool: other users can run .*\n.*give them the rights/);
    const again = await root.wrap('install', 'tool');
    assert.equal(again.status, 0);
    assert.match(
      again.stderr,
      /tool: other users can run .*tool, but not its original .*real-tool\n.*give them the rights/,
    );
    fs.chmodSync(program, 0o755);
    assert.equal((await root.wrap('install', 'tool')).stderr, '');
    fs.chmodSync(path.join(base, 'share'), 0o700);
    fs.chmodSync(base, 0o711);
    fs.rmSync(path.join(bin, 'tool'));
    fs.writeFileSync(path.join(bin, 'tool'), TOOL, { mode: 0o755 });
    const adopted = await root.wrap('install', 'tool');
    assert.match(
      adopted.stderr,
      /other users run .*tool without accounts, because they can't read .*share\/.*\n.*rights/,
    );
    assert.equal(other.tool('x').stdout, 'tool machine\n');
  },
);

test(
  'an own command before the shim of another user can be wrapped, and a wrong record does no harm',
  options,
  async t => {
    const { bin, root, other } = machine(t);
    fs.writeFileSync(path.join(bin, 'tool'), TOOL, { mode: 0o755 });
    assert.equal((await root.wrap('install', 'tool')).status, 0);
    fs.mkdirSync(path.dirname(other.installs), { recursive: true });
    fs.copyFileSync(root.installs, other.installs);
    spawnSync('chown', ['-R', `${UID}:${UID}`, other.home]);
    assert.equal((await other.wrap('doctor')).status, 0);
    const own = path.join(other.home, 'bin/tool');
    fs.writeFileSync(own, TOOL, { mode: 0o755 });
    fs.chownSync(own, UID, UID);
    const installed = await other.wrap('install', 'tool');
    assert.equal(installed.status, 0, installed.stderr);
    assert.equal(JSON.parse(fs.readFileSync(other.installs, 'utf8')).tool.bin, own);
  },
);

test('an installation that fails leaves no record', options, async t => {
  const { bin, root, other } = machine(t);
  fs.writeFileSync(path.join(bin, 'tool'), TOOL, { mode: 0o755 });
  const failed = await other.wrap('install', 'tool');
  assert.equal(failed.status, 77);
  fs.chmodSync(bin, 0o1777);
  assert.notEqual((await other.wrap('install', 'tool')).status, 0);
  assert.ok(!fs.existsSync(other.installs));
  assert.deepEqual(fs.readdirSync(bin), ['tool']);
  assert.equal(root.tool('x').stdout, 'tool machine\n');
});

test('an original whose shim stands in a directory that cannot be made durable is kept', options, async t => {
  const { other } = machine(t);
  const own = path.join(other.home, 'bin');
  const tool = path.join(own, 'tool');
  fs.writeFileSync(tool, TOOL, { mode: 0o755 });
  fs.chownSync(tool, UID, UID);
  fs.chmodSync(own, 0o333);
  assert.equal((await other.wrap('install', 'tool')).status, 77);
  const run = other.run(tool, 'x');
  assert.deepEqual([run.status, run.stdout], [0, 'tool key-of-other\n'], run.stderr);
  fs.chmodSync(own, 0o755);
  assert.equal((await other.wrap('uninstall', 'tool')).status, 0);
  assert.equal(fs.readFileSync(tool, 'utf8'), TOOL);
});

test('giving an original back replaces no other file that is kept there, and takes over its own', options, async t => {
  const { bin, root, other } = machine(t);
  fs.writeFileSync(path.join(bin, 'tool'), TOOL, { mode: 0o755 });
  fs.chmodSync(bin, 0o700);
  assert.equal((await root.wrap('install', 'tool')).status, 0);
  fs.chmodSync(bin, 0o755);
  const shared = path.join(bin, '.culvert-wrap');
  const kept = path.join(shared, 'tool');
  fs.mkdirSync(shared);
  fs.writeFileSync(kept, 'of somebody else', { mode: 0o755 });
  const refused = await root.wrap('install', 'tool');
  assert.notEqual(refused.status, 0);
  assert.match(refused.stderr, /\.culvert-wrap\/tool is kept from another installation of tool/);
  assert.equal(fs.readFileSync(kept, 'utf8'), 'of somebody else');
  fs.rmSync(kept);
  fs.linkSync(path.join(path.dirname(root.installs), 'originals/tool'), kept);
  assert.equal((await root.wrap('install', 'tool')).status, 0);
  assert.deepEqual(fs.readdirSync(shared), ['tool']);
  assert.equal(other.tool('x').stdout, 'tool key-of-other\n');
});

test('root with the home of another user leaves no file there that this user can’t use', options, async t => {
  const { base, bin, root, other } = machine(t);
  fs.writeFileSync(path.join(bin, 'tool'), TOOL, { mode: 0o755 });
  assert.equal((await root.wrap('install', 'tool')).status, 0);
  const env = { HOME: other.home, PATH: `${bin}:/usr/bin:/bin`, LANG: 'C.UTF-8' };
  const main = path.join(base, 'share', path.basename(buildWrapper()));
  const wrap = (...args: string[]) =>
    spawnSync(process.execPath, [main, ...args], { env, encoding: 'utf8', input: 'key-b' });
  const run = spawnSync(path.join(bin, 'tool'), ['x'], { env, encoding: 'utf8' });
  assert.deepEqual([run.status, run.stdout, run.stderr], [0, 'tool key-of-other\n', '']);
  for (const args of [['accounts', 'add', 'tool', 'b', '--file'], ['accounts', 'default', 'tool', 'b'], ['status']]) {
    const { status, stderr } = wrap(...args);
    assert.equal(status, 0, `${args.join(' ')}: ${stderr}`);
  }
  const files = fs.readdirSync(other.home, { recursive: true, encoding: 'utf8' });
  for (const name of ['audit.jsonl', 'secrets', 'plans', 'accounts'])
    assert.ok(
      files.some(file => path.basename(file) === name),
      `${name} was made`,
    );
  const foreign = (stat: fs.Stats) => stat.uid !== UID && !stat.isSymbolicLink();
  assert.deepEqual(
    files.filter(file => foreign(fs.lstatSync(path.join(other.home, file)))),
    [],
  );
  const own = other.tool('x');
  assert.deepEqual([own.status, own.stdout, own.stderr], [0, 'tool key-b\n', '']);
  assert.equal((await other.wrap('doctor')).status, 0);
});

test(
  'root does not install with the home of another user, who could then run commands as all users',
  options,
  async t => {
    const { base, bin, other } = machine(t);
    fs.writeFileSync(path.join(bin, 'tool'), TOOL, { mode: 0o755 });
    const main = path.join(base, 'share', path.basename(buildWrapper()));
    const { status, stderr } = spawnSync(process.execPath, [main, 'install', 'tool'], {
      env: { HOME: other.home, PATH: `${bin}:/usr/bin:/bin`, LANG: 'C.UTF-8' },
      encoding: 'utf8',
    });
    assert.equal(status, 77, stderr);
    assert.match(stderr, /other can't be used: it belongs to the user 54321\n.*as that user, or with root's own home/);
    assert.deepEqual([fs.readdirSync(other.home).sort(), fs.readdirSync(bin)], [['.config', 'bin'], ['tool']]);
  },
);
