// Prints the daemon's records: history, log and metrics.
import { parseDuration } from '../../../api/duration.ts';
import type { History, HistoryChange, HistorySample, HistoryTotal, LogEntry, Logs } from '../../../api/schema.ts';
import { printable } from '../../../core/printable.ts';
import { clock, dateTime } from '../../../core/terminal.ts';
import { formatBytes, formatDuration } from '../../../view/format.ts';
import { changeWords, dropCount, dropLines, lasted, monthsOf, readHistory } from '../../../view/states/records.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Options, type Run, show } from '../../context.ts';
import { consent } from '../../dialog.ts';
import { EXIT, usage } from '../../errors.ts';
import { columns } from '../../layout.ts';
import { follow } from '../../transport.ts';

export const showHistory: Run = async (context, _, options) => {
  if (options.csv && context.json) throw usage("--json and --csv can't be used together.");
  const { since, until, resolution } = options;
  checkTimes(String(since ?? '1d'), String(until ?? '0s'));
  const query = { ...text({ since, until }), ...resolutionOf(resolution) };
  const history = await readHistory(page => context.client.call('GET /api/history', { query: page }), query);
  if (options.csv) context.stdout.write(csv(history));
  else show(context, history, () => describe(context, history));
  return EXIT.ok;
};

export const clearHistory: Run = async (context, _, options) => {
  const consequence = "This deletes the whole history, up to 90 days. It can't be undone.";
  await consent(context, options, { consequence, question: 'Delete the history?' });
  show(context, await context.client.call('POST /api/history/clear', { body: {} }), () => 'The history is deleted.');
  return EXIT.ok;
};

const RESOLUTIONS = ['full', 'minute', 'hour'] as const;

function resolutionOf(given: Options[string]): { resolution?: (typeof RESOLUTIONS)[number] } {
  if (given === undefined) return {};
  const resolution = RESOLUTIONS.find(name => name === given);
  if (resolution) return { resolution };
  throw usage(`--resolution is one of ${RESOLUTIONS.join(', ')}, not "${given}".`);
}

const KEPT_DAYS = 90;

/** @throws Failure if nothing can be recorded between the times */
function checkTimes(since: string, until: string): void {
  const now = Date.now();
  const [from, to] = [momentOf(since, now), momentOf(until, now)];
  if (from > now)
    throw usage(`--since ${since} is in the future.`, 'Give a past time, or a duration back from now: 2d.');
  if (from >= to) throw usage('--until must be later than --since.');
  if (to < now - KEPT_DAYS * 86_400_000) throw usage(`The history goes back ${KEPT_DAYS} days at most.`);
}

/** Returns milliseconds since the epoch; for an invalid time NaN, for which all comparisons are false. */
function momentOf(time: string, now: number): number {
  const duration = parseDuration(time);
  return duration === null ? dateOf(time).getTime() : now - duration * 1000;
}

/** Parses a time; a date alone means its start in the local time zone. */
function dateOf(time: string): Date {
  return new Date(/^\d{4}-\d{2}-\d{2}$/.test(time) ? `${time}T00:00` : time);
}

/** Converts times for the daemon: durations stay, and other times become ISO 8601 in UTC. */
function text(times: Options): { [name: string]: string } {
  return Object.fromEntries(
    Object.entries(times).flatMap(([name, given]) => {
      if (given === undefined) return [];
      if (/^(\d{1,6}[dhms])+$/.test(String(given))) return [[name, String(given)]];
      const moment = dateOf(String(given));
      if (Number.isNaN(moment.getTime()))
        throw usage(`--${name} takes a duration such as 2d, or a time such as 2026-11-21T18:00, not "${given}".`);
      return [[name, moment.toISOString()]];
    }),
  );
}

function describe({ style, width }: Context, history: History): string {
  const { changes, totals, enabled } = history;
  const { bold, dim, red } = style;
  const parts: string[] = [];
  if (changes.length) parts.push(timeline(history, style, width));
  if (totals?.days.length) {
    const months = totals.days[0]!.day.slice(0, 7) === totals.days.at(-1)!.day.slice(0, 7) ? [] : monthsOf(totals.days);
    const rows = [
      ['', 'CONNECTED', 'RECEIVED', 'SENT', 'DROPS'],
      ...totals.days.map(day => totalRow(day.day, day)),
      ...months.map(month => totalRow(month.month, month)),
      totalRow('total', totals),
    ];
    parts.push(columns(rows, (cell, column) => (column === 0 ? bold(cell) : cell), width));
    const drops = dropLines(totals, english);
    if (drops.length) parts.push(drops.map(red).join('\n'));
  }
  if (!parts.length) parts.push('Nothing was recorded in this time.');
  if (history.problem !== undefined) parts.push(red(printable(`The history is not recorded: ${history.problem}`)));
  if (!enabled) parts.push(dim('The history is turned off: culvert config set history.enabled true'));
  return parts.join('\n\n');
}

function timeline(history: History, { bold, dim, green, red, yellow }: Context['style'], width: number): string {
  const { changes } = history;
  const tones: Partial<Record<HistoryChange['state'], (text: string) => string>> = {
    connected: green,
    unable: red,
    connecting: yellow,
    unknown: yellow,
  };
  const lines = changes.flatMap((change, i): { cells: string[]; change?: HistoryChange }[] => {
    const { title, details, code } = changeWords(change, english);
    const ms = lasted(history, i);
    const time = ms === null ? '' : formatDuration(ms / 1000, english);
    const line = { cells: ['', clock(change.at), title, time, code ? `${details} (${code})` : details], change };
    const day = dayOf(change.at);
    return i > 0 && dayOf(changes[i - 1]!.at) === day ? [line] : [{ cells: [day] }, line];
  });
  const paint = (cell: string, column: number, row: number) => {
    const { change } = lines[row]!;
    if (!change) return bold(cell);
    if (column === 1) return dim(cell);
    if (column > 2) return cell;
    return (change.kind === 'stop' ? dim : (tones[change.state] ?? dim))(cell);
  };
  return columns(
    lines.map(({ cells }) => cells),
    paint,
    width,
  );
}

/** Returns the local date, such as `2026-11-21`. */
const dayOf = (iso: string) => dateTime(iso).slice(0, 10);

function totalRow(name: string, total: HistoryTotal): string[] {
  const { connectedSeconds, received, sent } = total;
  const amounts = [received, sent].map(amount => formatBytes(amount, english));
  return [name, formatDuration(connectedSeconds, english), ...amounts, String(dropCount(total))];
}

const HEADER = 'time,kind,state,reason,blocked,network,mode,colo,seconds,latency_ms,loss,received,sent';

/** Returns a line for each change and sample, sorted by time (RFC 4180; no value has a comma or quote). */
function csv({ changes, samples }: History): string {
  const lines = [
    ...changes.map(change => ({ at: change.at, cells: changeCells(change) })),
    ...samples.map(sample => ({ at: sample.at, cells: sampleCells(sample) })),
  ].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  return `${[HEADER, ...lines.map(({ at, cells }) => [at, ...cells].map(cell => cell ?? '').join(','))].join('\r\n')}\r\n`;
}

const changeCells = ({ kind, state, reason, blocked, network, mode, colo }: HistoryChange) => [
  kind,
  state,
  reason,
  blocked,
  network,
  mode,
  colo,
  '',
  '',
  '',
  '',
  '',
];
const sampleCells = ({ seconds, latencyMs, loss, received, sent }: HistorySample) => [
  'sample',
  '',
  '',
  '',
  '',
  '',
  '',
  seconds,
  latencyMs,
  loss,
  received,
  sent,
];

export const logs: Run = async (context, _, options) => {
  const limit = typeof options.limit === 'string' ? options.limit : '50';
  if (!/^\d{1,6}$/.test(limit)) throw usage(`--limit takes a number of entries, not "${limit}".`);
  if (options.follow) return followLogs(context, Number(limit));
  const all = await readLogs(context);
  show(
    context,
    { ...all, entries: last(all.entries, Number(limit)) },
    ({ entries }) => entries.map(e => line(context, e)).join('\n') || 'No command was run yet.',
  );
  return EXIT.ok;
};

/** Subscribes before reading, so that it misses no entry; skips printed entries by id. */
async function followLogs(context: Context, limit: number): Promise<number> {
  let seen = 0;
  let read = false;
  const put = (entry: LogEntry) => {
    if (entry.id <= seen) return;
    seen = entry.id;
    context.print(context.json ? JSON.stringify(entry) : line(context, entry));
  };
  for await (const followed of follow(context.client, context.signal)) {
    if (followed.kind === 'lost') {
      read = false;
      context.say(`${followed.why} Waiting for it to come back.`);
      continue;
    }
    if (followed.kind === 'back') context.say('The daemon is back.');
    if (!read) {
      const first = seen === 0;
      const log = await readLogs(context);
      if (log.next < seen) seen = 0; // a new daemon counts from the start
      for (const entry of first ? last(log.entries, limit) : log.entries) put(entry);
      seen = Math.max(seen, log.next);
      read = true;
    }
    if (followed.kind === 'event' && followed.event.event === 'log') put(followed.event.data);
  }
  return EXIT.ok;
}

/** Reads all entries, page by page. */
async function readLogs({ client }: Context): Promise<Logs> {
  const entries: LogEntry[] = [];
  let since = 0;
  for (;;) {
    const page = await client.call('GET /api/logs', { query: { since: String(since) } });
    entries.push(...page.entries);
    if (!page.entries.length || page.next <= since) return { ...page, entries };
    since = page.next;
  }
}

function last(entries: LogEntry[], limit: number): LogEntry[] {
  return limit === 0 ? [] : entries.slice(-limit);
}

function line({ style }: Context, { at, argv, ok, exitCode, durationMs, stdout, stderr }: LogEntry): string {
  const command = argv.map(arg => (/^[\w@%+=:,./*[\]-]+$/.test(arg) ? arg : `'${printable(arg)}'`)).join(' ');
  const took = style.dim(`${Math.round(durationMs)} ms`);
  const head = `${style.dim(clock(at))} ${ok ? style.green('✓') : style.red('✗')} ${command}  ${took}`;
  if (ok) return head;
  const why = printable((stderr.trim() || stdout.trim()).split('\n')[0] ?? '');
  return `${head}\n         ${style.red(exitCode === null ? 'killed' : `exit ${exitCode}`)}${why ? `: ${why}` : ''}`;
}

export const metrics: Run = async context => {
  const text = await context.client.text('GET /api/metrics');
  show(context, { ok: true, text }, () => text.trimEnd());
  return 0;
};
