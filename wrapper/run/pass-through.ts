// Runs the original command as it is, without an account.
import { spawn } from 'node:child_process';
import type { Context, End } from '../context.ts';
import { EXIT, errno, WrapError } from '../errors.ts';
import { callerEnvironment } from './accounts/environment.ts';
import { furtherDescriptors, startable } from './upstream/descriptors.ts';

/** Runs the original with the caller's environment, terminal and signals, and no account. */
export function passThrough(
  original: string,
  args: readonly string[],
  context: Pick<Context, 'env' | 'signals'>,
): Promise<End> {
  const child = context.signals.forwardTo(() =>
    spawn(...startable(original, args), {
      stdio: ['inherit', 'inherit', 'inherit', ...furtherDescriptors()],
      env: callerEnvironment(context.env),
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
