// Notices changes of the network by `gdbus monitor`, a child for each service. It only says that something changed.
import type { ChildProcess } from 'node:child_process';
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
/** Longest time until a gdbus that ended is started again; one that ran longer had not failed. */
const LONGEST_MS = 60_000;
const REPORTED_FAILURES = 3;

export interface Monitor {
  stop(): void;
}

/**
 * Calls `changed` after each change, when a service comes or goes, and after a gdbus that ended was started again.
 * @param failed called once, where gdbus can't be started, or ended three times in a row
 * @param firstMs time until a gdbus that ended is started again; doubles up to a minute
 */
export function monitorNetworks(
  env: NodeJS.ProcessEnv,
  changed: () => void,
  failed: (reason: string) => void,
  firstMs = 1_000,
): Monitor {
  let isReported = false;
  let isStopped = false;
  const report = (reason: string) => {
    if (isReported || isStopped) return;
    isReported = true;
    failed(reason);
  };
  const stops = [NM, NETWORKD, IWD].map(service => follow(service, { env, changed, report, firstMs }));
  return {
    stop() {
      isStopped = true;
      for (const stop of stops) stop();
    },
  };
}

interface Following {
  env: NodeJS.ProcessEnv;
  changed(): void;
  report(reason: string): void;
  firstMs: number;
}

/** Follows one service. @returns ends it */
function follow(service: string, { env, changed, report, firstMs }: Following): () => void {
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let child = start();

  function start(): ChildProcess {
    const startedAt = performance.now();
    const started = startChild('gdbus', ['monitor', '--system', '--dest', service], busEnvironment(env));
    started.on('error', error => report(error.message));
    started.on('exit', code => {
      if (code === NOT_FOUND) return report('gdbus is not installed (package libglib2.0-bin)');
      failures = performance.now() - startedAt > LONGEST_MS ? 1 : failures + 1;
      if (failures === REPORTED_FAILURES) report('gdbus ends each time that it is started');
      timer = setTimeout(again, Math.min(firstMs * 2 ** (failures - 1), LONGEST_MS));
      timer.unref();
    });
    started.stderr?.resume();
    createInterface(started.stdout!).on('line', line => {
      if (TELLING.test(line)) changed();
    });
    return started;
  }

  function again(): void {
    child = start();
    changed(); // it may have missed a change
  }

  return () => {
    clearTimeout(timer);
    child.removeAllListeners('exit');
    signalGroup(child, 'SIGTERM');
  };
}
