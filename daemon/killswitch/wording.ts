// Holds the sentences of the root service, for the language of their reader.
import type { Message } from '../api/values.ts';
import { wordMessages } from '../view/message.ts';
import { english } from '../view/translator.ts';

export type { Message } from '../api/values.ts';
export { message, WordedError, wordingOf } from '../view/message.ts';
export { N_ } from '../view/translator.ts';

/** The part of a report that people read: in English, and to be translated. */
export function explained(wording: Message[]): { detail: string | null; wording: Message[] } {
  return { detail: wording.length ? wordMessages(wording, english) : null, wording };
}
