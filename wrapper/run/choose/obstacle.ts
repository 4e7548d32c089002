// Says why a request that met a limit is not made again with another account. Pure.
import type { Failure } from './choose.ts';

/** Known facts about a failed request. */
export interface Traces {
  /** Signal that ended it from outside: `SIGTERM`. */
  interrupted?: string | null | undefined;
  /** The job that it created. */
  job?: string | undefined;
  /** Part of its answer has been passed on. */
  isShown: boolean;
  /** It may be made twice. */
  isRepeatable: boolean;
  /** Failures after which a job may exist whose id was not printed. */
  silentJob: readonly Failure['class'][];
  /** Options of the tool that print the id of such a job. */
  showingOptions: readonly string[];
  /** The limit is one of this network address. */
  isOfAddress: boolean;
  /** Its input was kept. */
  isInputKept: boolean;
}

/** Why the request is not repeated, or `undefined` where it can be. */
export function obstacleTo(failure: Failure['class'], traces: Traces): string | undefined {
  const { interrupted, job, showingOptions } = traces;
  if (interrupted) return `${interrupted} arrived`;
  if (job !== undefined) return `the job ${job} already exists`;
  if (traces.isShown) return 'part of its output has been passed on';
  if (!traces.isRepeatable) return 'the command must run once only';
  if (traces.silentJob.includes(failure)) {
    const showing = showingOptions.length > 0 ? ` (${showingOptions.join(' or ')} shows it)` : '';
    return `it may have created a job without printing its id${showing}`;
  }
  if (traces.isOfAddress) return 'the limit is one of this network address, not of the account';
  return traces.isInputKept ? undefined : 'its standard input could not be kept';
}
