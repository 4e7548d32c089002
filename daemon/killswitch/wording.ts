// Holds the root service's sentences, ready for translation, and its failures.
import type { Message } from '../api/values.ts';
import { wordMessages } from '../view/message.ts';
import { english } from '../view/translator.ts';

export type { Message } from '../api/values.ts';
export { message, WordedError, wordingOf } from '../view/message.ts';
export { N_ } from '../view/translator.ts';

/** Returns the readable part of a report: in English, and for translation. */
export function explained(wording: Message[]): { detail: string | null; wording: Message[] } {
  return { detail: wording.length ? wordMessages(wording, english) : null, wording };
}

/** A refusal or failure, with its name on the bus. */
export class SwitchError extends Error {
  readonly code:
    | 'Denied'
    | 'InvalidArgument'
    | 'LimitsExceeded'
    | 'NotEnabled'
    | 'NothingPending'
    | 'Refused'
    | 'Unconfirmed'
    | 'Failed';
  constructor(code: SwitchError['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SwitchError';
    this.code = code;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
