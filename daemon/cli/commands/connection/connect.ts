// Runs `culvert connect`, `disconnect` and `toggle`, which can wait for the connection, and `keep`, `revert` and `extend` for
// changes that revert automatically.
import { SUBJECTS } from '../../../api/actions.ts';
import { applyEvent } from '../../../api/apply-event.ts';
import type { Change, Subject } from '../../../api/changes.ts';
import { Unreachable } from '../../../api/client.ts';
import type { ActionRequest, ConnectionState, Snapshot, Status } from '../../../api/schema.ts';
import { printable } from '../../../core/printable.ts';
import type { Judgment } from '../../../routes/session.ts';
import { wordMessage } from '../../../view/message.ts';
import { reasonText } from '../../../view/states/causes.ts';
import { changeText } from '../../../view/states/changes.ts';
import { explainedCause } from '../../../view/states/findings.ts';
import { stateName } from '../../../view/states/state-table.ts';
import { asOf, isOld, stateIn } from '../../../view/states/summary.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Options, type Run, show } from '../../context.ts';
import { createProgress } from '../../dialog.ts';
import { blockedFailure, EXIT, Failure, timeoutOf, usage } from '../../errors.ts';
import { askToKeep, forSeconds, keepingOf, limited, requestKept, sayDone, seconds } from '../../keep.ts';
import { besideExclusion, considerSession, offerPreset, subjectsOf, withExclusion } from '../../session.ts';
import { statusText } from './status.ts';

type Direction = 'connect' | 'disconnect';

export const connect: Run = (context, _, options) => go(context, 'connect', options);
export const disconnect: Run = (context, _, options) => go(context, 'disconnect', options);

export const toggle: Run = async (context, _, options) => {
  const { status } = await context.client.call('GET /api/snapshot');
  if ((status.state === 'unknown' && !status.blocked) || isOld(status)) {
    throw new Failure('The state of the tunnel is not known, so there is nothing to toggle.', {
      hint: 'Say which: culvert connect, or culvert disconnect',
    });
  }
  return go(context, isUp(status.state) ? 'disconnect' : 'connect', options);
};

async function go(context: Context, action: Direction, options: Options): Promise<number> {
  const seconds = timeoutOf(options, 60, 1);
  const limit = forSeconds(options);
  const wanted = keepingOf(context, options);
  const session = await considerSession(context, { action });
  const keeping = wanted.isWanted || (session && isAsked(session, action, limit)) ? wanted : { asks: false };
  const isExcluded = session !== null && (await offerPreset(context, session, keeping));
  const body: ActionRequest = {
    action,
    ...limited(keeping),
    ...(limit === undefined ? {} : { forSeconds: limit }),
  };
  const subjects = subjectsOf('connection', isExcluded);
  const request = () =>
    withExclusion(context, isExcluded, () => requestKept(context, body, besideExclusion(keeping, isExcluded)));
  if (options.wait) return (await wait(context, action, request, seconds)) || askToKeep(context, subjects, keeping);
  const response = await request();
  if (context.json) show(context, response, () => '');
  const done = action === 'connect' ? 'Connecting.' : 'Disconnecting.';
  await sayDone(context, 'connection', done, limit !== undefined);
  return askToKeep(context, subjects, keeping);
}

/** Returns true if a user of an SSH session has to confirm: the new tunnel, or its end, can end the session. */
function isAsked({ survives }: Judgment, action: Direction, limit: number | undefined): boolean {
  return action === 'connect' ? limit === undefined || survives !== 'yes' : survives === 'no';
}

/** Subscribes before the request, so that it misses no phase; ends at the goal, at a failure or when time is up. */
async function wait(
  context: Context,
  action: Direction,
  request: () => Promise<unknown>,
  seconds: number,
): Promise<number> {
  const stream = await context.client.events();
  const progress = createProgress(context);
  const progressOf = createProgressTracker(action);
  let shown: Snapshot | null = null;
  let limit: NodeJS.Timeout | undefined;
  let doubt: NodeJS.Timeout | undefined;
  try {
    const ending = await new Promise<Ending>((end, fail) => {
      let accepted = false;
      const consider = (snapshot: Snapshot) => {
        const { status } = snapshot;
        clearTimeout(doubt);
        const verdict = progressOf(status);
        if (!accepted) return;
        if (verdict === 'reached' || verdict === 'failed') end(verdict);
        else progress.step(phase(snapshot));
        if (verdict === 'doubtful') doubt = setTimeout(end, DOUBT_MS, 'failed');
      };
      const ask = async () => {
        await request();
        accepted = true;
        if (shown) consider(shown);
      };
      const listen = async () => {
        for await (const event of stream.events) {
          const first = shown === null;
          shown = applyEvent(shown, event);
          if (shown && (event.event === 'status' || event.event === 'snapshot')) consider(shown);
          if (first) ask().catch(fail);
        }
        end('cut');
      };
      limit = setTimeout(end, seconds * 1000, 'late');
      context.signal.addEventListener('abort', () => end('stopped'), { once: true });
      listen().catch(fail);
    });
    progress.end();
    return await conclude(context, action, { ending, shown, seconds });
  } finally {
    progress.end();
    clearTimeout(limit);
    clearTimeout(doubt);
    stream.close();
  }
}

/** `cut`: the daemon ended the stream. `stopped`: the user stopped waiting. */
type Ending = 'reached' | 'failed' | 'late' | 'cut' | 'stopped';
/** Time after which `unable` counts as a failure: it may be a phase between the tunnel client's attempts. */
const DOUBT_MS = 5000;

interface Outcome {
  ending: Ending;
  /** The last state from the daemon. */
  shown: Snapshot | null;
  /** Time limit. */
  seconds: number;
}

/** Prints how the waiting ended. @throws Failure, Unreachable */
async function conclude(context: Context, action: Direction, { ending, shown, seconds }: Outcome): Promise<number> {
  if (ending === 'stopped') {
    const isMoving = shown?.status.state === `${action}ing` && !isOld(shown.status);
    const known = shown ? `. Its state is: ${phase(shown)}` : '';
    context.say(`Stopped waiting${isMoving ? `; the tunnel keeps ${action}ing` : known}.`);
    return EXIT.interrupted;
  }
  if (ending === 'cut' || !shown) throw new Unreachable('The daemon ended before the tunnel got there.');
  if (ending === 'reached') {
    show(context, { action, status: shown.status }, () => statusText(context, shown));
    return EXIT.ok;
  }
  const wanted = `The tunnel did not ${action}`;
  if (shown.status.blocked) throw blockedFailure(wanted, shown);
  if (shown.status.reason?.code === 'ConnectIgnored')
    throw new Failure(`${shown.status.reason.text}.`, { hint: await journalText(context, shown) });
  const cause = explainedCause(shown, english);
  throw new Failure(`${wanted}${ending === 'late' ? ` within ${seconds} s` : ''}. Its state is: ${phase(shown)}.`, {
    hint: [
      ...(cause ? [printable(`${cause.title}. ${cause.sentence}`)] : []),
      'See what was tried with: culvert logs',
    ].join(' '),
  });
}

/** Age up to which an error that Culvert can't explain may belong to the request. */
const JOURNAL_MS = 60_000;

/** Returns the lines of the service's journal that show the cause. */
async function journalText({ env, paths, signal }: Context, shown: Snapshot): Promise<string> {
  const [
    { createTools },
    { complaintsIn, readRawJournal, redactLine, redactLines, seenIn },
    { knowledgeOf, redactorFor },
  ] = await Promise.all([
    import('../../../doctor/world/tools.ts'),
    import('../../../doctor/world/journal.ts'),
    import('../../../doctor/gather.ts'),
  ]);
  try {
    const knowledge = knowledgeOf(paths, env);
    const lines = await readRawJournal(createTools({ env, signal }));
    const redact = redactorFor(shown, knowledge);
    if (lines.length === 0) return 'The journal has no line of its service. See: culvert doctor';
    const cause = seenIn(lines, knowledge.patterns, { now: Date.now() });
    const recent = lines.filter(({ at }) => at === null || at >= Date.now() - JOURNAL_MS);
    const said = cause
      ? [(await redactLine(cause.line, redact)).text]
      : complaintsIn(await redactLines(recent, redact));
    if (said.length === 0) return 'The journal of its service has no error of the last minute. See: culvert doctor';
    const meaning = cause ? [wordMessage(cause.meaning, english)] : [];
    const next = cause ? [`See the evidence and the fix with: culvert doctor`] : [];
    return printable([...meaning, `Its journal: ${said.join(' / ').replace(/\.?$/, '.')}`, ...next].join(' '));
  } catch (error) {
    return `${printable((error as Error).message)} See: culvert doctor`;
  }
}

type Progressed = 'reached' | 'failed' | 'doubtful' | 'pending';

/**
 * Creates a function that classifies each status. The opposite of the goal counts as a failure only after the tunnel has
 * started to move: right after the action, the old state may still be reported.
 */
export function createProgressTracker(action: Direction): (status: Status) => Progressed {
  const goal: ConnectionState = action === 'connect' ? 'connected' : 'disconnected';
  const opposite: ConnectionState = action === 'connect' ? 'disconnected' : 'connected';
  const moving: ConnectionState = action === 'connect' ? 'connecting' : 'disconnecting';
  let moved = false;
  return status => {
    if (isOld(status)) return 'pending';
    if (status.state === goal) return 'reached';
    if (status.blocked || status.reason?.code === 'ConnectIgnored') return 'failed';
    if (status.state === moving) moved = true;
    if (status.state === 'unable') return 'doubtful';
    if (status.reason?.code === 'ConnectAccepted') return 'pending';
    return moved && status.state === opposite ? 'failed' : 'pending';
  };
}

/** Returns text such as `Connecting: Looking for the fastest way to Cloudflare`. */
function phase(shown: Snapshot): string {
  const name = stateName(stateIn(shown), false, english);
  const label = isOld(shown.status) ? asOf(name, shown.status, english) : name;
  const reason = reasonText(shown.status, english);
  return reason ? `${label.replace('…', '')}: ${printable(reason.replace(/…$/, ''))}` : label;
}

function isUp(state: ConnectionState): boolean {
  return state === 'connected' || state === 'connecting';
}

export const keep: Run = async (context, [subject]) => {
  const left = await context.client.call('POST /api/changes/confirm', { body: named(subject) });
  return showLeft(context, left, 'The change is kept.');
};

export const revert: Run = async (context, [subject]) => {
  const left = await context.client.call('POST /api/changes/revert', { body: named(subject) });
  return showLeft(context, left, 'The previous value is restored.');
};

export const extend: Run = async (context, [duration = '', subject]) => {
  const body = { ...named(subject), seconds: seconds(duration, 'extend') };
  const left = await context.client.call('POST /api/changes/extend', { body });
  return showLeft(context, left, '');
};

function showLeft(context: Context, left: { changes: Change[] }, done: string): number {
  if (context.json) show(context, left, () => '');
  const lines = [done, ...left.changes.map(change => printable(changeText(change, english)))];
  context.say(lines.filter(Boolean).join('\n'));
  return EXIT.ok;
}

function named(word: string | undefined): { subject?: Subject } {
  if (word === undefined) return {};
  const subject = SUBJECTS.find(name => name.toLowerCase() === word.toLowerCase());
  if (!subject) throw usage(`There is no change of "${word}".`, `Choose one of: ${SUBJECTS.join(', ')}`);
  return { subject };
}
