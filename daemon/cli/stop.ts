// `culvert stop`: ends the daemon, once it is sure which process that is, and waits until it is gone.
import { setTimeout as delay } from 'node:timers/promises';
import { running, startOf } from '../instance.ts';
import { type Context, type Run, show } from './context.ts';
import { EXIT, Failure } from './exit.ts';

/** The daemon promises to be gone within 2 s. */
const PATIENCE_MS = 10_000;

export const stop: Run = async context => {
  const { pid, started } = await identify(context);
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
  const deadline = Date.now() + PATIENCE_MS;
  while (startOf(pid) === started) {
    if (Date.now() > deadline || context.signal.aborted) {
      throw new Failure(`The daemon (pid ${pid}) was asked to end but still runs.`, {
        hint: `End it by force with: kill -9 ${pid}`,
      });
    }
    await delay(20);
  }
  show(context, { ok: true, pid }, () => `Stopped the daemon (pid ${pid}).`);
  return EXIT.ok;
};

/**
 * The daemon's process: the one that wrote the record, which its start time tells from a later owner of its pid;
 * or, where the record is missing or torn, the one that answers on the socket, whose directory is closed to others.
 * @throws Unreachable when there is neither.
 */
async function identify({ client, paths }: Context): Promise<{ pid: number; started: string }> {
  const recorded = running(paths);
  if (recorded) return recorded;
  const { app, pid } = await client.call('GET /api/health');
  const started = startOf(pid);
  if (app !== 'culvert' || started === null) {
    throw new Failure(`What answers at ${paths.socket} is not a running Culvert; it was left alone.`);
  }
  return { pid, started };
}
