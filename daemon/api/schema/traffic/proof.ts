// Defines the wire types of `POST /api/proof`: whether a request came through the tunnel, and how it appeared there.
import * as z from 'zod/mini';
import { Message, Time } from '../values.ts';

/** `limitSeconds`: time for the answer of the page. */
export const ProofRequest = z.strictObject({ limitSeconds: z.optional(z.int().check(z.gte(1), z.lte(15))) });
export type ProofRequest = z.infer<typeof ProofRequest>;

export const Proof = z.object({
  ok: z.literal(true),
  /** The page saw the request come through the tunnel. */
  through: z.boolean(),
  /** The page said whether the tunnel was used. */
  answered: z.boolean(),
  /** Words of the page, or the reason why it could not be read. */
  seen: Message,
  /** Public address, and IATA code of the data center, that the page saw; null if it did not say. */
  address: z.nullable(z.string()),
  dataCenter: z.nullable(z.string()),
  at: Time,
});
export type Proof = z.infer<typeof Proof>;
