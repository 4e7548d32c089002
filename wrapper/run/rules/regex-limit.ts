// Ends regular expressions of the user's catalog entries that would run forever.
import { Script } from 'node:vm';

/** Time limit for a pattern of the user's own catalog entries. */
export const USER_PATTERN_MS = 500;

const WORK = Symbol.for('culvert-wrap.work');
const script = new Script(`globalThis[Symbol.for('culvert-wrap.work')]()`);

/**
 * Runs `work`, which may evaluate regular expressions, for at most `ms` milliseconds. V8 checks for the end of its time
 * while a regular expression backtracks, which nothing else in JavaScript can interrupt.
 * @returns `otherwise` when the time was over
 */
export function withTimeLimit<T>(ms: number, work: () => T, otherwise: T): T {
  let result = otherwise;
  Reflect.set(globalThis, WORK, () => {
    result = work();
  });
  try {
    script.runInThisContext({ timeout: ms });
    return result;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return otherwise;
    throw error;
  }
}
