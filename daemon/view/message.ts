// Defines sentences that the daemon sends with their values, so that each client words them in the language of its reader.
import type { Message } from '../api/values.ts';
import { formatCount, formatDate } from './format.ts';
import { english, fill, type Translator } from './translator.ts';

/** Nothing to translate: what a file or a program says. */
const QUOTED = '%s';

/**
 * A sentence for the catalogs, which take `text` from the source: it has to be one literal.
 * @param text English, with `%s` and `%d` for the values in order
 */
export function message(text: string, ...values: Message['values']): Message {
  return { text, values };
}

/** Text of a file, a program or an address, which is never translated. */
export function quoted(text: string): Message {
  return message(QUOTED, text);
}

/** Sentences in English that no catalog has, such as those on a known bug. */
export function inEnglish(text: string): Message {
  return { ...quoted(text), language: 'en' };
}

/** The sentence in the language of `tr`. */
export function wordMessage({ text, values }: Message, tr: Translator): string {
  const words = values.map(value => {
    if (typeof value === 'number') return formatCount(value, tr);
    if (typeof value === 'string') return value;
    if ('word' in value) return tr._(value.word);
    return tr === english ? value.time : formatDate(value.time, tr);
  });
  return fill(text === QUOTED ? text : tr._(text), ...words);
}

/** An error whose message is a sentence for the reader's language, or several. */
export class WordedError extends Error {
  readonly code: string = 'worded';
  readonly wording: Message[];
  constructor(wording: Message | Message[], cause?: unknown) {
    const sentences = [wording].flat();
    super(wordMessages(sentences, english), { cause });
    this.name = 'WordedError';
    this.wording = sentences;
  }
}

/** A failure in the user's language; the text of an error without wording stays as it is. */
export function wordingOf(error: unknown): Message[] {
  if (error instanceof Error && 'wording' in error && Array.isArray(error.wording)) return error.wording;
  return [quoted(error instanceof Error ? error.message : String(error))];
}

/** A sentence in the language of `tr`: by its wording, or as it is where a program that is older gave none. */
export function worded(text: string, wording: Message[] | undefined, tr: Translator): string {
  return wording?.length ? wordMessages(wording, tr) : text;
}

/** Languages that leave no space between sentences. */
const NO_SPACE = /^(ja|zh)\b/;

/** Sentences one after the other, in the language of `tr`. */
export function wordMessages(messages: readonly Message[], tr: Translator): string {
  return messages.map(each => wordMessage(each, tr)).join(NO_SPACE.test(tr.locale ?? '') ? '' : ' ');
}
