// Keeps what rules changed, and the user's answers, across restarts of the daemon.
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod/mini';
import { MODES, PROTOCOLS } from '../../api/actions.ts';
import { RuleEffect } from '../../api/networks.ts';
import { Time } from '../../api/values.ts';
import { errno, reason } from '../../system/errno.ts';
import { makeDirectory, replaceFile } from '../../system/files.ts';

/** A value that a rule set, and the one before. */
const Made = z.discriminatedUnion('subject', [
  z.object({ subject: z.literal('connection'), before: z.boolean(), set: z.boolean() }),
  z.object({ subject: z.literal('mode'), before: z.enum(MODES), set: z.enum(MODES) }),
  z.object({ subject: z.literal('protocol'), before: z.nullable(z.enum(PROTOCOLS)), set: z.enum(PROTOCOLS) }),
  /** Canonical entries that were added. */
  z.object({ subject: z.literal('routes'), set: z.array(z.string()) }),
  /** It was turned on. */
  z.object({ subject: z.literal('killSwitch') }),
]);
export type Made = z.infer<typeof Made>;

const Memory = z.object({
  version: z.literal(1),
  /** The place that the rules were followed at last; null before. */
  place: z.nullable(z.string()),
  /** The user reverted what the rules did at that place. */
  reverted: z.boolean(),
  acted: z.nullable(z.object({ rule: z.string(), at: Time })),
  /** Effects that were set there, as `subject value`: what the user does afterwards holds. */
  followed: z.array(z.string()),
  /** Changes by rules. Only one that `returns` does so when its network is left. */
  made: z.array(z.object({ change: Made, returns: z.boolean(), effect: z.optional(RuleEffect) })),
  /** Effects that can cut off, as `key subject value` with the key of the rule, and were set since they were last kept or reverted. */
  tried: z._default(z.array(z.string()), []),
  /** Those of them that were kept once, which are set without a limit. */
  kept: z._default(z.array(z.string()), []),
  /** Answers about rules that lower the protection, by the keys of the rules. */
  answers: z.record(z.string(), z.boolean()),
});
type Memory = z.infer<typeof Memory>;

const EMPTY: Memory = z.parse(Memory, {
  version: 1,
  place: null,
  reverted: false,
  acted: null,
  followed: [],
  made: [],
  answers: {},
});

/** A missing file, or one that is not understood, means that no rule was followed yet. */
function loadMemory(path: string, say: (line: string) => void): Memory {
  try {
    return z.parse(Memory, JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    if (errno(error) !== 'ENOENT')
      say(`${path} can't be read, so answers about networks are asked again: ${reason(error)}`);
    return structuredClone(EMPTY);
  }
}

export interface Keeper {
  readonly memory: Memory;
  /** Changes it, and writes the file. A failure is only reported: the rules hold all the same. */
  save(change: Partial<Memory>): void;
}

export function keepMemory(path: string, say: (line: string) => void): Keeper {
  const memory = loadMemory(path, say);
  return {
    memory,
    save(change) {
      Object.assign(memory, change);
      try {
        makeDirectory(dirname(path));
        replaceFile(path, `${JSON.stringify(memory)}\n`);
      } catch (error) {
        say(`Networks: ${reason(error)}`);
      }
    },
  };
}
