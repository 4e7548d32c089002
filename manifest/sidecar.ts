// The sidecar's form: one line of signature, then the statement it signs, so that nothing is parsed before it is verified.

import valid from 'semver/functions/valid.js';
import * as z from 'zod/mini';
import { DateTime } from './schema.ts';

export const SIDECAR_LIMIT = 4096;
export const CHANNELS = ['stable', 'beta'] as const;
export type Channel = (typeof CHANNELS)[number];

/**
 * What an updater needs beyond the manifest. `serial` rises with every release of a channel, so that an old one can't
 * come back; after `expires_at` nobody may be held on this release; `minimum_version` is the oldest installed version
 * that can update to it in one step.
 */
export const Statement = z.strictObject(
  {
    serial: z
      .number('must be a number')
      .check(z.refine(Number.isSafeInteger, 'must be a whole number below 2^53'), z.minimum(1, 'must be at least 1')),
    expires_at: DateTime,
    channel: z.enum(CHANNELS, `must be one of ${CHANNELS.join(', ')}`),
    minimum_version: z
      .string('must be text')
      .check(z.refine(text => valid(text) === text, 'must be a version such as 1.2.3')),
  },
  'must be an object',
);
export type Statement = z.infer<typeof Statement>;

/** A sidecar taken apart by position; nothing in it is trusted or parsed yet. */
export interface Sidecar {
  readonly keyId: string;
  readonly signature: Buffer;
  /** The statement's exact bytes, the newline at the end included. */
  readonly statement: Buffer;
}

const HEADER = /^culvert-sidecar 1 ed25519 ([0-9a-f]{16}) ([0-9a-f]{128})\n/;
const HEADER_LENGTH = 'culvert-sidecar 1 ed25519 '.length + 16 + 1 + 128 + 1;

/** Writes `culvert-sidecar 1 ed25519 KEYID SIGNATURE`, a newline, and the statement. */
export function formatSidecar({ keyId, signature, statement }: Sidecar): Buffer {
  return Buffer.concat([Buffer.from(`culvert-sidecar 1 ed25519 ${keyId} ${signature.toString('hex')}\n`), statement]);
}

/** Takes a sidecar apart, or `undefined` when its first line is not of that form. */
export function splitSidecar(bytes: Uint8Array): Sidecar | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  // hexadecimal has one spelling for each signature; base64 would let some bits flip unnoticed
  const match = HEADER.exec(buffer.toString('latin1', 0, HEADER_LENGTH));
  if (!match) return undefined;
  return { keyId: match[1]!, signature: Buffer.from(match[2]!, 'hex'), statement: buffer.subarray(HEADER_LENGTH) };
}

/**
 * The bytes that are signed: the first line up to the key's id (so no signature counts in another context), the
 * statement's length in 8 bytes (so no byte can move between the two parts), the statement, and the manifest.
 */
export function signedBytes(keyId: string, statement: Uint8Array, manifest: Uint8Array): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(statement.length));
  return Buffer.concat([Buffer.from(`culvert-sidecar 1 ed25519 ${keyId}\n`), length, statement, manifest]);
}
