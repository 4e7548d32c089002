// The tunnel as the daemon knows it: hears changes, reads on demand what went stale, and performs actions.
import { setTimeout as delay } from 'node:timers/promises';
import type { Account, ActionName, CommandOutput } from '../api/schema.ts';
import { type CommandLog, redact } from '../log.ts';
import { Problem } from '../problem.ts';
import type { State } from '../state.ts';
import { type Plan, planAction } from './actions.ts';
import { childEnv } from './child.ts';
import { createFacts } from './facts.ts';
import { blockedBy, blockedProblem, failureIn, problemOf, wordsOf } from './failures.ts';
import { failureOf, isObject, jsonOf } from './parse.ts';
import { parseStatusText, type StatusReading, UNKNOWN } from './parse-status.ts';
import { createProgram, type Program } from './program.ts';
import { createReader, LISTS } from './reader.ts';
import { READ_LIMIT_MS, type Read } from './reads.ts';
import { createRunner } from './run.ts';
import { createTerms } from './terms.ts';
import { capabilitiesOf } from './version.ts';
import { createWatch, type Ended } from './watch.ts';

export interface Tunnel {
  /** Starts the listening child and the look-out for the executable. */
  start(): void;
  /** Ends every child's process group; within 500 ms. */
  stop(): Promise<void>;
  /**
   * Performs an action: resolves when the tunnel CLI accepted it, with its output, or null where none was run.
   * The new state arrives through the State; `enableLocalProxy` alone resolves when the proxy answers.
   * @throws Problem `argument-rejected`, `unsupported-by-cli`, `tunnel-cli-failed`, `tunnel-cli-timeout`, `busy`,
   *   `proxy-port-in-use`, `proxy-not-answering`, or a blocked state's code
   */
  perform(action: ActionName, value?: string): Promise<CommandOutput | null>;
  /** Reads what went stale, or everything. Waits at most 1 s (6 s) and never rejects. */
  refresh(which: 'stale' | 'all'): Promise<void>;
  /** Whether `refresh('stale')` would read nothing. */
  isFresh(): boolean;
  /**
   * The registration of this device, with its devices.
   * @throws Problem when it can't be read; "not registered" is an answer
   */
  account(): Promise<Account>;
}

interface Options {
  /** Name of the tunnel CLI in PATH, or its absolute path. */
  cli: string;
  /** It is the embedded stand-in. */
  emulated: boolean;
  /** The daemon's environment; children get a part of it (see `childEnv`). */
  env: NodeJS.ProcessEnv;
  /** File that remembers that the user agreed to the terms. */
  acceptedTerms: string;
  state: State;
  log: CommandLog;
  /** Whether somebody looks, so that a change is worth a read of its own. Without it: always. */
  watched?: () => boolean;
  /** How long the local proxy has to answer (default 30 s). */
  proxyLimitMs?: number;
}

/** Parts that clients are told of when they change; the others are read when somebody asks. */
const TOLD = new Set<Read>(['settings', 'registration']);

/** How long the tunnel CLI's own word that settings changed is waited for after an action, before they are read. */
const UPDATE_WAIT_MS = 150;

/** Connecting takes seconds; a captive portal or a missing network never ends. */
const PROXY_LIMIT_MS = 30_000;

/** A tunnel at rest; nothing is spawned before `start` or the first request. */
export function createTunnel(options: Options): Tunnel {
  const { state, log } = options;
  const watched = options.watched ?? (() => true);
  const env = childEnv(options.env, options.emulated);
  const terms = createTerms(options.acceptedTerms);
  const runner = createRunner({ env, log });
  const facts = createFacts(state);
  /** Parts that clients are to be told of as soon as no action runs. */
  const changed = new Set<Read>();
  let performing = 0;
  let updateHeard = false;
  /** The listening child ended: changes may have been missed since. */
  let missed = false;
  let adopting: Promise<void> = Promise.resolve();
  let soonTimer: NodeJS.Timeout | undefined;
  let stopped = false;
  let enabling: Promise<CommandOutput | null> | undefined;

  const program = createProgram({ cli: options.cli, env, runner, onChange: adopt });
  const watch = createWatch({ env, onMessage: hear, onSilence: silent, onEnd: ended, poll: pollStatus });
  const reader = createReader({
    state,
    facts,
    program,
    runner,
    acceptTerms: terms.accepted,
    listening: watch.form,
    onReachable: watch.retry,
  });

  return { start, stop, perform, refresh, isFresh: reader.isFresh, account };

  function start(): void {
    program.start();
    adopt();
  }

  async function stop(): Promise<void> {
    stopped = true;
    clearTimeout(soonTimer);
    program.stop();
    await Promise.all([watch.stop(), runner.stop()]);
  }

  /** Takes the executable that is there now, or none, in place of what was there before. */
  function adopt(): void {
    adopting = adopting.then(adoptPresent).catch(() => {
      // Too busy even to ask for its version.
      if (!stopped) setTimeout(adopt, 1000).unref();
    });
  }

  async function adoptPresent(): Promise<void> {
    const found = await program.current();
    if (stopped) return;
    facts.forget();
    reader.expireAll();
    state.set('tunnelCli', {
      available: found !== null,
      path: found?.path ?? null,
      version: found?.version ?? null,
      emulated: options.emulated,
    });
    if (!found) {
      await watch.stop();
      facts.hinder('cli-missing', null);
      return;
    }
    facts.unhinder('cli-missing');
    watch.listen({ file: found.path, form: found.can.json ? 'json' : 'text', acceptTerms: terms.accepted() });
  }

  // ── hearing ────────────────────────────────────────────────────────────────────────────────────────────────────────

  function hear(message: string): void {
    const text = redact(message);
    const value = jsonOf(text);
    if (missed) {
      missed = false;
      settingsChanged();
    }
    if (isObject(value) && typeof value.update === 'string') {
      if (/registration|account/i.test(value.update)) reader.expire('registration', 'devices');
      settingsChanged();
      return;
    }
    const status = parseStatusText(text);
    if (status) {
      hearStatus(status, text);
      return;
    }
    const failure = failureOf({ stdout: text, stderr: '', exitCode: 1 });
    const blocked = failure && blockedBy(failure);
    if (blocked) facts.hinder(blocked, text);
    else if (/^Success\.?$/.test(text))
      return; // releases of 2022 say it before their status
    // Half a document may have been the news of a change; a whole one that is no status (a DNS log) is not.
    else if ((value === undefined && /^[{[]/.test(text)) || !facts.heard()) facts.status(UNKNOWN, text);
  }

  function hearStatus(status: StatusReading, text: string): void {
    const before = state.snapshot().status;
    if (status.state === 'connected' && before.state !== 'connected') reader.expire('tunnelStats');
    if (status.blocked !== before.blocked) reader.expire('settings', 'registration', 'devices', ...LISTS);
    recordHeard(text);
    facts.status(status, text);
    if (status.reason?.code === 'SettingsChanged') settingsChanged();
  }

  /** What was heard stands where the answer to `status` would. */
  function recordHeard(stdout: string): void {
    if (stdout === state.snapshot().status.raw) return;
    const at = new Date().toISOString();
    const argv = [program.name(), '-l', 'status'];
    state.record('status', { ok: true, argv, exitCode: null, stdout, stderr: '', durationMs: 0, at });
  }

  function ended({ args, at, durationMs, stdout, stderr, exitCode }: Ended): void {
    missed = true;
    const printed = { stdout: redact(stdout), stderr: redact(stderr), exitCode };
    const failure = failureOf({ ...printed, stdout: '' });
    const argv = [program.name(), ...args];
    log.append({ source: 'watch', at, durationMs, argv, ok: exitCode === 0, ...printed });
    const blocked = failure && blockedBy(failure);
    if (blocked) facts.hinder(blocked, printed.stderr);
    // Neither a status nor a reason why there is none.
    else if (durationMs < 1000 && failure?.kind !== 'unsupported') silent();
  }

  /** The listening child does not tell the status, so it is asked for once, with the pauses of a failing read. */
  function silent(): void {
    facts.unhear();
    if (reader.isDue('status')) void reader.read('status');
  }

  async function pollStatus(): Promise<boolean> {
    const before = state.snapshot().status;
    reader.expire('status');
    await reader.read('status');
    return state.snapshot().status !== before;
  }

  function settingsChanged(): void {
    updateHeard = true;
    reader.expire('settings');
    changed.add('settings');
    if (performing === 0) readSoon(0);
  }

  /** Reads what clients are told of, once, however many reasons there were for it. */
  function readSoon(afterMs: number): void {
    clearTimeout(soonTimer);
    soonTimer = setTimeout(() => {
      if (performing > 0 || !watched()) return;
      for (const part of changed) void reader.readLatest(part);
      changed.clear();
    }, afterMs);
  }

  async function refresh(which: 'stale' | 'all'): Promise<void> {
    if (which === 'stale' && reader.isFresh()) return;
    const limit = new AbortController();
    const enough = delay(which === 'all' ? READ_LIMIT_MS + 1000 : 1000, undefined, { signal: limit.signal });
    if (which === 'all') watch.retry();
    const work = which === 'all' ? reader.readAll() : reader.readStale(() => adopting.then(watch.spoken));
    await Promise.race([work, enough]).catch(() => {});
    limit.abort();
  }

  // ── acting ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  async function perform(action: ActionName, value?: string): Promise<CommandOutput | null> {
    const found = await program.current();
    const plan = planAction(action, value, found?.can ?? capabilitiesOf(null));
    if (action === 'acceptTerms') {
      terms.accept();
      adopt();
      await adopting;
      return null;
    }
    if (!found) throw blockedProblem('cli-missing');
    performing += 1;
    try {
      if (action === 'enableLocalProxy') return await enableProxy(found);
      return await execute(action, value, plan, found);
    } finally {
      performing -= 1;
      if (performing === 0) readSoon(updateHeard || watch.form() !== 'json' ? 0 : UPDATE_WAIT_MS);
    }
  }

  async function execute(
    action: ActionName,
    value: string | undefined,
    plan: Plan,
    found: Program,
  ): Promise<CommandOutput> {
    // Only what a living listener says is certain enough to refuse without asking.
    const { blocked } = state.snapshot().status;
    if (plan.registered && blocked === 'not-registered' && watch.form()) throw blockedProblem(blocked);
    updateHeard = false;
    const finished = await runner.run({
      file: found.path,
      args: [...(terms.accepted() ? ['--accept-tos'] : []), ...plan.argv],
      source: 'action',
      timeoutMs: plan.timeoutMs,
      write: true,
    });
    const failure = failureIn(finished);
    if (failure?.kind === 'unsupported' && program.demote(found, plan.argv, failure.message)) {
      return execute(action, value, planAction(action, value, found.can), found);
    }
    // A command that was killed may have done its work before.
    if (!failure || finished.timedOut) {
      reader.expire('devices', ...plan.changes);
      for (const part of plan.changes) if (TOLD.has(part)) changed.add(part);
    }
    if (!failure) {
      facts.unhinder('service-stopped', 'terms-not-accepted');
      watch.retry();
      return finished.output;
    }
    const reason = blockedBy(failure);
    if (reason && reason !== 'not-authorized') facts.hinder(reason, wordsOf(finished));
    throw problemOf(`the action ${action}`, failure, finished);
  }

  /** Whoever asks meanwhile gets the same attempt. */
  function enableProxy(found: Program): Promise<CommandOutput | null> {
    const enable = async () =>
      (await import('./localproxy.ts')).enableLocalProxy({
        state,
        can: found.can,
        run: (action, value) => execute(action, value, planAction(action, value, found.can), found),
        readSettings: () => reader.readLatest('settings'),
        stopped: () => stopped,
        limitMs: options.proxyLimitMs ?? PROXY_LIMIT_MS,
      });
    enabling ??= enable().finally(() => {
      enabling = undefined;
    });
    return enabling;
  }

  async function account(): Promise<Account> {
    await adopting;
    await reader.readLatest('registration');
    if (facts.account()?.registration.registered) await reader.readLatest('devices');
    const { status, commands } = state.snapshot();
    const known = facts.account();
    // What was known before says nothing once nobody can be asked.
    if (status.blocked && status.blocked !== 'not-registered' && !(known && status.blocked === 'not-authorized')) {
      throw blockedProblem(status.blocked);
    }
    if (known) return { ok: true, ...known.registration, devices: known.devices };
    const { exitCode = null, stderr = '' } = commands.registration ?? {};
    throw new Problem('tunnel-cli-failed', 'The tunnel CLI did not tell the registration of this device.', {
      exitCode,
      stderr,
    });
  }
}
