// Attaches strace to a process on the stage, to record its system calls or to end it at one.
import { once } from 'node:events';
import type { Stage } from '../stage.ts';

/** @returns a function that detaches it */
export async function attachStrace(
  stage: Pick<Stage, 'start'>,
  pid: number | null,
  options: readonly string[],
): Promise<() => Promise<void>> {
  const strace = stage.start(['strace', ...options, '-p', String(pid)]);
  await new Promise<void>((attached, fail) => {
    let said = '';
    strace.stderr!.on('data', data => {
      said += data;
      if (/attached/.test(said)) attached();
    });
    strace.once('exit', () => fail(new Error(`strace: ${said}`)));
  });
  return async () => {
    if (strace.exitCode !== null || strace.signalCode !== null) return;
    const gone = once(strace, 'exit');
    strace.kill('SIGINT');
    // it waits forever for the first thread of a process that another thread's death has ended
    const force = setTimeout(() => strace.kill('SIGKILL'), 500);
    await gone;
    clearTimeout(force);
  };
}

/** Options that kill the process at the call of that name and ordinal. */
export const killingAt = (call: string, ordinal: number): string[] => [
  '-o',
  '/dev/null',
  '-e',
  `trace=${call}`,
  '-e',
  `inject=${call}:signal=SIGKILL:when=${ordinal}`,
];
