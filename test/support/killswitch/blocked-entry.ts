// An entry of the list of what the kill switch blocked.
import type { BlockedEntry } from '../../../daemon/api/schema.ts';

/** One question for a name, of a program without a unit. */
export const BLOCKED_ENTRY: BlockedEntry = {
  rule: 'dns',
  uid: 1000,
  unit: null,
  programs: [],
  source: null,
  protocol: 'udp',
  address: '203.0.113.53',
  port: 53,
  packets: 1,
  since: '2026-11-26T07:01:00Z',
  last: '2026-11-26T07:02:00Z',
};
