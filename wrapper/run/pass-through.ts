// Runs the original command as it is, without an account.
import { spawn } from 'node:child_process';
import type { Context, End } from '../context.ts';
import type { Plan } from '../store/plan.ts';
import { EXIT, errno, WrapError } from '../system/errors.ts';
import { callerEnvironment } from './accounts/environment.ts';
import { demandsAccount, pinForChildren } from './accounts/select-account.ts';
import { furtherDescriptors, startable } from './upstream/descriptors.ts';

/**
 * Runs the original with the caller's environment, terminal and signals, and no account.
 * @param plan of the CLI, so that an account that was named for it is not taken for one of the CLIs that it starts
 */
export function passThrough(
  original: string,
  args: readonly string[],
  context: Pick<Context, 'env' | 'signals'>,
  plan?: Pick<Plan, 'cli' | 'accounts'>,
): Promise<End> {
  const env = callerEnvironment(context.env);
  const pin = env.CULVERT_WRAP_ACCOUNT;
  if (plan && pin && demandsAccount(plan, pin)) env.CULVERT_WRAP_ACCOUNT = pinForChildren(plan.cli, pin);
  const child = context.signals.forwardTo(() =>
    spawn(...startable(original, args), {
      stdio: ['inherit', 'inherit', 'inherit', ...furtherDescriptors()],
      env,
    }),
  );
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
