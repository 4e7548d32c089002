// Defines the wire types of the registration of this device.
import * as z from 'zod/mini';
import { StalePart } from './traffic/tunnel.ts';

export const Device = z.object({
  deviceId: z.string(),
  name: z.nullable(z.string()),
  model: z.nullable(z.string()),
  os: z.nullable(z.string()),
  active: z.nullable(z.boolean()),
});
export type Device = z.infer<typeof Device>;
export const Account = z.object({
  ok: z.literal(true),
  registered: z.nullable(z.boolean()),
  type: z.nullable(z.string()),
  organization: z.nullable(z.string()),
  deviceId: z.nullable(z.string()),
  accountId: z.nullable(z.string()),
  /** Masked: only the last four characters are shown. */
  license: z.nullable(z.string()),
  managed: z.nullable(z.boolean()),
  devices: z.array(Device),
  stale: z.optional(z.array(StalePart)),
});
export type Account = z.infer<typeof Account>;
