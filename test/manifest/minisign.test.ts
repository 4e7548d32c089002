// Signatures that minisign itself checks, and what it refuses.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash, createPublicKey, verify } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { publicOf } from '../../manifest/keys.ts';
import { minisignKeyText } from '../../manifest/minisign.ts';
import { key, otherKey, pem, run, runHere, temporary } from '../support/manifest/release.ts';

const hasMinisign = spawnSync('minisign', ['-v']).status === 0;

/** Signs a file of some bytes. */
async function signed(t: TestContext, content: Buffer) {
  const directory = temporary(t);
  const file = path.join(directory, 'culvert-1.2.3.deb');
  const secret = path.join(directory, 'secret.key');
  fs.writeFileSync(file, content);
  fs.writeFileSync(secret, key.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const result = await run(['minisign', '--key', secret, file]);
  assert.deepEqual([result.exit, result.stderr], [0, '']);
  return { directory, file, secret, signature: `${file}.minisig`, result };
}

const check = (file: string, publicKey: string) =>
  spawnSync('minisign', ['-V', '-P', publicKey, '-m', file], { encoding: 'utf8' });

describe('minisign', () => {
  for (const [name, content] of [
    ['an empty file', Buffer.alloc(0)],
    ['three megabytes', Buffer.alloc(3 << 20, 'culvert')],
  ] as const)
    test(`accepts the signature of ${name}, and no other file or key`, {
      skip: !hasMinisign && 'needs minisign',
    }, async t => {
      const { file } = await signed(t, content);
      const own = minisignKeyText(publicOf(key));
      const accepted = check(file, own);
      assert.equal(accepted.status, 0, accepted.stderr);
      assert.match(
        accepted.stdout,
        /^Signature and comment signature verified\nTrusted comment: file:culvert-1\.2\.3\.deb\n/,
      );
      assert.notEqual(check(file, minisignKeyText(publicOf(otherKey))).status, 0);
      fs.appendFileSync(file, 'x');
      assert.notEqual(check(file, own).status, 0);
    });

  test('covers the trusted comment, by its format', async t => {
    const { file, signature, result } = await signed(t, Buffer.from('content'));
    assert.match(result.stdout, new RegExp(`^${signature}: check it with minisign -V -P RW[\\w+/]{54}\\n$`));
    const [, first = '', comment = '', global = '', ...rest] = fs.readFileSync(signature, 'utf8').split('\n');
    assert.deepEqual(rest, ['']);
    const bytes = Buffer.from(first, 'base64');
    const publicKey = createPublicKey(key);
    const digest = createHash('blake2b512').update(fs.readFileSync(file)).digest();
    assert.equal(bytes.toString('latin1', 0, 2), 'ED');
    assert.equal(bytes.toString('hex', 2, 10), publicOf(key).id);
    assert.ok(verify(null, digest, publicKey, bytes.subarray(10)));
    const covered = Buffer.concat([bytes.subarray(10), Buffer.from(comment.replace('trusted comment: ', ''))]);
    assert.ok(verify(null, covered, publicKey, Buffer.from(global, 'base64')));
  });

  test('writes the same bytes again, over the old ones', async t => {
    const { file, secret, signature } = await signed(t, Buffer.from('content'));
    const before = fs.readFileSync(signature);
    assert.equal((await runHere(['minisign', '--key', secret, file])).exit, 0);
    assert.deepEqual(fs.readFileSync(signature), before);
  });

  test('signs by a command that holds the key, and refuses one with another key', async t => {
    const { directory, file, secret, signature } = await signed(t, Buffer.from('content'));
    const before = fs.readFileSync(signature);
    fs.rmSync(signature);
    const other = path.join(directory, 'other.key');
    fs.writeFileSync(other, otherKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const publicKey = path.join(directory, 'key.pub');
    fs.writeFileSync(publicKey, pem(key));
    const command = (private_: string) =>
      `f=$(mktemp -p ${directory}) && cat >$f && openssl pkeyutl -sign -rawin -in $f -inkey ${private_}; rm -f $f`;
    const refused = await run(['minisign', '--key', publicKey, '--signer', command(other), file]);
    assert.deepEqual([refused.exit, fs.existsSync(signature)], [24, false]);
    const accepted = await run(['minisign', '--key', publicKey, '--signer', command(secret), file]);
    assert.deepEqual([accepted.exit, fs.readFileSync(signature)], [0, before]);
  });

  test('writes nothing if one of the files can’t be read', async t => {
    const { directory, file, secret, signature } = await signed(t, Buffer.from('content'));
    fs.rmSync(signature);
    for (const [bad, exit] of [
      [path.join(directory, 'missing'), 3],
      [directory, 4],
    ] as const) {
      assert.equal((await runHere(['minisign', '--key', secret, file, bad])).exit, exit);
      assert.ok(!fs.existsSync(signature));
    }
  });
});
