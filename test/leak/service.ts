// Starts the root service on the client machine, with a private bus.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { endpointWords } from '../../daemon/killswitch/client/service-link.ts';
import { BUS_NAME, OBJECT_PATH, type Report } from '../../daemon/killswitch/report.ts';
import type { Endpoint } from '../../daemon/killswitch/rules/endpoints.ts';
import { bundleGjs } from '../../data/build/bundle.mjs';
import { until } from '../support/until.ts';
import type { Ground, Machine, Program } from './machine.ts';
import { removeTable } from './stage.ts';

export interface Service {
  pid: number;
  ended: Program['ended'];
  /** @returns null if it died or refused */
  call(
    method: 'Enable' | 'Disable' | 'Status',
    allowLan?: boolean,
    endpoints?: readonly Endpoint[],
  ): Promise<Report | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

export interface Host {
  /** Its directory for what is stored. */
  state: string;
  /** Socket of its bus, which every user may connect to. */
  bus: string;
  /** Starts it and waits for its answer. */
  start(): Promise<Service>;
  /** Ends the service, and leaves a table that other programs may replace. */
  close(service: Service): Promise<void>;
}

let hosts = 0;

/**
 * A bus on the client, and a place for the service's files.
 * @param nft the program it uses; the system's unless given
 */
export async function createHost(
  { ground, rig: { client } }: { ground: Ground; rig: { client: Machine } },
  nft?: string,
): Promise<Host> {
  const directory = join(ground.directory, `service-${hosts++}`);
  const [state, run] = [join(directory, 'state'), join(directory, 'run')];
  for (const path of [state, run]) mkdirSync(path, { recursive: true, mode: 0o700 });
  for (const path of [ground.directory, directory]) chmodSync(path, 0o711);
  bundleGjs(['killswitch'], directory);
  const address = `unix:path=${directory}/bus`;
  writeFileSync(join(directory, 'bus.conf'), busConfig(address));
  const bus = client.start(['dbus-daemon', '--nofork', '--print-address', `--config-file=${directory}/bus.conf`]);
  await bus.line();
  const env = { DBUS_SYSTEM_BUS_ADDRESS: address };
  const command = [
    'nice',
    '-n',
    niceness(),
    'gjs',
    '-m',
    join(directory, 'killswitch.js'),
    '--state',
    state,
    '--run',
    run,
    ...(nft ? ['--nft', nft] : []),
  ];

  const call = async (method: string, words: readonly string[]) => {
    const target = [BUS_NAME, OBJECT_PATH, BUS_NAME, method, ...words];
    const busctl = [
      'busctl',
      `--address=${address}`,
      '--json=short',
      '--timeout=10',
      '--auto-start=no',
      'call',
      ...target,
    ];
    const { code, stdout } = await client.attempt(busctl);
    return code === 0 ? (JSON.parse((JSON.parse(stdout) as { data: [string] }).data[0]) as Report) : null;
  };
  return {
    state,
    bus: join(directory, 'bus'),
    async close(service) {
      await service.kill();
      bus.child.kill();
      await bus.ended;
      await removeTable(client, nft);
    },
    async start() {
      const program = client.start(command, { env });
      let over = '';
      void program.ended.then(
        ({ stderr, signal, code }) => (over = `the service ended (${signal ?? code}): ${stderr}`),
      );
      await until(async () => {
        if (over) throw new Error(over);
        return call('Status', []);
      }, 'the service to answer');
      return {
        pid: program.child.pid!,
        ended: program.ended,
        call: (method, allowLan = false, endpoints = []) =>
          call(method, method === 'Enable' ? ['ba(ssaq)', String(allowLan), ...endpointWords(endpoints)] : []),
        async kill() {
          program.child.kill('SIGKILL');
          await program.ended;
        },
      };
    },
  };
}

/** As its unit starts it: what counts is how soon it answers on a busy machine. */
function niceness(): string {
  const unit = resolve(import.meta.dirname, '../../data/killswitch/culvert-killswitch.service.in');
  return /^Nice=(-?\d+)$/m.exec(readFileSync(unit, 'utf8'))?.[1] ?? '0';
}

/** Permissions are not tested here. */
function busConfig(address: string): string {
  return `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>${address}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/></policy>
</busconfig>
`;
}
