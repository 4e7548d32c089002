// Writes signatures and public keys in the format of minisign, so that people can check a file without this program.
import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { basename } from 'node:path';
import { reason } from '../daemon/core/errors.ts';
import { Refusal } from './errors.ts';
import { rawKey, type VerifyKey } from './keys.ts';
import type { Signer } from './signatures.ts';

/**
 * Signs a file of any size.
 * The format is that of https://jedisct1.github.io/minisign/ (read 2026-11-30), with the algorithm `ED`: Ed25519 over the
 * BLAKE2b-512 digest of the file. A second signature covers the first and the trusted comment, which holds the file's name.
 * The same file and key give the same bytes.
 * @param key public key of `sign`
 * @returns the text of `FILE.minisig`
 * @throws Refusal `input-unreadable`, `input-not-regular`
 */
export async function minisign(file: string, key: VerifyKey, sign: Signer): Promise<string> {
  const signature = sign(await blake2b(file));
  const comment = `file:${basename(file)}`;
  const global = sign(Buffer.concat([signature, Buffer.from(comment)]));
  return [
    `untrusted comment: signature by the key ${shownId(key)}`,
    Buffer.concat([Buffer.from('ED'), idBytes(key), signature]).toString('base64'),
    `trusted comment: ${comment}`,
    `${global.toString('base64')}\n`,
  ].join('\n');
}

/** Returns a public key as `minisign -P` takes it. */
export function minisignKeyText(key: VerifyKey): string {
  return Buffer.concat([Buffer.from('Ed'), idBytes(key), rawKey(key.key)]).toString('base64');
}

const idBytes = ({ id }: VerifyKey) => Buffer.from(id, 'hex');

/** minisign shows the eight bytes of an ID as a number with the last byte first. */
const shownId = (key: VerifyKey) => idBytes(key).reverse().toString('hex').toUpperCase();

async function blake2b(file: string): Promise<Buffer> {
  const hash = createHash('blake2b512');
  try {
    if (!statSync(file).isFile()) throw new Refusal('input-not-regular', `${file} is not a regular file.`);
    for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  } catch (cause) {
    if (cause instanceof Refusal) throw cause;
    throw new Refusal('input-unreadable', `${file} can't be read: ${reason(cause)}.`, { cause });
  }
  return hash.digest();
}
