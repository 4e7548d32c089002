// Describes the page of the command log: its bounded list of entries, its filter and its words.
import type { LogEntry } from '../api/schema.ts';
import { quote } from './fix.ts';
import { type Status, workCommand } from './form.ts';
import { searchable } from './text-search.ts';
import { fill, type Translator } from './translator.ts';

interface Ring {
  entries(): LogEntry[];
  /**
   * Adds the entries that are new, and drops the oldest entries beyond the capacity.
   * @returns the appended entries and the number dropped from the front, or null if entries were inserted elsewhere.
   */
  add(entries: LogEntry[]): { added: LogEntry[]; dropped: number } | null;
  /** Replaces all entries, because another daemon's ids begin at 1 again. */
  reset(capacity: number, entries: LogEntry[]): void;
}

/**
 * Creates a log of the newest entries, oldest first.
 * @param capacity number of entries that the daemon keeps
 * @param slack number of further entries to keep before the oldest are dropped together
 */
export function createRing(capacity: number, slack = 0): Ring {
  let kept: LogEntry[] = [];
  return {
    entries: () => kept,
    add(entries) {
      const newest = kept.at(-1)?.id ?? 0;
      const added = entries.filter(entry => entry.id > newest).slice(-capacity);
      const late = entries.filter(entry => entry.id <= newest && !kept.some(({ id }) => id === entry.id));
      const all = [...kept, ...late, ...added];
      if (late.length) all.sort((a, b) => a.id - b.id);
      const dropped = all.length > capacity + slack ? all.length - capacity : 0;
      kept = all.slice(dropped);
      return late.length ? null : { added, dropped };
    },
    reset(size, entries) {
      capacity = size;
      kept = entries.slice(-size);
    },
  };
}

/** `notable` hides successful reads, which occur every few seconds while a client shows statistics. */
export const SHOWS = ['notable', 'all', 'failures'] as const;
export type Shows = (typeof SHOWS)[number];

export function showsName(shows: Shows, { _ }: Translator): string {
  const names: Record<Shows, string> = {
    notable: _('Hide status checks'),
    all: _('Everything'),
    failures: _('Failures'),
  };
  return names[shows];
}

/** True for an entry that passes the filter; `query` is searched in the command and its output. */
export function passes(entry: LogEntry, shows: Shows, query: string): boolean {
  if (shows === 'failures' && entry.ok) return false;
  if (shows === 'notable' && entry.ok && entry.source === 'read') return false;
  const wanted = query.trim().toLowerCase();
  return !wanted || textOf(entry).includes(wanted);
}

const textOf = searchable<LogEntry>(({ argv, stdout, stderr }) => [argv.join(' '), stdout, stderr].join('\n'));

/** Returns the time when a command ended, in ms since the epoch, by which the log is sorted. */
export function endOf({ at, durationMs }: LogEntry): number {
  return Date.parse(at) + durationMs;
}

/** Quotes the command for a shell. */
export function commandLine({ argv }: Pick<LogEntry, 'argv'>): string {
  return quote(argv);
}

/** Quotes the command without its program, which is nearly always the same. */
export function shortCommand({ argv }: Pick<LogEntry, 'argv'>): string {
  return commandLine({ argv: argv.length > 1 ? argv.slice(1) : argv });
}

/** Words the outcome of a command. */
export function outcome({ ok, exitCode, source }: LogEntry, { _ }: Translator): string {
  if (ok) return _('OK');
  // a watcher never ends on its own
  if (exitCode === null) return source === 'watch' ? _('ended') : _('killed');
  // the exit code says nothing about this failure
  if (exitCode === 0) return _('failed');
  // Translators: %d is the exit code of a program
  return fill(_('exit %d'), exitCode);
}

/** Returns the output of a command, without trailing space; null if it printed nothing. */
export function outputOf({ stdout, stderr }: LogEntry): string | null {
  const text = [stdout, stderr]
    .map(part => part.trimEnd())
    .filter(Boolean)
    .join('\n');
  return text || null;
}

/** Formats an entry as text for the clipboard. */
export function asText(entry: LogEntry, tr: Translator): string {
  const head = `${entry.at} $ ${commandLine(entry)}  # ${outcome(entry, tr)}, ${Math.round(entry.durationMs)} ms`;
  return [head, outputOf(entry)].filter(Boolean).join('\n');
}

interface Listed {
  /** Number of commands, listed or not. */
  total: number;
  /** True if a search is the reason. */
  filtered: boolean;
  /** Ends the search and lists all commands. */
  showAll(): void;
}

/** Returns the status to show instead of an empty list. */
export function emptyStatus({ total, filtered, showAll }: Listed, { _ }: Translator): Status {
  const all = { label: _('Show all'), command: workCommand(async () => showAll()) };
  const status = (title: string, sentence: string): Status => ({
    icon: 'culvert-console-symbolic',
    tone: 'neutral',
    title,
    sentence,
    buttons: total === 0 ? [] : [all],
  });
  if (total === 0) return status(_('No commands yet'), _('Commands run by Culvert are listed here.'));
  return filtered
    ? status(_('Nothing found'), _('No command matches the search.'))
    : status(_('Nothing to show'), _('Only status checks so far'));
}
