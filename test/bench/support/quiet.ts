// Waits for a moment in which the machine has nothing else to do.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { ONCE } from './report.ts';

/**
 * Resolves after a tenth of a second in which at least nine tenths of all cores were idle.
 * A small run measures nothing, and does not wait.
 * @throws Error after a minute without one
 */
export async function quiet(): Promise<void> {
  if (ONCE) return;
  const deadline = Date.now() + 60_000;
  for (let before = ticks(); ; ) {
    await delay(100);
    const after = ticks();
    if (after.idle - before.idle >= 0.9 * (after.all - before.all)) return;
    if (Date.now() > deadline) throw new Error('The machine is too busy to measure on; try again later.');
    before = after;
  }
}

function ticks(): { idle: number; all: number } {
  const line = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0]!;
  const values = line.split(/\s+/).slice(1).map(Number);
  return { idle: values[3]! + values[4]!, all: values.reduce((a, b) => a + b) };
}
