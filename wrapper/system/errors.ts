// Defines the wrapper's error type and exit statuses, and writes messages to stderr.
import { writeSync } from 'node:fs';
import { Failure } from '../../daemon/core/errors.ts';

/** The wrapper's own exit statuses, never an upstream's: 2 for usage, most others from sysexits.h. */
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

/** A failure with an exit status. Its message and hint must not contain a credential. */
export class WrapError extends Failure {
  readonly exit: Exit;

  constructor(code: string, exit: Exit, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, { code, ...options });
    this.exit = exit;
  }
}

/** Writes one line to stderr. Never throws. */
export function say(line: string): void {
  try {
    writeSync(2, `culvert-wrap: ${line}\n`);
  } catch {
    // stderr may be closed
  }
}
