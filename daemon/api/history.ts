// Defines the history in the contract: changes of the tunnel's state, samples of its figures, and totals.
import * as z from 'zod/mini';
import { Subject } from './changes.ts';
import { DURATION } from './duration.ts';
import { Empty, type EndpointTable } from './endpoint.ts';
import { RuleRecord } from './networks.ts';
import { ConnectionState } from './tunnel.ts';
import { Blocked, Count, Time } from './values.ts';

/** Resolution of the samples: as recorded, or one per minute or hour. */
export const HistoryResolution = z.enum(['full', 'minute', 'hour']);
export type HistoryResolution = z.infer<typeof HistoryResolution>;

export const HistoryChange = z.object({
  at: Time,
  /** `start` and `stop` mark when Culvert began and stopped recording; nothing is known about the gap. */
  kind: z.enum(['state', 'start', 'stop']),
  state: ConnectionState,
  /** The tunnel CLI's own name for the reason, such as `HappyEyeballsFailed`; null without a reason. */
  reason: z.nullable(z.string()),
  /** False if `Manual` is only the tunnel CLI's word: Culvert turned the tunnel off, or it was off before. */
  byUser: z.optional(z.literal(false)),
  blocked: z.nullable(Blocked),
  network: z.nullable(z.enum(['healthy', 'unstable'])),
  mode: z.nullable(z.string()),
  colo: z.nullable(z.string()),
  /** Effect of a network rule that began or ended. */
  effect: z.optional(RuleRecord),
  /** Subject of a change that Culvert reverted, because it was not confirmed or its time was up. */
  reverted: z.optional(Subject),
});
export type HistoryChange = z.infer<typeof HistoryChange>;

export const HistorySample = z.object({
  /** Time of the reading, or start of the period that the sample sums up. */
  at: Time,
  /** Duration of the transfer. */
  seconds: Count,
  /** Mean, minimum and maximum latency; null if not reported. */
  latencyMs: z.nullable(Count),
  latencyMinMs: z.nullable(Count),
  latencyMaxMs: z.nullable(Count),
  /** Fraction of packets lost. */
  loss: z.nullable(Count),
  received: Count,
  sent: Count,
});
export type HistorySample = z.infer<typeof HistorySample>;

/** Totals of a period. */
const Total = z.object({
  connectedSeconds: Count,
  received: Count,
  sent: Count,
  /** Number of connections that ended without a request, by reason or `blocked` value; `unknown` if neither is known. */
  drops: z.record(z.string(), Count),
});
export type HistoryTotal = z.infer<typeof Total>;
/** Totals of a day in the daemon's time zone. */
export const HistoryDay = z.extend(Total, { day: z.iso.date() });
export type HistoryDay = z.infer<typeof HistoryDay>;

/** A duration before now (`2d`), or a time. */
const Since = z.union([z.string().check(z.maxLength(32), z.regex(DURATION)), Time]);

export const HistoryQuery = z.strictObject({
  /** Default: `1d`. At most 90 days back. */
  since: z.optional(Since),
  /** Default: now. */
  until: z.optional(Since),
  /** Default: depends on the length of the period. */
  resolution: z.optional(HistoryResolution),
  /** The `next` of the previous page. */
  cursor: z.optional(z.string().check(z.regex(/^\d{1,15}$/))),
});
export type HistoryQuery = z.infer<typeof HistoryQuery>;

export const History = z.object({
  ok: z.literal(true),
  /** True if the history is recorded (`history.enabled`). */
  enabled: z.boolean(),
  /** Why nothing is recorded, although it should be; absent without a problem. A `stop` marks the time of the last record. */
  problem: z.optional(z.string()),
  since: Time,
  until: Time,
  resolution: HistoryResolution,
  /** Oldest first, like the samples. */
  changes: z.array(HistoryChange),
  samples: z.array(HistorySample),
  /** Totals of the requested period; null on later pages. */
  totals: z.nullable(z.extend(Total, { days: z.array(HistoryDay) })),
  /** The `cursor` of the next page; null on the last page. */
  next: z.nullable(z.string()),
});
export type History = z.infer<typeof History>;

export const HistoryClearResponse = z.object({ ok: z.literal(true) });

/** Data of the event that reports the deletion of the history. */
export const HistoryCleared = z.object({ clearedAt: Time });

export const historyEndpoints = {
  'GET /api/history': {
    summary:
      'Changes of the state, samples of the statistics, and totals. `since` and `until` take a duration back from now (`2d`) or a time; `next` is the `cursor` of the next page',
    query: HistoryQuery,
    response: History,
  },
  'POST /api/history/clear': {
    summary: 'Delete the history; a `history` event notifies every client',
    body: Empty,
    response: HistoryClearResponse,
    problems: ['state-not-writable'],
  },
} as const satisfies EndpointTable;
