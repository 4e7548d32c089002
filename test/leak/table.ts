// Checks thousands of times a second whether the kernel has the kill switch's table.
import type { Machine } from './machine.ts';

interface Looks {
  looks: number;
  /** Milliseconds of each moment without the table. */
  gaps: number[];
}

export interface TableWatch {
  /** Since the last report. */
  report(): Promise<Looks>;
  end(): Promise<unknown>;
}

export async function watchTable(machine: Machine): Promise<TableWatch> {
  const fixture = await machine.fixture('table.py');
  return {
    async report() {
      fixture.child.stdin!.write('\n');
      return JSON.parse(await fixture.line()) as Looks;
    },
    end: fixture.end,
  };
}
