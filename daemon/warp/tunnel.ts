// Wires the parts that listen to the tunnel CLI, read outdated state and perform actions.
import { setTimeout as delay } from 'node:timers/promises';
import type { ActionName, ActionRequest } from '../api/actions.ts';
import type { Account, CommandOutput, ServiceManager, Snapshot, StalePart, TunnelCli } from '../api/schema.ts';
import { readText } from '../core/files.ts';
import { Problem } from '../problem.ts';
import type { CommandLog, State } from '../state/store.ts';
import { serviceManager } from '../system/service-manager.ts';
import { isSupported } from './actions/commands.ts';
import { createActionRunner } from './actions/run-action.ts';
import { createCliTracker } from './cli/cli-info.ts';
import { blockedProblem } from './cli/failures.ts';
import { installCommand, installSteps } from './cli/install-steps.ts';
import { childEnv, createRunner } from './cli/run.ts';
import { LISTS, NEWEST, READ_LIMIT_MS } from './cli/version.ts';
import { createTerms } from './consent.ts';
import { type ChangedParts, createChangedParts, createHearing, type Hearing } from './hear.ts';
import { createWatch, type Watch } from './listen/watch.ts';
import { createReader, type Reader } from './read/reader.ts';
import { createRegistrationWatch, type JournalCause } from './registration.ts';
import { createTunnelStore, type TunnelStore } from './tunnel-store.ts';
import { createWish } from './wish.ts';

type Refresh = 'stale' | 'lists' | 'all';

export interface Tunnel {
  /** Watches for the executable, and starts the child that listens for changes. */
  start(): void;
  /** Ends every child's process group within 500 ms. @param restarts true if the next daemon starts a moment later */
  stop(restarts?: boolean): Promise<void>;
  /**
   * Performs an action. Resolves when the tunnel CLI has accepted it, with the output, or with null if no command was run.
   * The new state arrives through the State. `enableLocalProxy` alone resolves when the proxy answers.
   * @param isAutomatic true if Culvert performs the action, not the user
   * @throws Problem `argument-rejected`, `unsupported-by-cli`, `tunnel-cli-failed`, `tunnel-cli-timeout`, `busy`,
   *   `proxy-port-in-use`, `proxy-not-answering`, or a blocked state's code
   */
  runAction(request: ActionRequest, isAutomatic?: boolean): Promise<CommandOutput | null>;
  /** Treats several actions as one change: reads the changed parts once, when `work` has ended. */
  batch<T>(work: () => Promise<T>): Promise<T>;
  /** True if the installed tunnel CLI has a command for the action, or no CLI is installed. */
  supports(action: ActionName): Promise<boolean>;
  /**
   * Reads the outdated parts, or everything. Never rejects. Waits at most 1 s; at most 6 s for everything, for lists, or after an
   * action with unread changes. Waits about 10 s more for settings that were never read.
   * @param which `lists`: also settings and lists that may have changed unnoticed
   */
  refresh(which: Refresh): Promise<void>;
  /** Reads the running tunnel's statistics if they are outdated. Never rejects. */
  readFigures(): Promise<void>;
  /**
   * Returns how far a change has taken effect: `now` until the changed settings are read again; `lately` while the tunnel
   * follows, which takes seconds, and while another action runs.
   */
  changing(): 'now' | 'lately' | null;
  /** True if every part of the snapshot is as current as the tunnel CLI can report. */
  isFresh(): boolean;
  /** The parts of the snapshot that may be older than the present state of the tunnel CLI. */
  stale(): StalePart[];
  /** True if the published settings or split tunnel are old, because they could not be read again. */
  hasOldParts(): boolean;
  /**
   * Returns this device's registration and the devices in it.
   * @throws Problem if the registration can't be read; "not registered" is a valid answer
   */
  account(): Promise<Account>;
}

interface Options {
  /** Name of the tunnel CLI in PATH, or its absolute path. */
  cli: string;
  /** True if the CLI is the embedded emulator. */
  emulated: boolean;
  /** The service manager; null for systemd (default: detected). */
  serviceManager?: ServiceManager | null;
  /** The daemon's environment; children get only part of it (see `childEnv`). */
  env: NodeJS.ProcessEnv;
  /** File that records the user's consent to the terms. */
  acceptedTerms: string;
  /** File that keeps an accepted wish to connect across restarts of the daemon; without it, a restart ends the wish. */
  wish?: string;
  /** The organization's policy file; absent in the demo. */
  policyFile?: string;
  /** Returns why the device is not registered, from the service's journal, or null. Never rejects. Absent in the demo. */
  readJournal?: () => Promise<JournalCause | null>;
  state: State;
  log: CommandLog;
  /** Called when parts become outdated or are read again. */
  onAge?: () => void;
  /** Time limit for the local proxy's answer (default 30 s). */
  proxyLimitMs?: number;
  /** Time after which a tunnel that is still down is reported as not connecting (default 5 s). */
  ignoredMs?: number;
}

const ADOPT_AGAIN_MS = 1000;

/** Returns the command that installs the tunnel CLI on this system, if one is known. */
function howToInstall(): Pick<TunnelCli, 'installCommand'> {
  const steps = installSteps(readText('/etc/os-release') ?? '', process.arch);
  return steps ? { installCommand: installCommand(steps) } : {};
}

/** Creates a tunnel that spawns nothing before `start` or the first request. */
export function createTunnel(options: Options): Tunnel {
  const { state, log, policyFile, readJournal } = options;
  const env = childEnv(options.env, options.emulated);
  const terms = createTerms(options.acceptedTerms);
  const runner = createRunner({ env, log });
  const wish = createWish(options.wish);
  const version = () => state.snapshot().tunnelCli.version;
  const store = createTunnelStore(state, wish, createRegistrationWatch({ policyFile, readJournal, version }));
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
    onAge: options.onAge ?? (() => {}),
    hasten: () => watch.hasten(),
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
    refresh: createRefresh({ reader, watch, changes, adopted: () => adopting }),
    readFigures: () => reader.readLatest('tunnelStats'),
    isFresh() {
      store.checkRegistration();
      return reader.isFresh();
    },
    stale: () => reader.stale(),
    hasOldParts: reader.hasOldParts,
    async account() {
      await adopting;
      store.checkRegistration();
      return readAccount(reader, store, state.snapshot);
    },
  };

  /** Switches to the executable that is installed now, or to none. */
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
    const manager = options.serviceManager === undefined ? serviceManager() : options.serviceManager;
    store.reset();
    reader.statusHeard();
    reader.expireAll();
    state.set('tunnelCli', {
      available: cli !== null,
      path: cli?.path ?? null,
      version: cli?.version ?? null,
      emulated: options.emulated,
      ...(cli?.can ? {} : howToInstall()),
      ...(manager ? { serviceManager: manager } : {}),
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
/** Additional wait for settings that were never read, in ms. */
const FIRST_READ_MS = 2 * READ_LIMIT_MS;

interface RefreshOptions {
  reader: Reader;
  watch: Pick<Watch, 'retry' | 'spoken' | 'form'>;
  changes: Pick<ChangedParts, 'retryLater'>;
  /** Resolves when the installed executable is in use. */
  adopted(): Promise<void>;
}

/** @returns `Tunnel.refresh` */
function createRefresh({ reader, watch, changes, adopted }: RefreshOptions): (which: Refresh) => Promise<void> {
  return async which => {
    // a JSON listener announces every change
    if (which === 'lists' && watch.form() !== 'json') reader.expireOlder('settings', ...LISTS);
    if (which !== 'all' && reader.isFresh()) return;
    const limit = new AbortController();
    const within = (ms: number, work: Promise<void>) =>
      Promise.race([work, delay(ms, undefined, { signal: limit.signal })]).catch(() => {});
    if (which === 'all') {
      watch.retry();
      await within(ALL_MS, reader.readAll());
    } else {
      const limitMs = which === 'lists' || reader.hasUnreadChanges() ? ALL_MS : STALE_MS;
      await within(
        limitMs,
        reader.readStale(() => adopted().then(watch.spoken)),
      );
    }
    if (reader.stale(['settings']).some(({ ageSeconds }) => ageSeconds === null))
      await within(FIRST_READ_MS, reader.readLatest('settings'));
    limit.abort();
    changes.retryLater();
  };
}

/** @returns `Tunnel.account` */
async function readAccount(reader: Reader, store: TunnelStore, snapshot: () => Snapshot): Promise<Account> {
  await reader.readLatest('registration');
  if (store.account()?.registration.registered) await reader.readLatest('devices');
  const shown = snapshot();
  const { status, commands } = shown;
  const account = store.account();
  // once nothing can be read, an earlier answer no longer counts
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
