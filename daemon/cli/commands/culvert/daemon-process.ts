// Finds the process of the running daemon, and waits for its end.
import { setTimeout as delay } from 'node:timers/promises';
import { Unreachable } from '../../../api/client.ts';
import { findOnPorts, type OtherCulvert } from '../../../port-search.ts';
import { errno } from '../../../system/errno.ts';
import { readText } from '../../../system/files.ts';
import { running } from '../../../system/instance.ts';
import { lockHolder } from '../../../system/lock.ts';
import { paths as pathsOf } from '../../../system/paths.ts';
import { isRunning, isSuspended, startTime } from '../../../system/process.ts';
import type { Context } from '../../context.ts';
import { Failure } from '../../errors.ts';

/** The daemon is gone within 2 s, or 7 s where it has changes to revert. */
const PATIENCE_MS = 15_000;

export interface Identity {
  pid: number;
  started: string;
}

/**
 * The daemon's process: the one that wrote the record, recognized by pid and start time;
 * where the record is missing or torn, the one that holds a lock, that answers on the socket, whose directory is closed
 * to others, or that answers on a port.
 * @throws Unreachable without such a process.
 */
export async function identify({ client, paths, env }: Context): Promise<Identity> {
  const recorded = running(paths);
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

/** The daemon that answers on a port, if it has the state of this user: another one belongs to another home. */
async function findByPort(env: NodeJS.ProcessEnv): Promise<OtherCulvert | null> {
  const { loadConfig } = await import('../../../config/layers.ts');
  const { systemConfig, userConfig, state } = pathsOf(env);
  const settings = await loadConfig({ system: systemConfig, user: userConfig }, env).catch(() => null);
  const other = settings && (await findOnPorts(settings.config.server.port));
  return other && stateOf(other.pid) === state ? other : null;
}

/** Directory of the state that a process has by its environment; null if that can't be known. */
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
export async function endBySignal(
  { pid, started }: Identity,
  signal: NodeJS.Signals,
  { command, aborted }: { command: string; aborted: AbortSignal },
): Promise<void> {
  if (isSuspended(pid))
    throw new Failure(`The Culvert daemon (process ${pid}) is suspended, so it can't end.`, {
      hint: `Resume it with: kill -CONT ${pid}; then repeat: ${command}`,
    });
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errno(error) !== 'ESRCH') throw error;
  }
  const deadline = Date.now() + PATIENCE_MS;
  while (isRunning(pid, started)) {
    if (Date.now() > deadline || aborted.aborted) {
      throw new Failure(`The daemon (pid ${pid}) was asked to end but still runs.`, {
        hint: `End it by force with: kill -9 ${pid}`,
      });
    }
    await delay(20);
  }
}

/**
 * True for one process that may be signaled. kill(2) takes 0 and negative numbers for whole groups, and -1
 * for every process there is; 1 is init. Both numbers come from files and sockets, so they are checked here, last.
 */
export function isSingleProcess(candidate: { pid: unknown; started: unknown }): candidate is Identity {
  return (
    Number.isSafeInteger(candidate.pid) &&
    (candidate.pid as number) > 1 &&
    typeof candidate.started === 'string' &&
    candidate.started !== ''
  );
}
