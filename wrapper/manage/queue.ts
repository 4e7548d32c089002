// Queues commands when no account has anything left. Each has a file, so a kill loses no command, and no two runners share it.
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
 * Reasons why an entry remains after a run. `limit`: no account had anything left; `other`: the upstream failed, perhaps
 * for a temporary reason; `usage`: the command line is wrong; `uncertain`: the command may have done its work.
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
  /** The account in `CULVERT_WRAP_ACCOUNT`. */
  account: z.optional(z.string()),
  tries: z._default(z.int(), 0),
  failed: z.optional(z.object({ at: z.string(), exit: z.nullable(z.int()), why: Failure })),
});
export type Queued = z.infer<typeof Queued>;

/** An entry with its runner, in the form of `thisProcess`. */
const Running = z.extend(Queued, { runner: z.optional(z.string()) });

export interface Queue {
  /** Waiting entries, oldest first. Entries of a killed runner are included and marked as uncertain. */
  entries: Queued[];
  /** Entries that another process is running. */
  running: Queued[];
  /** Invalid files, with the id from the file's name. */
  damaged: { id: string; file: string; why: string }[];
}

const MAX_STDIN = 1024 * 1024;

/**
 * Queues or refuses a command when no account has anything left. `CULVERT_WRAP_QUEUE=run` marks a run by the queue, which
 * must not queue the command again.
 * @throws WrapError `nothing-left` when the command is refused, `stdin-too-long`
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

/** Reads an entry. A string says why it is invalid; `undefined` means that another process has just removed it. */
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

/** Marks the entry of a killed runner as uncertain, because its command may still be running or have done its work. */
function interrupted(entry: Queued): Queued {
  return { ...entry, tries: entry.tries + 1, failed: { at: new Date().toISOString(), exit: null, why: 'uncertain' } };
}

/**
 * Claims an entry for a run, or returns `undefined` if another runner was faster. The entry stays on disk, with this process as
 * its runner, until it is dropped.
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

/** Removes an entry, even if it is claimed or damaged. @returns true if there was an entry */
export function drop(paths: Paths, id: string): boolean {
  if (!/^[\w-]+$/.test(id)) return false;
  const files = [`${id}.json`, `${id}.running`]
    .map(name => path.join(paths.queue, name))
    .filter(file => fs.existsSync(file));
  for (const file of [...files, reportFile(paths, id)]) fs.rmSync(file, { force: true });
  if (files.length > 0) syncStrictly(paths.queue);
  return files.length > 0;
}

/** Returns the path of the file where the wrapper that runs an entry reports its kind of failure. */
export function reportFile(paths: Paths, id: string): string {
  return path.join(paths.queue, `${id}.report`);
}

/** Returns a killed runner's commands to the queue. They may have done their work, so they run again only on request. */
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
