// Waits for an account to become available.

import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { Context } from '../context.ts';
import { formatDuration } from '../system/duration.ts';

const STEP_MS = 1_000;

/**
 * Waits until a time in milliseconds since the epoch; at a terminal the time left is shown on stderr.
 * @param isReady asked every second; ends the wait
 */
export async function sleepUntil(at: number, context: Pick<Context, 'now'>, isReady = () => false): Promise<void> {
  const visible = isatty(2);
  const show = (text: string) => visible && writeSync(2, `\r\x1b[K${text}`);
  for (let left = at - context.now(); left > 0 && !isReady(); left = at - context.now()) {
    show(`waiting ${formatDuration(left)} …`);
    // In steps, because a timer does not run while the machine is suspended.
    await new Promise(resolve => setTimeout(resolve, Math.min(left, STEP_MS)));
  }
  show('');
}
