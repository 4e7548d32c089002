// Wires the parts of the daemon, opens them, and shuts them down in order.
import { loadConfig, type Settings } from './config/layers.ts';
import { reason, reasonWithPath } from './core/errors.ts';
import { assertOwn, makeDirectory } from './core/files.ts';
import { acquireLock, type Lock } from './core/lock.ts';
import { createFeatures } from './features.ts';
import type { Daemon } from './http/handlers.ts';
import { createListeners } from './http/listeners.ts';
import { addressesOf, type DesktopPart, type Flags, parseFlags, startDesktop } from './launcher.ts';
import { searchPort } from './port-search.ts';
import { RESTART_SIGNAL, startAgain, takeDemoRequest } from './restart.ts';
import { createRuntimeFiles, keepRuntime } from './runtime-files.ts';
import { areSettingsKnown, keepStatusFile } from './state/status-line.ts';
import { createLog, createState, NO_KILL_SWITCH } from './state/store.ts';
import { programs, VERSION } from './system/installation.ts';
import { type Instance, prepareRuntime, runningInstance } from './system/instance.ts';
import { type Paths, paths as pathsOf } from './system/paths.ts';
import { createNotifier, openInBrowser, setAutostart } from './system/session.ts';
import { createSignIn } from './warp/consent.ts';
import { POLICY_FILE } from './warp/parse/policy-file.ts';
import { createTunnel } from './warp/tunnel.ts';

const LOG_CAPACITY = 500;
const GRACE_MS = 1_000;
/** Time limit for reverts, within TimeoutStopSec= of data/culvert.service.in. */
const REVERT_MS = 5_000;
const TUNNEL_DELAY_MS = 30;

const say = (line: string) => console.error(`culvert: ${line}`);

async function main(argv: string[], env: NodeJS.ProcessEnv): Promise<void> {
  process.umask(0o077);
  delete env.MALLOC_ARENA_MAX; // from data/bin/culvert.in, for this process only
  const flags = parseFlags(argv); // a TypeError here is a usage error
  const { runtime, state, config } = pathsOf(env);
  assertOwn(runtime, state, config);
  flags.demo ||= takeDemoRequest(pathsOf(env));
  const paths = pathsOf(env, flags.demo);
  const settings = await loadConfig({ system: paths.systemConfig, user: paths.userConfig }, env, {
    ...(flags.port === undefined ? {} : { 'server.port': flags.port }),
  });
  for (const { file, line, key, message } of settings.response().problems)
    say(
      `${file}${line === null ? '' : `, line ${line}`}: ${key === null ? '' : `${key}: `}${message}. ` +
        'The rest of the configuration is used.',
    );

  prepareRuntime(paths);
  const lock = acquireLock(paths.lock);
  if ('heldBy' in lock) {
    const instance = runningInstance(paths);
    if (instance?.port) openPage(flags, settings, instance.port, env);
    return joinRunning({ instance, pid: lock.heldBy, isReachable: instance !== null }, flags, env);
  }
  const stateLock = lockState(paths);
  if (stateLock && 'heldBy' in stateLock) {
    lock.release();
    return joinRunning({ instance: null, pid: stateLock.heldBy, isReachable: false }, flags, env);
  }
  const release = () => {
    lock.release();
    stateLock?.release();
  };
  const starting = start({ flags, settings, paths, env }, (unconfirmed, demo) => void end(unconfirmed, demo));
  let ending = false;
  async function end(how: End, demo = flags.demo): Promise<void> {
    if (ending) return;
    ending = true;
    const stop = await starting;
    const open = (await stop?.(how)) ?? [];
    release();
    process.exit(how === 'stop' ? 0 : startAgain(argv, flags, open, { env, say, demo, paths }));
  }
  // registered before the start is complete: the default action would end the process with changes unreverted
  process.on(RESTART_SIGNAL, () => void end('keep'));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end('stop'));
  if (!(await starting)) return release();
}

/** Locks the state, so that two daemons can't damage it; null if the state can't be written. */
function lockState({ state, stateLock }: Paths): Lock | null {
  try {
    makeDirectory(state);
    return acquireLock(stateLock);
  } catch {
    return null;
  }
}

/** The end of a daemon: a stop, or a restart that keeps or reverts unconfirmed changes. */
type End = 'stop' | 'keep' | 'revert';

interface Launch {
  flags: Flags;
  settings: Settings;
  paths: Paths;
  env: NodeJS.ProcessEnv;
}

/**
 * Opens all parts of the daemon.
 * @returns a function that shuts them down and resolves with the parts of the desktop that were open until then; null when
 * another Culvert of this user is used instead
 */
async function start(
  { flags, settings, paths, env }: Launch,
  restart: (unconfirmed: Exclude<End, 'stop'>, demo?: boolean) => void,
): Promise<((how: End) => Promise<DesktopPart[]>) | null> {
  const { config } = settings;
  const cli = flags.demo ? programs.emulator : config.warp.cli;
  const state = createState(
    { available: false, path: null, version: null, emulated: flags.demo },
    { ...NO_KILL_SWITCH, enabled: config.warp.killSwitch },
  );
  const log = createLog({ capacity: LOG_CAPACITY, onEntry: entry => state.publish('log', entry) });
  let writeStatusFile = () => {};
  const readJournal = async () => {
    const { readRegistrationJournal } = await import('./doctor/gather.ts');
    return readRegistrationJournal({ env, paths, snapshot: state.snapshot() });
  };
  const tunnel = createTunnel({
    cli,
    emulated: flags.demo,
    env,
    acceptedTerms: paths.acceptedTerms,
    wish: paths.connectWish,
    ...(flags.demo ? {} : { policyFile: POLICY_FILE, readJournal }),
    state,
    log,
    onAge: () => writeStatusFile(),
  });
  let port: number | null = null;
  const context = { env, paths, state, settings, tunnel, say, restart };
  const features = createFeatures(context, log, () => listeners.streams.count());
  const startedAt = new Date().toISOString();
  const { webui } = programs;
  const daemon: Daemon = {
    env,
    state,
    tunnel,
    settings,
    log,
    features,
    startedAt,
    webui,
    port: () => port,
    signIn: createSignIn(request => features.changes.runWithLimit(request)),
    restart: demo => restart('revert', demo),
  };
  const listeners = createListeners(daemon);
  const notifier = createNotifier(env);

  const { addresses, remote } = addressesOf(config);
  const access = remote ? await (await import('./http/token.ts')).openRemoteAccess(paths, state, config) : null;
  const search = await searchPort(config.server.port, async candidate => {
    port = candidate;
    await listeners.listenTcp(candidate, addresses, access);
  });
  if ('running' in search) {
    joinRunning({ instance: search.running, pid: search.running.pid, isReachable: false }, flags, env);
    return null;
  }
  const runtime = createRuntimeFiles(paths, listeners, { port, demo: flags.demo });
  await runtime.open();
  writeStatusFile = keepStatusFile(paths.statusFile, state, {
    port: () => port,
    isModeKnown: () => areSettingsKnown(tunnel, state.snapshot().settings),
    hasOldParts: tunnel.hasOldParts,
  });
  const restoreRuntime = async () => {
    await runtime.restore();
    writeStatusFile();
  };
  const endKeeping = keepRuntime(paths, restoreRuntime, say);
  const watching = settings.watch(response => {
    state.publish('config', response);
    autostart(paths, response.config.tray);
  });
  state.subscribe(({ event }) => {
    if (event === 'status' && state.snapshot().status.blocked === 'cli-missing')
      say(`${cli} is not installed. Install Cloudflare WARP, or try Culvert without it: culvert --demo`);
  });
  // answer the port before spawning children: spawning dominates the start
  const startingTunnel = setTimeout(() => {
    tunnel.start();
    features.start();
    autostart(paths, settings.config.tray);
    void keepHeapSmall();
  }, TUNNEL_DELAY_MS);

  announce(port!, config.server.port, paths, flags);
  notifier.ready(`Answering on port ${port}`);
  const desktop = startDesktop(flags, env, say);
  openPage(flags, settings, port!, env);

  return async how => {
    notifier.stopping();
    clearTimeout(startingTunnel);
    // after a restart with `keep`, the next daemon reverts them
    if (how !== 'keep') await features.changes.revertUnconfirmed(REVERT_MS);
    endKeeping();
    watching.close();
    const open = desktop.filter(({ child }) => child.pid && child.exitCode === null && child.signalCode === null);
    for (const { child } of open) child.kill();
    await Promise.all([listeners.close('stopped', GRACE_MS), tunnel.stop(how !== 'stop'), features.stop()]);
    runtime.remove();
    return open.map(({ part }) => part);
  };
}

function announce(port: number, asked: number, { socket }: Paths, { demo }: Flags): void {
  if (port !== asked) say(`Port ${asked} is in use; took ${port} instead.`);
  say(`version ${VERSION} answers on http://127.0.0.1:${port}/api/ and ${socket}`);
  if (demo) say('Demo: the embedded emulator stands in for warp-cli, and nothing is tunneled.');
}

function autostart(paths: Paths, tray: { autostart: boolean; startHidden: boolean }) {
  try {
    setAutostart(paths, programs.culvert, tray.autostart, tray.startHidden);
  } catch (error) {
    say(`The autostart entry could not be changed: ${reason(error)}`);
  }
}

/** Keeps V8's space for new objects at its first size of 1 MB; a burst of answers would leave it at up to 16 MB forever. */
async function keepHeapSmall(): Promise<void> {
  const { setFlagsFromString } = await import('node:v8');
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Opens the browser page if the configuration and the flags ask for it. */
function openPage({ open }: Flags, { config: { webui, ui } }: Settings, port: number, env: NodeJS.ProcessEnv): void {
  if (!open || !webui.enabled || !ui.openBrowser) return;
  const address = `http://127.0.0.1:${port}/`;
  void openInBrowser(address, env).then(
    obstacle => obstacle && say(`The browser page is at ${address}; it was not opened, because ${obstacle}.`),
  );
}

interface RunningCulvert {
  instance: Pick<Instance, 'port' | 'version' | 'demo'> | null;
  pid: number;
  /** True if this user's commands find the instance by the record in the runtime directory. */
  isReachable: boolean;
}

/** Says that another daemon of this user runs, and shows its panel. */
function joinRunning({ instance, pid, isReachable }: RunningCulvert, flags: Flags, env: NodeJS.ProcessEnv): void {
  const where = instance?.port ? ` on port ${instance.port}` : '';
  const what = instance?.demo ? 'The demo of Culvert' : 'Culvert';
  say(`${what} ${instance?.version ?? ''} is already running${where} (process ${pid}).`.replace('  ', ' '));
  if (!isReachable) say(`If commands do not reach it, end it with: kill ${pid}`);
  if (flags.demo && !instance?.demo)
    say(`It was left as it is; for the demo, stop it first: culvert stop, or kill ${pid}`);
  if (!flags.demo && instance?.demo)
    say(`It was left as it is; for the real one, stop it first: culvert stop, or kill ${pid}`);
  startDesktop(flags, env, say);
}

// a terminal or pipe that closes must not end the daemon
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, error => {
    console.error('culvert: internal error, ending:', error);
    process.exit(1);
  });

main(process.argv.slice(2), process.env).catch((error: Error) => {
  say(reasonWithPath(error));
  process.exit(error instanceof TypeError ? 2 : 1);
});
