// Compiles the catalog's patterns for one run, and stops patterns from the user's entries that would run forever.
import { Script } from 'node:vm';
import type { Invocation } from '../../context.ts';
import type { Plan } from '../../store/plan.ts';
import { say } from '../../system/errors.ts';
import type { Attempt } from '../upstream/attempt.ts';
import type { OutputPatterns } from '../upstream/output.ts';
import { classify, findFailures, stripAnsi, type Verdict } from './classify.ts';

/** Patterns for the output of a command. */
export interface Patterns extends OutputPatterns {
  /** Classifies the end of an attempt. */
  verdictOf(attempt: Attempt): Verdict;
  /** The session that an attempt opened, if it named one. */
  sessionOf(stderr: string): string | undefined;
}

/** Compiles the patterns of a plan. Shipped patterns are known to be fast; the user's own have a time limit. */
export function compilePatterns({ provider, ownPatterns, cli }: Plan, invocation: Invocation): Patterns {
  let warned = false;
  const limited = <T>(work: () => T, otherwise: T): T => {
    if (!ownPatterns) return work();
    const tooSlow = Symbol('too slow');
    const result = withTimeLimit<T | typeof tooSlow>(USER_PATTERN_MS, work, tooSlow);
    if (result !== tooSlow) return result;
    if (!warned)
      say(
        `${cli}: a pattern of its catalog entry takes too long and is ignored; see \`culvert-wrap catalog show ${cli}\``,
      );
    warned = true;
    return otherwise;
  };
  const jobId = invocation.once && provider.job_id ? new RegExp(provider.job_id, 'g') : undefined;
  const session = provider.session_id ? new RegExp(provider.session_id) : undefined;
  return {
    jobs:
      jobId &&
      (text =>
        limited(
          () => [...stripAnsi(text).matchAll(jobId)].flatMap(match => match.slice(1).find(group => group) ?? []),
          [],
        )),
    failures: text => limited(() => findFailures(text, provider.rules), []),
    sessionOf: stderr => (session ? limited(() => session.exec(stderr)?.[1], undefined) : undefined),
    verdictOf: ({ signal, exit, output }) => {
      if (signal) return { kind: 'final', class: 'other' };
      const { stdout, stderr } = output;
      const outcome = { exit, signal, stdout, stderr, command: invocation.command };
      return limited<Verdict>(
        () => classify(outcome, provider.rules),
        exit === 0 ? { kind: 'success' } : { kind: 'final', class: 'other' },
      );
    },
  };
}

/** Time limit for a pattern of the user's own catalog entries. */
export const USER_PATTERN_MS = 500;

/** The longest attempt, as a multiple of the limit: on a busy machine a program gets only part of the time. */
const MAX_FACTOR = 16;
const WORK = Symbol.for('culvert-wrap.work');
const script = new Script(`globalThis[Symbol.for('culvert-wrap.work')]()`);

/**
 * Runs `work`, which may evaluate regular expressions, with a limit on processor time. V8's timeout also stops a backtracking
 * regular expression; nothing else in JavaScript can. The timeout runs on while a busy machine runs other programs, so work
 * that got too little processor time starts again with a longer timeout: at most 31 times the limit in total.
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
  for (let timeout = ms; timeout <= ms * MAX_FACTOR; timeout *= 2) {
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
