// Starts, restarts and stops the daemon, and prints its version.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Unreachable } from '../../../api/client.ts';
import type { Health, Version } from '../../../api/schema.ts';
import { errno } from '../../../core/errors.ts';
import { assertOwn, readText } from '../../../core/files.ts';
import { lockHolder } from '../../../core/lock.ts';
import { isRunning, isSuspended, startTime } from '../../../core/process.ts';
import { runHelper } from '../../../core/run-helper.ts';
import { findOnPorts, type OtherCulvert } from '../../../port-search.ts';
import { RESTART_SIGNAL } from '../../../restart.ts';
import { programs, VERSION } from '../../../system/installation.ts';
import { recordedInstance, runningInstance } from '../../../system/instance.ts';
import { paths as pathsOf } from '../../../system/paths.ts';
import { type Context, type Run, show } from '../../context.ts';
import { EXIT, Failure, orNull } from '../../errors.ts';
import { outcomeOf, outcomeText, pendingChanges } from '../../pending.ts';

/** Limit of the wait for the daemon's end, which takes up to 2 s, or 7 s with changes to revert. */
const PATIENCE_MS = 15_000;

interface Identity {
  pid: number;
  started: string;
}

/**
 * Finds the daemon's process by its record (pid and start time). Without a complete record, looks for a process that holds a
 * lock, answers on the socket (in a directory closed to other users), or answers on a port.
 * @throws Unreachable without such a process
 */
async function identify({ client, paths, env }: Context): Promise<Identity> {
  const recorded = runningInstance(paths);
  if (recorded && isSingleProcess(recorded)) return recorded;
  const holder = lockHolder(paths.lock) ?? lockHolder(paths.stateLock);
  if (holder && isSingleProcess(holder)) return holder;
  const { app, pid } = await client.call('GET /api/health').catch(async error => {
    const other = error instanceof Unreachable && error.daemon !== 'silent' ? await findByPort(env) : null;
    if (!other) throw error;
    return { app: 'culvert', pid: other.pid };
  });
  const answering = { pid, started: startTime(pid) };
  if (app !== 'culvert' || !isSingleProcess(answering)) {
    throw new Failure(`What answers at ${paths.socket} is not a running Culvert; it was left alone.`);
  }
  return answering;
}

/** Finds the daemon that answers on a port, if its state directory is this user's. */
async function findByPort(env: NodeJS.ProcessEnv): Promise<OtherCulvert | null> {
  const { loadConfig } = await import('../../../config/layers.ts');
  const { systemConfig, userConfig, state } = pathsOf(env);
  const settings = await loadConfig({ system: systemConfig, user: userConfig }, env).catch(() => null);
  const other = settings && (await findOnPorts(settings.config.server.port));
  return other && stateOf(other.pid) === state ? other : null;
}

/** Returns a process's state directory, from its environment; null if unknown. */
function stateOf(pid: number): string | null {
  const variables = readText(`/proc/${pid}/environ`)?.split('\0') ?? [];
  const variable = (name: string) => variables.find(text => text.startsWith(`${name}=`))?.slice(name.length + 1);
  try {
    return pathsOf({ HOME: variable('HOME'), XDG_STATE_HOME: variable('XDG_STATE_HOME') }).state;
  } catch {
    return null;
  }
}

/**
 * Sends a signal, and waits until the process is gone.
 * @throws Failure when the process is suspended, or does not end
 */
async function endBySignal(
  { pid, started }: Identity,
  signal: NodeJS.Signals,
  { command, aborted }: { command: string; aborted: AbortSignal },
): Promise<void> {
  const requireAwake = () => {
    if (!isSuspended(pid)) return;
    throw new Failure(`The Culvert daemon (process ${pid}) is suspended, so it can't end.`, {
      hint: `Resume it with: kill -CONT ${pid}; then repeat: ${command}`,
    });
  };
  requireAwake();
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errno(error) !== 'ESRCH') throw error;
  }
  const deadline = Date.now() + PATIENCE_MS;
  while (isRunning(pid, started)) {
    requireAwake();
    if (Date.now() > deadline || aborted.aborted) {
      throw new Failure(`The daemon (pid ${pid}) was asked to end but still runs.`, {
        hint: `End it by force with: kill -9 ${pid}`,
      });
    }
    await delay(20);
  }
}

/**
 * True for a single process that may be signaled. kill(2) treats 0 and negative numbers as groups, and -1 as all
 * processes; 1 is init. The values come from files and sockets, so they are checked here, right before use.
 */
export function isSingleProcess(candidate: { pid: unknown; started: unknown }): candidate is Identity {
  return (
    Number.isSafeInteger(candidate.pid) &&
    (candidate.pid as number) > 1 &&
    typeof candidate.started === 'string' &&
    candidate.started !== ''
  );
}

/** Limit of the wait for a new daemon; systemd waits for RestartSec= before the restart. */
const START_MS = 20_000;

export const restart: Run = async context => {
  const last = recordedInstance(context.paths);
  const daemon = await identify(context).catch(error => {
    if (error instanceof Unreachable && error.daemon !== 'silent') return null;
    throw error;
  });
  if (daemon) await endBySignal(daemon, RESTART_SIGNAL, { command: 'culvert restart', aborted: context.signal });
  else await startDaemon(context);
  const { pid, version, tunnelCli } = daemon
    ? await nextDaemon(context, daemon)
    : await context.client.call('GET /api/health');
  show(context, { ok: true, restarted: daemon !== null, pid, version }, ({ restarted }) =>
    restarted
      ? `Restarted the daemon: version ${version} (pid ${pid}).`
      : `The daemon was not running. Started it: version ${version} (pid ${pid}).`,
  );
  if (!daemon && last?.demo && !tunnelCli.emulated)
    context.say(
      'The demo was killed. This one works on the tunnel client of this machine. For the demo: culvert stop, then culvert --demo',
    );
  return EXIT.ok;
};

/** Waits until a new daemon replaces the ended daemon. @throws Failure if no new daemon answers */
async function nextDaemon({ client, signal }: Context, ended: Identity): Promise<Health> {
  for (const end = performance.now() + START_MS; performance.now() < end && !signal.aborted; ) {
    const health = await orNull(client.call('GET /api/health'));
    if (health && health.pid !== ended.pid) return health;
    await delay(50, undefined, { signal }).catch(() => {});
  }
  throw new Failure('The daemon ended, but no other one answers.', {
    hint: 'Start it in a terminal to see why: culvert',
  });
}

export const stop: Run = async context => {
  const daemon = await identify(context);
  const before = await pendingChanges(context.env);
  await endBySignal(daemon, 'SIGTERM', { command: 'culvert stop', aborted: context.signal });
  const outcome = await outcomeOf(before, context.env);
  show(context, { ok: true, pid: daemon.pid, ...outcome }, ({ pid }) => `Stopped the daemon (pid ${pid}).`);
  for (const line of outcomeText(outcome)) context.say(line);
  return EXIT.ok;
};

const LIMIT_MS = 20_000;

/** Starts the user unit, if installed, or a detached daemon. @throws Failure without an answer in time, Error on a refusal */
async function startDaemon({ client, env, paths, signal }: Context): Promise<void> {
  assertOwn(paths.runtime, paths.state, paths.config);
  if (!(await startUnit(env))) {
    const child = spawn(programs.culvert, ['--no-open', '--no-panel', '--no-tray'], {
      env,
      cwd: '/',
      detached: true,
      stdio: 'ignore',
    });
    child.once('error', () => {}); // the missing answer is reported below
    child.unref();
  }
  for (const end = performance.now() + LIMIT_MS; performance.now() < end; ) {
    if (await orNull(client.call('GET /api/health'))) return;
    await delay(100, undefined, { signal });
  }
  throw new Failure('The daemon was started, but does not answer.', {
    hint: 'Start it in a terminal to see why: culvert',
  });
}

/** Makes a request; if no daemon runs, calls `starting`, starts the daemon, and repeats the request. */
export async function withDaemon<T>(context: Context, ask: () => Promise<T>, starting = async () => {}): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    await starting();
    await startDaemon(context);
    return ask();
  }
}

async function startUnit(env: NodeJS.ProcessEnv): Promise<boolean> {
  if (!env.XDG_RUNTIME_DIR || !existsSync(join(env.XDG_RUNTIME_DIR, 'systemd/private'))) return false;
  const argv = ['systemctl', '--user', 'start', 'culvert.service'] as const;
  return (await runHelper(argv, { env, timeoutMs: LIMIT_MS })).exit === 0;
}

export const version: Run = async context => {
  const daemon = await orNull(context.client.call('GET /api/version'));
  show(context, { ok: true, version: VERSION, node: process.versions.node, daemon }, ({ daemon }) =>
    [
      `culvert ${VERSION} (Node ${process.versions.node})`,
      daemon ? describe(daemon) : 'The Culvert daemon is not running.',
    ].join('\n'),
  );
  return 0;
};

function describe({ version, commit, installFormat, tunnelCli, apiVersion }: Version): string {
  const build = [installFormat, commit].filter(Boolean).join(', ');
  return `daemon ${version} (${build}), API ${apiVersion}, tunnel CLI ${tunnelCli.version ?? 'not known'}`;
}
