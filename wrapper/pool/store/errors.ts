// Separates two kinds of failure of a pool's store: it does not answer, or it refuses.
import { EXIT, WrapError } from '../../system/errors.ts';
import { printable } from '../../system/redact.ts';

/** There is no store that could answer now; `pool.offline` says what to do. */
export class StoreUnreachable extends Error {
  override readonly name = 'StoreUnreachable';
  constructor(message: string, options?: ErrorOptions) {
    super(printable(message), options);
  }
}

/** The store answered, and only a change of its or our configuration can help. */
class StoreRefused extends WrapError {
  override readonly name = 'StoreRefused';
  constructor(message: string, hint: string) {
    super('pool-refused', EXIT.config, printable(message), { hint });
  }
}

/** Errors of a server that may pass: it starts, lost its primary, is full, or is busy with a script. */
const PASSING =
  /^(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|OOM|MISCONF|NOREPLICAS|BUSY|UNKILLABLE|MAXCLIENTS)\b/;

const LONGEST = 120;

/** A server's message without the place in the script that Redis adds, cut at a word. */
export function shortened(message: string): string {
  const text = message
    .replace(/ script: [0-9a-f]{6,}\b.*$/s, '')
    .replace(/Error (?:running|compiling) script (?:\([^)]*\))?:? ?|@?user_script: ?\d+: ?/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  if (text.length <= LONGEST) return text;
  return `${/^.{0,118}(?=\s)/.exec(text)?.[0].trimEnd() ?? text.slice(0, LONGEST - 2)} …`;
}

/**
 * Interprets an error of a server.
 * @param text its text, which begins with a code
 * @param by which server it was
 */
export function serverError(text: string, where: string, by: 'store' | 'Sentinels' = 'store'): Error {
  // Redis before 7 puts an error of a command into one of the script.
  const message = text.replace(/^ERR Error running script .*?: -(?=[A-Z]+ )/, '');
  if (PASSING.test(message) || /max number of clients/.test(message)) {
    return new StoreUnreachable(`it answers ${shortened(message)}`);
  }
  const schema = /CULVERTSCHEMA (\S+)/.exec(message);
  if (schema) {
    return new StoreRefused(
      `the pool at ${where} has the schema ${schema[1]!.slice(0, 20)}, and this version of culvert-wrap knows the schema 1`,
      'use one version of culvert-wrap on all machines, or give one of them another database of the store',
    );
  }
  if (
    by === 'Sentinels' &&
    /^(NOAUTH|WRONGPASS|NOPERM|ERR invalid password|ERR AUTH|ERR Client sent AUTH)/.test(message)
  ) {
    return new StoreRefused(
      `the Sentinels of the pool at ${where} refuse the login`,
      'correct their user and password: `culvert-wrap pool join` again, with --sentinel-user and --sentinel-password SOURCE',
    );
  }
  if (/^(NOAUTH|WRONGPASS|ERR invalid password|ERR AUTH|ERR Client sent AUTH)/.test(message)) {
    return new StoreRefused(
      `the pool at ${where} refuses the login`,
      'correct user and password: `culvert-wrap pool join` again, with --user and --password SOURCE',
    );
  }
  if (/^NOPERM|ACL failure in script|can't run this command/.test(message)) {
    return new StoreRefused(
      `the pool at ${where} does not permit this user what its script needs`,
      'give it the rules that the README of culvert-wrap lists for an ACL user',
    );
  }
  if (/^(MOVED|ASK|CROSSSLOT)\b/.test(message)) {
    return new StoreRefused(`the pool at ${where} is a cluster`, 'join it as valkey+cluster://HOST');
  }
  if (/DB index|No such master/.test(message)) {
    return new StoreRefused(
      `the pool at ${where} answers: ${shortened(message)}`,
      'correct the address: `culvert-wrap pool join URL`',
    );
  }
  return new StoreRefused(`the pool at ${where} answers: ${shortened(message)}`, 'look into the log of the store');
}
