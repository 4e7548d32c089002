// Reads properties of services on the system bus with busctl, without starting a service.
import * as z from 'zod/mini';
import { message } from '../../view/message.ts';
import { NoVerdict } from '../errors.ts';
import type { Tools } from './tools.ts';

export interface Bus {
  /**
   * Returns the values of properties in the order of `names`, as `busctl --json=short` prints them; null if no
   * program on the bus provides the service, or there is no bus.
   * @throws NoVerdict when the service does not answer, or busctl is missing
   */
  properties(target: BusTarget, names: readonly string[]): Promise<unknown[] | null>;
}

interface BusTarget {
  service: string;
  path: string;
  interface: string;
}

const Property = z.object({ data: z.unknown() });
const ABSENT =
  /not provided by any|ServiceUnknown|has no owner|Could not activate|Failed to (?:connect to bus|open bus)|Failed to (?:connect|set bus address)|No such file or directory|Unknown object|Unknown interface|Unit .* not found/i;

/** @param address address of a bus other than the system's */
export function createBus(tools: Tools, address: string | null): Bus {
  return {
    async properties({ service, path, interface: name }, names) {
      if (!tools.has('busctl')) throw new NoVerdict(message('busctl is not installed; it is part of systemd.'));
      const where = address === null ? '--system' : `--address=${address}`;
      const options = [where, '--json=short', '--auto-start=no', '--timeout=2'];
      const { exitCode, stdout, stderr } = await tools.run('busctl', [
        ...options,
        'get-property',
        service,
        path,
        name,
        ...names,
      ]);
      if (exitCode !== 0) {
        if (ABSENT.test(stderr)) return null;
        throw new NoVerdict(message('%s does not answer: %s', service, stderr.trim()));
      }
      const values = stdout.trim().split('\n').map(parse);
      if (values.length !== names.length) throw new NoVerdict(message('The output of %s was not understood.', service));
      return values;
    },
  };
}

function parse(line: string): unknown {
  try {
    return z.parse(Property, JSON.parse(line)).data;
  } catch (error) {
    throw new NoVerdict(message('The output of %s was not understood.', 'busctl'), error);
  }
}

/** Returns a property with the type of a schema, or null if it has another type. */
export function as<T>(schema: z.ZodMiniType<T>, value: unknown): T | null {
  const parsed = z.safeParse(schema, value);
  return parsed.success ? parsed.data : null;
}
