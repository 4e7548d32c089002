// A machine whose clock stands still until a test moves it: a daemon's parts that change and revert, over a tunnel in memory.
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createChangeService } from '../../../daemon/changes/change-service.ts';
import type { Clock } from '../../../daemon/changes/changes-file.ts';
import type { RoutesControl } from '../../../daemon/controls.ts';
import { createRoutes } from '../../../daemon/routes/routes-service.ts';
import { paths as pathsOf } from '../../../daemon/system/paths.ts';
import type { MemoryTunnel } from '../daemon/memory-tunnel.ts';
import { temporary } from '../temporary.ts';

/** `boot` starts a daemon on it. */
export function stoppedClock(t: TestContext) {
  const paths = pathsOf({ HOME: temporary(t, 'changes') });
  const clock: Clock = { bootId: 'first', uptimeMs: 1_000_000, wallMs: Date.parse('2026-01-01T10:00:00Z') };
  const said: string[] = [];
  const reverted: string[] = [];
  const running: { stop(): void }[] = [];
  t.after(() => running.forEach(each => void each.stop()));
  return {
    paths,
    clock,
    said,
    /** Subjects of the changes that were reverted. */
    reverted,
    /** A second daemon, which finds the files of the first as after a kill. */
    boot({ state, tunnel }: MemoryTunnel) {
      for (const each of running) each.stop();
      const context = { paths, state, tunnel, say: (line: string) => void said.push(line) };
      const service = createChangeService({
        context,
        routes: async () => routes,
        reverted: subject => void reverted.push(subject),
        clock: () => ({ ...clock }),
      });
      const routes: RoutesControl = createRoutes(context, { setRoutes: change => service.setRoutes(change) });
      running.push(service);
      return { ...service, routes };
    },
    pass(seconds: number) {
      clock.uptimeMs += seconds * 1000;
      clock.wallMs += seconds * 1000;
    },
    /** Longer than a week of sleep: timers stood still, the clocks did not. */
    reboot(seconds: number) {
      Object.assign(clock, { bootId: `boot ${clock.wallMs}`, uptimeMs: 5_000, wallMs: clock.wallMs + seconds * 1000 });
    },
  };
}

/** Lets timers without a delay fire, many times. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await delay(0);
}
