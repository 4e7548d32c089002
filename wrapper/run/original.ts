// Runs the original command without an account, and reports shims that an upgrade has replaced.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { errno } from '../../daemon/core/errors.ts';
import { stampAt } from '../../daemon/core/file-version.ts';
import { readOptional } from '../../daemon/core/files.ts';
import type { Context, End } from '../context.ts';
import type { Plan } from '../store/plan.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { writeAtomic } from '../system/files.ts';
import { callerEnvironment } from './accounts/ready.ts';
import { demandsAccount, pinForChildren, pinnedAccount } from './accounts/select-account.ts';
import { furtherDescriptors, startable } from './upstream/channels.ts';

/**
 * Runs the original with the caller's environment, terminal and signals, and no account.
 * @param plan the CLI's plan, so that an account named for this CLI does not count for CLIs that it starts
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

/** Returns the error for an original that can't be started, with a hint. */
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

/**
 * Reports each replaced shim and its remedy. Runs and `culvert-wrap` commands call this for every CLI, because a replaced command
 * no longer reaches this code.
 * @param again true to repeat earlier messages, for a command that a person ran to check
 */
export function reportReplacedShims({ paths, env }: Pick<Context, 'paths' | 'env'>, again = false): void {
  try {
    const replaced = installedFiles(readOptional(paths.installs)).filter(({ bin }) => isOther(bin));
    if (replaced.length === 0) return;
    const file = join(paths.plans, '.replaced');
    const reported = (readOptional(file) ?? '').split('\n');
    const news = replaced
      .map(entry => ({ ...entry, line: `${entry.bin} ${stampAt(entry.bin)}` }))
      .filter(({ line }) => again || !reported.includes(line));
    if (news.length === 0) return;
    for (const { cli, bin } of news) {
      const pinned = pinnedAccount(cli, env.CULVERT_WRAP_ACCOUNT);
      const none = pinned ? `no account is used, not even "${pinned}" of CULVERT_WRAP_ACCOUNT` : 'no account is used';
      say(`${cli}: an upgrade has replaced the shim ${bin}, so ${none}; run \`culvert-wrap install ${cli}\``);
    }
    if (news.every(({ line }) => reported.includes(line))) return;
    writeAtomic(file, `${[...reported.slice(-20), ...news.map(({ line }) => line)].filter(Boolean).join('\n')}\n`);
  } catch {
    // The report is optional, so a failure must not stop a command.
  }
}

function installedFiles(text: string | undefined): { cli: string; bin: string }[] {
  const installs: unknown = JSON.parse(text ?? '{}');
  return Object.entries(installs ?? {}).flatMap(([cli, entry]) =>
    typeof entry?.bin === 'string' ? [{ cli, bin: entry.bin }] : [],
  );
}

/** Reports whether a file exists and is not a shim. */
function isOther(file: string): boolean {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch {
    return false;
  }
  try {
    const head = Buffer.alloc(64);
    return !head.toString('latin1', 0, readSync(fd, head)).startsWith('#!/bin/sh\n# culvert-wrap shim for ');
  } finally {
    closeSync(fd);
  }
}
