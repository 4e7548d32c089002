// One measurement: senders at work while things happen to the client, and the verdict on every frame of its wires.
import { ADVERTISEMENTS, EDGES, FLOWS, judge, REROUTED, SENDERS, type Seen, type Sender } from './classes.ts';
import type { Ground } from './machine.ts';
import type { Rig } from './rig.ts';
import { startTraffic } from './traffic.ts';

export interface Measured {
  attempts: number;
  /** Packets outside the tunnel that should not be there. */
  leaked: number;
  /** By class. */
  leaks: Record<string, number>;
  /** Frames outside the tunnel that may be there, by why. */
  allowed: Record<string, number>;
  /** Packets of senders that came out of the tunnel at its other end. */
  tunneled: number;
  /** Classes that never tried. */
  untried: string[];
  /** Classes of which nothing leaked. */
  unseen: string[];
  /** Classes meant for the tunnel of which none came through. */
  untunnelled: string[];
  /** Frames that the captures lost. */
  drops: number;
  seconds: number;
}

export interface Options {
  senders?: readonly Sender[];
  /** The local network is allowed for some of the time. */
  allowLan?: boolean;
}

export interface Watch {
  /** Waits until every class has tried at least once since the call. */
  round(): Promise<void>;
  /** Leaked packets so far, by class. */
  leaks(): Promise<Map<string, number>>;
  /** Counts from here on. */
  mark(): Promise<void>;
}

/**
 * @param body what happens to the client while the senders are at work
 * @throws Error when the far end has not seen all that the uplink's own counter says was sent
 */
export async function measure(
  ground: Ground,
  rig: Rig,
  { senders = SENDERS, allowLan = false }: Options,
  body: (watch: Watch) => Promise<void>,
): Promise<Measured> {
  const wires = await Promise.all([rig.uplink, rig.better].map(wire => wire.record()));
  const inside = await rig.inside.record();
  let before: Seen[] = [];
  const frames = async () =>
    (await Promise.all([rig.uplink, rig.better].map(wire => wire.report()))).flatMap(r => r.seen);
  before = await frames();
  const traffic = await startTraffic(ground, rig, senders);
  let [since, started] = [new Map<string, number>(), performance.now()];
  try {
    await body({
      round: traffic.round,
      async leaks() {
        const [all, earlier] = [leaksOf(await frames(), allowLan), leaksOf(before, allowLan)];
        return new Map(
          [...all].map(([name, count]) => [name, count - (earlier.get(name) ?? 0)] as const).filter(([, n]) => n > 0),
        );
      },
      async mark() {
        await Promise.all([...wires, inside].map(recording => recording.mark()));
        [before, since, started] = [await frames(), traffic.attempts(), performance.now()];
      },
    });
  } finally {
    await traffic.stop();
  }
  const seconds = (performance.now() - started) / 1000;
  const reports = await Promise.all(wires.map(recording => recording.end()));
  const seen = reports.flatMap(report => report.seen);
  const [leaks, arrived] = [leaksOf(seen, allowLan), leaksOf((await inside.end()).seen, false)];
  const attempts = new Map([...traffic.attempts()].map(([name, count]) => [name, count - (since.get(name) ?? 0)]));
  const names = (which: (sender: Sender) => unknown) => senders.filter(which).map(({ name }) => name);
  return {
    attempts: sum(attempts.values()),
    leaked: sum(leaks.values()),
    leaks: Object.fromEntries(leaks),
    allowed: allowedOf(seen, allowLan),
    tunneled: sum(arrived.values()),
    untried: names(({ name }) => !attempts.get(name)),
    unseen: names(({ name }) => !leaks.has(name)),
    untunnelled: names(({ name, tunneled }) => tunneled && !arrived.has(name)),
    drops: sum(reports.map(({ drops }) => drops)),
    seconds,
  };
}

const KNOWN = [...SENDERS, ...FLOWS, ...REROUTED, ...ADVERTISEMENTS, ...EDGES];

function leaksOf(frames: readonly Seen[], allowLan: boolean): Map<string, number> {
  const leaks = new Map<string, number>();
  for (const seen of frames) {
    const verdict = judge(seen, KNOWN, allowLan);
    if ('leaked' in verdict) leaks.set(verdict.leaked, (leaks.get(verdict.leaked) ?? 0) + seen.count);
  }
  return leaks;
}

function allowedOf(frames: readonly Seen[], allowLan: boolean): Record<string, number> {
  const allowed: Record<string, number> = {};
  for (const seen of frames) {
    const verdict = judge(seen, KNOWN, allowLan);
    if ('allowed' in verdict) allowed[verdict.allowed] = (allowed[verdict.allowed] ?? 0) + seen.count;
  }
  return allowed;
}

const sum = (counts: Iterable<number>) => [...counts].reduce((a, b) => a + b, 0);
