// Notices changes of the network by `gdbus monitor`, a child for each service. It only says that something changed.
import { createInterface } from 'node:readline';
import { signalGroup, startChild } from '../../warp/cli/child.ts';
import { busEnvironment } from './bus.ts';
import { NM } from './network-manager.ts';
import { IWD, NETWORKD } from './networkd.ts';

/**
 * Words in signals after which a network may be another one. Signal strengths, scans and counters of bytes come all the time,
 * without these words.
 */
const TELLING =
  /State|ActiveConnection|PrimaryConnection|ActiveAccessPoint|Connectivity|Metered|Gateway|ConnectedNetwork|ConnectedAccessPoint|is owned by|does not have an owner/;

/** Exit status of setpriv(1) where the program is missing. */
const NOT_FOUND = 127;

export interface Monitor {
  stop(): void;
}

/**
 * Calls `changed` after each change, and when a service comes or goes.
 * @param failed called once, where gdbus can't be started
 */
export function monitorNetworks(
  env: NodeJS.ProcessEnv,
  changed: () => void,
  failed: (reason: string) => void,
): Monitor {
  let isReported = false;
  let isStopped = false;
  const report = (reason: string) => {
    if (isReported || isStopped) return;
    isReported = true;
    failed(reason);
  };
  const children = [NM, NETWORKD, IWD].map(service => {
    const child = startChild('gdbus', ['monitor', '--system', '--dest', service], busEnvironment(env));
    child.on('error', error => report(error.message));
    // without a system bus it ends as well, and nothing reports a network then
    child.on('exit', code => code === NOT_FOUND && report('gdbus is not installed'));
    child.stderr?.resume();
    createInterface(child.stdout!).on('line', line => {
      if (TELLING.test(line)) changed();
    });
    return child;
  });
  return {
    stop() {
      isStopped = true;
      for (const child of children) signalGroup(child, 'SIGTERM');
    },
  };
}
