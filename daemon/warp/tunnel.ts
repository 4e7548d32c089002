// Wires what the daemon knows about the tunnel: listening for changes, reading what is outdated, performing actions.

import { setTimeout as delay } from 'node:timers/promises';
import type { ActionName, ActionRequest } from '../api/actions.ts';
import type { Account, CommandOutput, Snapshot, StalePart, TunnelCli } from '../api/schema.ts';
import { readText } from '../core/files.ts';
import { runsSystemd } from '../core/process.ts';
import { Problem } from '../problem.ts';
import type { CommandLog, State } from '../state/store.ts';
import { isSupported } from './actions/commands.ts';
import { createActionRunner } from './actions/run-action.ts';
import { childEnv } from './cli/child.ts';
import { createCliTracker } from './cli/cli-info.ts';
import { blockedProblem } from './cli/failures.ts';
import { installCommand, installSteps } from './cli/install-steps.ts';
import { createRunner } from './cli/run.ts';
import { NEWEST, READ_LIMIT_MS } from './cli/version.ts';
import { createTerms } from './consent.ts';
import { createChangedParts, createHearing, type Hearing } from './hear.ts';
import { createWatch, type Watch } from './listen/watch.ts';
import { hasServiceToken } from './parse/policy-file.ts';
import { createReader, type Reader } from './read/reader.ts';
import { createTunnelStore, type TunnelStore } from './tunnel-store.ts';
import { createWish } from './wish.ts';

export interface Tunnel {
  /** Starts the listening child and watches for the executable. */
  start(): void;
  /** Ends every child's process group; within 500 ms. @param restarts the next daemon begins a moment later */
  stop(restarts?: boolean): Promise<void>;
  /**
   * Performs an action: resolves when the tunnel CLI accepted it, with its output, or null if none was run.
   * The new state arrives through the State; `enableLocalProxy` alone resolves when the proxy answers.
   * @throws Problem `argument-rejected`, `unsupported-by-cli`, `tunnel-cli-failed`, `tunnel-cli-timeout`, `busy`,
   *   `proxy-port-in-use`, `proxy-not-answering`, or a blocked state's code
   */
  runAction(request: ActionRequest): Promise<CommandOutput | null>;
  /** Several actions as one change: what they change is read once, when `work` has ended. */
  batch<T>(work: () => Promise<T>): Promise<T>;
  /** True if the installed tunnel CLI has a command for the action, or no CLI is installed. */
  supports(action: ActionName): Promise<boolean>;
  /**
   * Reads what is outdated, or everything. Never rejects; waits at most 1 s, or 6 s for everything and after an action
   * whose changes were not read yet. Settings that were never read are waited for some 10 s more.
   */
  refresh(which: 'stale' | 'all'): Promise<void>;
  /** Reads the figures of the running tunnel, where they are outdated. Never rejects. */
  readFigures(): Promise<void>;
  /**
   * State of a change that takes effect: `now` until changed settings are read again, `lately` for the seconds in which the
   * tunnel follows, and while another action runs.
   */
  changing(): 'now' | 'lately' | null;
  /** True if every part of the snapshot is as current as the tunnel CLI can report. */
  isFresh(): boolean;
  /** The parts of the snapshot that may be older than the present state of the tunnel CLI. */
  stale(): StalePart[];
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
  /** systemd runs this machine (default: as found). */
  systemd?: boolean;
  /** The daemon's environment; children get a part of it (see `childEnv`). */
  env: NodeJS.ProcessEnv;
  /** File that remembers that the user agreed to the terms. */
  acceptedTerms: string;
  /** File that keeps an accepted wish to connect over a restart of the daemon; without it, a restart ends the wish. */
  wish?: string;
  /** Policy file of an organization; absent in the demo. */
  policyFile?: string;
  state: State;
  log: CommandLog;
  /** The settings became outdated, or were read again. */
  onSettingsAge?: () => void;
  /** Time limit for the local proxy's answer (default 30 s). */
  proxyLimitMs?: number;
  /** Time after which a tunnel that was to connect and is down is reported (default 5 s). */
  ignoredMs?: number;
}

const ADOPT_AGAIN_MS = 1000;

/** The command for this system, where one is known. */
function howToInstall(): Pick<TunnelCli, 'installCommand'> {
  const steps = installSteps(readText('/etc/os-release') ?? '', process.arch);
  return steps ? { installCommand: installCommand(steps) } : {};
}

/** A tunnel that spawns nothing before `start` or the first request. */
export function createTunnel(options: Options): Tunnel {
  const { state, log } = options;
  const env = childEnv(options.env, options.emulated);
  const terms = createTerms(options.acceptedTerms);
  const runner = createRunner({ env, log });
  const wish = createWish(options.wish);
  const { policyFile } = options;
  const hasToken = () => policyFile !== undefined && hasServiceToken(policyFile);
  const store = createTunnelStore(state, wish, hasToken);
  let adopting: Promise<void> = Promise.resolve();
  let stopped = false;

  const tracker = createCliTracker({ cli: options.cli, env, runner, onChange: () => void adopt() });
  const watch = createWatch({
    env,
    onMessage: message => hearing.onMessage(message),
    onIdle: () => hearing.onIdle(),
    onEnd: ended => hearing.onEnd(ended),
    poll: () => hearing.poll(),
  });
  const reader = createReader({
    state,
    store,
    tracker,
    runner,
    acceptTerms: terms.accepted,
    listening: watch.form,
    onSettingsAge: options.onSettingsAge ?? (() => {}),
    onReachable: () => void (watch.hasten() || reader.read('status')),
  });
  const changes = createChangedParts({
    reader,
    settings: () => state.snapshot().settings,
    announces: () => watch.form() === 'json',
  });
  const hearing: Hearing = createHearing({ state, log, store, reader, tracker, changes });
  const runAction = createActionRunner({
    state,
    store,
    reader,
    tracker,
    runner,
    watch,
    changes,
    terms,
    adopt,
    stopped: () => stopped,
    proxyLimitMs: options.proxyLimitMs,
    ignoredMs: options.ignoredMs,
  });

  return {
    start() {
      tracker.start();
      void adopt();
    },
    async stop(restarts = false) {
      stopped = true;
      wish.leave(restarts);
      changes.stop();
      reader.stop();
      tracker.stop();
      await Promise.all([watch.stop(), runner.stop()]);
    },
    runAction,
    batch: changes.during,
    changing: changes.changing,
    supports: async action => isSupported(action, (await tracker.current())?.can ?? NEWEST),
    refresh: createRefresh({ reader, watch, adopted: () => adopting }),
    readFigures: () => reader.readLatest('tunnelStats'),
    isFresh() {
      store.checkToken();
      return reader.isFresh();
    },
    stale: () => reader.stale(),
    async account() {
      await adopting;
      store.checkToken();
      return readAccount(reader, store, state.snapshot);
    },
  };

  /** Replaces the executable in use by the present one, or by none. */
  function adopt(): Promise<void> {
    adopting = adopting.then(adoptPresent).catch(() => {
      // the runner is too busy even for --version
      if (!stopped) setTimeout(() => void adopt(), ADOPT_AGAIN_MS).unref();
    });
    return adopting;
  }

  async function adoptPresent(): Promise<void> {
    const cli = await tracker.current();
    if (stopped) return;
    store.reset();
    reader.statusHeard();
    reader.expireAll();
    state.set('tunnelCli', {
      available: cli !== null,
      path: cli?.path ?? null,
      version: cli?.version ?? null,
      emulated: options.emulated,
      ...(cli?.can ? {} : howToInstall()),
      ...((options.systemd ?? runsSystemd()) ? {} : { systemd: false as const }),
    });
    if (!cli?.can) {
      await watch.stop();
      store.setBlocked(cli ? 'cli-too-old' : 'cli-missing', null);
      return;
    }
    store.clearBlocked('cli-missing', 'cli-too-old');
    watch.listen({ file: cli.path, form: cli.can.json ? 'json' : 'text', acceptTerms: terms.accepted() });
    void reader.readLatest('settings'); // the status file and the history name the mode
  }
}

const STALE_MS = 1000;
const ALL_MS = READ_LIMIT_MS + 1000;
/** Settings that were never read are waited for this much longer. */
const FIRST_READ_MS = 2 * READ_LIMIT_MS;

interface RefreshOptions {
  reader: Reader;
  watch: Pick<Watch, 'retry' | 'spoken'>;
  /** Resolves when the present executable is in use. */
  adopted(): Promise<void>;
}

/** @returns `Tunnel.refresh` */
function createRefresh({ reader, watch, adopted }: RefreshOptions): (which: 'stale' | 'all') => Promise<void> {
  return async which => {
    if (which === 'stale' && reader.isFresh()) return;
    const limit = new AbortController();
    const within = (ms: number, work: Promise<void>) =>
      Promise.race([work, delay(ms, undefined, { signal: limit.signal })]).catch(() => {});
    if (which === 'all') {
      watch.retry();
      await within(ALL_MS, reader.readAll());
    } else {
      const limitMs = reader.hasUnreadChanges() ? ALL_MS : STALE_MS;
      await within(
        limitMs,
        reader.readStale(() => adopted().then(watch.spoken)),
      );
    }
    if (reader.stale(['settings']).some(({ ageSeconds }) => ageSeconds === null))
      await within(FIRST_READ_MS, reader.readLatest('settings'));
    limit.abort();
  };
}

/** @returns `Tunnel.account` */
async function readAccount(reader: Reader, store: TunnelStore, snapshot: () => Snapshot): Promise<Account> {
  await reader.readLatest('registration');
  if (store.account()?.registration.registered) await reader.readLatest('devices');
  const shown = snapshot();
  const { status, commands } = shown;
  const account = store.account();
  // an earlier answer is worthless once nothing can be read
  if (status.blocked && status.blocked !== 'not-registered' && !(account && status.blocked === 'not-authorized'))
    throw blockedProblem(status.blocked, shown);
  if (account) {
    const stale = account.registration.registered ? reader.stale(['registration', 'devices']) : [];
    return { ok: true, ...account.registration, devices: account.devices, ...(stale.length ? { stale } : {}) };
  }
  const { exitCode = null, stderr = '' } = commands.registration ?? {};
  throw new Problem('tunnel-cli-failed', 'The tunnel CLI did not report the registration of this device.', {
    exitCode,
    stderr,
  });
}
