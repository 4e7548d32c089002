// Commands kept for later because nothing was left: one file each, so that a kill loses none and two runners share none.
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { AuditEntry } from './audit.ts';
import { EXIT, errno, WrapError } from './errors.ts';
import { randomHex } from './hash.ts';
import type { Invocation } from './invocation.ts';
import type { Paths } from './paths.ts';
import type { Plan } from './plan.ts';
import { type Context, type End, say } from './run.ts';
import { readText, syncDirectory, writeAtomic } from './store.ts';

export interface Queued {
  id: string;
  cli: string;
  args: string[];
  cwd: string;
  /** ISO 8601, UTC. */
  at: string;
  /** Base64 of stdin, for a command that reads it. */
  stdin?: string;
}

const MAX_STDIN = 1024 * 1024;

/**
 * Keeps or refuses a command for which nothing is left. `CULVERT_WRAP_QUEUE=run` marks a run of the queue itself, which
 * must not queue again.
 * @throws WrapError `nothing-left` when it is refused
 */
export function postpone(
  decision: 'queue' | 'shed',
  plan: Plan,
  invocation: Invocation,
  context: Context,
  audit: (entry: Pick<AuditEntry, 'account' | 'outcome'>) => void,
): End {
  if (decision === 'shed' || context.env.CULVERT_WRAP_QUEUE === 'run') {
    audit({ account: null, outcome: 'refused' });
    throw new WrapError(
      'nothing-left',
      EXIT.unavailable,
      `${plan.cli}: no account has anything left for "${invocation.command}"`,
      {
        hint: `see \`culvert-wrap status ${plan.cli}\`; capacity.${plan.cli}.policy = "execute" runs it anyway`,
      },
    );
  }
  const stdin = plan.provider.stdin_args !== undefined && invocation.readsStdin ? readStdin() : undefined;
  const id = `${context.now().toString(36)}-${randomHex(3)}`;
  const entry: Queued = {
    id,
    cli: plan.cli,
    args: invocation.args,
    cwd: context.cwd,
    at: new Date(context.now()).toISOString(),
    ...(stdin !== undefined && { stdin }),
  };
  writeAtomic(path.join(context.paths.queue, `${id}.json`), `${JSON.stringify(entry)}\n`);
  audit({ account: null, outcome: 'queued' });
  say(`${plan.cli}: no account has anything left; queued as ${id}, run it with \`culvert-wrap queue run\``);
  return { exit: EXIT.tempFail, signal: null };
}

/** The queue, oldest first. Files that are damaged are left out. */
export function listQueue(paths: Paths): Queued[] {
  const names = fs.existsSync(paths.queue) ? fs.readdirSync(paths.queue) : [];
  return names
    .filter(name => name.endsWith('.json') && !name.startsWith('.'))
    .flatMap(name => {
      try {
        return [JSON.parse(readText(path.join(paths.queue, name)) ?? '') as Queued];
      } catch {
        return [];
      }
    })
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.id < b.id ? -1 : 1));
}

/** Takes an entry out for running; `undefined` when another runner was quicker. It stays on disk until `drop`. */
export function claim(paths: Paths, id: string): (() => void) | undefined {
  const file = path.join(paths.queue, `${id}.json`);
  const running = path.join(paths.queue, `${id}.running`);
  try {
    fs.renameSync(file, running);
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined;
    throw error;
  }
  return () => fs.renameSync(running, file);
}

/** Removes an entry, claimed or not. Returns whether there was one. */
export function drop(paths: Paths, id: string): boolean {
  if (!/^[\w-]+$/.test(id)) return false;
  const files = [`${id}.json`, `${id}.running`]
    .map(name => path.join(paths.queue, name))
    .filter(file => fs.existsSync(file));
  for (const file of files) fs.rmSync(file, { force: true });
  if (files.length > 0) syncDirectory(paths.queue);
  return files.length > 0;
}

/** Puts back what a killed runner had claimed more than an hour ago. */
export function reclaim(paths: Paths): void {
  if (!fs.existsSync(paths.queue)) return;
  for (const name of fs.readdirSync(paths.queue).filter(entry => entry.endsWith('.running'))) {
    const file = path.join(paths.queue, name);
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (stat && Date.now() - stat.ctimeMs > 3_600_000) fs.renameSync(file, file.replace(/running$/, 'json'));
  }
}

function readStdin(): string {
  const data = fs.readFileSync(0);
  if (data.length > MAX_STDIN) {
    throw new WrapError('stdin-too-long', EXIT.data, 'a command with more than 1 MiB on stdin is not queued', {
      hint: 'pass it as a file',
    });
  }
  return data.toString('base64');
}
