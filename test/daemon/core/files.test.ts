// Files are replaced as a whole, with the permissions and the care that the caller asks for.
import assert from 'node:assert/strict';
import {
  type BigIntStats,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { versionAt, versionOf } from '../../../daemon/core/file-version.ts';
import { makeDirectory, readText, replaceFile, temporaryName } from '../../../daemon/core/files.ts';
import { temporary } from '../../support/temporary.ts';

function directory(t: TestContext): string {
  const path = temporary(t, 'files');
  return path;
}

test('replaces a file, private by default, and leaves no other behind', t => {
  const place = directory(t);
  for (const [name, options, mode] of [
    ['private', {}, 0o600],
    ['public', { mode: 0o644 }, 0o644],
    ['runtime', { durable: false }, 0o600],
  ] as const) {
    replaceFile(join(place, name), 'old', options);
    replaceFile(join(place, name), 'new', options);
    assert.equal(readText(join(place, name)), 'new');
    assert.equal(statSync(join(place, name)).mode & 0o777, mode);
  }
  assert.deepEqual(readdirSync(place).sort(), ['private', 'public', 'runtime']);
});

test('does not write through a link in place of the temporary file', t => {
  const place = directory(t);
  const victim = join(place, 'victim');
  writeFileSync(victim, 'mine');
  symlinkSync(victim, temporaryName(join(place, 'file')));
  replaceFile(join(place, 'file'), 'text');
  assert.equal(readFileSync(victim, 'utf8'), 'mine');
  assert.equal(readText(join(place, 'file')), 'text');
});

test('leaves the old file, and no temporary one, when the new one cannot take its place', t => {
  const place = directory(t);
  mkdirSync(join(place, 'file/inside'), { recursive: true });
  assert.throws(() => replaceFile(join(place, 'file'), 'text'), { code: 'EISDIR' });
  assert.deepEqual(readdirSync(place), ['file']);
  assert.equal(readText(join(place, 'missing')), null);
});

test('the version of a file differs after every change, also within one tick of the clock', t => {
  const path = join(temporary(t), 'file');
  assert.equal(versionAt(path), null);
  for (let round = 0; round < 200; round++) {
    writeFileSync(path, String(round % 10));
    const before = versionAt(path);
    writeFileSync(path, String((round + 1) % 10));
    assert.notEqual(versionAt(path), before);
  }
  const settled = { ...statSync(path, { bigint: true }), ctimeNs: 0n } as BigIntStats;
  assert.equal(versionOf(settled), versionOf(settled), 'a cache can be hit');
});

test('makes a private directory with its parents, and leaves an existing directory as it is', t => {
  const place = temporary(t);
  for (let round = 0; round < 2; round++) {
    makeDirectory(join(place, 'a/b/c'));
    for (const below of ['a', 'a/b', 'a/b/c']) assert.equal(statSync(join(place, below)).mode & 0o777, 0o700, below);
  }
});

const REFUSED = [
  { what: 'a system that makes none there', path: '/proc/none/of/these', says: 'No such file or directory' },
  { what: 'a file above it', path: 'file/below', says: 'Not a directory' },
  { what: 'a file in its place', path: 'file', says: 'A file is in its place' },
];
for (const { what, path, says } of REFUSED)
  test(`names the directory that can't be made: ${what}`, t => {
    const place = temporary(t);
    writeFileSync(join(place, 'file'), '');
    const directory = path.startsWith('/') ? path : join(place, path);
    assert.throws(() => makeDirectory(directory), {
      name: 'FileError',
      message: `${directory} can't be written: ${says}.`,
    });
    assert.equal(existsSync(join(place, 'below')), false);
  });

test('no other code makes directories by the option that does not end in /proc', () => {
  const files = readdirSync('daemon', { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'));
  const uses = files.filter(name =>
    /\bmkdir(?:Sync)?\([^;]*recursive/.test(readFileSync(join('daemon', name), 'utf8')),
  );
  assert.deepEqual(uses, []);
});
