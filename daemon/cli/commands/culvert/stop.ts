// `culvert stop`: ends the daemon, once it is sure which process that is, and waits until it is gone.
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { errno } from '../../../system/errno.ts';
import { running } from '../../../system/instance.ts';
import { lockHolder } from '../../../system/lock.ts';
import { paths } from '../../../system/paths.ts';
import { isRunning, isSuspended, startTime } from '../../../system/process.ts';
import { type Context, type Run, show } from '../../context.ts';
import { EXIT, Failure } from '../../errors.ts';

/** The daemon is gone within 2 s, or 7 s where it has changes to revert. */
const PATIENCE_MS = 15_000;

export const stop: Run = async context => {
  const { pid, started } = await identify(context);
  if (isSuspended(pid))
    throw new Failure(`The Culvert daemon (process ${pid}) is suspended, so it can't end.`, {
      hint: `Let it go on with: kill -CONT ${pid}; then repeat: culvert stop`,
    });
  const files = [context.paths.changes, paths(context.env, true).changes];
  const pendingFiles = files.filter(file => existsSync(file));
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    if (errno(error) !== 'ESRCH') throw error;
  }
  const deadline = Date.now() + PATIENCE_MS;
  while (isRunning(pid, started)) {
    if (Date.now() > deadline || context.signal.aborted) {
      throw new Failure(`The daemon (pid ${pid}) was asked to end but still runs.`, {
        hint: `End it by force with: kill -9 ${pid}`,
      });
    }
    await delay(20);
  }
  show(context, { ok: true, pid }, () => `Stopped the daemon (pid ${pid}).`);
  if (pendingFiles.some(file => existsSync(file)))
    context.say('A change that was to end stays until Culvert runs again. See: culvert, then culvert status');
  else if (pendingFiles.length > 0) context.say('The change that was not confirmed was reverted.');
  return EXIT.ok;
};

/**
 * The daemon's process: the one that wrote the record, which its start time tells from a later owner of its pid;
 * where the record is missing or torn, the one that holds a lock, or the one that answers on the socket, whose directory is closed to others.
 * @throws Unreachable when there is neither.
 */
async function identify({ client, paths }: Context): Promise<Identity> {
  const recorded = running(paths);
  if (recorded && isSingleProcess(recorded)) return recorded;
  const holder = lockHolder(paths.lock) ?? lockHolder(paths.stateLock);
  if (holder && isSingleProcess(holder)) return holder;
  const { app, pid } = await client.call('GET /api/health');
  const answering = { pid, started: startTime(pid) };
  if (app !== 'culvert' || !isSingleProcess(answering)) {
    throw new Failure(`What answers at ${paths.socket} is not a running Culvert; it was left alone.`);
  }
  return answering;
}

interface Identity {
  pid: number;
  started: string;
}

/**
 * Whether this names one process that may be signaled. kill(2) takes 0 and negative numbers for whole groups, and -1
 * for every process there is; 1 is init. Both numbers come from files and sockets, so they are looked at here, last.
 */
export function isSingleProcess(found: { pid: unknown; started: unknown }): found is Identity {
  return (
    Number.isSafeInteger(found.pid) &&
    (found.pid as number) > 1 &&
    typeof found.started === 'string' &&
    found.started !== ''
  );
}
