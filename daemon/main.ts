// The daemon: its parts are wired here, opened, and shut down in order.
import { chmodSync, rmSync } from 'node:fs';
import { VERSION } from './about.ts';
import { setAutostart } from './autostart.ts';
import { loadConfig, type Settings } from './config.ts';
import { createFeatures } from './features.ts';
import { createFront } from './front.ts';
import type { Daemon } from './handlers.ts';
import { acquire, type Instance, prepareRuntime, replaceFile, running, startOf } from './instance.ts';
import { addressesOf, type DesktopPart, type Flags, parseFlags, searchPort, startDesktop } from './launcher.ts';
import { createLog } from './log.ts';
import { createNotifier } from './notify.ts';
import { type Paths, paths as pathsOf } from './paths.ts';
import { programs } from './place.ts';
import { createState, NO_KILL_SWITCH } from './state.ts';
import { keepStatusFile } from './statusfile.ts';
import { createTunnel } from './warp/tunnel.ts';

const LOG_CAPACITY = 500;
const GRACE_MS = 1_000;
const TUNNEL_DELAY_MS = 30;

const say = (line: string) => console.error(`culvert: ${line}`);

async function main(argv: string[], env: NodeJS.ProcessEnv): Promise<void> {
  process.umask(0o077);
  const flags = parseFlags(argv); // a TypeError here is a usage error
  const paths = pathsOf(env);
  const settings = await loadConfig({ system: paths.systemConfig, user: paths.userConfig }, env, {
    ...(flags.port === undefined ? {} : { 'server.port': flags.port }),
  });
  for (const { file, line, key, message } of settings.response().problems)
    say(
      `${file}${line === null ? '' : `, line ${line}`}: ${key === null ? '' : `${key}: `}${message}. ` +
        'The rest of the configuration is used.',
    );

  prepareRuntime(paths);
  const lock = acquire(paths);
  if ('heldBy' in lock) return joinRunning(running(paths), lock.heldBy, flags, env);
  const stop = await start(flags, settings, paths, env, () => end(true));
  const { release } = lock;
  if (!stop) return release();

  let ending = false;
  async function end(restarting: boolean): Promise<void> {
    if (ending) return;
    ending = true;
    const shown = await stop!();
    release();
    process.exit(restarting ? (await import('./restart.ts')).startAgain(argv, flags, shown, env, say) : 0);
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end(false));
}

/**
 * Opens everything. Returns what shuts it down, and tells what of the desktop was there until then; or null when another
 * Culvert of this user is used instead.
 */
async function start(
  flags: Flags,
  settings: Settings,
  paths: Paths,
  env: NodeJS.ProcessEnv,
  restart: () => void,
): Promise<(() => Promise<DesktopPart[]>) | null> {
  const { config } = settings;
  const cli = flags.demo ? programs.emulator : config.warp.cli;
  const state = createState(
    { available: false, path: null, version: null, emulated: flags.demo },
    { ...NO_KILL_SWITCH, enabled: config.warp.killSwitch },
  );
  const log = createLog({ capacity: LOG_CAPACITY, onEntry: entry => state.publish('log', entry) });
  const tunnel = createTunnel({
    cli,
    emulated: flags.demo,
    env,
    acceptedTerms: paths.acceptedTerms,
    state,
    log,
    watched: () => front.streams.count() > 0,
  });
  let port: number | null = null;
  const features = createFeatures({ env, paths, state, settings, tunnel, say, restart });
  const startedAt = new Date().toISOString();
  const daemon: Daemon = { state, tunnel, settings, log, features, startedAt, port: () => port };
  const front = createFront(daemon);
  const notifier = createNotifier(env);

  const { addresses, remote } = addressesOf(config);
  const admits = remote ? await remoteCheck(paths.token) : null;
  const found = await searchPort(config.server.port, async candidate => {
    port = candidate;
    await front.listenTcp(candidate, addresses, admits);
  });
  if ('running' in found) {
    joinRunning({ ...found.running, started: '' }, found.running.pid, flags, env);
    return null;
  }
  rmSync(paths.socket, { force: true });
  await front.listenUnix(paths.socket);
  chmodSync(paths.socket, 0o600);
  const record: Instance = { pid: process.pid, port, version: VERSION, started: startOf(process.pid)! };
  replaceFile(paths.record, `${JSON.stringify(record)}\n`);
  keepStatusFile(paths.statusFile, state, () => port);
  const watching = settings.watch(response => {
    state.publish('config', response);
    autostart(paths, response.config.tray.autostart);
  });
  state.subscribe(({ event }) => {
    if (event === 'status' && state.snapshot().status.blocked === 'cli-missing')
      say(`${cli} is not installed. Install Cloudflare WARP, or try Culvert without it: culvert --demo`);
  });
  // who waits for the port is answered before children are started, which takes longer than all else together
  const startingTunnel = setTimeout(() => {
    tunnel.start();
    features.start();
    autostart(paths, config.tray.autostart);
  }, TUNNEL_DELAY_MS);

  if (port !== config.server.port) say(`Port ${config.server.port} is in use; took ${port} instead.`);
  say(`version ${VERSION} answers on http://127.0.0.1:${port}/api/ and ${paths.socket}`);
  if (flags.demo) say('Demo: the embedded emulator stands in for warp-cli, and nothing is tunnelled.');
  notifier.ready(`Answering on port ${port}`);
  const desktop = startDesktop(flags, env, say);

  return async () => {
    notifier.stopping();
    clearTimeout(startingTunnel);
    watching.close();
    const shown = desktop.filter(({ child }) => child.pid && child.exitCode === null && child.signalCode === null);
    for (const { child } of shown) child.kill();
    await Promise.all([front.close('stopped', GRACE_MS), tunnel.stop(), features.stop()]);
    for (const file of [paths.record, paths.statusFile, paths.socket]) rmSync(file, { force: true });
    return shown.map(({ part }) => part);
  };
}

/** The check of the token that requests from other addresses need; the token is made where there is none. */
async function remoteCheck(path: string) {
  const { readToken, tokenCheck } = await import('./token.ts');
  return tokenCheck(await readToken(path, { create: true }));
}

function autostart(paths: Paths, wanted: boolean) {
  try {
    setAutostart(paths, programs.culvert, wanted);
  } catch (error) {
    say(`The autostart entry could not be changed: ${(error as Error).message}`);
  }
}

/** Another daemon of this user runs: say so, and show its panel. */
function joinRunning(instance: Instance | null, pid: number, flags: Flags, env: NodeJS.ProcessEnv): void {
  const where = instance?.port ? ` on port ${instance.port}` : '';
  say(`Culvert ${instance?.version ?? ''} is already running${where} (process ${pid}).`.replace('  ', ' '));
  if (flags.demo) say('It was left as it is; for the demo, stop it first: culvert stop');
  startDesktop(flags, env, say);
}

// a terminal or pipe that goes away is no reason to end
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, error => {
    console.error('culvert: internal error, ending:', error);
    process.exit(1);
  });

main(process.argv.slice(2), process.env).catch((error: Error) => {
  say(error.message);
  process.exit(error instanceof TypeError ? 2 : 1);
});
