// Defines messages, which the daemon sends with their values and each client translates for its user.
import type { Message } from '../api/values.ts';
import { formatCount, formatDate } from './format.ts';
import { english, fill, type Translator } from './translator.ts';

/** Template of a message that is not translated, such as the text of a file or program. */
const QUOTED = '%s';

/**
 * Creates a message. `text` must be a single literal, because the catalogs extract it from the source.
 * @param text English, with `%s` and `%d` for the values in order
 */
export function message(text: string, ...values: Message['values']): Message {
  return { text, values };
}

/** Creates a message for the text of a file or program, or for an address, which is never translated. */
export function quoted(text: string): Message {
  return message(QUOTED, text);
}

/** Creates a message for English text that no catalog has, such as the description of a known bug. */
export function inEnglish(text: string): Message {
  return { ...quoted(text), language: 'en' };
}

/** Words a message in the language of `tr`. */
export function wordMessage({ text, values }: Message, tr: Translator): string {
  const words = values.map(value => {
    if (typeof value === 'number') return formatCount(value, tr);
    if (typeof value === 'string') return value;
    if ('word' in value) return tr._(value.word);
    return tr === english ? value.time : formatDate(value.time, tr);
  });
  return fill(text === QUOTED ? text : tr._(text), ...words);
}

/** An error with messages that clients translate. */
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

/** Returns the messages of an error; if it has none, quotes its text. */
export function wordingOf(error: unknown): Message[] {
  if (error instanceof Error && 'wording' in error && Array.isArray(error.wording)) return error.wording;
  return [quoted(error instanceof Error ? error.message : String(error))];
}

/** Words a sentence in the language of `tr`; returns `text` unchanged if an older program sent no wording. */
export function worded(text: string, wording: Message[] | undefined, tr: Translator): string {
  return wording?.length ? wordMessages(wording, tr) : text;
}

/** Languages that leave no space between sentences. */
const NO_SPACE = /^(ja|zh)\b/;

/** Words several messages in the language of `tr`, and joins them. */
export function wordMessages(messages: readonly Message[], tr: Translator): string {
  return messages.map(each => wordMessage(each, tr)).join(NO_SPACE.test(tr.locale ?? '') ? '' : ' ');
}

/** Messages for the codes of Node's and the system's connection errors (getaddrinfo(3), errno(3)). */
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
 * Returns a clause about a connection error, to follow a colon; null for any other error, because Culvert worded its message.
 * @param place name or address of the server
 */
export function networkFailure(error: unknown, place: string): Message | null {
  // if all addresses of a name fail, the error is an AggregateError
  const errors = error instanceof AggregateError ? [error, ...error.errors] : [error];
  for (const each of errors) {
    const code = each instanceof Error && 'code' in each ? String(each.code) : '';
    const found = KINDS.find(([codes]) => codes.test(code));
    if (found) return found[1](place);
  }
  return null;
}
