// Installing and removing shims, and a shim without accounts.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { calls, setUp } from '../../support/wrapper/fake-cli.ts';
import { type Sandbox, sandbox } from '../../support/wrapper/sandbox.ts';

const TOOL = '#!/bin/sh\necho "tool $*"\necho "to stderr" >&2\nexit 3\n';

/** Everything a user could notice about a tree: names, kinds, modes, times, contents. */
function snapshot(dir: string): string[] {
  return fs
    .readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .sort()
    .map(name => {
      const file = path.join(dir, name);
      const stat = fs.lstatSync(file);
      if (stat.isDirectory()) return `${name}/ ${stat.mode}`;
      const content = stat.isSymbolicLink() ? fs.readlinkSync(file) : fs.readFileSync(file, 'hex');
      return `${name} ${stat.mode} ${stat.mtimeMs} ${content}`;
    });
}

function withTool(t: Parameters<typeof sandbox>[0], text = TOOL): Sandbox {
  const box = sandbox(t);
  box.script('tool', text);
  box.provider('tool', 'inject = ["FAKE_KEY"]');
  return box;
}

const shimmed = (box: Sandbox, name = 'tool') =>
  fs.readFileSync(path.join(box.bin, name), 'utf8').includes('culvert-wrap shim');

test('install and uninstall of a file leave the machine as it was, to the byte', async t => {
  const box = withTool(t);
  fs.utimesSync(path.join(box.bin, 'tool'), 1_000_000, 1_000_000);
  fs.chmodSync(path.join(box.bin, 'tool'), 0o751);
  const before = [snapshot(box.bin), snapshot(box.home)];
  assert.equal((await box.wrap(['install', 'tool'])).exit, 0);
  assert.ok(shimmed(box));
  assert.equal((await box.wrap(['uninstall', 'tool'])).exit, 0);
  assert.deepEqual([snapshot(box.bin), snapshot(box.home).filter(line => !line.startsWith('.local'))], before);
  assert.ok(!fs.existsSync(box.state));
});

test('the install in the process of other tests leaves the same files as the program', async t => {
  const boxes = [withTool(t), withTool(t)] as const;
  const leftBy = (box: Sandbox) => {
    const base = path.dirname(box.home);
    const files = fs.readdirSync(base, { recursive: true, encoding: 'utf8' }).sort();
    return files.map(name => {
      const file = path.join(base, name);
      const stat = fs.lstatSync(file);
      if (stat.isDirectory()) return `${name}/ ${stat.mode}`;
      const content = stat.isSymbolicLink() ? fs.readlinkSync(file) : fs.readFileSync(file, 'utf8');
      return `${name} ${stat.mode} ${content.replaceAll(base, '')}`;
    });
  };
  for (const verb of ['install', 'uninstall'] as const) {
    boxes[0][verb]('tool');
    assert.equal((await boxes[1].wrap([verb, 'tool'])).exit, 0);
    assert.deepEqual(leftBy(boxes[0]), leftBy(boxes[1]), verb);
  }
});

test('a relative symlink, as npm makes them, still reaches its target and comes back as it was', async t => {
  const box = withTool(t);
  fs.mkdirSync(path.join(box.bin, '../lib'));
  fs.renameSync(path.join(box.bin, 'tool'), path.join(box.bin, '../lib/cli.sh'));
  fs.symlinkSync('../lib/cli.sh', path.join(box.bin, 'tool'));
  fs.lutimesSync(path.join(box.bin, 'tool'), 1_000_000, 1_000_000);
  const before = snapshot(box.bin);
  await box.wrap(['install', 'tool']);
  assert.equal((await box.run('tool', ['a'])).stdout, 'tool a\n');
  await box.wrap(['uninstall', 'tool']);
  assert.deepEqual(snapshot(box.bin), before);
});

test('without accounts a shim is indistinguishable in output, status, signal and stdin', async t => {
  const script =
    '#!/bin/sh\ncase "$1" in cat) cat ;; sig) kill -KILL $$ ;; err) echo bad >&2; exit 77 ;; bin) printf "\\000\\377x" ;; esac\n';
  const box = withTool(t, script);
  const cases: [string[], string][] = [
    [['cat'], 'some\ninput'],
    [['sig'], ''],
    [['err'], ''],
    [['bin'], ''],
    [[], ''],
    [['--version'], ''],
    [['login', 'other', ' x '], ''],
  ];
  const collect = async () => {
    const runs = [];
    for (const [args, input] of cases) runs.push(await box.run('tool', args, { input }));
    return runs;
  };
  const direct = await collect();
  await box.wrap(['install', 'tool']);
  assert.deepEqual(await collect(), direct);
});

test('a shim works by absolute path, through a symlink, and from a directory that has been removed', async t => {
  const box = withTool(t);
  box.accounts('tool', { a: 'k' });
  const link = path.join(box.home, 'alias');
  fs.symlinkSync(path.join(box.bin, 'tool'), link);
  assert.equal((await box.run(link, ['x'])).stdout, 'tool x\n');
  const gone = path.join(box.home, 'gone');
  fs.mkdirSync(gone);
  const result = spawnSync('sh', ['-c', `cd ${gone} && rmdir ${gone} && exec ${box.bin}/tool y`], {
    env: box.env,
    encoding: 'utf8',
  });
  assert.equal(result.stdout, 'tool y\n');
});

test('a second directory on PATH that leads back to the shim is not taken for the original', async t => {
  const box = withTool(t);
  await box.wrap(['install', 'tool']);
  const other = path.join(box.home, 'other');
  fs.mkdirSync(other);
  fs.symlinkSync(path.join(box.bin, 'tool'), path.join(other, 'tool'));
  fs.rmSync(path.join(box.state, 'installs.json'));
  const env = { PATH: `${other}:${box.env.PATH}` };
  const again = await box.wrap(['install', 'tool'], { env });
  assert.equal(again.exit, 0);
  assert.ok(fs.lstatSync(path.join(other, 'tool')).isSymbolicLink());
  assert.equal((await box.run(path.join(other, 'tool'), ['x'])).stdout, 'tool x\n');
  await box.wrap(['uninstall', 'tool'], { env });
  assert.equal(fs.readFileSync(path.join(box.bin, 'tool'), 'utf8'), TOOL);
});

test('a command that calls itself by name runs the original and not the shim again', async t => {
  const box = withTool(t, '#!/bin/sh\nif [ "$1" = inner ]; then echo "inner $FAKE_KEY"; else exec tool inner; fi\n');
  box.accounts('tool', { a: 'key-a' });
  assert.equal((await box.run('tool', ['outer'])).stdout, 'inner key-a\n');
});

test('an upgrade over the shim runs immediately, is reported, and is adopted by install', async t => {
  const box = withTool(t);
  box.accounts('tool', { a: 'k' });
  fs.rmSync(path.join(box.bin, 'tool'));
  box.script('tool', '#!/bin/sh\necho new\n');
  assert.equal((await box.run('tool')).stdout, 'new\n');
  const doctor = await box.wrap(['doctor']);
  assert.match(doctor.stdout, /has been replaced, probably by an upgrade/);
  assert.match((await box.wrap(['status', 'tool'])).stderr, /is not the shim anymore, so no account is used/);
  assert.match((await box.wrap(['install', 'tool'])).stdout, /adopted the upgraded original/);
  assert.ok(shimmed(box));
  assert.equal((await box.run('tool', ['x'])).stdout, 'new\n');
  await box.wrap(['uninstall', 'tool']);
  assert.equal(fs.readFileSync(path.join(box.bin, 'tool'), 'utf8'), '#!/bin/sh\necho new\n');
});

test('uninstall says how many accounts of the CLIs stay, and that there was nothing to do', async t => {
  const box = withTool(t);
  box.script('other', TOOL);
  box.provider('other', 'inject = ["FAKE_KEY"]');
  box.accounts('tool', { a: 'k1', b: 'k2' });
  box.accounts('other', { c: 'k3' });
  const told = async (...clis: string[]) => (await box.wrap(['uninstall', ...clis])).stdout;
  assert.match(
    await told('tool'),
    /\n2 accounts stay in .*config\.toml; `culvert-wrap accounts remove CLI NAME` removes one/,
  );
  assert.match(await told(), /^other: restored .*\n1 account stays in /);
  assert.equal(await told(), 'no shim is installed\n');
});

test('uninstall leaves a foreign file in the place of the shim alone and keeps the original', async t => {
  const box = withTool(t);
  await box.wrap(['install', 'tool']);
  fs.rmSync(path.join(box.bin, 'tool'));
  box.script('tool', 'foreign');
  const result = await box.wrap(['uninstall', 'tool', '--json']);
  const [entry] = JSON.parse(result.stdout).uninstalled;
  assert.equal(entry.change, 'kept-foreign');
  assert.equal(fs.readFileSync(entry.kept, 'utf8'), TOOL);
  assert.equal(fs.readFileSync(path.join(box.bin, 'tool'), 'utf8'), 'foreign');
});

test('a missing original and a missing bundle say what to do', async t => {
  const box = withTool(t);
  box.accounts('tool', { a: 'k' });
  fs.rmSync(path.join(box.state, 'originals/tool'));
  const missing = await box.run('tool', ['x']);
  assert.equal(missing.exit, 127);
  assert.match(missing.stderr, /original .* is missing[\s\S]*culvert-wrap install/);
  fs.rmSync(path.join(box.state, 'plans/tool'));
  assert.equal((await box.run('tool', ['x'], { env: { CULVERT_WRAP_BYPASS: '1' } })).exit, 127);
});

test('without our program the original runs and one line says so', async t => {
  const box = withTool(t);
  box.accounts('tool', { a: 'k' });
  const file = path.join(box.bin, 'tool');
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replaceAll('main.cjs', 'gone.cjs'));
  const result = await box.run('tool', ['x']);
  assert.equal(result.stdout, 'tool x\n');
  assert.match(result.stderr, /^culvert-wrap: .*missing; .*\nto stderr\n$/);
});

test('lost state and a broken configuration leave the command usable', async t => {
  const box = withTool(t);
  box.accounts('tool', { a: 'k' });
  await box.run('tool', ['x']);
  for (const name of ['plans', 'accounts']) fs.rmSync(path.join(box.state, name), { recursive: true, force: true });
  assert.equal((await box.run('tool', ['x'])).stdout, 'tool x\n');
  const config = path.join(box.config, 'config.toml');
  fs.writeFileSync(config, 'accounts = [[[');
  await box.wrap(['install', 'tool']);
  fs.mkdirSync(path.join(box.state, 'plans'), { recursive: true });
  fs.writeFileSync(path.join(box.state, 'plans/tool'), '{damaged');
  const broken = await box.run('tool', ['x']);
  assert.equal(broken.stdout, 'tool x\n');
  assert.match(broken.stderr, /config\.toml can't be used: .*running tool without an account\n/);
  fs.writeFileSync(config, '');
  fs.writeFileSync(path.join(box.config, 'providers.toml'), 'x');
  assert.equal((await box.run('tool', ['x'])).stdout, 'tool x\n');
});

test('an unknown CLI and a CLI that is not on PATH are refused with the known ones', async t => {
  const box = withTool(t);
  const unknown = await box.wrap(['install', 'nothere']);
  assert.equal(unknown.exit, 2);
  assert.match(unknown.stderr, /not in the catalog[\s\S]*known: .*firecrawl, .*tvly/);
  box.provider('absent', '');
  const absent = await box.wrap(['install', 'absent', '--json']);
  const { code, hint } = JSON.parse(absent.stdout).error;
  assert.deepEqual([code, hint], ['not-on-path', 'install absent first, or add its directory to PATH']);
});

test('a script that looks for files next to itself is not moved, but can be shimmed from another directory', async t => {
  const box = withTool(t, '#!/bin/sh\n. "$(dirname "$0")/tool.conf"\necho "$CONF $FAKE_KEY"\n');
  fs.writeFileSync(path.join(box.bin, 'tool.conf'), 'CONF=found\n');
  const refused = await box.wrap(['install', 'tool']);
  assert.equal(refused.exit, 73);
  assert.match(refused.stderr, /culvert-wrap install tool --dir/);
  assert.match(refused.stderr, /--dir/);
  assert.ok(!shimmed(box));
  const early = path.join(box.home, 'early');
  fs.mkdirSync(early);
  const env = { PATH: `${early}:${box.env.PATH}` };
  assert.equal((await box.wrap(['install', 'tool', '--dir', early], { env })).exit, 0);
  assert.equal((await box.run(path.join(early, 'tool'))).stdout, 'found \n');
  await box.wrap(['uninstall'], { env });
  assert.deepEqual(fs.readdirSync(early), []);
});

test('an original that an interrupted installation has kept is taken over, and nothing is left of it', async t => {
  const box = withTool(t);
  const originals = path.join(box.state, 'originals');
  fs.mkdirSync(originals, { recursive: true, mode: 0o700 });
  fs.chmodSync(box.state, 0o700);
  fs.linkSync(path.join(box.bin, 'tool'), path.join(originals, 'tool'));
  box.install('tool');
  assert.ok(shimmed(box));
  assert.deepEqual(fs.readdirSync(originals), ['tool']);
  box.uninstall('tool');
  assert.equal(fs.readFileSync(path.join(box.bin, 'tool'), 'utf8'), TOOL);
  assert.ok(!fs.existsSync(box.state));
});

test('an original on another file system is copied and comes back with mode, time and content', async t => {
  const box = withTool(t);
  const other = ['/dev/shm', '/var/tmp'].find(each => fs.statSync(each).dev !== fs.statSync(box.home).dev);
  if (other === undefined) return t.skip('/dev/shm and /var/tmp are the same file system');
  const elsewhere = fs.mkdtempSync(`${other}/culvert-wrap-`);
  t.after(() => fs.rmSync(elsewhere, { recursive: true }));
  fs.copyFileSync(path.join(box.bin, 'tool'), path.join(elsewhere, 'tool'));
  fs.chmodSync(path.join(elsewhere, 'tool'), 0o755);
  fs.utimesSync(path.join(elsewhere, 'tool'), 1_000_000, 1_000_000);
  fs.rmSync(path.join(box.bin, 'tool'));
  const env = { PATH: `${elsewhere}:${box.env.PATH}` };
  const before = snapshot(elsewhere);
  assert.equal((await box.wrap(['install', 'tool'], { env })).exit, 0);
  assert.equal((await box.run(path.join(elsewhere, 'tool'), ['x'])).stdout, 'tool x\n');
  assert.equal((await box.wrap(['uninstall', 'tool'], { env })).exit, 0);
  assert.deepEqual(snapshot(elsewhere), before);
});

test('a read-only directory is refused before anything is changed', async t => {
  const box = withTool(t);
  if (process.getuid?.() === 0) {
    // Root may write anywhere but to a read-only mount; /proc is one for creating files.
    const failed = await box.wrap(['install', 'tool', '--dir', '/proc/self']);
    assert.notEqual(failed.exit, 0);
    assert.match(failed.stderr, /nothing can be written to \/proc\/self/);
    assert.match(failed.stderr, /culvert-wrap install tool --dir/);
  } else {
    fs.chmodSync(box.bin, 0o555);
    const failed = await box.wrap(['install', 'tool']);
    fs.chmodSync(box.bin, 0o755);
    assert.equal(failed.exit, 77);
  }
  assert.ok(!shimmed(box));
  assert.equal((await box.run('tool', ['x'])).stdout, 'tool x\n');
});

test('with the state directory lost, a linked command still runs and uninstall still restores it', async t => {
  const box = withTool(t);
  fs.renameSync(path.join(box.bin, 'tool'), path.join(box.home, 'real.sh'));
  fs.symlinkSync('../home/real.sh', path.join(box.bin, 'tool'));
  await box.wrap(['install', 'tool']);
  fs.rmSync(box.state, { recursive: true });
  assert.equal((await box.run('tool', ['x'])).stdout, 'tool x\n');
  assert.equal((await box.wrap(['install', 'tool'])).exit, 0);
  assert.equal((await box.run('tool', ['x'])).stdout, 'tool x\n');
  fs.rmSync(box.state, { recursive: true });
  assert.match((await box.wrap(['uninstall', 'tool'])).stdout, /restored/);
  assert.equal(fs.readlinkSync(path.join(box.bin, 'tool')), '../home/real.sh');
});

test('a CLI that was removed is not restored as a dangling link', async t => {
  const box = withTool(t);
  fs.renameSync(path.join(box.bin, 'tool'), path.join(box.home, 'real.sh'));
  fs.symlinkSync('../home/real.sh', path.join(box.bin, 'tool'));
  await box.wrap(['install', 'tool']);
  for (const file of [path.join(box.bin, 'tool'), path.join(box.home, 'real.sh')]) fs.rmSync(file);
  assert.match((await box.wrap(['uninstall', 'tool'])).stdout, /removed/);
  assert.deepEqual(fs.readdirSync(box.bin), []);
});

test('install goes on with the other CLIs when one fails, and says which', async t => {
  const box = withTool(t);
  box.provider('absent', '');
  const result = await box.wrap(['install', 'absent', 'tool', '--json']);
  assert.equal(result.exit, 66);
  const report = JSON.parse(result.stdout);
  assert.deepEqual([report.installed[0].cli, report.failed[0].code], ['tool', 'not-on-path']);
  assert.ok(shimmed(box));
});

test('an --env-file of the arguments is for the original alone', async t => {
  const box = setUp(t, { a: 'k1', b: 'k2' });
  for (const args of [['--env-file=none.env'], ['--env-file', 'none.env'], ['--env-file-if-exists=none.env']]) {
    const { exit, stderr } = await box.run('fake', args);
    assert.deepEqual([exit, stderr], [0, ''], args.join(' '));
  }
  assert.deepEqual(
    calls(box).map(call => call.replace(/^k\d /, '')),
    ['--env-file=none.env', '--env-file none.env', '--env-file-if-exists=none.env'],
  );
});
