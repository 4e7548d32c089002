// The kill switch for the command line where no daemon runs: read from what the root service publishes, or asked over the bus.
import type { KillSwitch } from '../../api/schema.ts';
import { NO_KILL_SWITCH } from '../../state/store.ts';
import type { Report } from '../report.ts';
import { explained } from '../wording.ts';
import { type Call, callService } from './busctl.ts';
import { absent, isInstalled, type Places, readPublished, places as usual } from './published-state.ts';

/** Way out for a blocked person without a working Culvert. */
export const WAY_OUT =
  'To turn it off: culvert killswitch off. If that fails: sudo busctl call org.culvert.KillSwitch1 ' +
  '/org/culvert/KillSwitch1 org.culvert.KillSwitch1 Disable, or sudo culvert-killswitch-remove.';

/** Never rejects: what can't be known is null, with the reason in `detail`. */
export async function readWithoutDaemon(places: Places = usual): Promise<KillSwitch> {
  if (!isInstalled(places)) return { ...NO_KILL_SWITCH, installed: false, ...absent(places) };
  const published = readPublished(places);
  if (!('unreadable' in published)) {
    const { version: _, pid: __, startTime: ___, ...report } = published;
    return toKillSwitch(report);
  }
  try {
    return toKillSwitch(await callService({ method: 'Status' }, false, places));
  } catch {
    return { ...NO_KILL_SWITCH, installed: true, active: null, ...explained([published.unreadable]) };
  }
}

/** @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed */
export async function askWithoutDaemon(call: Call, places: Places = usual): Promise<KillSwitch> {
  return toKillSwitch(await callService(call, true, places));
}

function toKillSwitch(report: Report): KillSwitch {
  return { ...report, installed: true, command: null };
}
