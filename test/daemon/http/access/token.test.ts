// The bearer token's file: one token however many make it, and none that others may read.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { readToken } from '../../../../daemon/http/access/token.ts';
import { bundleScript } from '../../../support/script.ts';
import { temporary } from '../../../support/temporary.ts';

function place(t: TestContext): string {
  const directory = temporary(t, 'token');
  return join(directory, 'state', 'token');
}

test('a token is made once, of 32 bytes, for this user only, and read from then on', async t => {
  const path = place(t);
  assert.equal(await readToken(path), null);
  const token = await readToken(path, { create: true });
  assert.equal(Buffer.from(token, 'base64url').length, 32);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700);
  assert.deepEqual([await readToken(path), await readToken(path, { create: true })], [token, token]);
  assert.deepEqual(readdirSync(join(path, '..')), ['token']);
});

test('concurrent callers, in one process or several, get the same token', async t => {
  const path = place(t);
  const text = `import { readToken } from ${JSON.stringify(resolve(import.meta.dirname, '../../../../daemon/http/access/token.ts'))};
    console.log(await readToken(process.argv[2], { create: true }));`;
  const program = bundleScript({ text }, temporary(t));
  const run = () => promisify(execFile)(process.execPath, [program, path]).then(({ stdout }) => stdout.trim());
  const here = Array.from({ length: 20 }, () => readToken(path, { create: true }));
  const tokens = new Set([...(await Promise.all(here)), ...(await Promise.all([run(), run(), run()]))]);
  assert.equal(tokens.size, 1);
  assert.deepEqual(readdirSync(join(path, '..')), ['token']);
});

test('a file that others may read, a link, and a file with something else are refused with what to do', async t => {
  const path = place(t);
  await readToken(path, { create: true });
  chmodSync(path, 0o640);
  await assert.rejects(readToken(path, { create: true }), {
    name: 'TokenError',
    code: 'exposed',
    message: /Delete it/,
  });
  chmodSync(path, 0o600);
  symlinkSync(path, `${path}-link`);
  await assert.rejects(readToken(`${path}-link`), { code: 'unreadable' });
  for (const text of ['', 'short', 'a'.repeat(44), `${'a'.repeat(42)}+`]) {
    writeFileSync(path, text);
    await assert.rejects(readToken(path), { code: 'malformed' });
  }
});

test('a file that can’t be made is named in the failure', async t => {
  const path = place(t);
  writeFileSync(join(path, '..', '..', 'file'), '');
  await assert.rejects(readToken(join(path, '..', '..', 'file', 'token'), { create: true }), {
    name: 'TokenError',
    message: /file\/token can't be (read|made)/,
  });
});
