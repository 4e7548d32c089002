// The senders at work: rounds in which every class tries once, and how often each has tried.
import { closeSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FULL } from '../support/thoroughness.ts';
import { until } from '../support/until.ts';
import type { Sender } from './classes.ts';
import type { Ground, Machine, Program } from './machine.ts';

export interface Traffic {
  /** Waits until every class has tried at least once, from beginning to end, since the call. */
  round(): Promise<void>;
  /** Attempts so far, by class. */
  attempts(): Map<string, number>;
  stop(): Promise<void>;
}

/** User ID without an account on any machine. */
const NOBODY = 54321;
/** Between rounds; two cores have a tunnel to run as well, and in a short run other tests. */
const PAUSE_SECONDS = FULL ? 0.008 : 0.05;

let made = 0;

/** The machines that send. */
type Machines = Record<'client' | 'container' | 'neighbor', Machine>;

/** Starts the senders; flows among them that are settled are connected when this resolves. */
export async function startTraffic(
  ground: Ground,
  { client, container, neighbor }: Machines,
  senders: readonly Sender[],
): Promise<Traffic> {
  const groups = (
    [
      ['user', client, NOBODY],
      ['root', client, 0],
      ['container', container, 0],
      ['neighbor', neighbor, NOBODY],
    ] as const
  )
    .map(([from, machine, uid]) => ({ machine, uid, jobs: senders.filter(sender => sender.from === from) }))
    .filter(({ jobs }) => jobs.length > 0);
  const running = await Promise.all(groups.map(({ machine, uid, jobs }) => startGroup(ground, machine, uid, jobs)));
  return {
    async round() {
      // the round under way may have passed some classes by
      const wanted = running.map(({ read }) => read(0) + 2);
      await until(() => {
        for (const { ended } of running) if (ended()) throw new Error(`a sender ended: ${ended()}`);
        return running.every(({ read }, i) => read(0) >= wanted[i]!);
      }, 'a round of all senders');
    },
    attempts: () => new Map(running.flatMap(({ jobs, read }) => jobs.map(({ name }, i) => [name, read(1 + 2 * i)]))),
    async stop() {
      await Promise.all(running.map(({ stop }) => stop()));
    },
  };
}

async function startGroup(ground: Ground, machine: Machine, uid: number, jobs: readonly Sender[]) {
  const { program, file } = await startSenders(machine, join(ground.directory, `counters-${made++}`), uid, jobs);
  const descriptor = openSync(file, 'r');
  const buffer = Buffer.alloc(8);
  let failure = '';
  void program.ended.then(({ code, signal, stderr }) => (failure = `${signal ?? code}: ${stderr}`));
  let counted: number[] | undefined;
  const read = (index: number) => {
    if (counted) return counted[index]!;
    readSync(descriptor, buffer, 0, 8, index * 8);
    return Number(buffer.readBigUInt64LE());
  };
  return {
    jobs,
    read,
    ended: () => failure,
    async stop() {
      const { code, signal, stderr } = await program.end();
      counted = Array.from({ length: 1 + 2 * jobs.length }, (_, i) => read(i));
      closeSync(descriptor);
      if (code !== 0) throw new Error(`a sender ended with ${signal ?? code}: ${stderr}`);
    },
  };
}

/** Accepts connections, for as long as the machine exists. */
export async function listenOn(machine: Machine, file: string, ports: readonly number[]): Promise<void> {
  await startSenders(
    machine,
    file,
    0,
    ports.map(port => ({ name: `listens on ${port}`, how: 'listen', port })),
  );
}

async function startSenders(machine: Machine, file: string, uid: number, jobs: readonly object[]) {
  writeFileSync(file, Buffer.alloc(8 * (1 + 2 * jobs.length)));
  const specification = JSON.stringify({ uid, counters: file, pause: PAUSE_SECONDS, jobs });
  const program: Program = await machine.fixture('senders.py', [], `${specification}\n`);
  return { program, file };
}
