// Defines the one error type for what a user can act on, and how the wrapper writes to stderr.
import { writeSync } from 'node:fs';
import { Failure } from '../../daemon/core/errors.ts';

/** Exit statuses of the wrapper's own (never an upstream's): 2 for usage, the rest as in sysexits.h. */
export const EXIT = {
  failure: 1,
  usage: 2,
  data: 65,
  noInput: 66,
  unavailable: 69,
  software: 70,
  cannotCreate: 73,
  tempFail: 75,
  noPermission: 77,
  config: 78,
} as const;

export type Exit = (typeof EXIT)[keyof typeof EXIT];

/** A failure with its exit status. Neither message nor hint may carry a credential. */
export class WrapError extends Failure {
  readonly exit: Exit;

  constructor(code: string, exit: Exit, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, { code, ...options });
    this.exit = exit;
  }
}

/** Writes one line to stderr. Never fails, whatever stderr is. */
export function say(line: string): void {
  try {
    writeSync(2, `culvert-wrap: ${line}\n`);
  } catch {
    // stderr is closed.
  }
}
