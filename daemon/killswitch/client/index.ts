// Answers the requests for the kill switch, and loads its client only where there is something to follow.
import { join } from 'node:path';
import { watchFile } from '../../config/watch-file.ts';
import type { FeatureContext, KillSwitchControl } from '../../controls.ts';
import { reason } from '../../core/errors.ts';
import { begin, type Feature, type Lazy, lazy } from '../../feature.ts';
import { NO_KILL_SWITCH } from '../../state/store.ts';
import { STATE_FILE } from '../report.ts';
import { explained } from '../wording.ts';
import { absent, isInstalled, programOf, SERVICE_PATHS, type ServicePaths } from './published-state.ts';

/**
 * @param service paths of the root service; tests pass their own
 * @returns the feature, and the control that other features use
 */
export function openKillSwitch(
  context: FeatureContext,
  service = SERVICE_PATHS,
): Feature<'killswitch'> & { control: Lazy<KillSwitchControl> } {
  const { settings, state, say } = context;
  const killSwitch = lazy(async () => {
    const control = (await import('./client.ts')).createKillSwitch(context, service);
    control.start();
    return control;
  });
  const load = () => begin('kill switch', () => killSwitch().then(() => ({ start() {} })), say);
  let stopWaiting = () => {};
  return {
    control: killSwitch,
    handlers: answerWith(killSwitch),
    start() {
      stopWaiting = followInstallation(service, isThere => {
        if (killSwitch.wasCalled())
          killSwitch
            .loaded()
            .then(control => control?.reapply())
            .catch(error => say(`Kill switch: ${reason(error)}`));
        else if (isThere) load();
      });
      if (!settings.config.warp.killSwitch && !isInstalled(service)) {
        // the client would publish the same, but loads only with the first request
        if (!killSwitch.wasCalled())
          state.set('killSwitch', {
            ...NO_KILL_SWITCH,
            allowLan: settings.config.warp.allowLan,
            ...explained([]),
            ...absent(service),
          });
        return;
      }
      load();
    },
    async stop() {
      stopWaiting();
      await (await killSwitch.loaded())?.stop();
    },
  };
}

/** Time in which an installation writes its files, in ms. */
const SETTLE_MS = 200;

/**
 * Follows whether the service is installed, by the kernel's reports alone. The directory of its state is followed too, because a
 * service that starts has all its files.
 * @param changed called when the service was installed or removed
 * @returns a function that stops it
 */
function followInstallation(service: ServicePaths, changed: (isThere: boolean) => void): () => void {
  let settling: NodeJS.Timeout | undefined;
  const closers = new Map<string, () => void>();
  const follow = (file: string) => {
    if (!closers.has(file)) closers.set(file, watchFile(file, noticed));
  };
  const look = () => {
    settling = undefined;
    // another package installs the program, such as GJS
    const program = programOf(service);
    if (program !== null) follow(program);
    const isThere = isInstalled(service);
    if (isThere === wasThere) return;
    wasThere = isThere;
    changed(isThere);
  };
  const noticed = () => {
    settling ??= setTimeout(look, SETTLE_MS).unref();
  };
  const program = programOf(service) ?? [];
  for (const file of [...service.activation, ...service.units, join(service.run, STATE_FILE)].concat(program))
    follow(file);
  let wasThere = isInstalled(service);
  return () => {
    clearTimeout(settling);
    for (const close of closers.values()) close();
  };
}

/** Returns the function of each request, which calls `control`. */
export function answerWith(control: () => Promise<KillSwitchControl>): Feature<'killswitch'>['handlers'] {
  return {
    'GET /api/killswitch': async () => ({ ok: true, ...(await (await control()).read()) }),
    'POST /api/killswitch': async ({ body }) => ({ ok: true, ...(await (await control()).set(body)) }),
    'POST /api/killswitch/pause': async ({ body }) => ({ ok: true, ...(await (await control()).pause(body.seconds)) }),
    'GET /api/killswitch/blocked': async () => ({ ok: true, ...(await (await control()).blocked()) }),
  };
}
