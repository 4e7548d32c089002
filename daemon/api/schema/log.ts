// Defines the wire types of the command log.
import * as z from 'zod/mini';
import { Count, Time } from './values.ts';

export const LogEntry = z.object({
  id: z.int(),
  at: Time,
  /** Origin of the command: `action`, `read`, or `watch`. */
  source: z.enum(['action', 'read', 'watch']),
  argv: z.array(z.string()),
  ok: z.boolean(),
  exitCode: z.nullable(z.int()),
  durationMs: Count,
  stdout: z.string(),
  stderr: z.string(),
});
export type LogEntry = z.infer<typeof LogEntry>;
export const Logs = z.object({
  ok: z.literal(true),
  /** Oldest first, `id` greater than `since`. */
  entries: z.array(LogEntry),
  /** Pass as the next `since`: the id of the last entry, or of the newest one where `since` is beyond it. */
  next: z.int(),
  /** Id of the oldest entry that is kept, or null before the first. */
  oldest: z.nullable(z.int()),
  /** Entries after `since` that are no longer kept. */
  lost: z.int(),
  capacity: z.int(),
});
export type Logs = z.infer<typeof Logs>;
