// Defines the wire types of pairing: devices on other machines, and the codes that pair them.
import * as z from 'zod/mini';
import { Time } from './values.ts';

/** A device that may use page and API from another machine. */
const PairedDevice = z.object({
  id: z.string(),
  name: z.string(),
  /** May change things; otherwise it reads only. */
  manage: z.boolean(),
  pairedAt: Time,
});
export type Device = z.infer<typeof PairedDevice>;
export const PairedDevices = z.object({ ok: z.literal(true), devices: z.array(PairedDevice) });

export const PairCodeRequest = z.strictObject({ manage: z.optional(z.boolean()) });
export const PairCode = z.object({
  /** Used once: `AB3DE-FGH2J`. */
  code: z.string(),
  manage: z.boolean(),
  expiresAt: Time,
});
export type PairCode = z.infer<typeof PairCode>;
export const PairCodeResponse = z.extend(PairCode, { ok: z.literal(true) });

/** `name` is shown in the list of devices. */
export const PairRequest = z.strictObject({
  code: z.string().check(z.minLength(1), z.maxLength(64)),
  name: z.string().check(z.minLength(1), z.maxLength(64), z.regex(/^[^\p{Cc}\p{Cf}]*$/u)),
});
/** The cookie that the device is known by comes with the response. */
export const PairResponse = z.object({ ok: z.literal(true), device: PairedDevice });

export const RevokeRequest = z.strictObject({ id: z.string().check(z.minLength(1), z.maxLength(64)) });

/** Session of the client that asks. */
export const Session = z.object({
  ok: z.literal(true),
  /** From another machine. */
  remote: z.boolean(),
  rights: z.enum(['manage', 'read']),
});
