// `queue list|run|drop`: commands that were kept because nothing was left.
import { spawn } from 'node:child_process';
import { EXIT, WrapError } from '../errors.ts';
import { findOnPath, readInstalls } from '../install.ts';
import { HERE_DOCUMENTS, WITH_PIPES } from '../pipes.ts';
import { claim, drop, listQueue, type Queued, reclaim } from '../queue.ts';
import type { Context } from '../run.ts';
import type { Programs } from '../shim.ts';
import { emit, table, time } from './print.ts';

interface Options {
  json?: boolean;
}

/** `queue list` */
export function showQueue(options: Options, { paths }: Context): void {
  const queue = listQueue(paths).map(({ stdin, ...entry }) => ({ ...entry, hasStdin: stdin !== undefined }));
  const rows = queue.map(entry => [
    entry.id,
    time(entry.at),
    `${entry.cli} ${entry.args.join(' ')}`.slice(0, 60),
    entry.cwd,
  ]);
  emit(
    options.json,
    { queue },
    rows.length > 0 ? table([['ID', 'SINCE', 'COMMAND', 'DIRECTORY'], ...rows]) : 'the queue is empty',
  );
}

/** `queue drop <id…>`, or `--all`. */
export function dropQueued(ids: readonly string[], options: Options & { all?: boolean }, { paths }: Context): void {
  const wanted = options.all ? listQueue(paths).map(entry => entry.id) : ids;
  const dropped = wanted.filter(id => drop(paths, id));
  const unknown = wanted.filter(id => !dropped.includes(id));
  if (unknown.length > 0)
    throw new WrapError('unknown-entry', EXIT.usage, `the queue has no ${unknown.join(', ')}`, {
      hint: 'see `culvert-wrap queue list`',
    });
  emit(options.json, { dropped }, dropped.length > 0 ? `dropped ${dropped.join(', ')}` : 'the queue is empty');
}

/** `queue run [id…]`: in order, in their directories; stops at the first for which nothing is left still. */
export async function runQueue(
  ids: readonly string[],
  options: Options,
  context: Context,
  programs: Programs,
): Promise<void> {
  const { paths } = context;
  reclaim(paths);
  const wanted = listQueue(paths).filter(entry => ids.length === 0 || ids.includes(entry.id));
  const results: { id: string; exit: number | null }[] = [];
  for (const entry of wanted) {
    const release = claim(paths, entry.id);
    if (!release) continue;
    const exit = await runEntry(entry, options, context, programs);
    results.push({ id: entry.id, exit });
    if (exit === EXIT.unavailable) {
      release();
      break;
    }
    drop(paths, entry.id);
  }
  const failed = results.filter(result => result.exit !== 0).length;
  emit(options.json, { run: results, left: listQueue(paths).length }, '');
  if (failed > 0) process.exitCode = EXIT.failure;
}

function runEntry(entry: Queued, options: Options, context: Context, programs: Programs): Promise<number | null> {
  const original =
    readInstalls(context.paths)[entry.cli]?.original ?? findOnPath(entry.cli, context.env.PATH ?? '') ?? entry.cli;
  const shim = [programs.node, programs.bundle, 'shim', entry.cli, original, ...entry.args];
  const child = spawn('/bin/sh', ['-c', `exec "$@" ${HERE_DOCUMENTS}`, 'sh', ...shim], {
    cwd: entry.cwd,
    env: { ...context.env, CULVERT_WRAP_SHIM: WITH_PIPES, CULVERT_WRAP_QUEUE: 'run' },
    // With --json, stdout is the report's.
    stdio: [entry.stdin === undefined ? 'ignore' : 'pipe', options.json ? 2 : 'inherit', 'inherit'],
  });
  child.stdin?.on('error', () => {});
  child.stdin?.end(Buffer.from(entry.stdin ?? '', 'base64'));
  return new Promise(resolve => {
    child.on('exit', code => resolve(code));
    child.on('error', () => resolve(EXIT.unavailable));
  });
}
