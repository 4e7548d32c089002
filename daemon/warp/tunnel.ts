// The tunnel as the daemon knows it: hears changes, reads on demand what went stale, and performs actions.
import { setTimeout as delay } from 'node:timers/promises';
import type { Account, ActionName, Blocked, CommandOutput } from '../api/schema.ts';
import { type CommandLog, redact } from '../log.ts';
import { Problem } from '../problem.ts';
import type { State } from '../state.ts';
import { type Plan, planAction } from './actions.ts';
import { childEnv } from './child.ts';
import { createFacts } from './facts.ts';
import { blockedProblem, failureIn, problemOf } from './failures.ts';
import { createFreshness } from './freshness.ts';
import { type Failure, failureOf, isObject, jsonOf } from './parse.ts';
import { parseStatus, parseStatusText, UNKNOWN } from './parse-status.ts';
import { createProgram, type Program } from './program.ts';
import { READ_LIMIT_MS, type Read, readArgv } from './reads.ts';
import { createRunner, type Finished } from './run.ts';
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
   * The new state arrives through the State.
   * @throws Problem `argument-rejected`, `unsupported-by-cli`, `tunnel-cli-failed`, `tunnel-cli-timeout`, `busy`, or a
   *   blocked state's code
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
}

const SNAPSHOT_PARTS = [
  'settings',
  'registration',
  'tunnelStats',
  'splitTunnelIps',
  'splitTunnelHosts',
  'splitTunnelDump',
] as const satisfies Read[];
const LISTS = ['splitTunnelIps', 'splitTunnelHosts', 'splitTunnelDump'] as const satisfies Read[];
/** Parts that clients are told of when they change; the others are read when somebody asks. */
const TOLD = new Set<Read>(['settings', 'registration']);

/** Where no event tells that an answer became outdated. */
const TTL_MS = { status: 2000, unheard: 60_000, registration: 300_000, tunnelStats: 5000 };
/** How long the tunnel CLI's own word that settings changed is waited for after an action, before they are read. */
const UPDATE_WAIT_MS = 150;

/** A tunnel at rest; nothing is spawned before `start` or the first request. */
export function createTunnel(options: Options): Tunnel {
  const { state, log } = options;
  const watched = options.watched ?? (() => true);
  const env = childEnv(options.env, options.emulated);
  const terms = createTerms(options.acceptedTerms);
  const runner = createRunner({ env, log });
  const facts = createFacts(state);
  const fresh = createFreshness<Read>();
  const reading = new Map<Read, Promise<void>>();
  /** Parts that clients are to be told of as soon as no action runs. */
  const changed = new Set<Read>();
  let performing = 0;
  let updateHeard = false;
  /** The listening child ended: changes may have been missed since. */
  let missed = false;
  let adopting: Promise<void> = Promise.resolve();
  let soonTimer: NodeJS.Timeout | undefined;
  let stopped = false;

  const program = createProgram({ cli: options.cli, env, runner, onChange: adopt });
  const watch = createWatch({ env, onMessage: hear, onEnd: ended, poll: pollStatus });

  return { start, stop, perform, refresh, isFresh, account };

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
    adopting = adoptPresent().catch(() => {
      // Too busy even to ask for its version.
      if (!stopped) setTimeout(adopt, 1000).unref();
    });
  }

  async function adoptPresent(): Promise<void> {
    const found = await program.current();
    if (stopped) return;
    facts.forget();
    fresh.expire('status', 'devices', ...SNAPSHOT_PARTS);
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
      if (/registration|account/i.test(value.update)) fresh.expire('registration', 'devices');
      settingsChanged();
      return;
    }
    const status = parseStatusText(text);
    if (status) {
      hearStatus(status, text);
      return;
    }
    const failure = failureOf({ stdout: text, stderr: '', exitCode: 1 });
    if (failure && isBlocked(failure.kind)) facts.hinder(failure.kind, text);
    // Half a document may have been the news of a change; a whole one that is no status (a DNS log) is not.
    else if ((value === undefined && /^[{[]/.test(text)) || !facts.heard()) facts.status(UNKNOWN, text);
  }

  function hearStatus(status: ReturnType<typeof parseStatus>, text: string): void {
    const before = state.snapshot().status;
    if (status.state === 'connected' && before.state !== 'connected') fresh.expire('tunnelStats');
    if (status.blocked !== before.blocked) fresh.expire('settings', 'registration', 'devices', ...LISTS);
    recordHeard(text);
    facts.status(status, text);
    if (status.reason?.code === 'SettingsChanged') settingsChanged();
  }

  /** What was heard stands where the answer to `status` would. */
  function recordHeard(stdout: string): void {
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
    if (failure && isBlocked(failure.kind)) facts.hinder(failure.kind, printed.stderr);
    // Neither a status nor a reason why there is none: ask once, with the pauses of a failing read.
    else if (durationMs < 1000 && failure?.kind !== 'unsupported' && fresh.isStale('status')) void readPart('status');
  }

  async function pollStatus(): Promise<boolean> {
    const before = state.snapshot().status;
    fresh.expire('status');
    await readPart('status');
    return state.snapshot().status !== before;
  }

  function settingsChanged(): void {
    updateHeard = true;
    fresh.expire('settings');
    changed.add('settings');
    if (performing === 0) readSoon(0);
  }

  /** Reads what clients are told of, once, however many reasons there were for it. */
  function readSoon(afterMs: number): void {
    clearTimeout(soonTimer);
    soonTimer = setTimeout(() => {
      if (performing > 0 || !watched()) return;
      for (const part of changed) void readLatest(part);
      changed.clear();
    }, afterMs);
  }

  /** A read that is under way may have begun before the change. */
  async function readLatest(part: Read): Promise<void> {
    await reading.get(part);
    if (isDue(part)) await readPart(part);
  }

  // ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────────

  function isFresh(): boolean {
    return !isDue('status') && !SNAPSHOT_PARTS.some(isDue);
  }

  /** Stale, and a read could tell anything in the present state. */
  function isDue(part: Read): boolean {
    const { status, settings } = state.snapshot();
    switch (status.blocked) {
      case 'cli-missing':
      case 'service-stopped':
      case 'terms-not-accepted':
        return false;
      case 'not-registered':
        if (part !== 'settings' && part !== 'status') return false;
    }
    if (part === 'status' && facts.heard() && watch.form() !== 'poll') return false;
    // Without a tunnel (also in the modes that only resolve names) there are no figures.
    const tunnelled = status.state === 'connected' && settings.Mode !== 'doh' && settings.Mode !== 'dot';
    if (part === 'tunnelStats' && !tunnelled) return false;
    return fresh.isStale(part);
  }

  async function refresh(which: 'stale' | 'all'): Promise<void> {
    if (which === 'stale' && isFresh()) return;
    const waitMs = which === 'all' ? READ_LIMIT_MS + 1000 : 1000;
    const limit = new AbortController();
    const work = which === 'all' ? readAll() : readStale();
    await Promise.race([work, delay(waitMs, undefined, { signal: limit.signal })]).catch(() => {});
    limit.abort();
  }

  async function readStale(): Promise<void> {
    if (!facts.heard()) {
      // The listening child was started moments ago and is about to say it.
      await adopting;
      await Promise.race([watch.spoken(), delay(300, undefined, { ref: false })]);
      if (isDue('status')) await readPart('status');
    }
    await Promise.all(SNAPSHOT_PARTS.filter(isDue).map(readPart));
  }

  async function readAll(): Promise<void> {
    if (!(await program.current())) return;
    fresh.expire('status', 'devices', ...SNAPSHOT_PARTS);
    watch.retry();
    await readPart('status');
    await Promise.all(SNAPSHOT_PARTS.filter(isDue).map(readPart));
  }

  /** Reads one part; whoever asks meanwhile gets the same read. Never rejects. */
  function readPart(part: Read): Promise<void> {
    const already = reading.get(part);
    if (already) return already;
    const read = readNow(part)
      .catch(() => fresh.failed(part))
      .finally(() => reading.delete(part));
    reading.set(part, read);
    return read;
  }

  async function readNow(part: Read): Promise<void> {
    const found = await program.current();
    if (!found) return;
    const before = state.snapshot();
    const began = fresh.begin(part);
    const args = readArgv(part, found.can, terms.accepted());
    const finished = await runner.run({
      file: found.path,
      args,
      source: 'read',
      timeoutMs: READ_LIMIT_MS,
    });
    const failure = failureIn(finished);
    if (failure?.kind === 'unsupported' && program.demote(found, args, failure.message)) return readNow(part);
    if (part === 'status') {
      // What was heard while this was read is newer.
      if (state.snapshot().status !== before.status && watch.form() !== 'poll') return;
      state.record('status', finished.output);
      const status = parseStatus(finished.output);
      if (failure && status.state === 'unknown') fresh.failed('status');
      else fresh.read('status', TTL_MS.status);
      if (status.state === 'connected' && before.status.state !== 'connected') fresh.expire('tunnelStats');
      if (failure && isBlocked(failure.kind))
        facts.hinder(failure.kind, finished.output.stderr || finished.output.stdout);
      else facts.status(status, finished.output.stdout || finished.output.stderr);
      return;
    }
    const understood = take(part, finished.output);
    if (failure || !understood) fresh.failed(part);
    else fresh.read(part, ttlOf(part), began);
    if (!failure) reachable(part);
    // Some parts are refused to some accounts; only without settings nothing else makes sense.
    else if (failure.kind !== 'not-authorized' || part === 'settings') hinder(failure, finished);
    // The lists are told in full by the settings: as long as those stay the same, so do they.
    const { splitTunnel } = state.snapshot();
    if (part === 'settings' && before.splitTunnel.mode && splitTunnel !== before.splitTunnel) fresh.expire(...LISTS);
  }

  function hinder(failure: Failure, finished: Finished): void {
    if (isBlocked(failure.kind)) facts.hinder(failure.kind, printed(finished));
  }

  /** A read went through, so what stood in its way is gone. */
  function reachable(part: Read): void {
    facts.unhinder(
      'service-stopped',
      'terms-not-accepted',
      ...(part === 'settings' ? ['not-authorized' as const] : []),
    );
    watch.retry();
  }

  function take(part: Exclude<Read, 'status'>, output: CommandOutput): boolean {
    switch (part) {
      case 'settings':
        return facts.settings(output);
      case 'splitTunnelIps':
        return facts.splitIps(output);
      case 'splitTunnelHosts':
        return facts.splitHosts(output);
      case 'tunnelStats':
        return facts.stats(output);
      case 'registration':
        return facts.registration(output);
      case 'splitTunnelDump':
        state.record(part, output);
        return true;
      case 'devices':
        facts.devices(output);
        return true;
    }
  }

  function ttlOf(part: Read): number {
    if (part === 'tunnelStats') return TTL_MS.tunnelStats;
    if (part === 'registration' || part === 'devices') return TTL_MS.registration;
    // A child that listens in JSON tells of every change of settings.
    return watch.form() === 'json' ? Number.POSITIVE_INFINITY : TTL_MS.unheard;
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
      if (action === 'enableLocalProxy') await useMasque(found);
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
      fresh.expire('devices', ...plan.changes);
      for (const part of plan.changes) if (TOLD.has(part)) changed.add(part);
    }
    if (!failure) {
      facts.unhinder('service-stopped', 'terms-not-accepted');
      watch.retry();
      return finished.output;
    }
    if (failure.kind !== 'not-authorized') hinder(failure, finished);
    throw problemOf(`the action ${action}`, failure, finished);
  }

  /** Proxy mode needs MASQUE in every release since 2025.8, so it is chosen first where there is a choice. */
  async function useMasque(found: Program): Promise<void> {
    if (!found.can.protocol) return;
    if (isDue('settings')) await readPart('settings');
    if (state.snapshot().settings['WARP tunnel protocol'] === 'MASQUE') return;
    try {
      await execute('setProtocol', 'MASQUE', planAction('setProtocol', 'MASQUE', found.can), found);
    } catch (cause) {
      if (!(cause instanceof Problem && cause.code === 'unsupported-by-cli')) throw cause;
    }
  }

  async function account(): Promise<Account> {
    await refreshAccount();
    const known = facts.account();
    if (known) return { ok: true, ...known.registration, devices: known.devices };
    const { blocked } = state.snapshot().status;
    if (blocked) throw blockedProblem(blocked);
    const output = state.snapshot().commands.registration;
    const extras = output ? { exitCode: output.exitCode, stderr: output.stderr } : {};
    throw new Problem('tunnel-cli-failed', 'The tunnel CLI did not tell the registration of this device.', extras);
  }

  async function refreshAccount(): Promise<void> {
    if (isDue('registration')) await readPart('registration');
    if (facts.account()?.registration.registered && isDue('devices')) await readPart('devices');
  }
}

function printed({ output }: Finished): string {
  return output.stderr || output.stdout;
}

function isBlocked(kind: string): kind is Blocked {
  return kind in BLOCKS;
}

const BLOCKS: Record<Blocked, true> = {
  'cli-missing': true,
  'service-stopped': true,
  'terms-not-accepted': true,
  'not-registered': true,
  'not-authorized': true,
};
