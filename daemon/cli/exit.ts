// How a control command ends: the exit codes of the command line, and what is said about each failure.
import { ApiError, Unreachable } from '../api/client.ts';
import type { Blocked, Problem, Status } from '../api/schema.ts';
import { ACTIONS, BLOCKED, NEXT } from './vocabulary.ts';

export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** `status --check` alone. */
  notConnected: 3,
  notAuthorized: 4,
  notRunning: 5,
  cliMissing: 6,
  /** 128 + SIGINT, as shells report it. */
  interrupted: 130,
} as const;
export type ExitName = keyof typeof EXIT;

/** A failure that the command line itself found; `hint` says what to do next. */
export class Failure extends Error {
  readonly code: ExitName;
  readonly hint: string | undefined;

  constructor(message: string, options: { code?: ExitName; hint?: string | undefined; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'Failure';
    this.code = options.code ?? 'failure';
    this.hint = options.hint;
  }
}

/** What the CLI was to tell or do, and the one thing that stands in its way. */
export function hindered(what: string, blocked: Blocked): Failure {
  const code = blocked === 'cli-missing' ? 'cliMissing' : blocked === 'not-authorized' ? 'notAuthorized' : 'failure';
  return new Failure(`${what}: ${BLOCKED[blocked]}.`, { code, hint: NEXT[blocked] });
}

/** A part of the snapshot that the tunnel CLI did not tell, and why, where that is known. */
export function unknown(what: string, { blocked }: Status): Failure {
  return blocked
    ? hindered(`The ${what} is not known`, blocked)
    : new Failure(`The ${what} is not known; the tunnel CLI did not tell.`, { hint: 'See: culvert status' });
}

/** The words on the command line are wrong. */
export function usage(message: string, hint?: string): Failure {
  return new Failure(message, { code: 'usage', ...(hint ? { hint } : {}) });
}

/** A problem document of the API, or the same shape for what went wrong before an answer could come. */
export type Report = Problem | { type: string; title: string; detail: string; code: string; hint?: string };

export interface Verdict {
  exitCode: number;
  report: Report;
}

/** Judges whatever a command threw. An unexpected error is a failure whose message is still shown. */
export function judge(error: unknown): Verdict {
  if (error instanceof ApiError) {
    const hint = NEXT[error.problem.code] ?? inWords(error.problem.hint);
    return { exitCode: EXIT[exitOf(error.problem)], report: { ...error.problem, ...(hint ? { hint } : {}) } };
  }
  if (error instanceof Unreachable) {
    return {
      exitCode: EXIT.notRunning,
      report: own('daemon-not-running', 'Daemon not running', error.message, 'Start it with: culvert'),
    };
  }
  if (error instanceof Failure) {
    const title = error.code === 'usage' ? 'Usage' : 'Failure';
    return { exitCode: EXIT[error.code], report: own(error.code, title, error.message, error.hint) };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { exitCode: EXIT.failure, report: own('failure', 'Failure', message) };
}

function exitOf(problem: Problem): ExitName {
  switch (problem.code) {
    case 'not-authorized':
    case 'peer-not-allowed':
    case 'token-required':
    case 'killswitch-denied':
      return 'notAuthorized';
    case 'cli-missing':
      return 'cliMissing';
    case 'argument-rejected':
    case 'invalid-body':
    case 'invalid-query':
      return 'usage';
    default:
      return 'failure';
  }
}

/** A hint of the API that names an action, with the command that performs it. */
function inWords(hint: string | undefined): string | undefined {
  return hint?.replace(/\b(?:the )?action (\w+)/g, (words, name) =>
    Object.hasOwn(ACTIONS, name) ? `culvert action ${name}` : words,
  );
}

function own(code: string, title: string, detail: string, hint?: string): Report {
  return { type: `urn:culvert:cli:${code}`, title, detail, code, ...(hint ? { hint } : {}) };
}
