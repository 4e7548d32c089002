// Services of the network on a private bus, made by python-dbusmock.
import { execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { NetworkLink } from '../../../daemon/api/networks.ts';
import { unknownLink } from '../../../daemon/networks/links.ts';
import { type Ends, temporary } from '../temporary.ts';
import { until } from '../until.ts';

const PYTHON = '/usr/bin/python3';

/** Why these tests can't run here, or false. */
export function missingMocks(): string | false {
  if (spawnSync(PYTHON, ['-c', 'import dbusmock']).status !== 0) return 'python3-dbusmock is not installed';
  return spawnSync('gdbus', ['help']).error ? 'gdbus is not installed' : false;
}

/** A link with nothing but what is given. */
export function link(device: string, more: Partial<NetworkLink> = {}): NetworkLink {
  return { ...unknownLink(device), kind: 'wifi', ...more };
}

export interface MockBus {
  /** Names the bus as the system's. */
  env: NodeJS.ProcessEnv;
  /** Starts a mock: the arguments of `python3 -m dbusmock`. */
  mock(service: string, argv: readonly string[]): Promise<() => Promise<void>>;
  /** Calls a method of the mock of a service: with its signature and arguments, as busctl takes them. */
  call(service: string, path: string, method: string, ...argv: string[]): string;
  /** The programs that are connected to it, as busctl lists them. */
  clients(): string;
}

export async function startMockBus(t: Ends): Promise<MockBus> {
  const address = `unix:path=${join(temporary(t, 'bus'), 'bus')}`;
  const argv = ['--session', '--nofork', '--nopidfile', `--address=${address}`, '--print-address'];
  const daemon = spawn('dbus-daemon', argv, { stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(() => daemon.kill('SIGKILL'));
  await once(createInterface(daemon.stdout), 'line');
  const env = { PATH: process.env.PATH, DBUS_SYSTEM_BUS_ADDRESS: address };
  const busctl = (words: readonly string[]) =>
    execFileSync('busctl', ['--system', ...words], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const owns = (service: string) => busctl(['list', '--acquired', '--no-legend']).includes(`${service} `);
  return {
    env,
    async mock(service, words) {
      const options: SpawnOptions = { env, stdio: 'ignore' };
      const child = spawn(PYTHON, ['-W', 'ignore', '-m', 'dbusmock', '--system', ...words], options);
      t.after(() => child.kill('SIGKILL'));
      await until(() => owns(service), `the mock of ${service}`);
      return async () => {
        child.kill('SIGKILL');
        await once(child, 'exit');
      };
    },
    clients: () => busctl(['list', '--unique', '--no-legend']),
    call: (service, path, method, ...rest) =>
      busctl(['call', service, path, 'org.freedesktop.DBus.Mock', method, ...rest]).trim(),
  };
}
