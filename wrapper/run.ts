// What a shim's call comes to: the original as it is, or the failover loop. When in doubt the original runs.
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { callerEnvironment, isNested } from './environment.ts';
import { EXIT, errno, reason, WrapError } from './errors.ts';
import { failover } from './failover.ts';
import { readInvocation } from './invocation.ts';
import type { Paths } from './paths.ts';
import { loadPlan, type Plan } from './plan.ts';
import type { Forwarding } from './signals.ts';

/** What a run depends on. */
export interface Context {
  env: NodeJS.ProcessEnv;
  cwd: string;
  paths: Paths;
  /** The shipped providers.toml. */
  catalog: string;
  now(): number;
  signals: Forwarding;
  /** More commands will run in this process. */
  staysAlive?: boolean;
}

/** How a process is to end. */
export interface End {
  exit: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * Runs a shimmed command.
 * @param original absolute path of the command that was moved away
 * @throws WrapError only for what the user asked for and can't have (an unknown account); all else runs the original
 */
export async function run(cli: string, original: string, args: readonly string[], context: Context): Promise<End> {
  const asIs = () => runOriginal(original, args, context);
  if (isNested(cli, context.env)) return asIs();
  let plan: Plan;
  try {
    plan = await loadPlan(cli, context);
  } catch (error) {
    say(`${reason(error)}; running ${cli} without an account`);
    return asIs();
  }
  if (!plan.accounts.some(account => account.enabled)) return asIs();
  const invocation = readInvocation(args, plan.provider);
  const repl = plan.provider.line_repl;
  if (repl && args.length === repl.args.length && args.every((arg, i) => arg === repl.args[i])) {
    const { lineRepl } = await import('./manage.ts');
    return lineRepl(plan, original, context);
  }
  if (invocation.passthrough || invocation.ownCredential || args.length === 0) return asIs();
  return failover(plan, original, invocation, context);
}

/** Runs the original with the caller's environment, terminal and signals, and no account. */
export function runOriginal(
  original: string,
  args: readonly string[],
  context: Pick<Context, 'env' | 'signals'>,
): Promise<End> {
  const child = spawn(original, args, { stdio: 'inherit', env: callerEnvironment(context.env) });
  context.signals.to(child);
  return new Promise((resolve, reject) => {
    child.on('exit', (exit, signal) => resolve({ exit, signal }));
    child.on('error', error => {
      if (child.pid === undefined) reject(cannotStart(original, error));
    });
  });
}

/** The error for an original that can't be started, with what to do about it. */
export function cannotStart(original: string, error: Error): WrapError {
  const missing = errno(error) === 'ENOENT';
  return new WrapError(
    missing ? 'original-missing' : 'original-unusable',
    EXIT.unavailable,
    missing ? `the original command ${original} is missing` : `${original} can't be started: ${error.message}`,
    {
      hint: 'install the CLI again, then run `culvert-wrap install`; `culvert-wrap doctor` shows the details',
      cause: error,
    },
  );
}

/** One line for the person; never an error, whatever stderr is. */
export function say(line: string): void {
  try {
    writeSync(2, `culvert-wrap: ${line}\n`);
  } catch {
    // Nobody listens.
  }
}
