// Archives: a real one is unpacked, and every way out of its directory is refused before that.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import type { Failure } from '../../../daemon/core/errors.ts';
import type { Problem } from '../../../daemon/problem.ts';
import { install, withInstallLock } from '../../../daemon/update/installation.ts';
import { userLayout } from '../../../daemon/update/user-layout.ts';
import { checkMembers, extractArchive, listArchive, type Member } from '../../../daemon/update/user-tree.ts';
import { snapshot } from '../../support/manifest/release.ts';
import { pack, smallTree } from '../../support/update/small-tree.ts';
import { createSource, createUpdater, publish, temporary } from '../../support/update/source.ts';

const TOP = 'culvert-2.0.0';
const never = new AbortController().signal;
const refusedAs = (code: string) => (error: Failure) => error.code === code;

test('a real archive is listed and unpacked, with its links and modes', async t => {
  const directory = temporary(t);
  const tree = smallTree(directory, '2.0.0');
  fs.symlinkSync('culvert', path.join(tree, 'bin/also'));
  fs.symlinkSync('../share/culvert', path.join(tree, 'bin/up'));
  const file = path.join(directory, 'x.tar.gz');
  fs.writeFileSync(file, pack(tree));
  const members = await listArchive(file, never);
  checkMembers(members, TOP);
  assert.deepEqual(
    members.find(({ name }) => name === `${TOP}/bin/up`),
    {
      kind: 'link',
      name: `${TOP}/bin/up`,
      size: 0,
      target: '../share/culvert',
    },
  );
  const to = temporary(t);
  await extractArchive(file, to, never);
  assert.equal(fs.statSync(path.join(to, TOP, 'bin/culvert')).mode & 0o700, 0o700);
  assert.equal(execFileSync(path.join(to, TOP, 'bin/also'), ['--version'], { encoding: 'utf8' }), 'culvert 2.0.0\n');
});

const file = (name: string): Member => ({ kind: 'file', name, size: 1, target: null });
const link = (name: string, target: string): Member => ({ kind: 'link', name, size: 0, target });

for (const [what, members] of Object.entries<Member[]>({
  'an absolute name': [file('/etc/passwd')],
  'a way up': [file(`${TOP}/../x`)],
  'a way up at the start': [file('../x')],
  'another directory': [file('other/x')],
  'a name without the directory': [file('x')],
  'a dot in between': [file(`${TOP}/./x`)],
  'an empty part': [file(`${TOP}//x`)],
  'an option': [file(`${TOP}/a b`)],
  'a name that is escaped': [file(`${TOP}/a\\nb`)],
  'a name twice': [file(`${TOP}/x`), file(`${TOP}/x`)],
  'an absolute link': [link(`${TOP}/x`, '/etc/passwd')],
  'a link that leads out': [link(`${TOP}/x`, '../y')],
  'a link that leads out by a detour': [link(`${TOP}/a/x`, '../b/../../../y')],
  'a link to the directory above all': [link(`${TOP}/x`, '..')],
  'a file below a link': [link(`${TOP}/x`, 'share'), file(`${TOP}/x/y`)],
  'a file below a link that comes later': [file(`${TOP}/x/y`), link(`${TOP}/x`, 'share')],
})) {
  test(`an archive with ${what} is refused`, () => {
    assert.throws(() => checkMembers(members, TOP), refusedAs('archive-unsafe'));
  });
}

test('members of other kinds are refused', async t => {
  const directory = temporary(t);
  const tree = path.join(directory, TOP);
  fs.mkdirSync(tree);
  const archive = path.join(directory, 'x.tar.gz');
  const list = () => {
    fs.writeFileSync(archive, pack(tree));
    return listArchive(archive, never);
  };
  execFileSync('mkfifo', [path.join(tree, 'pipe')]);
  await assert.rejects(list(), refusedAs('archive-unsafe'));
  fs.rmSync(path.join(tree, 'pipe'));
  fs.writeFileSync(path.join(tree, 'a'), 'x');
  fs.linkSync(path.join(tree, 'a'), path.join(tree, 'b'));
  await assert.rejects(list(), refusedAs('archive-unsafe'));
  fs.rmSync(path.join(tree, 'b'));
  fs.chmodSync(path.join(tree, 'a'), 0o4755);
  await assert.rejects(list(), refusedAs('archive-unsafe'));
});

test('a name with a space is refused', async t => {
  const tree = path.join(temporary(t), TOP);
  fs.mkdirSync(path.join(tree, `evil ${TOP}`), { recursive: true });
  const archive = path.join(temporary(t), 'x.tar.gz');
  fs.writeFileSync(path.join(tree, `evil ${TOP}`, 'x'), 'x');
  fs.writeFileSync(archive, pack(tree));
  const members = await listArchive(archive, never);
  assert.throws(() => checkMembers(members, TOP), refusedAs('archive-unsafe'));
});

test('a stopping daemon ends the unpacking', async t => {
  const directory = temporary(t);
  const archive = path.join(directory, 'x.tar.gz');
  fs.writeFileSync(archive, pack(smallTree(directory, '2.0.0')));
  await assert.rejects(extractArchive(archive, directory, AbortSignal.abort()), refusedAs('stopped'));
});

test('a signed release whose archive is not a tree is refused, and nothing on disk is changed', async t => {
  const home = temporary(t);
  const layout = userLayout({ HOME: home });
  const trees = temporary(t);
  await withInstallLock(layout, () => install(layout, smallTree(trees, '1.0.0'), '1.0.0'));
  const whole = pack(smallTree(trees, '2.0.0'));
  const broken: Record<string, [string, Buffer]> = {
    'no archive': ['archive-broken', Buffer.from('hello')],
    'an archive cut in half': ['archive-broken', whole.subarray(0, whole.length / 2)],
    'an empty archive': ['archive-broken', execFileSync('tar', ['-czf', '-', '-T', '/dev/null'])],
    'a tree of another version': ['archive-unsafe', pack(smallTree(trees, '2.0.1'))],
    'a tree that says another version': [
      'program-broken',
      pack(smallTree(temporary(t), '2.0.0', { 'bin/culvert': "#!/bin/sh\necho 'culvert 6.6.6'\n" })),
    ],
    'a tree that does not run': [
      'program-broken',
      pack(smallTree(temporary(t), '2.0.0', { 'bin/culvert': `#!${trees}/gone\n` })),
    ],
  };
  for (const [what, [code, archive]] of Object.entries(broken)) {
    const source = await createSource(t);
    publish(source, '2.0.0', { 'culvert-2.0.0-user.tar.gz': archive });
    const prefix = path.join(layout.versions, '1.0.0');
    const { updates } = await createUpdater(t, source, { format: 'user', prefix }, { home });
    const before = snapshot(home);
    await assert.rejects(updates.apply(), (error: Problem) => {
      assert.equal(error.extras.reason, code, `${what}: ${error.message}`);
      return true;
    });
    assert.equal(snapshot(home), before, what);
  }
});
