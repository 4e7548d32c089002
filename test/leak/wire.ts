// Counts the packets of a wire at its other end, and proves that none was missed.

import { until } from '../support/until.ts';
import type { Seen } from './classes.ts';
import type { Machine } from './machine.ts';

interface Report {
  frames: number;
  /** Frames that the kernel could not hand over, by its own count. */
  drops: number;
  seen: Seen[];
}

export interface Wire {
  report(): Promise<Report>;
  /** Starts counting again from here. Call it while nothing is being sent. */
  record(): Promise<Recording>;
}

/** Both wait until the far end has seen all that the near one sent. @throws Error when it never does */
interface Recording {
  /** Sets the counters to zero. */
  mark(): Promise<void>;
  end(): Promise<Report>;
}

/**
 * @param device where the frames come in; `*` for every device of the machine
 * @param near the device that they were sent from, whose own counter has to agree
 */
export async function openWire(
  machine: Machine,
  device: string,
  near?: { machine: Machine; device: string },
): Promise<Wire> {
  const fixture = await machine.fixture('wire.py', [device]);
  let turn: Promise<unknown> = Promise.resolve();
  // one request at a time: a report is one line
  const report = () => {
    const next = turn.then(async () => {
      fixture.child.stdin!.write('\n');
      return JSON.parse(await fixture.line()) as Report;
    });
    turn = next.catch(() => {});
    return next;
  };
  /** Packets that the near end's device has sent; 0 without a near end. */
  const sent = async () => {
    if (!near) return 0;
    const text = await near.machine.run(['ip', '-j', '-s', 'link', 'show', near.device]);
    return (JSON.parse(text) as [{ stats64: { tx: { packets: number } } }])[0].stats64.tx.packets;
  };
  return {
    report,
    async record() {
      // packets that either end counted before the other began: constant as long as nothing gets lost
      const offset = await until(async () => {
        const before = { sent: await sent(), frames: (await report()).frames };
        const after = { sent: await sent(), frames: (await report()).frames };
        return before.sent === after.sent && before.frames === after.frames ? before : null;
      }, `${device} at rest`);
      const complete = async () => {
        let last = '';
        const all = async () => {
          const [out, now] = [(await sent()) - offset.sent, await report()];
          last = `${out} sent, ${now.frames - offset.frames} seen`;
          return !near || out === now.frames - offset.frames ? now : null;
        };
        return until(all, `${device} to see all that was sent`, { limitMs: 30_000 }).catch(error => {
          throw new Error(`${error.message} (${last})`);
        });
      };
      let from = await complete();
      return {
        async mark() {
          from = await complete();
        },
        end: async () => difference(await complete(), from),
      };
    },
  };
}

function difference(now: Report, before: Report): Report {
  const key = ({ count: _, ...kind }: Seen) => JSON.stringify(kind);
  const earlier = new Map(before.seen.map(seen => [key(seen), seen.count]));
  return {
    frames: now.frames - before.frames,
    drops: now.drops - before.drops,
    seen: now.seen
      .map(seen => ({ ...seen, count: seen.count - (earlier.get(key(seen)) ?? 0) }))
      .filter(({ count }) => count > 0),
  };
}
