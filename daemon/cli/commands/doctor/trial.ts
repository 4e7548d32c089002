// Tries what a reading command can't show, for `culvert diagnose record --try`: connects, disconnects, changes the mode and
// proves the kill switch. Each change reverts unless it is confirmed, and no change is ever confirmed: the daemon, and
// for the kill switch the root service, put everything back whatever ends this program.
import { createSocket } from 'node:dgram';
import { setTimeout as delay } from 'node:timers/promises';
import { actionRequest, MODES } from '../../../api/actions.ts';
import { ApiError, Unreachable } from '../../../api/client.ts';
import type { ActionRequest, BlockedEntry, CommandOutput, KillSwitch, Snapshot, Subject } from '../../../api/schema.ts';
import { reason } from '../../../core/errors.ts';
import { planAction } from '../../../warp/actions/commands.ts';
import { NEWEST, READ_LIMIT_MS } from '../../../warp/cli/version.ts';
import type { RawRow, recordReadings } from '../../../warp/record/record.ts';
import { plainArgv } from '../../../warp/record/transcript.ts';
import type { Context, Options } from '../../context.ts';
import { consent } from '../../dialog.ts';
import { blockedFailure, Failure } from '../../errors.ts';
import { cutPeer } from '../traffic/killswitch.ts';

/** Time after which an unconfirmed change reverts, in seconds. */
const SECONDS = 60;
const PAUSE_MS = 200;
/** The change of a trial is undone before its own limit undoes it. */
const WAIT_SHARE = 0.5;
/** An address that no machine has (RFC 5737), and the port of discarded data (RFC 863). */
export const PROBE = { address: '192.0.2.1', port: 9 };
/** Time for a blocked packet to appear in the root service's list. */
const COUNTED_MS = 5_000;

interface Step {
  name: string;
  outcome: string;
}

/** A row whose version the recording knows. */
type TriedRow = Omit<RawRow, 'version'>;

export interface TrialResult {
  rows: TriedRow[];
  steps: Step[];
  /** Settings that still differ from those before the trial; Culvert goes on reverting them. */
  left: string[];
}

interface Trial {
  context: Context;
  /** The state to come back to. */
  before: Snapshot;
  killSwitch: KillSwitch;
  seconds: number;
}

/**
 * Asks before a trial.
 * @throws Failure if the user refuses, or the state can't be put back: it is not known, or another change is pending
 */
export async function prepareTrial(context: Context, options: Options, seconds = SECONDS): Promise<Trial> {
  const { client } = context;
  const before = await client.call('GET /api/snapshot', { query: { fresh: '1' } });
  const killSwitch = await client.call('GET /api/killswitch');
  if (before.status.blocked) throw blockedFailure('Nothing can be tried', before);
  const { state } = before.status;
  if (state !== 'connected' && state !== 'disconnected')
    throw new Failure(`The tunnel is neither connected nor disconnected (${state}), so it could not be put back.`, {
      hint: 'Turn it on or off first: culvert connect, or culvert disconnect',
    });
  const pending = before.changes.map(({ subject }) => subject);
  if (pending.length > 0 || killSwitch.unconfirmed || before.lostChanges)
    throw new Failure('Another change waits to be confirmed or reverted.', {
      hint: 'Keep it with: culvert keep, or revert it with: culvert revert',
    });
  await consent(context, options, {
    consequence: [
      `This ${state === 'connected' ? 'disconnects' : 'connects'} WARP for a moment and changes its mode ${MODES.length - 1} times.`,
      killSwitch.installed && !killSwitch.enabled
        ? 'It also turns on the kill switch, which blocks all other traffic for a moment.'
        : '',
      `Connections break. Everything is put back, after at most ${seconds} s even if this program is killed.`,
      context.env.SSH_CONNECTION ? 'This session over SSH can break too.' : '',
    ]
      .filter(Boolean)
      .join(' '),
    question: 'Try it now?',
  });
  return { context, before, killSwitch, seconds };
}

type Recording = Pick<Parameters<typeof recordReadings>[0], 'file' | 'runner' | 'acceptTerms'>;

/** Makes the changes one after the other, records what the client says to each, and puts everything back. Never rejects. */
export async function runTrial(trial: Trial, recording: Recording): Promise<TrialResult> {
  const { context, before } = trial;
  const stage = createStage(trial, recording);
  const wasOn = before.status.state === 'connected';
  try {
    if (!wasOn) await proveKillSwitch(trial, stage.note);
    await stage.change(actionRequest(wasOn ? 'disconnect' : 'connect'), ({ status }) =>
      wasOn ? status.state === 'disconnected' : status.state === 'connected',
    );
    if (wasOn) await proveKillSwitch(trial, stage.note);
    await stage.revert('connection');
    await tryModes(trial, stage);
  } catch (error) {
    const why = context.signal.aborted ? 'interrupted' : reason(error);
    stage.note('stopped', `${why}; what was changed is put back`);
  }
  const left = await putBack(trial);
  return { rows: stage.rows, steps: stage.steps, left };
}

async function tryModes({ before }: Trial, stage: Stage): Promise<void> {
  const mode = before.settings.Mode;
  if (!MODES.some(name => name === mode)) {
    stage.note('modes', `not tried: the mode "${mode ?? 'not reported'}" could not be set again`);
    return;
  }
  for (const name of MODES)
    if (name !== mode) await stage.change(actionRequest('setMode', name), ({ settings }) => settings.Mode === name);
  await stage.revert('mode');
}

interface Stage {
  rows: TriedRow[];
  steps: Step[];
  note(name: string, outcome: string): void;
  /** Makes a change that reverts, waits for its effect, and records what the client then reports. */
  change(request: ActionRequest, reached: (shown: Snapshot) => boolean): Promise<void>;
  /** Reverts a change, and waits until the daemon has done it. */
  revert(subject: Subject): Promise<void>;
}

function createStage(trial: Trial, { file, runner, acceptTerms }: Recording): Stage {
  const { context, seconds } = trial;
  const { client, signal } = context;
  const rows: TriedRow[] = [];
  const steps: Step[] = [];
  const note = (name: string, outcome: string) => void steps.push({ name, outcome });
  const add = (output: Pick<CommandOutput, 'argv' | 'exitCode' | 'stdout' | 'stderr'>, step: string) => {
    const { argv, exitCode, stdout, stderr } = output;
    rows.push({ argv: plainArgv(argv.slice(1)), exit_code: exitCode, stdout, stderr, note: `trial: ${step}` });
  };
  const read = async (step: string) => {
    for (const argv of [['-j', 'status'], ['status'], ['-j', 'settings'], ['-j', 'tunnel', 'stats']]) {
      const args = [...(acceptTerms ? ['--accept-tos'] : []), ...argv];
      add((await runner.run({ file, args, source: 'read', timeoutMs: READ_LIMIT_MS })).output, step);
    }
  };
  return {
    rows,
    steps,
    note,
    async change(request, reached) {
      signal.throwIfAborted();
      const step = [request.action, request.value].filter(Boolean).join(' ');
      context.say(`Trying: ${step}`);
      try {
        const { result } = await client.call('POST /api/action', { body: { ...request, confirmWithin: seconds } });
        if (result) add(result, step);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const { detail, exitCode = null, stderr = '' } = error.problem;
        const { argv } = planAction(request, NEWEST);
        add({ argv: ['', ...argv], exitCode, stdout: '', stderr: stderr || detail }, step);
        note(step, `refused: ${detail}`);
        return;
      }
      const limitMs = seconds * 1000 * WAIT_SHARE;
      const began = performance.now();
      const took = () => `${Math.round((performance.now() - began) / 100) / 10} s`;
      const done = await until(trial, limitMs, reached);
      note(step, done ? `done after ${took()}` : `accepted, but without effect after ${took()}`);
      await read(step);
    },
    async revert(subject) {
      signal.throwIfAborted();
      context.say(`Reverting: ${subject}`);
      await revertOne(trial, subject);
      await until(trial, seconds * 1000 * WAIT_SHARE, shown => difference(trial, shown).length === 0);
      await read(`${subject} reverted`);
    },
  };
}

/** Waits for a state. @returns false after the limit @throws at an interruption */
async function until({ context }: Trial, limitMs: number, reached: (shown: Snapshot) => boolean): Promise<boolean> {
  const { client, signal } = context;
  const deadline = performance.now() + limitMs;
  for (;;) {
    if (reached(await client.call('GET /api/snapshot'))) return true;
    if (performance.now() >= deadline) return false;
    await delay(PAUSE_MS, undefined, { signal });
  }
}

/** Reverts a change now. A change that was never made or is already reverted counts as success. */
async function revertOne({ context }: Trial, subject: Subject): Promise<void> {
  try {
    await context.client.call('POST /api/changes/revert', { body: { subject } });
  } catch (error) {
    if (!(error instanceof ApiError && error.problem.code === 'nothing-pending')) throw error;
  }
}

const PUT_BACK: readonly Subject[] = ['killSwitch', 'mode', 'connection'];

/** Puts everything back, and waits for it. @returns what is not as before */
async function putBack(trial: Trial): Promise<string[]> {
  const { client } = trial.context;
  const deadline = performance.now() + trial.seconds * 1000;
  for (;;) {
    try {
      const { changes } = await client.call('GET /api/snapshot');
      const pending = PUT_BACK.filter(subject => changes.some(change => change.subject === subject));
      await Promise.all(pending.map(subject => revertOne(trial, subject)));
      const left = difference(trial, await client.call('GET /api/snapshot'));
      const killSwitch = await client.call('GET /api/killswitch');
      if (killSwitch.enabled !== trial.killSwitch.enabled) left.push('kill switch');
      if (left.length === 0 || performance.now() >= deadline) return left;
    } catch (error) {
      // the daemon reverts it itself, also after a restart
      if (!(error instanceof ApiError || error instanceof Unreachable)) throw error;
      if (performance.now() >= deadline) return [`not known: ${reason(error)}`];
    }
    await delay(PAUSE_MS);
  }
}

function difference({ before }: Trial, now: Snapshot): string[] {
  return [
    ...(now.settings.Mode === before.settings.Mode ? [] : ['mode']),
    ...(now.status.state === before.status.state ? [] : ['connection']),
  ];
}

/**
 * Turns the kill switch on without a tunnel, sends a packet to an address that no machine has, and looks for it among
 * the packets that the root service counts as blocked. Says so where that can't be done.
 */
async function proveKillSwitch(
  { context, killSwitch, seconds, before }: Trial,
  note: (name: string, outcome: string) => void,
): Promise<void> {
  const { client, say, signal, env } = context;
  const name = 'kill switch';
  signal.throwIfAborted();
  const isOn = killSwitch.enabled && killSwitch.active === true;
  const why = before.tunnelCli.emulated
    ? 'the demo never changes the kill switch of this machine'
    : !killSwitch.installed
      ? 'its root service is not installed'
      : killSwitch.pausedUntil !== null
        ? 'it is paused'
        : killSwitch.enabled && !isOn
          ? 'it is on and does not block; see: culvert doctor'
          : !isOn && !killSwitch.confirmable
            ? "the installed root service can't revert a change"
            : !isOn && cutPeer(env.SSH_CONNECTION, false)
              ? 'it would cut off this session over SSH'
              : null;
  if (why !== null) return note(name, `not proved: ${why}`);
  say('Trying: kill switch');
  try {
    const body = { enabled: true, allowLan: false, confirmWithin: seconds };
    if (!isOn) await client.call('POST /api/killswitch', { body });
    note(name, await countProbe(context));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    note(name, `not proved: ${error.problem.detail}`);
  }
  if (!isOn) await client.call('POST /api/changes/revert', { body: { subject: 'killSwitch' } }).catch(() => {});
}

/** Sends the packet. @returns what the root service counted */
async function countProbe({ client, signal }: Context): Promise<string> {
  const count = async () => packetsTo((await client.call('GET /api/killswitch/blocked')).entries);
  const before = await count();
  const error = await sendProbe();
  if (error === 'ENETUNREACH') return 'not proved: this machine has no network, so nothing could be blocked';
  const deadline = performance.now() + COUNTED_MS;
  for (;;) {
    const blocked = (await count()) - before;
    if (blocked > 0)
      return `proved: its counters rose by ${blocked} for a packet to ${PROBE.address} (${error ?? 'dropped'})`;
    if (performance.now() >= deadline) return `NOT proved: its counters did not rise for a packet to ${PROBE.address}`;
    await delay(PAUSE_MS, undefined, { signal });
  }
}

/** Returns the number of packets to the probed address that the kill switch blocked. */
export function packetsTo(entries: readonly BlockedEntry[]): number {
  const mine = entries.filter(({ rule, address }) => rule === 'kill-switch' && address === PROBE.address);
  return mine.reduce((sum, { packets }) => sum + packets, 0);
}

/** Sends one packet to the probed address. @returns the system's code of a refused packet; null if it was sent, or silently dropped */
export function sendProbe(): Promise<string | null> {
  const socket = createSocket('udp4');
  return new Promise(resolve => {
    const end = (error: Error | null) => {
      socket.close();
      resolve(error && 'code' in error ? String(error.code) : null);
    };
    socket.once('error', end);
    socket.send('culvert', PROBE.port, PROBE.address, end);
  });
}
