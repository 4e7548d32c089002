// Defines the exit codes of the command line and builds the report of each failure.
import { ACTIONS } from '../api/actions.ts';
import { ApiError, Unreachable } from '../api/client.ts';
import type { Problem, Snapshot, StalePart } from '../api/schema.ts';
import { Failure, isOneOf, reasonWithPath } from '../core/errors.ts';
import { isSuspended } from '../core/process.ts';
import { runningInstance } from '../system/instance.ts';
import type { Paths } from '../system/paths.ts';
import { serviceManager } from '../system/service-manager.ts';
import { nextStep } from '../view/client/labels.ts';
import { formatElapsed } from '../view/format.ts';
import { blockedWords } from '../view/states/causes.ts';
import { english } from '../view/translator.ts';
import type { CommandSpec, Context, Options } from './context.ts';

export { Failure } from '../core/errors.ts';

export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** Only for `status --check`. */
  notConnected: 3,
  notAuthorized: 4,
  notRunning: 5,
  cliMissing: 6,
  /** Only for `doctor`: no problem was found, but a check could not be completed. */
  incomplete: 7,
  /** Only for `wait --proof`. */
  notProven: 8,
  /** 128 + SIGINT, as shells report it. */
  interrupted: 130,
} as const;
type ExitName = keyof typeof EXIT;

/** Returns the failure for a state that the user must resolve first. */
export function blockedFailure(failed: string, snapshot: Snapshot): Failure {
  const blocked = snapshot.status.blocked!;
  const { what, next } = blockedWords(snapshot, snapshot.tunnelCli.serviceManager, english);
  const code = blocked === 'cli-missing' ? 'cliMissing' : blocked === 'not-authorized' ? 'notAuthorized' : 'failure';
  return new Failure(`${failed}: ${what}`, { code, hint: next ?? undefined });
}

/** Returns a failure for an unknown part of the snapshot, with the reason if known. */
export function unknown(what: string, part: StalePart['part'], snapshot: Snapshot): Failure {
  if (snapshot.status.blocked) return blockedFailure(`The ${what} is not known`, snapshot);
  return snapshot.stale?.some(each => each.part === part)
    ? new Failure(`The ${what} is not read yet.`, { hint: 'Try again in a moment.' })
    : new Failure(`The ${what} is not known; the tunnel CLI did not report it.`, { hint: 'See: culvert status' });
}

/** Names of the values that a command shows, by their part of an answer: `{settings: 'mode'}`. */
type Names = { readonly [part in StalePart['part']]?: string };

/**
 * Says to people which parts of an answer could not be read again.
 * @returns a field for programs; empty if all parts are current
 */
export function sayOld(
  context: Pick<Context, 'say'>,
  names: Names,
  { stale = [] }: { stale?: StalePart[] },
): { stale?: StalePart[] } {
  // a value that was never read is reported as unknown
  const old = stale.filter(({ part, ageSeconds }) => names[part] !== undefined && ageSeconds !== null);
  for (const { part, ageSeconds } of old) {
    const age = formatElapsed(ageSeconds!, english);
    context.say(`The ${names[part]} could not be read again; this is what was known ${age} ago.`);
  }
  return old.length ? { stale: old } : {};
}

/** Returns what a request resolves to; null without a daemon. */
export function orNull<T>(request: Promise<T>): Promise<T | null> {
  return request.catch(error => {
    if (error instanceof Unreachable) return null;
    throw error;
  });
}

/** Does the daemon's work in this process. @throws ApiError as if the daemon had answered */
export async function withoutDaemon<T>(work: () => Promise<T>): Promise<T> {
  const { Problem } = await import('../problem.ts');
  return work().catch(error => {
    throw error instanceof Problem ? new ApiError(error.toJSON()) : error;
  });
}

/** @throws Failure if the running daemon is suspended */
export function assertNotSuspended(where: Paths): void {
  const daemon = runningInstance(where);
  if (!daemon || !isSuspended(daemon.pid)) return;
  throw new Failure(`The Culvert daemon (process ${daemon.pid}) is suspended.`, {
    hint: `Resume it with: kill -CONT ${daemon.pid}`,
  });
}

/** Returns a failure for a wrong command line. */
export function usage(message: string, hint?: string): Failure {
  return new Failure(message, { code: 'usage', ...(hint ? { hint } : {}) });
}

/** Returns the seconds of the option --timeout. @throws Failure for an invalid number */
export function timeoutOf({ timeout }: Options, byDefault: number, least: 0 | 1): number {
  if (typeof timeout !== 'string') return byDefault;
  if (!/^\d{1,5}$/.test(timeout) || Number(timeout) < least)
    throw usage(`--timeout takes seconds, from ${least} to 99999; not "${timeout}".`);
  return Number(timeout);
}

/** A problem of the API, or an object of that shape for a failure before any answer. */
type Report = Problem | { type: string; title: string; detail: string; code: string; hint?: string };

interface ExitReport {
  exitCode: number;
  report: Report;
}

/** Returns the exit code and report for a thrown value. An unexpected error shows its message. */
export function toExitReport(error: unknown): ExitReport {
  if (error instanceof ApiError) {
    const { code } = error.problem;
    // keep the API's hint unless it is empty or names an action: people type commands
    const isAction = /^$|\baction \w+/.test(error.problem.hint ?? '');
    const where = { manager: serviceManager(), emulated: false };
    const hint = (isAction && code !== 'service-hangs' ? nextStep(code, where) : null) ?? asCommand(error.problem);
    return { exitCode: EXIT[exitOf(error.problem)], report: { ...error.problem, ...(hint ? { hint } : {}) } };
  }
  if (error instanceof Unreachable && error.daemon === 'silent') {
    return {
      exitCode: EXIT.failure,
      report: own('daemon-not-answering', 'Daemon does not answer', error.message, 'Try again, or see: culvert doctor'),
    };
  }
  if (error instanceof Unreachable) {
    return {
      exitCode: EXIT.notRunning,
      report: own('daemon-not-running', 'Daemon not running', error.message, 'Start it with: culvert'),
    };
  }
  const code = isOneOf(EXIT, error) ? error.code : 'failure';
  const title = code === 'usage' ? 'Usage' : 'Failure';
  const hint = error instanceof Failure ? error.hint : undefined;
  return { exitCode: EXIT[code], report: own(code, title, reasonWithPath(error), hint) };
}

/** A parsed command line. */
export interface Typed {
  spec: CommandSpec;
  args: string[];
  options: Options;
}

/** Returns the detail of a refusal, and names the option or argument that was typed instead of the API's field. */
export function detailAsTyped({ detail, errors }: Problem, { spec, args, options }: Typed): string {
  const isSchema = / does not match the contract: /.test(detail);
  const [, expected] = /^The value of \w+ was refused: (.*)\.$/.exec(detail) ?? [];
  if (!isSchema && !expected) return detail;
  const values = [
    ...Object.entries(options).map(([key, value]) => ({ key, name: `--${kebab(key)}`, value })),
    ...(spec.arguments ?? []).map(({ name }, i) => ({ key: bare(name), name: `<${bare(name)}>`, value: args[i] })),
  ].flatMap(({ value, ...each }) => (typeof value === 'string' ? [{ ...each, value }] : []));
  const field = errors?.[0]?.path.split('.').at(-1);
  const refused = values.find(({ key }) => key === field) ?? (values.length === 1 ? values[0] : undefined);
  if (!refused) return expected ? detail : 'A value is not one that Culvert takes.';
  const { name, value } = refused;
  return `${value.trim() === '' ? `${name} is empty` : `${name} can't be "${value}"`}${expected ? `: ${expected}` : ''}.`;
}

const kebab = (key: string) => key.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`);
/** Returns `duration` for `<duration>` and `[duration...]`. */
const bare = (name: string) => name.replace(/[^\w-]/g, '');

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

/** Returns the API's hint, with the command instead of the action that it names. */
function asCommand({ code, hint }: Problem): string | undefined {
  const port = code === 'proxy-port-in-use' && /such as (\d+)/.exec(hint ?? '')?.[1];
  if (port) return `End that program, or choose another port: culvert proxy on --port ${port}`;
  return hint?.replace(/\b(?:the )?action (\w+)/g, (words, name) =>
    Object.hasOwn(ACTIONS, name) ? `culvert action ${name}` : words,
  );
}

function own(code: string, title: string, detail: string, hint?: string): Report {
  return { type: `urn:culvert:cli:${code}`, title, detail, code, ...(hint ? { hint } : {}) };
}
