// Verification of a release: a bit, key, clock or serial that differs from the signed one is refused.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { digest } from '../../manifest/artifacts.ts';
import { keyId, pinnedKeys, publicOf, readPublicKey } from '../../manifest/keys.ts';
import {
  addSignature,
  formatStatement,
  type Statement,
  signedBytes,
  signerOf,
  splitSidecar,
} from '../../manifest/signatures.ts';
import { checkArtifact, Refusal, verifySidecar } from '../../manifest/verify.ts';
import { CONTENTS, key, makeRelease, otherKey, pem, STATEMENT, seal, temporary } from '../support/manifest/release.ts';

const keys = [readPublicKey(Buffer.from(pem(key)), 'release')];
const now = Date.now();
const statement = STATEMENT as Statement;
const thirdKey = generateKeyPairSync('ed25519').privateKey;

/** A sidecar with a signature of each key, as `sign` and `sign --add` make it. */
function signManifest(manifest: Buffer, what: Statement, ...secrets: (typeof key)[]): Buffer {
  const unsigned = { signatures: [], statement: formatStatement(what, manifest) };
  return secrets.reduce<Buffer>(
    (sidecar, secret) =>
      addSignature(sidecar.length === 0 ? unsigned : splitSidecar(sidecar)!, manifest, keyId(secret), signerOf(secret)),
    Buffer.alloc(0),
  );
}

function release(t: { after(fn: () => void): void }) {
  const { manifest } = makeRelease(t);
  const bytes = fs.readFileSync(manifest);
  return { bytes, sidecar: signManifest(bytes, statement, key) };
}

function codeOf(verify: () => unknown): string {
  try {
    verify();
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
  return 'accepted';
}

test('a signed release is verified, and has everything an updater needs', t => {
  const { bytes, sidecar } = release(t);
  const { manifest, signers, ...rest } = verifySidecar(bytes, sidecar, {
    keys,
    now,
    lastSerial: 12,
    channels: ['stable'],
    installed: '1.2.3',
  });
  assert.deepEqual(rest, {
    version: '1.2.3',
    serial: 12,
    expiresAt: STATEMENT.expires_at,
    channel: 'stable',
    minimumVersion: '1.0.0',
    revoked: [],
  });
  assert.deepEqual(manifest, JSON.parse(bytes.toString()));
  assert.deepEqual(signers, [{ id: keys[0]!.id, name: 'release' }]);
});

test('signing is reproducible', t => {
  const { bytes, sidecar } = release(t);
  assert.deepEqual(signManifest(bytes, statement, key), sidecar);
});

test('any one bit flipped in manifest or sidecar is refused before either is parsed', t => {
  const { bytes, sidecar } = release(t);
  const codes = new Map<string, number>();
  for (const file of [bytes, sidecar]) {
    for (let bit = 0; bit < file.length * 8; bit++) {
      file[bit >> 3]! ^= 1 << (bit & 7);
      const code = codeOf(() => verifySidecar(bytes, sidecar, { keys, now }));
      codes.set(code, (codes.get(code) ?? 0) + 1);
      file[bit >> 3]! ^= 1 << (bit & 7);
    }
  }
  assert.deepEqual([...codes.keys()].sort(), ['key-unknown', 'sidecar-malformed', 'signature-invalid']);
  assert.equal(
    codeOf(() => verifySidecar(bytes, sidecar, { keys, now })),
    'accepted',
  );
});

test('every truncation of the sidecar is refused', t => {
  const { bytes, sidecar } = release(t);
  for (let length = 0; length < sidecar.length; length++) {
    assert.notEqual(
      codeOf(() => verifySidecar(bytes, sidecar.subarray(0, length), { keys, now })),
      'accepted',
    );
  }
});

test('openssl verifies the same signature over the bytes that are documented', t => {
  const directory = temporary(t);
  const { bytes, sidecar } = release(t);
  const { signatures, statement } = splitSidecar(sidecar)!;
  const { signature, keyId } = signatures[0]!;
  const file = (name: string, content: Buffer | string) => {
    fs.writeFileSync(path.join(directory, name), content);
    return path.join(directory, name);
  };
  const [pub, sig] = [file('pub', pem(key)), file('sig', signature)];
  const verify = (signed: string) =>
    execFileSync('openssl', ['pkeyutl', '-verify', '-pubin', '-inkey', pub, '-rawin', '-in', signed, '-sigfile', sig], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
  assert.match(verify(file('signed', signedBytes(keyId, statement, bytes))), /Verified Successfully/);
  assert.throws(() => verify(file('other', signedBytes(keyId, statement, Buffer.concat([bytes, Buffer.from(' ')])))));
});

test('with two pinned keys either can sign, so that a key can be rotated', t => {
  const { bytes } = release(t);
  const pinned = [key, otherKey].map((secret, i) => ({ name: `key ${i}`, key: raw(secret) }));
  const [current, next] = [seal(bytes, STATEMENT, key), seal(bytes, STATEMENT, otherKey)];
  const both = pinnedKeys(pinned);
  assert.equal(verifySidecar(bytes, current, { keys: both, now }).signers[0]!.name, 'key 0');
  assert.equal(verifySidecar(bytes, next, { keys: both, now }).signers[0]!.name, 'key 1');
  const rotated = pinnedKeys([pinned[1]!, { name: 'fresh', key: raw(generateKeyPairSync('ed25519').privateKey) }]);
  assert.equal(verifySidecar(bytes, next, { keys: rotated, now }).signers[0]!.name, 'key 1');
  assert.equal(
    codeOf(() => verifySidecar(bytes, current, { keys: rotated, now })),
    'key-unknown',
  );
  assert.equal(
    codeOf(() => verifySidecar(bytes, current, { keys: [], now })),
    'key-unknown',
  );
});

test('the id of a pinned key is the digest of its raw bytes', () => {
  const [pinned] = pinnedKeys([{ name: 'x', key: raw(key) }]);
  assert.equal(pinned!.id, keyId(key));
  assert.throws(() => pinnedKeys([{ name: 'short', key: 'AAAA' }]), { code: 'key-invalid' });
});

test('a release that is the newest for years is signed again and again, each time for 400 days at most', t => {
  const { bytes } = release(t);
  const later = Date.parse(JSON.parse(bytes.toString()).generated_at) + 3 * 365 * 86_400_000;
  const expiring = (days: number) => {
    const statement = {
      ...STATEMENT,
      expires_at: `${new Date(later + days * 86_400_000).toISOString().slice(0, 19)}Z`,
    };
    return codeOf(() => verifySidecar(bytes, seal(bytes, statement), { keys, now: later }));
  };
  assert.deepEqual([expiring(90), expiring(400), expiring(402)], ['accepted', 'accepted', 'sidecar-invalid']);
});

test('a release is valid until it expires, and from a day before the time of its making', t => {
  const { bytes, sidecar } = release(t);
  const expires = Date.parse(STATEMENT.expires_at);
  const made = Date.parse(JSON.parse(bytes.toString()).generated_at);
  const at = (time: number) => codeOf(() => verifySidecar(bytes, sidecar, { keys, now: time }));
  assert.deepEqual([at(expires - 1), at(expires)], ['accepted', 'expired']);
  assert.deepEqual([at(made - 86_400_000), at(made - 86_400_001)], ['accepted', 'not-yet-valid']);
});

test('an equal or a later serial is accepted, and an earlier one is refused', t => {
  const { bytes, sidecar } = release(t);
  const after = (lastSerial: number) => codeOf(() => verifySidecar(bytes, sidecar, { keys, now, lastSerial }));
  assert.deepEqual([after(11), after(12), after(13)], ['accepted', 'accepted', 'serial-older']);
});

test('a serial beyond the time in seconds is refused, so that the numbers cannot be used up', t => {
  const { bytes } = release(t);
  const withSerial = (serial: number) =>
    codeOf(() => verifySidecar(bytes, seal(bytes, { ...STATEMENT, serial }), { keys, now, lastSerial: 12 }));
  const tomorrow = Math.floor(now / 1000) + 86_400;
  assert.deepEqual([tomorrow, tomorrow + 1, Number.MAX_SAFE_INTEGER].map(withSerial), [
    'accepted',
    'serial-future',
    'serial-future',
  ]);
});

test('a threshold counts different trusted keys, and each of their signatures has to fit', t => {
  const { bytes } = release(t);
  const trusted = [key, otherKey, thirdKey].map(publicOf);
  const signed = (...secrets: (typeof key)[]) => signManifest(bytes, statement, ...secrets);
  const verify = (sidecar: Buffer, threshold: number, known = trusted) =>
    codeOf(() => verifySidecar(bytes, sidecar, { keys: known, threshold, now }));
  assert.equal(verify(signed(key), 2), 'signatures-missing');
  assert.equal(verify(signed(key, otherKey), 2), 'accepted');
  assert.equal(verify(signed(otherKey, key), 2), 'accepted');
  assert.equal(verify(signed(key, otherKey), 3), 'signatures-missing');
  assert.equal(verify(signed(key, key), 2), 'signatures-missing');
  const [line] = signed(key).toString().split('{');
  assert.equal(verify(Buffer.concat([Buffer.from(line!), signed(key)]), 2), 'sidecar-malformed');
  const stranger = generateKeyPairSync('ed25519').privateKey;
  assert.equal(verify(signed(key, stranger), 2), 'signatures-missing');
  assert.equal(verify(signed(key, stranger), 1), 'accepted');
  assert.equal(verify(signed(stranger), 1), 'key-unknown');
  const broken = signed(key, otherKey);
  broken[200]! ^= 1; // within the second line
  assert.notEqual(verify(broken, 2), 'accepted');
  const many = Array.from({ length: 9 }, () => generateKeyPairSync('ed25519').privateKey);
  assert.equal(verify(signed(...many.slice(1), key), 1), 'sidecar-malformed');
});

test('a stolen key is revoked by a key that outranks it, and not the other way round', t => {
  const { bytes } = release(t);
  const [current, next] = [publicOf(key), publicOf(otherKey)];
  const trust = { keys: [current, next], now };
  const revoking = (id: string, secret: typeof key) => seal(bytes, { ...STATEMENT, revoked: [id] }, secret);
  const found = verifySidecar(bytes, revoking(current.id, otherKey), trust);
  assert.deepEqual(found.revoked, [current.id]);
  // from then on
  const after = { ...trust, revoked: [current.id] };
  assert.equal(
    codeOf(() => verifySidecar(bytes, seal(bytes, STATEMENT, key), after)),
    'key-revoked',
  );
  assert.equal(
    codeOf(() => verifySidecar(bytes, seal(bytes, STATEMENT, otherKey), after)),
    'accepted',
  );
  assert.deepEqual(verifySidecar(bytes, revoking(current.id, otherKey), after).revoked, []);
  // a revoked key counts for no threshold
  assert.equal(
    codeOf(() => verifySidecar(bytes, signManifest(bytes, statement, key, otherKey), { ...after, threshold: 2 })),
    'signatures-missing',
  );
  // the stolen key can revoke neither the other one nor itself
  for (const id of [next.id, current.id])
    assert.equal(
      codeOf(() => verifySidecar(bytes, revoking(id, key), trust)),
      'sidecar-invalid',
    );
  // a key that this build does not pin needs no revocation
  assert.deepEqual(verifySidecar(bytes, revoking('0'.repeat(16), key), trust).revoked, []);
});

test('a revocation needs as many keys of a higher rank as a release needs', t => {
  const { bytes } = release(t);
  const trusted = [key, otherKey, thirdKey].map(publicOf);
  const revoked = [trusted[0]!.id];
  const verify = (...secrets: (typeof key)[]) =>
    codeOf(() =>
      verifySidecar(bytes, signManifest(bytes, { ...statement, revoked }, ...secrets), {
        keys: trusted,
        threshold: 2,
        now,
      }),
    );
  assert.equal(verify(key, thirdKey), 'sidecar-invalid');
  assert.equal(verify(otherKey, thirdKey), 'accepted');
});

test('a release that revokes a key starts the count of serials again', t => {
  const { bytes } = release(t);
  const trust = { keys: [key, otherKey].map(publicOf), now, lastSerial: 1_000_000 };
  const revoking = seal(bytes, { ...STATEMENT, revoked: [keyId(key)] }, otherKey);
  assert.equal(verifySidecar(bytes, revoking, trust).serial, 12);
  assert.equal(
    codeOf(() => verifySidecar(bytes, revoking, { ...trust, revoked: [keyId(key)] })),
    'serial-older',
  );
});

test('a manifest over the limit is refused before its signature is computed', t => {
  const { bytes } = release(t);
  const huge = Buffer.concat([bytes, Buffer.alloc(1024 * 1024, ' ')]);
  assert.equal(
    codeOf(() => verifySidecar(huge, seal(huge, STATEMENT), { keys, now })),
    'manifest-too-large',
  );
});

test('a statement that an updater would refuse is not signed', t => {
  const { bytes } = release(t);
  const sign = (change: object, manifest: Buffer = bytes) =>
    codeOf(() => signManifest(manifest, { ...statement, ...change }, key));
  assert.equal(sign({}), 'accepted');
  assert.equal(sign({ serial: 0 }), 'sidecar-invalid');
  assert.equal(sign({ minimum_version: '9.0.0' }), 'sidecar-invalid');
  assert.equal(sign({}, Buffer.from('{}')), 'manifest-invalid');
  assert.equal(sign({}, Buffer.from(bytes.toString().replace('v1.2.3', 'nightly'))), 'tag-not-version');
});

test('a downloaded file is checked while the event loop keeps turning', async t => {
  const { directory, object } = makeRelease(t);
  const name = Object.keys(CONTENTS)[0]!;
  const artifact = object.artifacts[0] as { name: string; size: number; sha256: string };
  const file = path.join(directory, name);
  assert.equal(await checkArtifact(file, artifact), undefined);
  assert.equal((await checkArtifact(file, { ...artifact, size: 1 }))?.code, 'artifact-size');
  assert.equal((await checkArtifact(file, { ...artifact, sha256: 'a'.repeat(64) }))?.code, 'artifact-hash');
  assert.equal((await checkArtifact(`${file}.gone`, artifact))?.code, 'artifact-missing');
  const big = path.join(directory, 'big');
  fs.writeFileSync(big, Buffer.alloc(8 * 1024 * 1024));
  let turns = 0;
  const checking = checkArtifact(big, { name: 'big', size: 8 * 1024 * 1024, sha256: 'a'.repeat(64) });
  const count = () => {
    if (++turns < 1000) setImmediate(count);
  };
  count();
  assert.equal((await checking)?.code, 'artifact-hash');
  assert.ok(turns >= 32, `${turns} turns of the event loop for 32 chunks`);
});

test('a link that replaces an artifact after it was checked is not followed', t => {
  const directory = temporary(t);
  fs.writeFileSync(path.join(directory, 'real'), 'content');
  fs.symlinkSync('real', path.join(directory, 'link'));
  const outcome = digest(path.join(directory, 'link'), 7, Buffer.alloc(16)).next();
  assert.deepEqual([outcome.done, (outcome.value as { code: string }).code], [true, 'artifact-not-regular']);
});

test('a file rewritten while it is read is refused, also when the time of its content is put back', t => {
  const file = path.join(temporary(t), 'file');
  fs.writeFileSync(file, 'a'.repeat(32));
  fs.utimesSync(file, 1, 1);
  const reading = digest(file, 32, Buffer.alloc(16));
  assert.equal(reading.next().value, 16);
  fs.writeFileSync(file, 'b'.repeat(32));
  fs.utimesSync(file, 1, 1);
  assert.equal(reading.next().value, 16);
  assert.equal((reading.next().value as { code: string }).code, 'artifact-changed');
});

function raw(secret: typeof key): string {
  return Buffer.from(secret.export({ format: 'jwk' }).x!, 'base64url').toString('base64');
}
