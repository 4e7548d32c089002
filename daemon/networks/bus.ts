// Asks the network services on the system bus, through busctl processes that start no service, and notices changes through
// `gdbus monitor`.
import { type ChildProcess, execFile } from 'node:child_process';
import { createInterface } from 'node:readline';
import * as z from 'zod/mini';
import { reason } from '../core/errors.ts';
import { signalGroup } from '../core/run-helper.ts';
import { parseJson } from '../core/shape.ts';
import { startChild } from '../warp/cli/run.ts';

export const NM = 'org.freedesktop.NetworkManager';
export const NETWORKD = 'org.freedesktop.network1';
export const IWD = 'net.connman.iwd';

const LIMIT_MS = 5_000;
/** Matches busctl's messages about a running service that does not answer. */
const SILENT = /timed out|disconnected|did not receive a reply/i;
const MAX_BYTES = 16_000_000;

/** A value as `busctl --json=short` prints it. */
const Variant = z.object({ data: z.unknown() });
const Reply = z.object({ data: z.array(z.unknown()) });
const ManagedObjects = z.record(z.string(), z.record(z.string(), z.record(z.string(), Variant)));

/** Properties by object path and interface. */
export type Objects = ReadonlyMap<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>;

/** Address of a method: service, object path, interface and name. */
type Call = readonly [service: string, path: string, interfaceName: string, method: string];

/** Returns the first value of a method's reply; null if the service does not run. Rejects if the service does not answer. */
export type Ask = (call: Call) => Promise<unknown>;

/** @param env environment, which names the bus in tests (DBUS_SYSTEM_BUS_ADDRESS) */
export function askBus(env: NodeJS.ProcessEnv): Ask {
  const argv = ['--system', '--json=short', '--auto-start=no', '--timeout=4', 'call'];
  return call =>
    new Promise((resolve, reject) => {
      const options = {
        env: busEnvironment(env),
        timeout: LIMIT_MS,
        killSignal: 'SIGKILL',
        maxBuffer: MAX_BYTES,
      } as const;
      execFile('busctl', [...argv, ...call], options, (error, stdout, stderr) => {
        if (error && (error.killed || SILENT.test(stderr))) reject(new Error(`${call[0]} does not answer`));
        else resolve(error ? null : firstOf(stdout));
      });
    });
}

/** Returns only the variables that a bus client needs. */
function busEnvironment({ PATH, DBUS_SYSTEM_BUS_ADDRESS }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const address = DBUS_SYSTEM_BUS_ADDRESS ? { DBUS_SYSTEM_BUS_ADDRESS } : null;
  return { PATH, LC_ALL: 'C', ...address };
}

function firstOf(stdout: string): unknown {
  return z.safeParse(Reply, parseJson(stdout)).data?.data[0] ?? null;
}

/** Parses the reply of `GetManagedObjects`; null for anything else. */
export function objectsOf(reply: unknown): Objects | null {
  const parsed = z.safeParse(ManagedObjects, reply);
  if (!parsed.success) return null;
  const plain = Object.entries(parsed.data).map(([path, interfaces]) => {
    const values = Object.entries(interfaces).map(([name, properties]) => [
      name,
      Object.fromEntries(Object.entries(properties).map(([key, { data }]) => [key, data])),
    ]);
    return [path, Object.fromEntries(values)] as const;
  });
  return new Map(plain);
}

/** Returns an object's properties on an interface, or null if they do not match the schema. */
export function propertiesOf<T>(objects: Objects, path: unknown, name: string, schema: z.ZodMiniType<T>): T | null {
  const parsed = z.safeParse(schema, typeof path === 'string' ? objects.get(path)?.[name] : undefined);
  return parsed.success ? parsed.data : null;
}

/**
 * Words of signals that may report another network. Signals about strength, scans and byte counters come all the time, and lack
 * these words.
 */
const TELLING =
  /State|ActiveConnection|PrimaryConnection|ActiveAccessPoint|Connectivity|Metered|Gateway|ConnectedNetwork|ConnectedAccessPoint|is owned by|does not have an owner/;

/** Exit status of setpriv(1) if the program is missing. */
const NOT_FOUND = 127;
/** Maximum delay before a gdbus that ended is started again. A gdbus that ran longer counts as healthy. */
const MAX_DELAY_MS = 60_000;
const REPORTED_FAILURES = 3;

export interface Monitor {
  stop(): void;
}

/**
 * Calls `changed` after each change, when a service comes or goes, and after a gdbus that ended was started again.
 * @param failed called once, if gdbus can't be started or ended three times in a row
 * @param firstMs delay before a gdbus that ended is started again; doubles up to a minute
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

/** Follows one service. @returns a function that ends this */
function follow(service: string, { env, changed, report, firstMs }: Following): () => void {
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let child = start();

  function start(): ChildProcess {
    const startedAt = performance.now();
    const started = startChild('gdbus', ['monitor', '--system', '--dest', service], busEnvironment(env));
    started.on('error', error => report(reason(error)));
    started.on('exit', code => {
      if (code === NOT_FOUND) return report('gdbus is not installed (package libglib2.0-bin)');
      failures = performance.now() - startedAt > MAX_DELAY_MS ? 1 : failures + 1;
      if (failures === REPORTED_FAILURES) report('gdbus ends each time that it is started');
      timer = setTimeout(again, Math.min(firstMs * 2 ** (failures - 1), MAX_DELAY_MS));
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
    changed(); // gdbus may have missed a change
  }

  return () => {
    clearTimeout(timer);
    child.removeAllListeners('exit');
    signalGroup(child, 'SIGTERM');
  };
}
