// Defines the errors that a probe throws when it has no verdict.
import type { Message } from '../api/values.ts';
import { wordMessage } from '../view/message.ts';
import { english } from '../view/translator.ts';

/** Something that a verdict needs can't be had; the wording says what and why. */
export class Unknown extends Error {
  readonly code = 'unknown';
  readonly wording: Message;
  constructor(wording: Message, cause?: unknown) {
    super(wordMessage(wording, english), { cause });
    this.name = 'Unknown';
    this.wording = wording;
  }
}

/** The check makes no sense here; the wording says why. */
export class NotApplicable extends Error {
  readonly code = 'not-applicable';
  readonly wording: Message;
  constructor(wording: Message) {
    super(wordMessage(wording, english));
    this.name = 'NotApplicable';
    this.wording = wording;
  }
}
