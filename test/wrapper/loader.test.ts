// The code that V8 compiled of the program is kept for later runs.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { type Sandbox, sandbox } from '../support/wrapper/sandbox.ts';

type Test = Parameters<typeof sandbox>[0];

/** A wrapped command that has run once. */
async function setUp(t: Test): Promise<{ box: Sandbox; file: string }> {
  const box = sandbox(t);
  box.script('fake', '#!/bin/sh\necho "ok $FAKE_KEY"\n');
  box.provider('fake', 'inject = ["FAKE_KEY"]');
  box.accounts('fake', { a: 'k1', b: 'k2' });
  await runs(box);
  return { box, file: programIn(box) };
}

async function runs(box: Sandbox, env: Record<string, string> = {}): Promise<void> {
  assert.deepEqual(await box.run('fake', ['x'], { env }), { exit: 0, signal: null, stdout: 'ok k1\n', stderr: '' });
}

const withDigest = (code: Buffer) => Buffer.concat([createHash('sha256').update(code).digest(), code]);

function programIn(box: Sandbox): string {
  const names = fs.readdirSync(path.join(box.state, 'code')).filter(name => name.startsWith('program-'));
  assert.equal(names.length, 1, names.join());
  return path.join(box.state, 'code', names[0]!);
}

test('the first run keeps its compiled code, and the next run leaves it as it is', async t => {
  const { box, file } = await setUp(t);
  const { mode, ino, size } = fs.statSync(file);
  assert.equal(mode & 0o777, 0o600);
  assert.equal(fs.statSync(path.dirname(file)).mode & 0o777, 0o700);
  assert.ok(size > 100_000, `${size} bytes`);
  await runs(box);
  assert.equal(fs.statSync(programIn(box)).ino, ino);
});

test('the compiled code is what runs', async t => {
  const { box, file } = await setUp(t);
  const code = fs.readFileSync(file);
  const [from, to] = ['running ', 'gunning '].map(text => Buffer.from(text, 'latin1')) as [Buffer, Buffer];
  for (let at = code.indexOf(from); at >= 0; at = code.indexOf(from)) to.copy(code, at);
  fs.writeFileSync(file, withDigest(code.subarray(32)));
  box.configure('broken');
  assert.match((await box.run('fake', ['x'])).stderr, /gunning fake without an account/);
});

for (const [what, change] of Object.entries({
  'is damaged': file => {
    const code = fs.readFileSync(file);
    code[code.length >> 2]! ^= 0xff;
    fs.writeFileSync(file, code);
  },
  'was cut off': file => fs.truncateSync(file, fs.statSync(file).size - 1_000),
  'is empty': file => fs.truncateSync(file),
  'others can write': file => fs.chmodSync(file, 0o620),
  'is a link': file => {
    fs.renameSync(file, `${file}.target`);
    fs.symlinkSync(`${file}.target`, file);
  },
} satisfies Record<string, (file: string) => void>)) {
  test(`compiled code that ${what} is not used, and replaced`, async t => {
    const { box, file } = await setUp(t);
    change(file);
    const before = fs.lstatSync(file).ino;
    await runs(box);
    const after = fs.lstatSync(file);
    assert.notEqual(after.ino, before);
    assert.equal(after.mode & 0o7777777, 0o100600);
  });
}

test('V8 refuses compiled code of another version, and the command runs', async t => {
  const { box, file } = await setUp(t);
  const code = fs.readFileSync(file).subarray(32);
  code.writeUInt32LE(0x12345678, 4); // the hash of V8's version
  fs.writeFileSync(file, withDigest(code));
  await runs(box);
});

test('a directory that others can write gets no compiled code', async t => {
  const { box, file } = await setUp(t);
  fs.rmSync(file);
  fs.chmodSync(path.dirname(file), 0o770);
  await runs(box);
  assert.ok(!fs.existsSync(file));
});

test('commands run as ever when compiled code cannot be stored', async t => {
  const { box, file } = await setUp(t);
  fs.rmSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(path.dirname(file), 'not a directory');
  await runs(box);
});

test('compiled code of eight older versions is kept at most', async t => {
  const { box, file } = await setUp(t);
  const directory = path.dirname(file);
  for (let i = 0; i < 12; i++) {
    fs.writeFileSync(path.join(directory, `program-${i}.cjs`), '');
    fs.utimesSync(path.join(directory, `program-${i}.cjs`), i, i);
  }
  fs.rmSync(file);
  await runs(box);
  const names = fs.readdirSync(directory);
  assert.equal(names.length, 8);
  assert.ok(
    names.includes(path.basename(file)) && names.includes('program-11.cjs') && !names.includes('program-3.cjs'),
  );
});
