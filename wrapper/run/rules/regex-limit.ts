// Ends regular expressions of the user's catalog entries that would run forever.
import { Script } from 'node:vm';

/** Time limit for a pattern of the user's own catalog entries. */
export const USER_PATTERN_MS = 500;

/** Times the limit that work may take on a busy machine. */
const LONGEST = 32;
const WORK = Symbol.for('culvert-wrap.work');
const script = new Script(`globalThis[Symbol.for('culvert-wrap.work')]()`);

/**
 * Runs `work`, which may evaluate regular expressions, for at most `ms` milliseconds of processor time. V8 checks for the end
 * of its time while a regular expression backtracks, which nothing else in JavaScript can interrupt. Its clock also runs while
 * a busy machine runs other programs, so work that was interrupted before it had its time begins again with more.
 * @param work can be repeated
 * @returns `otherwise` when the time was over
 */
export function withTimeLimit<T>(ms: number, work: () => T, otherwise: T): T {
  let result = otherwise;
  Reflect.set(globalThis, WORK, () => {
    result = work();
  });
  for (let timeout = ms; ; timeout *= 2) {
    const before = process.cpuUsage();
    try {
      script.runInThisContext({ timeout });
      return result;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')) throw error;
      const { user, system } = process.cpuUsage(before);
      if ((user + system) / 1000 >= ms || timeout >= ms * LONGEST) return otherwise;
    }
  }
}
