// `culvert restart`: replaces the running daemon, with its flags and its pending changes, or starts one.
import { setTimeout as delay } from 'node:timers/promises';
import { Unreachable } from '../../../api/client.ts';
import type { Health } from '../../../api/schema.ts';
import { RESTART_SIGNAL } from '../../../restart.ts';
import { recorded } from '../../../system/instance.ts';
import { type Context, type Run, show } from '../../context.ts';
import { EXIT, Failure } from '../../errors.ts';
import { startDaemon } from '../../start-daemon.ts';
import { endBySignal, type Identity, identify } from './daemon-process.ts';

/** systemd waits for RestartSec= before it starts the unit again. */
const START_MS = 20_000;

export const restart: Run = async context => {
  const last = recorded(context.paths);
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

/** Waits for another daemon than the one that ended. @throws Failure when none answers */
async function nextDaemon({ client, signal }: Context, ended: Identity): Promise<Health> {
  for (const end = performance.now() + START_MS; performance.now() < end && !signal.aborted; ) {
    try {
      const health = await client.call('GET /api/health');
      if (health.pid !== ended.pid) return health;
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
    }
    await delay(50, undefined, { signal }).catch(() => {});
  }
  throw new Failure('The daemon ended, but no other one answers.', {
    hint: 'Start it in a terminal to see why: culvert',
  });
}
