// The same files make the same manifest, and what can't be listed is refused before anything is written.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, test } from 'node:test';
import { REFUSALS, type RefusalCode } from '../../manifest/errors.ts';
import { CONTENTS, firstStarts, run, snapshot, temporary } from '../support/manifest/release.ts';

const EPOCH = { SOURCE_DATE_EPOCH: '1763726400' };

function files(t: Parameters<typeof temporary>[0]) {
  const directory = temporary(t);
  const paths = Object.entries(CONTENTS).map(([name, text]) => {
    fs.writeFileSync(path.join(directory, name), text);
    return path.join(directory, name);
  });
  return { directory, paths, out: path.join(directory, 'release-manifest.v1.json') };
}

test('the same files and SOURCE_DATE_EPOCH give the same bytes, independent of order, directory, times and locale', async t => {
  const [first, second] = [files(t), files(t)];
  fs.utimesSync(second.paths[0]!, 1, 1);
  await run(['create', '--out', first.out, '--tag', 'v1', ...first.paths], { env: EPOCH });
  const env = { ...EPOCH, LC_ALL: 'sv_SE.UTF-8', TZ: 'Asia/Tokyo' };
  const cwd = second.directory;
  await run(['create', '--out', 'x.json', '--tag', 'v1', ...Object.keys(CONTENTS).reverse()], { env, cwd });
  const bytes = fs.readFileSync(first.out, 'utf8');
  assert.equal(fs.readFileSync(path.join(cwd, 'x.json'), 'utf8'), bytes);
  const digest = (file: string) =>
    execFileSync('openssl', ['dgst', '-sha256', '-r', file], { encoding: 'utf8' }).slice(0, 64);
  assert.deepEqual(JSON.parse(bytes), {
    schema: 'https://culvert.example/schemas/release-manifest.v1.json',
    project: 'culvert',
    tag: 'v1',
    generated_at: '2025-11-21T12:00:00Z',
    artifacts: first.paths.map(file => ({
      name: path.basename(file),
      size: fs.statSync(file).size,
      sha256: digest(file),
    })),
  });
});

test('without SOURCE_DATE_EPOCH the manifest has the current time, and without --tag no tag', async t => {
  const { out, paths } = files(t);
  const before = Math.floor(Date.now() / 1000) * 1000;
  assert.equal((await run(['create', '--out', out, ...paths])).exit, 0);
  const manifest = JSON.parse(fs.readFileSync(out, 'utf8'));
  const made = Date.parse(manifest.generated_at);
  assert.ok(made >= before && made <= Date.now());
  assert.equal('tag' in manifest, false);
});

test('verify accepts what create writes; two threads hash large files as openssl does', async t => {
  const { directory, out } = files(t);
  const sizes = [20, 30, 7, 1].map(mib => mib * 1024 * 1024 + mib);
  const paths = sizes.map((size, i) => {
    const file = path.join(directory, `culvert-${i}.bin`);
    fs.writeFileSync(file, Buffer.alloc(size, `${i}`));
    return file;
  });
  const made = await run(['create', '--json', '--out', out, '--tag', 'v1.0.0', ...paths]);
  assert.deepEqual(JSON.parse(made.stdout), { ok: true, out, artifacts: 4, bytes: sizes.reduce((a, b) => a + b) });
  const listed = JSON.parse(fs.readFileSync(out, 'utf8')).artifacts.map((a: { sha256: string }) => a.sha256);
  const expected = execFileSync('openssl', ['dgst', '-sha256', '-r', ...paths], { encoding: 'utf8' });
  assert.deepEqual(
    listed,
    expected
      .trim()
      .split('\n')
      .map(line => line.slice(0, 64)),
  );
  const good = await run(['verify', out]);
  assert.deepEqual([good.exit, good.stdout.match(/4 of 4/)?.[0]], [0, '4 of 4']);

  const fd = fs.openSync(paths[1]!, 'r+');
  fs.writeSync(fd, 'x', sizes[1]! - 1);
  fs.closeSync(fd);
  const bad = await run(['verify', out]);
  assert.equal(bad.exit, REFUSALS['artifact-hash'][0]);
  assert.match(bad.stderr, /culvert-1\.bin has the SHA-256/);
  assert.match(bad.stdout, /3 of 4/);
});

describe('files that cannot be listed are refused, and nothing is written', () => {
  type Spoil = (directory: string) => string | string[];
  const cases: [what: string, code: RefusalCode, files: Spoil][] = [
    ['a missing file', 'artifact-missing', d => `${d}/culvert-none`],
    ['an empty file', 'artifact-empty', d => make(`${d}/culvert-empty`, file => fs.writeFileSync(file, ''))],
    ['a directory', 'artifact-not-regular', d => make(`${d}/culvert-dir`, file => fs.mkdirSync(file))],
    [
      'a symbolic link',
      'artifact-not-regular',
      d => make(`${d}/culvert-link`, file => fs.symlinkSync('culvert-amd64.deb', file)),
    ],
    ['a pipe', 'artifact-not-regular', d => make(`${d}/culvert-pipe`, file => execFileSync('mkfifo', [file]))],
    ['a device', 'artifact-not-regular', d => make(`${d}/culvert-null`, file => fs.symlinkSync('/dev/null', file))],
    ['another project’s file', 'name-foreign', d => make(`${d}/other-1.tar.gz`, file => fs.writeFileSync(file, 'x'))],
    ['the prefix alone', 'name-foreign', d => make(`${d}/culvert-`, file => fs.writeFileSync(file, 'x'))],
    ['two dots', 'name-unsafe', d => make(`${d}/culvert-..x`, file => fs.writeFileSync(file, 'x'))],
    ['a backslash', 'name-unsafe', d => make(`${d}/culvert-a\\b`, file => fs.writeFileSync(file, 'x'))],
    ['a line break', 'name-unsafe', d => make(`${d}/culvert-a\nb`, file => fs.writeFileSync(file, 'x'))],
    ['a name twice', 'name-duplicate', d => [`${d}/culvert-amd64.deb`, make(`${d}/sub/culvert-amd64.deb`, twin)]],
  ];
  const runner = firstStarts();
  for (const [what, code, spoil] of cases) {
    const create = runner(code);
    test(`${what}: ${code}`, async t => {
      const { directory, out, paths } = files(t);
      fs.writeFileSync(out, 'the old one');
      const more = [spoil(directory)].flat();
      const before = snapshot(directory);
      const { exit, stdout, stderr } = await create(['create', '--out', out, ...paths.slice(0, 1), ...more]);
      assert.equal(exit, REFUSALS[code][0], stderr);
      assert.match(stderr, new RegExp(`\\[${code}\\]\n$`));
      assert.equal(stdout, '');
      assert.equal(snapshot(directory), before);
    });
  }
});

test('a file that changes while it is read is refused', async t => {
  const { directory, out } = files(t);
  const file = path.join(directory, 'culvert-log');
  fs.writeFileSync(file, 'x'.repeat(100));
  // strace simulates the writer: the file ends before its size
  const prefix = ['strace', '-o', '/dev/null', '-f', '-P', file, '-e', 'inject=read,pread64:retval=0'];
  const { exit, stderr } = await run(['create', '--out', out, file], { prefix });
  assert.match(stderr, /became shorter while it was read/);
  assert.equal(exit, REFUSALS['artifact-changed'][0]);
  assert.equal(fs.existsSync(out), false);
});

describe('a command line that makes no sense is refused with status 2, and nothing is written', () => {
  const cases: [what: string, args: string[], env: Record<string, string>, message: RegExp][] = [
    ['no file', ['--out', 'm'], {}, /missing required argument 'file'/],
    ['no --out', ['culvert-amd64.deb'], {}, /--out <file>' not specified/],
    ['an empty tag', ['--out', 'm', '--tag', '', 'culvert-amd64.deb'], {}, /The tag is empty/],
    ['an artifact as output', ['--out', 'culvert-amd64.deb', 'culvert-amd64.deb'], {}, /would be replaced/],
    [
      'an artifact as output by another path',
      ['--out', './culvert-amd64.deb', 'culvert-amd64.deb'],
      {},
      /would be replaced/,
    ],
    [
      'SOURCE_DATE_EPOCH as text',
      ['--out', 'm', 'culvert-amd64.deb'],
      { SOURCE_DATE_EPOCH: 'now' },
      /SOURCE_DATE_EPOCH is "now"/,
    ],
    [
      'a negative SOURCE_DATE_EPOCH',
      ['--out', 'm', 'culvert-amd64.deb'],
      { SOURCE_DATE_EPOCH: '-1' },
      /SOURCE_DATE_EPOCH/,
    ],
    ['year 10000', ['--out', 'm', 'culvert-amd64.deb'], { SOURCE_DATE_EPOCH: '253402300800' }, /SOURCE_DATE_EPOCH/],
  ];
  for (const [what, args, env, message] of cases) {
    test(what, async t => {
      const { directory } = files(t);
      const before = snapshot(directory);
      const { exit, stderr } = await run(['create', ...args], { env, cwd: directory });
      assert.match(stderr, message);
      assert.equal(exit, 2);
      assert.equal(snapshot(directory), before);
    });
  }
});

test('a path below a file is refused with a code', async t => {
  const { directory } = files(t);
  const words: [RegExp, ...string[]][] = [
    [/\[artifact-unreadable\]/, 'create', '--out', 'm', 'culvert-amd64.deb/'],
    [/\[artifact-unreadable\]/, 'create', '--out', 'm', 'culvert-amd64.deb/culvert-x'],
    [/\[output-failed\]/, 'create', '--out', 'culvert-amd64.deb/m', 'culvert-amd64.deb'],
    [/\[input-unreadable\]/, 'sign', 'culvert-amd64.deb/m', '--key', 'x'],
    [/\[input-unreadable\]/, 'verify', 'culvert-amd64.deb/m'],
  ];
  for (const [code, ...argv] of words) {
    const { exit, stderr } = await run(argv, { cwd: directory });
    assert.match(stderr, code, argv.join(' '));
    assert.doesNotMatch(stderr, /Unexpected| {4}at /);
    assert.ok((exit ?? 0) > 2);
  }
});

function make(file: string, write: (file: string) => unknown): string {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  write(file);
  return file;
}

function twin(file: string): void {
  fs.writeFileSync(file, 'another');
}
