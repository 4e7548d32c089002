// Runs `culvert wait`, which returns when the tunnel is up or, with --proof, when a request has come through it.
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, createClient, Unreachable } from '../../../api/client.ts';
import type { Snapshot } from '../../../api/schema.ts';
import type { Message } from '../../../api/values.ts';
import { statusLine } from '../../../state/status-line.ts';
import { wordMessage } from '../../../view/message.ts';
import { blockedWords, reasonText } from '../../../view/states/causes.ts';
import { stateName } from '../../../view/states/state-table.ts';
import { isKnownConnected, isOld, silenceText, stateIn } from '../../../view/states/summary.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Run, show } from '../../context.ts';
import { createProgress, type Progress } from '../../dialog.ts';
import { assertNotSuspended, EXIT, Failure, timeoutOf } from '../../errors.ts';
import { createTransport, DAEMON, slowProgram } from '../../transport.ts';
import { statusText } from './status.ts';

/** Pause between requests: long compared with a local request, short for a person. */
const PAUSE_MS = 250;
/** Minimum time for the daemon's answer, even for a short wait, because the machine may be busy. */
const ANSWER_MS = 5_000;
const TRACE_SECONDS = 10;
const BETWEEN_TRACES_MS = 1_000;

export const wait: Run = async (context, _, options) => {
  const seconds = timeoutOf(options, 30, 0);
  const progress = createProgress(context);
  const waiting = { deadline: performance.now() + seconds * 1000, seconds, progress };
  try {
    const { snapshot, proof } = await untilReady(context, waiting, options.proof === true);
    progress.end();
    show(context, { ok: true, state: snapshot.status.state, proof }, () =>
      proof ? `${statusText(context, snapshot)}\n${proof}` : statusText(context, snapshot),
    );
    return EXIT.ok;
  } finally {
    progress.end();
  }
};

interface Waiting {
  /** Deadline as a `performance.now()` time. */
  deadline: number;
  seconds: number;
  progress: Progress;
}

/** Waits until a request comes through the tunnel. @throws Failure after `seconds` */
export async function untilProven(context: Context, seconds: number): Promise<string | null> {
  const progress = createProgress(context);
  try {
    const deadline = performance.now() + seconds * 1000;
    return (await untilReady(context, { deadline, seconds, progress }, true)).proof;
  } finally {
    progress.end();
  }
}

/** Waits for the tunnel, and while the daemon starts or restarts. @throws Failure at the deadline */
async function untilReady(
  context: Context,
  { deadline, seconds, progress }: Waiting,
  wantsProof: boolean,
): Promise<{ snapshot: Snapshot; proof: string | null }> {
  const { paths, signal } = context;
  for (;;) {
    const left = deadline - performance.now();
    // limits the request to the rest of the wait
    const limitMs = Math.max(ANSWER_MS, wholeSeconds(left));
    const limits = { readMs: limitMs, writeMs: limitMs };
    const client = createClient(createTransport(paths.socket, limits, () => assertNotSuspended(paths)));
    let missing: Error;
    let pauseMs = PAUSE_MS;
    try {
      const snapshot = await client.call('GET /api/snapshot');
      if (!isKnownConnected(snapshot.status)) {
        progress.step(`Waiting for the tunnel: ${statusLine(snapshot)}`);
        missing = notConnected(snapshot, seconds);
      } else if (!wantsProof) return { snapshot, proof: null };
      else if (snapshot.tunnelCli.emulated)
        throw new Failure('The demo tunnels no requests, so there is no proof.', { code: 'notProven' });
      else {
        const { Mode } = snapshot.settings;
        if (Mode === 'doh' || Mode === 'dot')
          throw new Failure(`The mode ${Mode} tunnels no requests, so there is no proof.`, { code: 'notProven' });
        progress.step('Asking the trace page');
        const limitSeconds = Math.max(1, Math.min(TRACE_SECONDS, Math.ceil(left / 1000)));
        const { through, seen } = await client.call('POST /api/proof', { body: { limitSeconds } });
        if (through) return { snapshot, proof: wordMessage(seen, english) };
        missing = notProven(seen, seconds);
        pauseMs = BETWEEN_TRACES_MS;
      }
    } catch (error) {
      if (!isPassing(error)) throw error;
      // a suspended daemon stays suspended until the user resumes it
      assertNotSuspended(paths);
      const name = isSilent(error) ? await slowProgram(context) : DAEMON;
      progress.step(`Waiting for ${name.replace(/^The/, 'the')}`);
      missing = name === DAEMON ? error : notKnown(`${name} does not answer.`, seconds);
    }
    if (performance.now() >= deadline) throw missing;
    await pause(Math.min(pauseMs, Math.max(0, deadline - performance.now())), signal);
  }
}

/** True for failures of a daemon that starts, ends or is busy. */
function isPassing(error: unknown): error is Error {
  return error instanceof Unreachable || (error instanceof ApiError && error.problem.code === 'busy');
}

function isSilent(error: Error): boolean {
  return error instanceof Unreachable && error.daemon === 'silent';
}

/** Rounds ms up to whole seconds, because limits are printed. */
function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000) * 1000;
}

function notProven(seen: Message, seconds: number): Failure {
  return new Failure(`No request came through the tunnel within ${seconds} s: ${wordMessage(seen, english)}.`, {
    code: 'notProven',
    hint: 'Find the cause with: culvert doctor --online',
  });
}

function notConnected(snapshot: Snapshot, seconds: number): Failure {
  const { status } = snapshot;
  if (isOld(status)) return notKnown(silenceText(status, english), seconds);
  const { blocked } = status;
  const setup = blocked && blockedWords(snapshot, snapshot.tunnelCli.serviceManager, english);
  const hint = setup?.next ?? 'Find the cause with: culvert doctor';
  const why = setup?.what ?? `${reasonText(status, english) ?? stateName(stateIn(snapshot), false, english)}.`;
  const codes = { 'cli-missing': 'cliMissing', 'not-authorized': 'notAuthorized' } as const;
  const code = blocked && blocked in codes ? codes[blocked as keyof typeof codes] : 'notConnected';
  return new Failure(`The tunnel is not connected after ${seconds} s: ${why}`, { code, hint });
}

function notKnown(why: string, seconds: number): Failure {
  return new Failure(`The tunnel is not known to be connected after ${seconds} s: ${why}`, {
    code: 'notConnected',
    hint: 'Find the cause with: culvert doctor',
  });
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {
    throw new Failure('Interrupted.', { code: 'interrupted' });
  });
}
