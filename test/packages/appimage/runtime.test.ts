// The runtime of the AppImage, built and put before small trees: what it prints, mounts, unpacks, and leaves behind.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { missing } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

const build = resolve(import.meta.dirname, '../../../data/appimage/runtime/build.sh');
const usable = [
  '/usr/include/squashfuse/ll.h',
  '/usr/include/fuse3/fuse.h',
  '/usr/bin/mksquashfs',
  '/usr/bin/gcc',
].every(file => existsSync(file));
const fuse = (() => {
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
})();
const APPRUN = `#!/bin/sh
case $1 in
  show) echo "$APPDIR"; echo "$APPIMAGE"; echo "$ARGV0"; echo "$OWD"; pwd; shift; printf '<%s>' "$@" ;;
  leave) setsid sh "$APPDIR/stay" "$2" </dev/null >/dev/null 2>&1 & ;;
  wait) echo ready; read -r line ;;
esac
exit 7
`;
const STAY =
  '#!/bin/sh\n: >"$1.began"\nuntil [ -e "$1.end" ]; do sleep 0.05; done\ncat "$APPDIR/data/text" >"$1.read"\n';

describe('the head of the AppImage', {
  skip: !usable && 'gcc, mksquashfs or the libraries it is linked with are missing',
}, () => {
  let base: string;
  let image: string;
  before(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), 'culvert-runtime-')));
    execFileSync(build, [join(base, 'head'), '9.9.9', 'culvert-manifest|https://x.example/'], { stdio: 'pipe' });
    image = make('one.AppImage', 'one');
  });
  after(() => rmSync(base, { recursive: true, force: true }));

  function make(name: string, content: string): string {
    const tree = join(base, `${name}.tree`);
    mkdirSync(join(tree, 'data/deeper'), { recursive: true });
    mkdirSync(join(tree, 'usr/share/doc'), { recursive: true });
    writeFileSync(join(tree, 'AppRun'), APPRUN, { mode: 0o755 });
    writeFileSync(join(tree, 'stay'), STAY, { mode: 0o755 });
    writeFileSync(join(tree, 'data/text'), content);
    writeFileSync(join(tree, 'data/empty'), '');
    writeFileSync(join(tree, 'data/large'), Buffer.alloc(20_000_000, content));
    writeFileSync(join(tree, 'data2'), 'begins like data');
    writeFileSync(join(tree, 'usr/share/doc/license'), 'x');
    symlinkSync('data/text', join(tree, 'link'));
    const squashfs = join(base, `${name}.squashfs`);
    execFileSync('mksquashfs', [tree, squashfs, '-all-root', '-noappend', '-quiet', '-no-progress', '-comp', 'zstd']);
    const file = join(base, name);
    writeFileSync(file, Buffer.concat([readFileSync(join(base, 'head')), readFileSync(squashfs)]), { mode: 0o755 });
    return file;
  }

  /** A separate directory for mount points and unpacked trees, so that leftovers are noticed. */
  function place(t: TestContext) {
    const directory = mkdtempSync(join(base, 'place-'));
    const env: Record<string, string> = { PATH: process.env.PATH!, TMPDIR: directory };
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const run = (args: string[], more: Record<string, string> = {}, cwd = '/') =>
      spawnSync(image, args, { env: { ...env, ...more }, encoding: 'utf8', cwd });
    return { directory, env, run, empty: () => until(() => readdirSync(directory).length === 0) };
  }

  test('it is of type 2, and says what it is', t => {
    const { run } = place(t);
    assert.equal(readFileSync(image).subarray(8, 11).toString('latin1'), 'AI\x02');
    assert.equal(run(['--appimage-offset']).stdout, `${statSync(join(base, 'head')).size}\n`);
    assert.match(run(['--appimage-version']).stdout, /9\.9\.9/);
    assert.match(run(['--appimage-help']).stdout, /--appimage-extract-and-run/);
    assert.equal(run(['--appimage-updateinformation']).stdout, 'culvert-manifest|https://x.example/\n');
    const unknown = run(['--appimage-nonsense']);
    assert.equal(unknown.status, 2);
    assert.match(unknown.stderr, /no option --appimage-nonsense/);
  });

  const ways = { mounted: {}, unpacked: { APPIMAGE_EXTRACT_AND_RUN: '1' } };
  for (const [way, more] of Object.entries(ways)) {
    const skip = way === 'mounted' && !fuse && '/dev/fuse is not accessible';

    test(`${way}, AppRun gets the words, the directory and the variables, and its exit code counts`, {
      skip,
    }, async t => {
      const { run, directory, empty } = place(t);
      const { status, stdout, stderr } = run(['show', 'a b', '', '$x'], more, directory);
      assert.equal(status, 7, stderr);
      const [appdir, appimage, argv0, owd, pwd, words] = stdout.split('\n');
      assert.ok(appdir!.startsWith(`${directory}/`));
      assert.deepEqual([appimage, argv0, owd, pwd, words], [image, image, directory, directory, '<a b><><$x>']);
      await empty();
    });

    test(`${way}, it stays mounted while a program of it runs, and no longer`, { skip }, async t => {
      const { run, directory, empty } = place(t);
      const mark = join(base, `mark-${way}`);
      assert.equal(run(['leave', mark], more).status, 7);
      await until(() => existsSync(`${mark}.began`));
      assert.equal(readdirSync(directory).length, 1);
      writeFileSync(`${mark}.end`, '');
      await until(() => existsSync(`${mark}.read`));
      await until(() => readFileSync(`${mark}.read`, 'utf8') === 'one');
      await empty();
    });

    test(`${way}, nothing is left when it is killed`, { skip }, async t => {
      const { env, empty } = place(t);
      const child = spawn(image, ['wait'], { env: { ...env, ...more }, stdio: ['pipe', 'pipe', 'ignore'] });
      await once(child.stdout, 'data');
      child.kill('SIGKILL');
      await once(child, 'exit');
      await empty();
    });
  }

  test('the option unpacks as the variable does, and is not passed on', async t => {
    const { run, empty } = place(t);
    assert.match(run(['--appimage-extract-and-run', 'show', 'x']).stdout, /<x>$/);
    await empty();
  });

  test('without FUSE it unpacks, and says so', async t => {
    if (process.getuid!() !== 0) return t.skip('hiding /dev/fuse takes root');
    const { env, empty } = place(t);
    const script = '{ [ ! -e /dev/fuse ] || mount --bind /dev/null /dev/fuse; } && exec "$@"';
    const hidden = spawnSync('unshare', ['--mount', 'sh', '-c', script, '-', image, 'show', 'x'], {
      env,
      encoding: 'utf8',
    });
    if (/unshare|permission denied/i.test(hidden.stderr) && hidden.status !== 7)
      return t.skip('no mount namespaces here');
    assert.equal(hidden.status, 7, hidden.stderr);
    assert.match(hidden.stderr, /no FUSE here, unpacking/);
    await empty();
  });

  test('a mount alone lasts until it is ended', { skip: !fuse && '/dev/fuse is not accessible' }, async t => {
    const { env, empty } = place(t);
    const child = spawn(image, ['--appimage-mount'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = await once(child.stdout, 'data');
    const at = String(line).trim();
    assert.equal(readFileSync(join(at, 'link'), 'utf8'), 'one');
    assert.equal(readFileSync(join(at, 'data/large')).length, 20_000_000);
    assert.throws(() => writeFileSync(join(at, 'new'), ''), { code: /EROFS|ENOSYS|EACCES/ } as never);
    child.kill();
    await empty();
  });

  test('everything is unpacked as it was, or one path with what is below it', t => {
    const { run, directory } = place(t);
    assert.equal(run(['--appimage-extract'], {}, directory).stdout, 'squashfs-root\n');
    const root = join(directory, 'squashfs-root');
    const listing = (at: string) => (readdirSync(at, { recursive: true }) as string[]).sort();
    assert.deepEqual(listing(root), listing(`${image}.tree`));
    assert.deepEqual(readFileSync(join(root, 'data/large')), readFileSync(`${image}.tree/data/large`));
    assert.ok(lstatSync(join(root, 'link')).isSymbolicLink());
    assert.ok(statSync(join(root, 'AppRun')).mode & 0o100);
    rmSync(root, { recursive: true });
    run(['--appimage-extract', 'data'], {}, directory);
    assert.deepEqual(listing(root), ['data', 'data/deeper', 'data/empty', 'data/large', 'data/text']);
  });

  test('unpacking does not write through a link that is in its way', t => {
    const { run, directory } = place(t);
    const victim = join(directory, 'victim');
    writeFileSync(victim, 'mine');
    mkdirSync(join(directory, 'squashfs-root/data'), { recursive: true });
    symlinkSync(victim, join(directory, 'squashfs-root/data/text'));
    const { status, stderr } = run(['--appimage-extract'], {}, directory);
    assert.equal(status, 127);
    assert.match(stderr, /unpacking into squashfs-root failed/);
    assert.equal(readFileSync(victim, 'utf8'), 'mine');
  });

  test('TARGET_APPIMAGE names another image, for this start only', t => {
    const { run, directory } = place(t);
    const other = make('other.AppImage', 'other');
    const { stdout } = run(['show'], { TARGET_APPIMAGE: other, APPIMAGE_EXTRACT_AND_RUN: '1' });
    assert.equal(stdout.split('\n')[1], other);
    run(['--appimage-extract', 'data/text'], { TARGET_APPIMAGE: other }, directory);
    assert.equal(readFileSync(join(directory, 'squashfs-root/data/text'), 'utf8'), 'other');
    assert.match(run(['show'], { TARGET_APPIMAGE: missing(t) }).stderr, /can't be read: No such file/);
  });

  test('a download that ended early is refused, and leaves nothing', async t => {
    const { env, empty } = place(t);
    const short = join(base, 'short.AppImage');
    writeFileSync(short, readFileSync(image), { mode: 0o755 });
    truncateSync(short, statSync(image).size - 4096);
    for (const more of [{}, { APPIMAGE_EXTRACT_AND_RUN: '1' }]) {
      const { status, stderr } = spawnSync(short, ['show'], { env: { ...env, ...more }, encoding: 'utf8' });
      assert.equal(status, 127);
      assert.match(stderr, /AppImage: unpacking into .* failed/);
      await empty();
    }
  });
});
