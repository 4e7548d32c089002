// Asks the network services on the system bus, by short-lived busctl processes that start no service.
import { execFile } from 'node:child_process';
import * as z from 'zod/mini';

const LIMIT_MS = 5_000;
/** busctl's words about a service that runs, and does not answer. */
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

/** The first value that a method returns; null where the service does not run. Rejects where it does not answer. */
export type Ask = (call: Call) => Promise<unknown>;

/** @param env names the bus, in tests (DBUS_SYSTEM_BUS_ADDRESS) */
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

/** Only what a program of the bus needs. */
export function busEnvironment({ PATH, DBUS_SYSTEM_BUS_ADDRESS }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const address = DBUS_SYSTEM_BUS_ADDRESS ? { DBUS_SYSTEM_BUS_ADDRESS } : null;
  return { PATH, LC_ALL: 'C', ...address };
}

function firstOf(stdout: string): unknown {
  try {
    return z.parse(Reply, JSON.parse(stdout)).data[0] ?? null;
  } catch {
    return null;
  }
}

/** Reads what `GetManagedObjects` returned; null for anything else. */
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

/** The properties of a type that an object has on an interface, or null. */
export function propertiesOf<T>(objects: Objects, path: unknown, name: string, schema: z.ZodMiniType<T>): T | null {
  const parsed = z.safeParse(schema, typeof path === 'string' ? objects.get(path)?.[name] : undefined);
  return parsed.success ? parsed.data : null;
}
