// `culvert killswitch blocked`: prints what was blocked in the last ten minutes, or each destination as it is blocked.
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, Unreachable } from '../../../api/client.ts';
import type { BlockedEntry, BlockedResponse } from '../../../api/schema.ts';
import { printable } from '../../../system/printable.ts';
import { timeOfDay } from '../../../view/format.ts';
import { originOf, READ_BLOCKED_MS, ruleText, targetOf } from '../../../view/forms/tunnel/blocked.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Run, show } from '../../context.ts';
import { EXIT } from '../../errors.ts';
import { columns } from '../../terminal/columns.ts';

export const killSwitchBlocked: Run = async (context, _, options) => {
  if (options.watch) return watch(context);
  const list = await read(context);
  show(context, list, () => table(list, context));
  return EXIT.ok;
};

/** Records from its first look on, and prints a line for each destination, and again when it is blocked further. */
async function watch(context: Context): Promise<number> {
  let packets: ReadonlyMap<string, number> = new Map();
  let isFirst = true;
  while (!context.signal.aborted) {
    const list = await read(context);
    if (isFirst && !context.json && !list.entries.length) context.say('Watching what is blocked. Ctrl+C ends it.');
    isFirst = false;
    const next = compare(list.entries, packets);
    packets = next.packets;
    for (const entry of next.further.reverse())
      context.print(context.json ? JSON.stringify({ ok: true, ...entry }) : lineOf(entry));
    await delay(READ_BLOCKED_MS, undefined, { signal: context.signal }).catch(() => {});
  }
  return EXIT.ok;
}

/**
 * Compares the list with the last one. A destination that left the list is new when it comes back.
 * @param before packets of each destination
 * @returns entries that were blocked further, and the packets of each now
 */
export function compare(entries: readonly BlockedEntry[], before: ReadonlyMap<string, number>) {
  const packets = new Map<string, number>();
  const further: BlockedEntry[] = [];
  for (const entry of entries) {
    const key = JSON.stringify({ ...entry, packets: 0, since: '', last: '', programs: [] });
    packets.set(key, entry.packets);
    if (before.get(key) !== entry.packets) further.push(entry);
  }
  return { further, packets };
}

/** Without a daemon, and for root, the root service itself is asked. */
async function read(context: Context): Promise<BlockedResponse> {
  try {
    return await context.client.call('GET /api/killswitch/blocked');
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
  }
  const [{ readBlocked }, { SERVICE_PATHS }, { Problem }] = await Promise.all([
    import('../../../killswitch/client/records.ts'),
    import('../../../killswitch/client/published-state.ts'),
    import('../../../problem.ts'),
  ]);
  try {
    return { ok: true, ...(await readBlocked(SERVICE_PATHS)) };
  } catch (error) {
    throw error instanceof Problem ? new ApiError(error.toJSON()) : error;
  }
}

function table(list: BlockedResponse, context: Context): string {
  const { recordingSince, entries, hidden, missed } = list;
  if (recordingSince === null) return 'Nothing is blocked: the root service is not running.';
  const since = timeOfDay(recordingSince, true);
  const more = [
    ...(hidden ? [`${hidden} more of other users; root sees all: sudo culvert killswitch blocked`] : []),
    ...(missed ? [`${missed} packets more since ${since}, for which the list has no room.`] : []),
  ];
  if (!entries.length)
    return [`Nothing was blocked since ${since}, when the recording began. It goes on for a minute.`, ...more].join(
      '\n',
    );
  const rows = entries.map(entry => [
    timeOfDay(entry.last, true),
    originOf(entry, english),
    targetOf(entry),
    String(entry.packets),
    timeOfDay(entry.since, true),
    ruleText(entry, english),
  ]);
  const heading = ['LAST', 'PROGRAM', 'TO', 'PACKETS', 'SINCE', 'RULE'];
  return [columns([heading, ...rows], text => text, context.width), ...more].join('\n');
}

function lineOf(entry: BlockedEntry): string {
  const parts = [timeOfDay(entry.last, true), originOf(entry, english), '->', targetOf(entry)];
  return printable(
    `${parts.join(' ')}, ${entry.packets} packet${entry.packets === 1 ? '' : 's'}: ${ruleText(entry, english)}`,
  );
}
