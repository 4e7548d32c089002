// Keeps commands for later if no account has anything left: one file each, so that a kill loses none and two runners share none.
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as z from 'zod/mini';
import { errno } from '../../daemon/core/errors.ts';
import { readOptional, syncStrictly } from '../../daemon/core/files.ts';
import { randomHex } from '../../daemon/core/hash.ts';
import { isAlive, thisProcess } from '../../daemon/core/process.ts';
import type { Context, End, Invocation } from '../context.ts';
import { pinnedAccount } from '../run/accounts/select-account.ts';
import type { AuditNote } from '../store/audit.ts';
import type { Paths } from '../store/paths.ts';
import type { Plan } from '../store/plan.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { writeAtomic } from '../system/files.ts';

/**
 * Why an entry is still there after a run. `limit`: no account had anything left; `other`: the upstream failed, perhaps
 * for a passing reason; `usage`: the command line is wrong; `uncertain`: it may have done its work.
 */
export const Failure = z.enum(['limit', 'other', 'usage', 'uncertain']);
export type Failure = z.infer<typeof Failure>;

const Queued = z.object({
  id: z.string().check(z.regex(/^[\w-]+$/)),
  cli: z.string(),
  args: z.array(z.string()),
  cwd: z.string(),
  /** ISO 8601, UTC. */
  at: z.string(),
  /** Base64 of stdin, for a command that reads it. */
  stdin: z.optional(z.string().check(z.regex(/^[A-Za-z0-9+/]*={0,2}$/, 'base64'))),
  /** The account that `CULVERT_WRAP_ACCOUNT` named. */
  account: z.optional(z.string()),
  tries: z._default(z.int(), 0),
  failed: z.optional(z.object({ at: z.string(), exit: z.nullable(z.int()), why: Failure })),
});
export type Queued = z.infer<typeof Queued>;

/** An entry that is being run, by the process that `thisProcess` named. */
const Running = z.extend(Queued, { runner: z.optional(z.string()) });

export interface Queue {
  /** Oldest first. One whose runner was killed is among them, and says that it may have been done. */
  entries: Queued[];
  /** Entries that another process is running. */
  running: Queued[];
  /** Files that can't be used, by what would be the entry's id. */
  damaged: { id: string; file: string; why: string }[];
}

const MAX_STDIN = 1024 * 1024;

/**
 * Keeps or refuses a command for which nothing is left. `CULVERT_WRAP_QUEUE=run` marks a run of the queue itself, which
 * must not queue again.
 * @throws WrapError `nothing-left` when it is refused, `stdin-too-long`
 */
export function postpone(
  decision: 'queue' | 'shed',
  run: { plan: Plan; invocation: Invocation; context: Context; stdin: Uint8Array | undefined },
  audit: (entry: AuditNote) => void,
): End {
  const { plan, invocation, context, stdin } = run;
  if (decision === 'shed' || context.env.CULVERT_WRAP_QUEUE === 'run') {
    audit({ account: null, outcome: 'refused', why: 'nothing-left' });
    throw new WrapError(
      'nothing-left',
      EXIT.unavailable,
      `${plan.cli}: no account has anything left for "${invocation.command}"`,
      { hint: `see \`culvert-wrap status ${plan.cli}\`; capacity.${plan.cli}.policy = "execute" runs it anyway` },
    );
  }
  if (stdin && stdin.length > MAX_STDIN) {
    throw new WrapError('stdin-too-long', EXIT.data, 'a command with more than 1 MiB on stdin is not queued', {
      hint: 'pass it as a file',
    });
  }
  const id = `${context.now().toString(36)}-${randomHex(3)}`;
  const pin = pinnedAccount(plan.cli, context.env.CULVERT_WRAP_ACCOUNT);
  saveEntry(context.paths, {
    id,
    cli: plan.cli,
    args: invocation.args,
    cwd: context.cwd,
    at: new Date(context.now()).toISOString(),
    ...(pin !== undefined && { account: pin }),
    tries: 0,
    ...(stdin && { stdin: Buffer.from(stdin).toString('base64') }),
  });
  audit({ account: null, outcome: 'queued' });
  say(`${plan.cli}: no account has anything left; queued as ${id}, run it with \`culvert-wrap queue run\``);
  return { exit: EXIT.tempFail, signal: null };
}

/** Reads the queued commands, damaged ones included. */
export function readQueue(paths: Paths): Queue {
  const queue: Queue = { entries: [], running: [], damaged: [] };
  const names = fs.existsSync(paths.queue) ? fs.readdirSync(paths.queue) : [];
  for (const name of names) {
    if (!/\.(?:json|running)$/.test(name) || name.startsWith('.')) continue;
    const file = path.join(paths.queue, name);
    const id = name.replace(/\.\w+$/, '');
    const entry = readEntry(file, id);
    if (entry === undefined) continue;
    if (typeof entry === 'string') queue.damaged.push({ id, file, why: entry });
    else if (name.endsWith('.json')) queue.entries.push(entry.queued);
    else if (isAlive(entry.runner)) queue.running.push(entry.queued);
    else queue.entries.push(interrupted(entry.queued));
  }
  queue.entries.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.id < b.id ? -1 : 1));
  return queue;
}

/** The entry, or why it can't be used; `undefined` if another process has just removed it. */
function readEntry(file: string, id: string): { queued: Queued; runner: string } | string | undefined {
  try {
    const text = readOptional(file);
    if (text === undefined) return undefined;
    const parsed = Running.safeParse(JSON.parse(text));
    if (!parsed.success) return z.prettifyError(parsed.error).replaceAll('\n', ' ');
    const { runner = '', ...queued } = parsed.data;
    return queued.id === id ? { queued, runner } : `it is the entry ${queued.id}`;
  } catch {
    return 'it is not JSON';
  }
}

/** The entry of a killed runner, marked as uncertain: its command may go on running, or may have done its work. */
function interrupted(entry: Queued): Queued {
  return { ...entry, tries: entry.tries + 1, failed: { at: new Date().toISOString(), exit: null, why: 'uncertain' } };
}

/**
 * Takes an entry out for running; `undefined` when another runner was quicker. It stays on disk until it is dropped, with
 * this process as its runner.
 */
export function claim(paths: Paths, entry: Queued): { putBack(entry: Queued): void } | undefined {
  const file = path.join(paths.queue, `${entry.id}.json`);
  const running = path.join(paths.queue, `${entry.id}.running`);
  if (!renameIfThere(file, running)) return undefined;
  writeAtomic(running, `${JSON.stringify({ ...entry, runner: thisProcess() })}\n`);
  return {
    putBack: after => {
      // The entry may have been dropped during the run.
      if (!fs.existsSync(running)) return;
      writeAtomic(running, `${JSON.stringify(after)}\n`);
      renameIfThere(running, file);
    },
  };
}

function renameIfThere(from: string, to: string): boolean {
  try {
    fs.renameSync(from, to);
    return true;
  } catch (error) {
    if (errno(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Removes an entry, claimed or not, damaged or not. Returns whether there was one. */
export function drop(paths: Paths, id: string): boolean {
  if (!/^[\w-]+$/.test(id)) return false;
  const files = [`${id}.json`, `${id}.running`]
    .map(name => path.join(paths.queue, name))
    .filter(file => fs.existsSync(file));
  for (const file of [...files, reportFile(paths, id)]) fs.rmSync(file, { force: true });
  if (files.length > 0) syncStrictly(paths.queue);
  return files.length > 0;
}

/** File in which the wrapper that runs an entry reports the kind of its failure. */
export function reportFile(paths: Paths, id: string): string {
  return path.join(paths.queue, `${id}.report`);
}

/** Puts back the commands of a killed runner. They may have been done, so they run again on request only. */
export function reclaim(paths: Paths): void {
  if (!fs.existsSync(paths.queue)) return;
  for (const name of fs.readdirSync(paths.queue).filter(entry => entry.endsWith('.running'))) {
    const file = path.join(paths.queue, name);
    const entry = readEntry(file, name.replace(/\.\w+$/, ''));
    if (entry === undefined || typeof entry === 'string' || isAlive(entry.runner)) continue;
    writeAtomic(file, `${JSON.stringify(interrupted(entry.queued))}\n`);
    renameIfThere(file, file.replace(/running$/, 'json'));
  }
}

function saveEntry(paths: Paths, entry: Queued): void {
  writeAtomic(path.join(paths.queue, `${entry.id}.json`), `${JSON.stringify(entry)}\n`);
}
