// `culvert logs`: list the commands run by Culvert and what came of it, once or as it happens.
import type { LogEntry, Logs } from '../../../api/schema.ts';
import { printable } from '../../../system/printable.ts';
import { clock } from '../../../system/terminal.ts';
import { type Context, type Run, show } from '../../context.ts';
import { EXIT, usage } from '../../errors.ts';
import { follow } from '../../follow.ts';

export const logs: Run = async (context, _, options) => {
  const limit = typeof options.limit === 'string' ? options.limit : '50';
  if (!/^\d{1,6}$/.test(limit)) throw usage(`--limit takes a number of entries, not "${limit}".`);
  if (options.follow) return followLogs(context, Number(limit));
  const all = await readSince(context, 0);
  show(
    context,
    { ...all, entries: last(all.entries, Number(limit)) },
    ({ entries }) => entries.map(e => line(context, e)).join('\n') || 'No command was run yet.',
  );
  return EXIT.ok;
};

/** Listens first and reads then, so that no entry falls between; ids show which were printed. */
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
      const log = await readSince(context, 0);
      if (log.next < seen) seen = 0; // another daemon counts from the start
      for (const entry of first ? last(log.entries, limit) : log.entries) put(entry);
      seen = Math.max(seen, log.next);
      read = true;
    }
    if (followed.kind === 'event' && followed.event.event === 'log') put(followed.event.data);
  }
  return EXIT.ok;
}

/** Every entry after `since`, over as many pages as it takes. */
async function readSince({ client }: Context, since: number): Promise<Logs> {
  const entries: LogEntry[] = [];
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
