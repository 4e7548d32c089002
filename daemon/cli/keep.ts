// Provides options and prompts for changes that revert at a given time, or unless the user confirms them.
import type { ActionRequest } from '../api/actions.ts';
import type { Change, Subject } from '../api/changes.ts';
import { ApiError } from '../api/client.ts';
import { parseDuration } from '../api/duration.ts';
import type { ActionResponse } from '../api/schema.ts';
import { printable } from '../core/printable.ts';
import { CONFIRM_SECONDS } from '../view/form.ts';
import { secondsUntil } from '../view/format.ts';
import { changeText } from '../view/states/changes.ts';
import { english } from '../view/translator.ts';
import type { Context, OptionSpec, Options } from './context.ts';
import { isAttended } from './dialog.ts';
import { EXIT, usage } from './errors.ts';

export const CONFIRM_WITHIN: OptionSpec = {
  flags: '--confirm-within <seconds>',
  summary: 'revert the change unless you run "culvert keep" in time',
};

/** Options of every command with a change that the user may have to confirm. */
export const KEEP: readonly OptionSpec[] = [
  { flags: '-y, --yes', summary: 'keep the change without asking' },
  CONFIRM_WITHIN,
];

export interface Keeping {
  confirmWithin?: number | undefined;
  /** True if a user can be asked. */
  asks: boolean;
  /** True if the limit was given as an option. */
  isWanted?: boolean;
}

/** Reads the options of a change. @throws Failure */
export function keepingOf(context: Context, { yes, confirmWithin: text }: Options): Keeping {
  if (yes === true && text !== undefined) throw usage("--yes and --confirm-within can't be used together.");
  const asks = isAttended(context);
  const seconds = confirmWithinOf(text);
  if (seconds !== undefined) return { confirmWithin: seconds, asks, isWanted: true };
  return asks && yes !== true ? { confirmWithin: CONFIRM_SECONDS, asks } : { asks: false };
}

/** Returns the limit as a field of a request. */
export function limited({ confirmWithin }: Keeping): { confirmWithin?: number } {
  return confirmWithin === undefined ? {} : { confirmWithin };
}

/**
 * Requests an action that reverts unless it is confirmed. If the limit is only our default and the previous value is
 * unknown, requests the action without a limit instead.
 */
export async function requestKept(
  { client, say }: Context,
  action: ActionRequest,
  keeping: Keeping,
): Promise<ActionResponse> {
  const request = (limit: { confirmWithin?: number }) =>
    client.call('POST /api/action', { body: { ...action, confirmWithin: undefined, ...limit } });
  try {
    return await request(limited(keeping));
  } catch (error) {
    const isUnknown = error instanceof ApiError && error.problem.code === 'previous-unknown';
    if (!isUnknown || keeping.isWanted) throw error;
    say('The previous value is not known, so this change will not revert automatically.');
    return request({});
  }
}

/** @throws Failure for anything but 1 to 600 seconds */
export function confirmWithinOf(text: Options[string]): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (!/^\d{1,3}$/.test(String(text)) || seconds < 1 || seconds > 600)
    throw usage(`--confirm-within takes seconds, from 1 to 600; not "${text}".`);
  return seconds;
}

/**
 * Asks whether to keep changes that would revert, if a user can be asked.
 * @param subject the change, or several, which revert in this order; without one, all unconfirmed changes
 * @returns the exit code: failure if they were reverted
 */
export async function askToKeep(
  context: Context,
  subject: Subject | readonly Subject[] | undefined,
  { confirmWithin, asks }: Keeping,
): Promise<number> {
  if (confirmWithin === undefined) return EXIT.ok;
  const { changes } = await context.client.call('GET /api/snapshot');
  const open = changes.filter(each => each.confirmBy !== null);
  const subjects: (Subject | undefined)[] = subject === undefined ? [undefined] : [subject].flat();
  const pending = subjects.filter(name => open.some(each => !name || each.subject === name));
  if (pending.length === 0) return EXIT.ok; // nothing was changed
  if (!asks) {
    context.say(`Reverts in ${confirmWithin} s unless you run: culvert keep`);
    return EXIT.ok;
  }
  const [first, ...others] = pending;
  const { confirmBy } = open.find(each => !first || each.subject === first)!;
  const answer = await question(context, Date.parse(confirmBy!));
  if (answer === 'keep') {
    for (const name of pending) await context.client.call('POST /api/changes/confirm', { body: requestFor(name) });
    context.say('The change is kept.');
    return EXIT.ok;
  }
  // without an answer, the daemon reverts the first itself
  const left = answer === 'revert' ? null : await returned(context, first);
  const names = left ? [] : answer === 'revert' ? pending : others;
  for (const name of names) await context.client.call('POST /api/changes/revert', { body: requestFor(name) });
  context.say(left ? `${printable(changeText(left, english))} It is tried again.` : 'The change was reverted.');
  return EXIT.failure;
}

const requestFor = (subject: Subject | undefined) => (subject ? { subject } : {});

/** Reports what was done, and when a temporary change ends, unless the value was set before. */
export async function sayDone(context: Context, subject: Subject, done: string, isTemporary: boolean): Promise<void> {
  if (!isTemporary) return context.say(done);
  const change = await pendingChange(context, subject).catch(() => null);
  if (change === null) return context.say(done); // it was made, but its end can't be read now
  context.say(change ? `${done}\n${changeText(change, english)}.` : 'Set; nothing to revert.');
}

async function pendingChange({ client }: Context, subject: Subject): Promise<Change | undefined> {
  return (await client.call('GET /api/snapshot')).changes.find(change => change.subject === subject);
}

/** Waits until the daemon has reverted a change. @returns the change if that failed, otherwise null */
async function returned(context: Context, subject: Subject | undefined): Promise<Change | null> {
  const stream = await context.client.events(undefined, ['changes']);
  const close = () => stream.close();
  context.signal.addEventListener('abort', close, { once: true });
  try {
    for await (const { event, data } of stream.events) {
      if (event !== 'changes') continue;
      const left = data.filter(change => (subject ? change.subject === subject : change.confirmBy !== null));
      const failed = left.find(({ problem }) => problem !== null);
      if (failed || left.length === 0) return failed ?? null;
    }
    return null;
  } finally {
    context.signal.removeEventListener('abort', close);
    close();
  }
}

/** Asks and counts down. Ctrl+C and Ctrl+D revert the change; the daemon reverts it if the terminal closes. */
async function question({ stdin, stderr }: Context, until: number): Promise<'keep' | 'revert' | 'late'> {
  const { createInterface } = await import('node:readline');
  const lines = createInterface({ input: stdin, output: stderr, terminal: true, historySize: 0 });
  const left = () => Math.max(0, Math.ceil((until - Date.now()) / 1000));
  const show = () => {
    lines.setPrompt(`Keep this change? Reverting in ${left()} s [Y/n] `);
    lines.prompt(true);
  };
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise(resolve => {
      lines.on('line', line => resolve(/^(y(es)?)?$/i.test(line.trim()) ? 'keep' : 'revert'));
      lines.on('SIGINT', () => resolve('revert'));
      lines.on('close', () => resolve('revert'));
      show();
      timer = setInterval(() => (left() === 0 ? resolve('late') : show()), 1_000);
    });
  } finally {
    clearInterval(timer);
    lines.close();
    stderr.write('\n');
  }
}

/** Options of commands with an effect that can be temporary. */
export const UNTIL: readonly OptionSpec[] = [
  { flags: '--for <duration>', summary: 'for this long, then revert: 15m, 2h, 1h30m, 1d' },
  { flags: '--until <time>', summary: 'until this time within 24 hours, then revert: 18:00' },
];

const A_WEEK = 604_800;

/** Returns the seconds until the end that `--for` or `--until` sets; undefined without them. @throws Failure for an invalid time */
export function forSeconds({ for: duration, until }: Options): number | undefined {
  if (duration !== undefined && until !== undefined) throw usage("--for and --until can't be used together.");
  if (until !== undefined) {
    const seconds = secondsUntil(String(until), new Date());
    if (seconds === null) throw usage(`--until takes a time of day such as 18:00, not "${until}".`);
    return seconds;
  }
  return duration === undefined ? undefined : seconds(String(duration), '--for');
}

/** Parses a duration of at most a week. @param what names the argument @throws Failure */
export function seconds(text: string, what: string): number {
  const duration = parseDuration(text);
  if (duration === null || duration < 1 || duration > A_WEEK)
    throw usage(`${what} takes a duration such as 15m, 2h or 1d, at most a week; not "${text}".`);
  return duration;
}
