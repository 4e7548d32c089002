// Parses the address of a store, and interprets the store's errors.
import { masked } from '../../daemon/core/printable.ts';
import { EXIT, WrapError } from '../system/errors.ts';

export interface Address {
  kind: 'single' | 'sentinel' | 'cluster';
  tls: boolean;
  /** Any host of a cluster or a set of Sentinels will do; empty for a Unix socket. */
  hosts: { host: string; port: number }[];
  /** A Unix socket instead of hosts. */
  socket?: string;
  user?: string;
  database: number;
  /** The name under which Sentinels know the primary. */
  primary?: string;
}

const FORM = /^(redis|valkey)(s?)(?:\+(unix|sentinel|cluster))?:\/\/(?:([^@/]*)@)?([^/?#]*)(\/[^?#]*)?$/;
const FORMS =
  'valkey://HOST:PORT/DATABASE, valkeys:// for TLS, valkey+unix:///PATH, valkey+sentinel://HOST,HOST/PRIMARY, valkey+cluster://HOST,HOST';

/**
 * Parses `valkey://`, `valkeys://`, `redis://`, `rediss://`, each also with `+sentinel` and `+cluster`, and `+unix`.
 * @throws WrapError `pool-address`, also for an address with a password, which the message does not repeat
 */
export function parseAddress(url: string): Address {
  const match = FORM.exec(url);
  if (!match) throw refused('it has an unknown form', `give one of ${FORMS}`);
  const [, , secure, kind, login = '', authority = '', path = ''] = match;
  if (login.includes(':')) {
    throw refused(
      'it contains a password, which other users could read in the list of processes',
      'leave the password out and give its source: --password file:~/keys.env#POOL, env:VARIABLE or keyring: (asks for it)',
    );
  }
  const user = login === '' ? {} : { user: decoded(login) };
  const tls = secure === 's';
  if (kind === 'unix') {
    if (tls || authority !== '' || path.length < 2)
      throw refused('a Unix socket is an absolute path without TLS', FORMS);
    return { kind: 'single', tls: false, hosts: [], socket: decoded(path), ...user, database: 0 };
  }
  const hosts = authority.split(',').map(each => hostOf(each, kind === 'sentinel' ? 26_379 : 6_379));
  const parts = path.split('/').filter(part => part !== '');
  if (kind !== 'sentinel') {
    if (parts.length > 1 || (hosts.length > 1 && kind !== 'cluster')) throw refused('it has too many parts', FORMS);
    const database = databaseOf(parts[0]);
    if (kind === 'cluster' && database !== 0) throw refused('a cluster has the database 0 only', 'leave it out');
    return { kind: kind === 'cluster' ? 'cluster' : 'single', tls, hosts, ...user, database };
  }
  const [primary, database, ...rest] = parts;
  if (!primary || rest.length > 0) throw refused("Sentinels need the primary's name", FORMS);
  return { kind: 'sentinel', tls, hosts, ...user, database: databaseOf(database), primary };
}

/** Returns an address without the user, for display. */
export function describeAddress(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//');
}

function hostOf(text: string, fallback: number): { host: string; port: number } {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/.exec(text);
  const port = match?.[2] === undefined ? fallback : Number(match[2]);
  if (!match || port < 1 || port > 65_535) throw refused('a host or port is missing or wrong', FORMS);
  return { host: match[1]!.replace(/^\[|\]$/g, ''), port };
}

/** Decodes percent-encoding. Refuses a zero byte, because it would end the name in a system call. */
function decoded(text: string): string {
  try {
    const plain = decodeURIComponent(text);
    if (!plain.includes('\0')) return plain;
  } catch {
    // refused below
  }
  throw refused('a "%" in it does not begin a character', 'write "%" as %25');
}

function databaseOf(text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^\d{1,5}$/.test(text)) throw refused('the database is a number', FORMS);
  return Number(text);
}

function refused(why: string, hint: string): WrapError {
  return new WrapError('pool-address', EXIT.usage, `the address of the pool can't be used: ${why}`, { hint });
}

/** No store can answer now; `pool.offline` says how to proceed. */
export class StoreUnreachable extends Error {
  override readonly name = 'StoreUnreachable';
  constructor(message: string, options?: ErrorOptions) {
    super(masked(message), options);
  }
}

/** Returns the error for a refusal that only a change of the store's or our configuration can fix. */
function storeRefused(message: string, hint: string): WrapError {
  return new WrapError('pool-refused', EXIT.config, masked(message), { hint });
}

/** Temporary errors of a server: it is starting, lost its primary, is full, or is busy with a script. */
const PASSING =
  /^(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|OOM|MISCONF|NOREPLICAS|BUSY|UNKILLABLE|MAXCLIENTS)\b/;

const MAX_QUOTED = 120;

/** Returns a server's message without the script location that Redis adds, cut at a word. */
export function shortened(message: string): string {
  const text = message
    .replace(/ script: [0-9a-f]{6,}\b.*$/s, '')
    .replace(/Error (?:running|compiling) script (?:\([^)]*\))?:? ?|@?user_script: ?\d+: ?/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  if (text.length <= MAX_QUOTED) return text;
  return `${/^.{0,118}(?=\s)/.exec(text)?.[0].trimEnd() ?? text.slice(0, MAX_QUOTED - 2)} …`;
}

/**
 * Interprets an error of a server.
 * @param text the error's text, which begins with a code
 * @param by the server that reported the error
 */
export function serverError(text: string, where: string, by: 'store' | 'Sentinels' = 'store'): Error {
  // Redis before 7 wraps a command's error in the script's error.
  const message = text.replace(/^ERR Error running script .*?: -(?=[A-Z]+ )/, '');
  if (PASSING.test(message) || /max number of clients/.test(message)) {
    return new StoreUnreachable(`it answers ${shortened(message)}`);
  }
  const schema = /CULVERTSCHEMA (\S+)/.exec(message);
  if (schema) {
    return storeRefused(
      `the pool at ${where} has the schema ${schema[1]!.slice(0, 20)}, and this version of culvert-wrap knows the schema 1`,
      'use one version of culvert-wrap on all machines, or give one of them another database of the store',
    );
  }
  if (
    by === 'Sentinels' &&
    /^(NOAUTH|WRONGPASS|NOPERM|ERR invalid password|ERR AUTH|ERR Client sent AUTH)/.test(message)
  ) {
    return storeRefused(
      `the Sentinels of the pool at ${where} refuse the login`,
      'correct their user and password: `culvert-wrap pool join` again, with --sentinel-user and --sentinel-password SOURCE',
    );
  }
  if (/^(NOAUTH|WRONGPASS|ERR invalid password|ERR AUTH|ERR Client sent AUTH)/.test(message)) {
    return storeRefused(
      `the pool at ${where} refuses the login`,
      'correct user and password: `culvert-wrap pool join` again, with --user and --password SOURCE',
    );
  }
  if (/^NOPERM|ACL failure in script|can't run this command/.test(message)) {
    return storeRefused(
      `the pool at ${where} does not permit this user what its script needs`,
      'give it the rules that the README of culvert-wrap lists for an ACL user',
    );
  }
  if (/^(MOVED|ASK|CROSSSLOT)\b/.test(message)) {
    return storeRefused(`the pool at ${where} is a cluster`, 'join it as valkey+cluster://HOST');
  }
  if (/DB index|No such master/.test(message)) {
    return storeRefused(
      `the pool at ${where} answers: ${shortened(message)}`,
      'correct the address: `culvert-wrap pool join URL`',
    );
  }
  return storeRefused(`the pool at ${where} answers: ${shortened(message)}`, 'look into the log of the store');
}
