// Values that many wire types share.
import * as z from 'zod/mini';

/** ISO 8601 in UTC, as `Date.prototype.toISOString` prints it. */
export const Time = z.iso.datetime();
export const Count = z.number().check(z.nonnegative());

/**
 * A sentence that clients put into the reader's language: `text` is English, as the catalogs have it, and `values` fill
 * its `%s` and `%d` in order. Numbers are counts of things, and a `word` is in the catalogs as well;
 * what else is quoted comes as text.
 */
export const Message = z.object({
  text: z.string(),
  values: z.array(z.union([z.string(), z.int(), z.object({ time: Time }), z.object({ word: z.string() })])),
  /** The language of what is quoted, where it is one. */
  language: z.optional(z.literal('en')),
});
export type Message = z.infer<typeof Message>;
