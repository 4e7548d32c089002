// Installing what ./culvert-tool needs: no step may wait for the answer to a hidden question.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporary } from '../support/temporary.ts';

const root = resolve(import.meta.dirname, '../..');

/** A tree with `culvert-tool` in which these commands stand in for those of the machine. */
function tree(t: TestContext, commands: Record<string, string>) {
  const at = temporary(t);
  const program = (file: string, script: string) => {
    mkdirSync(dirname(join(at, file)), { recursive: true });
    writeFileSync(join(at, file), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  copyFileSync(join(root, 'culvert-tool'), join(at, 'culvert-tool'));
  writeFileSync(join(at, 'package-lock.json'), '{}');
  utimesSync(join(at, 'package-lock.json'), 1, 1); // older than what npm installed
  program('node_modules/.package-lock.json', '');
  program('data/release/key.sh', 'echo made "$@"');
  program('bin/dpkg-query', 'exit 1');
  program('bin/sudo', 'exec "$@"');
  for (const [name, script] of Object.entries(commands)) program(`bin/${name}`, script.replaceAll('@AT@', at));
  const env = { PATH: `${join(at, 'bin')}${delimiter}${dirname(process.execPath)}${delimiter}${process.env.PATH}` };
  const run = (input = '', words = ['release-key', 'keys']) =>
    spawnSync(join(at, 'culvert-tool'), words, { encoding: 'utf8', env, input });
  return { at, run };
}

test('packages are installed without a question, also about configuration files that were changed', t => {
  const asking = `printf '%s\\n' "$*" >>@AT@/asked; if read -r answer; then exit 1; fi`;
  const { at, run } = tree(t, { 'apt-get': asking });
  const { status, stdout, stderr } = run('an answer that was meant for something else\n');
  assert.equal(status, 0, stderr);
  assert.equal(stdout, 'made keys\n');
  const asked = readFileSync(join(at, 'asked'), 'utf8').trim().split('\n');
  assert.equal(asked.length, 1, 'the first attempt succeeds');
  assert.match(asked[0]!, /--force-confold .*install --no-install-recommends openssl$/);
});

test('a package is built without building the tree of a developer first', t => {
  const { at, run } = tree(t, {
    'dpkg-query': 'for name; do echo "$name installed"; done',
    meson: 'echo "meson $*" >&2; exit 1',
  });
  mkdirSync(join(at, 'data/release'), { recursive: true });
  writeFileSync(join(at, 'data/release/package.sh'), '#!/bin/sh\necho packed "$@"\n', { mode: 0o755 });
  for (const format of ['deb', 'rpm', 'arch', 'appimage', 'npm', 'recipes', 'sources']) {
    const { status, stdout, stderr } = run('', ['build', format]);
    assert.equal(status, 0, stderr);
    assert.equal(stdout, `packed ${format}\n`);
  }
});

test('packages without a window are built without what shows one', t => {
  const { at, run } = tree(t, { 'apt-get': `printf '%s\\n' "$*" >>@AT@/asked` });
  writeFileSync(join(at, 'data/release/package.sh'), '#!/bin/sh\necho packed "$@"\n', { mode: 0o755 });
  const asked = (...format: string[]) => {
    rmSync(join(at, 'asked'), { force: true });
    const { status, stdout, stderr } = run('', ['build', ...format]);
    assert.deepEqual([status, stdout], [0, `packed ${format.join(' ')}\n`], stderr);
    return readFileSync(join(at, 'asked'), 'utf8');
  };
  const server = asked('deb', '--daemon');
  assert.match(server, /debhelper/);
  const wrapper = asked('npm');
  assert.match(wrapper, /meson/);
  assert.doesNotMatch(wrapper, /debhelper|rpm|fuse/);
  for (const each of [server, wrapper]) assert.doesNotMatch(each, /gtk-4|adw-1|adwaita|xvfb|chromium/);
  assert.equal(run('', ['build', 'rpm', '--daemon']).status, 2);
});

test('a build says at a terminal what it does and how long it took so far, and is quiet in a pipe', t => {
  const { at, run } = tree(t, { 'dpkg-query': 'shift 2; for name; do echo "$name installed"; done', meson: 'exit 0' });
  const piped = run('', ['build']);
  assert.equal(piped.status, 0, piped.stderr);
  assert.doesNotMatch(piped.stderr, / of 3/);
  const env = {
    PATH: `${join(at, 'bin')}${delimiter}${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
    TERM: 'xterm',
  };
  const shown = (more: Record<string, string>) =>
    spawnSync('script', ['-qec', `'${join(at, 'culvert-tool')}' build`, '/dev/null'], {
      encoding: 'utf8',
      env: { ...env, ...more },
    }).stdout.replaceAll('\r', '');
  assert.match(
    shown({ NO_COLOR: '1' }),
    /^1 of 3 {2}Checking .*\d s\n2 of 3 {2}Building .*\n3 of 3 {2}Installing .*\d s\n/,
  );
  assert.match(shown({}), /\x1b\[36m1 of 3/);
});

test('a command that is asked for its help changes nothing', t => {
  const { run } = tree(t, { meson: 'exit 1' });
  const help = run('', ['--help', '--all']).stdout;
  for (const command of ['install', 'uninstall', 'build', 'project', 'release', 'version', 'bench', 'setup', 'clean']) {
    const { status, stdout } = run('', [command, '--help']);
    assert.deepEqual({ command, status, stdout }, { command, status: 0, stdout: help });
  }
  const wrong = run('', ['uninstall', '--everything']);
  assert.deepEqual([wrong.status, wrong.stderr], [2, help]);
});

test('the first screen of help names what most people need, and the whole help the rest', t => {
  const { run } = tree(t, { meson: 'exit 1' });
  const commands = (...words: string[]) =>
    [...run('', words).stdout.matchAll(/^ {2}([a-z]\S*)/gm)].map(([, name]) => name);
  const first = ['run', 'test', 'test', 'dev', 'install', 'uninstall', 'build', 'build', 'release'];
  for (const words of [[], ['help'], ['--help']]) assert.deepEqual(commands(...words), first);
  for (const name of [
    'mutate',
    'leaktest',
    'packages',
    'desktops',
    'pages',
    'project',
    'release-key',
    'version',
    'check',
  ])
    assert.ok(commands('--help', '--all').includes(name), name);
});

test('a clone that was moved or copied builds into itself', t => {
  const at = temporary(t);
  const write = (file: string, script: string) => {
    mkdirSync(dirname(join(at, file)), { recursive: true });
    writeFileSync(join(at, file), script, { mode: 0o755 });
  };
  const [first, second, moved] = [join(at, 'first'), join(at, 'second'), join(at, 'moved')];
  mkdirSync(first);
  copyFileSync(join(root, 'culvert-tool'), join(first, 'culvert-tool'));
  write('first/package-lock.json', '{}');
  utimesSync(join(first, 'package-lock.json'), 1, 1); // older than what npm installed
  write('first/node_modules/.package-lock.json', '');
  write('bin/dpkg-query', '#!/bin/sh\nfor name; do echo "$name installed"; done\n');
  // as meson does: records the prefix, and installs into the recorded prefix
  write(
    'bin/meson',
    `#!/bin/sh
set -e
case $1 in
  setup)
    mkdir -p "$2/meson-info"
    : >"$2/build.ninja"
    printf '[{"name": "prefix", "value": "%s"}]' "$4" >"$2/meson-info/intro-buildoptions.json"
    echo "$2" >>${at}/set-up ;;
  install)
    prefix=$(sed 's/.*"value": "\\(.*\\)".*/\\1/' "$3/meson-info/intro-buildoptions.json")
    mkdir -p "$prefix/bin" "$prefix/share/culvert"
    printf '#!/bin/sh\\necho "$0"\\n' >"$prefix/bin/culvert"
    chmod 755 "$prefix/bin/culvert" ;;
esac
`,
  );
  const env = { PATH: `${join(at, 'bin')}${delimiter}${dirname(process.execPath)}${delimiter}${process.env.PATH}` };
  const run = (clone: string, command: string) =>
    spawnSync(join(clone, 'culvert-tool'), [command], { encoding: 'utf8', env });
  const trees = { run: 'build/prefix/bin/culvert', install: 'build/user/tree/bin/culvert' };
  const check = (clone: string) => {
    for (const [command, tree] of Object.entries(trees)) {
      const { stdout, stderr } = run(clone, command);
      assert.equal(resolve(clone, stdout.trim()), join(clone, tree), `${command}: ${stderr}`);
    }
  };
  check(first);
  cpSync(first, second, { recursive: true, preserveTimestamps: true });
  check(second);
  renameSync(first, moved);
  check(moved);
  const count = () => readFileSync(join(at, 'set-up'), 'utf8').trim().split('\n').length;
  const before = count();
  check(moved);
  assert.equal(count(), before, 'it is set up once');
});

test('an installation that fails or is stopped says why, also when another run removes its files', t => {
  const locked = 'rm -f build.log; echo "E: Could not get lock, held by process 7" >&2; exit 100';
  const failed = tree(t, { 'apt-get': locked }).run();
  assert.equal(failed.status, 1);
  assert.match(failed.stderr, /up to 8 minutes.*held by process 7.*apt-get failed/s);
  const stopped = tree(t, { 'apt-get': 'echo "Waiting for the lock of process 7"; kill -TERM "$PPID"; exit 1' }).run();
  assert.equal(stopped.status, 1);
  assert.match(stopped.stderr, /lock of process 7.*Stopped/s);
});
