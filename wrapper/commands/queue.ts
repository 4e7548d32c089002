// Implements `queue list|run|drop`.
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { readOptional } from '../../daemon/core/files.ts';
import type { Context } from '../context.ts';
import { claim, drop, Failure, type Queued, readQueue, reclaim, reportFile } from '../manage/queue.ts';
import { exitLike } from '../run/upstream/attempt.ts';
import { HERE_DOCUMENTS, WITH_PIPES } from '../run/upstream/pipes.ts';
import type { Programs } from '../shims/shim.ts';
import { findOnPath, readInstalls } from '../store/installs.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { emit, type Options, table, time } from './print.ts';

/** `queue list` */
export function showQueue(options: Options, { paths }: Context): void {
  const { entries, running, damaged } = readQueue(paths);
  const withoutStdin = ({ stdin, ...entry }: Queued) => ({ ...entry, hasStdin: stdin !== undefined });
  const queue = entries.map(withoutStdin);
  const row = (entry: Omit<Queued, 'stdin'>, state: string) => [
    entry.id,
    time(entry.at),
    state,
    `${entry.cli} ${entry.args.join(' ')}`.slice(0, 60),
    entry.cwd,
  ];
  const rows = [...queue.map(entry => row(entry, stateOf(entry))), ...running.map(entry => row(entry, 'running'))];
  const broken = damaged.map(({ id, file, why }) => [id, '-', `damaged: ${why}`.slice(0, 60), '-', file]);
  emit(
    options.json,
    { queue, running: running.map(withoutStdin), damaged },
    rows.length + broken.length > 0
      ? table([['ID', 'SINCE', 'STATE', 'COMMAND', 'DIRECTORY'], ...rows, ...broken])
      : 'The queue is empty. A command is queued when no account has quota left.',
  );
}

function stateOf({ failed, tries }: Pick<Queued, 'failed' | 'tries'>): string {
  return failed ? `${WHY[failed.why]} (exit ${failed.exit ?? '-'}, tried ${tries} ×)` : 'waiting';
}

const WHY: Record<Failure, string> = {
  limit: 'no account was left',
  other: 'failed',
  usage: 'the command line is wrong',
  uncertain: 'may have been done',
};

/** `queue drop <id…>`, or `--all`. */
export function dropQueued(ids: readonly string[], options: Options & { all?: boolean }, { paths }: Context): void {
  const { entries, running, damaged } = readQueue(paths);
  const selection = options.all ? [...entries, ...running, ...damaged].map(({ id }) => id) : ids;
  const dropped = selection.filter(id => drop(paths, id));
  rejectUnknown(selection.filter(id => !dropped.includes(id)));
  emit(options.json, { dropped }, dropped.length > 0 ? `dropped ${dropped.join(', ')}` : 'the queue is empty');
}

/**
 * `queue run [id…]`: runs entries in order, each in its own directory. Drops an entry that succeeds, and keeps the others.
 * After a limit, leaves the other entries of that CLI for later. Without ids, skips entries that can't succeed or may have
 * been done. Passes a signal on to the running command, and ends after it.
 */
export async function runQueue(
  ids: readonly string[],
  options: Options,
  context: Context,
  programs: Programs,
): Promise<void> {
  const { paths } = context;
  reclaim(paths);
  const { entries, damaged } = readQueue(paths);
  rejectUnknown(ids.filter(id => !entries.some(entry => entry.id === id)));
  const runnable = entries.filter(entry => (ids.length > 0 ? ids.includes(entry.id) : isWorthRunning(entry)));
  const results: { id: string; exit: number | null; kept: Failure | null }[] = [];
  const exhausted = new Set<string>();
  for (const entry of runnable) {
    if (exhausted.has(entry.cli)) continue;
    const claimed = claim(paths, entry);
    if (!claimed) continue;
    const { exit, kept, why } = await runEntry(entry, options, context, programs);
    results.push({ id: entry.id, exit, kept });
    if (kept === null) {
      drop(paths, entry.id);
      continue;
    }
    claimed.putBack({
      ...entry,
      tries: entry.tries + 1,
      failed: { at: new Date(context.now()).toISOString(), exit, why: kept },
    });
    if (kept === 'limit') exhausted.add(entry.cli);
    if (!options.json) say(`${entry.id} stays in the queue: ${why ?? WHY[kept]}`);
    if (context.signals.received) exitLike(null, context.signals.received);
  }
  for (const { id, why } of damaged) if (!options.json) say(`${id} is damaged (${why}); drop it with \`queue drop\``);
  const left = readQueue(paths);
  emit(options.json, { run: results, left: left.entries.length, damaged: left.damaged.length }, '');
  if (results.some(({ kept }) => kept !== null)) process.exitCode = EXIT.failure;
}

function isWorthRunning({ failed }: Queued): boolean {
  return failed === undefined || failed.why === 'limit' || failed.why === 'other';
}

function rejectUnknown(unknown: readonly string[]): void {
  if (unknown.length === 0) return;
  throw new WrapError('unknown-entry', EXIT.usage, `the queue has no ${unknown.join(', ')}`, {
    hint: 'see `culvert-wrap queue list`',
  });
}

async function runEntry(
  entry: Queued,
  options: Options,
  context: Context,
  programs: Programs,
): Promise<{ exit: number | null; kept: Failure | null; why?: string }> {
  if (!fs.statSync(entry.cwd, { throwIfNoEntry: false })?.isDirectory()) {
    const why = `its directory ${entry.cwd} is gone; create it again, or drop the entry with \`queue drop ${entry.id}\``;
    return { exit: EXIT.noInput, kept: 'other', why };
  }
  const report = reportFile(context.paths, entry.id);
  const original =
    readInstalls(context.paths)[entry.cli]?.original ?? findOnPath(entry.cli, context.env.PATH ?? '') ?? entry.cli;
  const shim = [programs.node, programs.bundle, 'shim', entry.cli, original, ...entry.args];
  const child = context.signals.forwardTo(() =>
    spawn('/bin/sh', ['-c', `exec "$@" ${HERE_DOCUMENTS}`, 'sh', ...shim], {
      cwd: entry.cwd,
      env: {
        ...context.env,
        ...(entry.account !== undefined && { CULVERT_WRAP_ACCOUNT: `${entry.cli}=${entry.account}` }),
        CULVERT_WRAP_SHIM: WITH_PIPES,
        CULVERT_WRAP_QUEUE: 'run',
        CULVERT_WRAP_REPORT: report,
      },
      // With --json, stdout is reserved for the report.
      stdio: [entry.stdin === undefined ? 'ignore' : 'pipe', options.json ? 2 : 'inherit', 'inherit'],
    }),
  );
  child.stdin?.on('error', () => {});
  child.stdin?.end(Buffer.from(entry.stdin ?? '', 'base64'));
  const exit = await new Promise<number | null>(resolve => {
    child.on('exit', code => resolve(code));
    // The entry's directory can't be entered, or there is no shell.
    child.on('error', () => resolve(EXIT.noInput));
  });
  const reported = Failure.safeParse(readOptional(report));
  fs.rmSync(report, { force: true });
  if (exit === 0) return { exit, kept: null };
  // A killed wrapper leaves no report.
  const unsaid = exit === null ? 'uncertain' : exit === EXIT.unavailable ? 'limit' : 'other';
  return { exit, kept: reported.success ? reported.data : unsaid };
}
