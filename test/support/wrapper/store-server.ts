// A real store for tests, Redis or Valkey, on a Unix socket in a temporary directory, without any persistence.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'iovalkey';
import { type Ends, temporary } from '../temporary.ts';
import { until } from '../until.ts';

export interface StoreServer {
  /** For `pool join`. */
  url: string;
  socket: string;
  directory: string;
  /** A client for what only a test asks for. */
  client: Redis;
  pid(): number;
  /** Ends it as a crash would, and waits for that. */
  kill(): Promise<void>;
  /** Starts it again: empty. */
  start(): Promise<void>;
}

/**
 * The program that starts a server, and the name that it has to be called by. Debian's servers are links to a program of redis-tools
 * or valkey-tools, which, unlike the packages of the servers, start no service.
 */
const PROGRAMS = [
  ['valkey-server', 'valkey-server'],
  ['valkey-check-rdb', 'valkey-server'],
  ['redis-server', 'redis-server'],
  ['redis-check-rdb', 'redis-server'],
] as const;
const FOUND = PROGRAMS.find(([program, argv0]) => {
  const { status, stdout } = spawnSync(program, ['--version'], { argv0, encoding: 'utf8' });
  return status === 0 && stdout.includes('server v=');
});

/** Starts the machine's server with these arguments. */
export function spawnStore(args: readonly string[]): ChildProcess {
  if (!FOUND) throw new Error('Neither Redis nor Valkey is installed; ./culvert-tool test installs one.');
  const [program, argv0] = FOUND;
  return spawn(program, args, { argv0, stdio: 'pipe' });
}

/** When each lease on the accounts of `tool` ends, in milliseconds since the epoch, without a process of our own. */
export async function endsOfLeases({ client }: StoreServer): Promise<number[]> {
  const records = await client.hvals('culvert:1:{tool}:leases');
  return records.flatMap(record => (record.includes('{') ? Number.parseInt(record, 10) : []));
}

/** Options of a server on a port of this machine. */
export const onPort = (port: number, ...more: readonly string[]) => [
  '--port',
  String(port),
  '--bind',
  '127.0.0.1',
  ...more,
];

/** Options of a node of a cluster: its second port, by default 10,000 above the first, could be in use. */
export const inCluster = (port: number, bus: number, ...more: readonly string[]) =>
  onPort(port, '--cluster-enabled', 'yes', '--cluster-port', String(bus), ...more);

/**
 * Starts a server that ends with the test.
 * @param first in place of the options that make it a store without persistence
 * @param options further ones, such as `onPort(12345)`; without, it listens on its socket only
 */
export async function storeServer(
  t: Ends,
  options: readonly string[] = [],
  first: readonly string[] = [],
): Promise<StoreServer> {
  const directory = temporary(t, 'store');
  const socket = join(directory, 's');
  let child: ChildProcess | undefined;
  const client = new Redis({ path: socket, lazyConnect: true, retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on('error', () => {});
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
    rmSync(socket, { force: true });
  };
  const start = async () => {
    const fixed = ['--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no', '--dir', directory];
    const all = first.length > 0 ? first : [...fixed, '--enable-debug-command', 'local'];
    child = spawnStore([...all, ...options]);
    let output = '';
    child.stdout?.on('data', chunk => {
      output += chunk;
    });
    child.stderr?.on('data', chunk => {
      output += chunk;
    });
    await until(
      () => {
        if (child?.exitCode !== null) throw new Error(`The store ended: ${output}`);
        return /ready to accept connections|sentinel id is/i.test(output);
      },
      () => `the store to start: ${output}`,
    );
  };
  t.after(async () => {
    client.disconnect();
    await kill();
  });
  await start();
  return { url: `valkey+unix://${socket}`, socket, directory, client, pid: () => child!.pid!, kill, start };
}
