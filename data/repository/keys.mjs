// Reads the keys that sign a release, and what is pinned of them in data/project.json.
// As a program it says by its exit status whether one of them has a certificate, by which it is known in OpenPGP.
import { spawnSync } from 'node:child_process';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { armored, fingerprint, signerOf } from './openpgp.mjs';

/** Ten years: a key is replaced by a planned rotation long before, or on the day that it is lost. */
export const LIFETIME = 10 * 365 * 86_400;

const top = resolve(import.meta.dirname, '../..');

/** The raw 32 bytes of a key. */
export const rawKey = key =>
  Buffer.from((key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' }).x, 'base64url');

const read = () => JSON.parse(readFileSync(join(top, 'data/project.json'), 'utf8'));

/** The pinned keys that have a certificate and were not revoked. Packages and repositories know these alone. */
export function certified(project = read()) {
  return project.releaseKeys.pinned
    .filter(({ certificate, revoked }) => certificate && !revoked)
    .map(({ name, key, created, expires, certificate }) => {
      const time = Date.parse(created) / 1000;
      const raw = Buffer.from(key, 'base64');
      const print = fingerprint({ key: raw, created: time });
      return {
        name,
        key: raw,
        created: time,
        expires,
        fingerprint: print,
        certificate: Buffer.from(certificate, 'base64'),
      };
    });
}

/** The private keys in a text of PEM. */
export function privateKeys(text) {
  const blocks = text.match(/-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----/g) ?? [];
  return blocks.map(block => createPrivateKey(block));
}

/** Signs by a command that gets the bytes on stdin and prints the raw signature. */
export const commandSigner = command => bytes => {
  const { status, stdout } = spawnSync('/bin/sh', ['-c', command], {
    input: bytes,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (status !== 0 || stdout.length !== 64) throw new Error(`The signer did not sign: exit status ${status}.`);
  return stdout;
};

/**
 * The keys to sign with, each of which is pinned with a certificate.
 * @param {string} pem private keys, or a public one where a command signs
 * @param {string} [command]
 */
export function signingKeys(pem, command) {
  const pinned = certified();
  const keys = command
    ? [{ raw: rawKey(createPublicKey(pem)), signer: commandSigner(command) }]
    : privateKeys(pem).map(key => ({ raw: rawKey(key), signer: signerOf(key) }));
  if (keys.length === 0) throw new Error('There is no key to sign with.');
  return keys.map(({ raw, signer }) => {
    const known = pinned.find(({ key }) => key.equals(raw));
    if (!known)
      throw new Error(
        'The key is not pinned with a certificate in data/project.json, or it was revoked: see data/doc/release-keys.md.',
      );
    return { key: raw, created: known.created, signer };
  });
}

/** The certificates of all pinned keys: as apt reads them, and as dnf and gpg import them. */
export function keyrings() {
  const pinned = certified();
  return {
    binary: Buffer.concat(pinned.map(({ certificate }) => certificate)),
    text: pinned.map(({ certificate }) => armored('PUBLIC KEY BLOCK', certificate)).join(''),
  };
}

if (process.argv[1] === import.meta.filename) process.exit(certified().length > 0 ? 0 : 1);
