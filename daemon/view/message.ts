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
  readonly code = 'worded';
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

/** Codes of Node's and the system's connection errors (getaddrinfo(3), errno(3)). */
const KINDS: readonly [codes: RegExp, sentence: (place: string) => Message][] = [
  [/^ENOTFOUND$/, place => message('the name %s isn’t found', place)],
  [/^EAI_/, place => message('the name %s can’t be looked up: DNS does not answer', place)],
  [/^ECONNREFUSED$/, place => message('%s refuses connections', place)],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, place => message('%s closed the connection', place)],
  [
    /^(ETIMEDOUT|ESOCKETTIMEDOUT|ABORT_ERR|UND_ERR_CONNECT_TIMEOUT)$/,
    place => message('%s did not answer in time', place),
  ],
  [/^(ENETUNREACH|EHOSTUNREACH|ENETDOWN|EADDRNOTAVAIL)$/, place => message('this network has no way to %s', place)],
  [/^(EACCES|EPERM)$/, place => message('this computer blocks connections to %s', place)],
  [/CERT|SELF_SIGNED|UNABLE_TO_/, place => message('the certificate of %s is not trusted', place)],
  [/^(EPROTO|ERR_SSL|ERR_TLS)/, place => message('no secure connection to %s is possible', place)],
  [/^HPE_/, place => message('%s does not answer in HTTP', place)],
];

/**
 * An error of a connection, to follow a colon; null for an error of another kind, whose message is our own.
 * @param place name or address of what was asked
 */
export function networkFailure(error: unknown, place: string): Message | null {
  // several addresses of one name fail together, as an AggregateError
  const errors = error instanceof AggregateError ? [error, ...error.errors] : [error];
  for (const each of errors) {
    const code = each instanceof Error && 'code' in each ? String(each.code) : '';
    const found = KINDS.find(([codes]) => codes.test(code));
    if (found) return found[1](place);
  }
  return null;
}
