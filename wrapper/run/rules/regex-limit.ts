// Ends regular expressions of the user's catalog entries that would run forever.
import { Script } from 'node:vm';

/** Time limit for a pattern of the user's own catalog entries. */
export const USER_PATTERN_MS = 500;

/** Longest attempt, as a multiple of the limit: on a busy machine a program gets only part of the time. */
const LONGEST = 4;
const WORK = Symbol.for('culvert-wrap.work');
const script = new Script(`globalThis[Symbol.for('culvert-wrap.work')]()`);

/**
 * Runs `work`, which may evaluate regular expressions, with a limit of processor time. V8 checks for the end of its time while
 * a regular expression backtracks, which nothing else in JavaScript can interrupt. That time goes on while a busy machine runs
 * other programs, so work that got less than its share begins again with more: at most seven times the limit in all.
 * @param ms the limit, in milliseconds
 * @param work must be safe to run again
 * @returns `otherwise` if the limit was exceeded
 */
export function withTimeLimit<T>(ms: number, work: () => T, otherwise: T): T {
  let result = otherwise;
  Reflect.set(globalThis, WORK, () => {
    result = work();
  });
  const before = process.cpuUsage();
  for (let timeout = ms; timeout <= ms * LONGEST; timeout *= 2) {
    try {
      script.runInThisContext({ timeout });
      return result;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')) throw error;
      const { user, system } = process.cpuUsage(before);
      if ((user + system) / 1000 >= ms) return otherwise;
    }
  }
  return otherwise;
}
