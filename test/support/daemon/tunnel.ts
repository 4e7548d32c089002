// A started tunnel over the emulator or a script, which counts what is spawned.

import { join } from 'node:path';
import type test from 'node:test';
import type { ServiceManager } from '../../../daemon/api/schema.ts';
import { Problem } from '../../../daemon/problem.ts';
import { createLog, createState, type Published } from '../../../daemon/state/store.ts';
import type { JournalCause } from '../../../daemon/warp/registration.ts';
import { createTunnel } from '../../../daemon/warp/tunnel.ts';
import { until } from '../until.ts';
import { emulator } from './emulator.ts';
import { folder } from './fake-cli.ts';

interface Setup {
  version?: string;
  faults?: string;
  connectMs?: number;
  policyFile?: string;
  readJournal?: () => Promise<JournalCause | null>;
  ignoredMs?: number;
  onAge?: () => void;
  /** A shell script in place of the emulator. */
  fake?: string;
  accepted?: boolean;
  missing?: boolean;
  /** The service manager (default: systemd). */
  serviceManager?: ServiceManager | null;
  /** Proxy mode really listens, on this port. */
  proxyPort?: number;
}

/** A started tunnel over an executable that counts how often it is spawned. */
export async function startTunnel(t: test.TestContext, options: Setup = {}) {
  const place = folder();
  const cli = await emulator({
    version: options.version,
    faults: undefined,
    connectMs: options.connectMs ?? 30,
    proxy: options.proxyPort !== undefined,
  });
  const words = [
    ...(options.faults ? [`fault=${options.faults}`] : []),
    ...(options.proxyPort ? [`settings.proxyPort=${options.proxyPort}`] : []),
  ];
  if (words.length > 0) await cli.control('reset', ...words);
  const counted = (bin: string) => `echo "$*" >> ${place.path}/runs\n${options.fake ?? `exec ${bin} "$@"`}`;
  if (!options.missing) place.script('warp-cli', counted(cli.bin));
  const acceptedTerms = join(place.path, 'state/accepted-terms');
  const log = createLog({ capacity: 500 });
  const state = createState({ available: false, path: null, version: null, emulated: true });
  const events: Published[] = [];
  state.subscribe(event => events.push(event));
  const tunnel = createTunnel({
    cli: 'warp-cli',
    emulated: true,
    serviceManager: options.serviceManager ?? null,
    env: { ...cli.env, PATH: `${place.path}:${process.env.PATH}`, CANARY: 'canary' },
    acceptedTerms,
    wish: join(place.path, 'state/connect-wish'),
    state,
    log,
    ...(options.policyFile === undefined ? {} : { policyFile: options.policyFile }),
    ...(options.readJournal === undefined ? {} : { readJournal: options.readJournal }),
    ...(options.ignoredMs === undefined ? {} : { ignoredMs: options.ignoredMs }),
    ...(options.onAge === undefined ? {} : { onAge: options.onAge }),
  });
  t.after(async () => {
    await tunnel.stop();
    await cli.remove();
    place.remove();
  });
  tunnel.start();
  const runs = () => place.read('runs').split('\n').filter(Boolean);
  const status = () => state.snapshot().status;
  return {
    place,
    cli,
    log,
    state,
    events,
    tunnel,
    acceptedTerms,
    runs,
    status,
    script: (name: string) => place.script(name, counted(cli.bin)),
    /** Reads what is outdated until nothing is: each attempt waits a second, and a busy machine needs more. */
    fresh: () =>
      until(async () => {
        await tunnel.refresh('stale');
        return tunnel.isFresh();
      }),
    /** The processes that something spawned, once nothing is left that could spawn another. */
    async spawned(work: () => Promise<unknown>) {
      const before = runs().length;
      await work();
      await until(isIdle);
      return runs().slice(before);
    },
  };
}

/** True when the listening child is the only process, and no pending timer could start another. */
function isIdle(): boolean {
  const active = process.getActiveResourcesInfo();
  return !active.includes('Timeout') && active.filter(type => type === 'ProcessWrap').length === 1;
}

/** Matches an error that is a problem of this code. */
export const problem =
  (code: string, more: (problem: Problem) => boolean = () => true) =>
  (error: unknown) =>
    error instanceof Problem && error.code === code && more(error);
