// A program to be killed: records into a directory, or deletes what is there, and ends.
import { createHistoryService } from '../../../daemon/history/history-service.ts';
import { NOON, seen } from './seen.ts';

const [directory = '', act = ''] = process.argv.slice(2);
let now = NOON;
const history = createHistoryService({
  directory,
  say: line => process.stderr.write(line),
  now: () => now,
  steady: () => now - NOON,
});
if (act === 'clear') history.clear();
else
  for (const [minute, received] of [
    [20, 500],
    [40, 700],
    [13 * 60, 900],
  ] as const) {
    now = NOON + minute * 60_000;
    history.record([seen(minute, 'connected', null, received)]);
  }
process.exit(0);
