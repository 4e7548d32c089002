// Defines the failures of all programs, and explains errors of the operating system.

/**
 * A failure that a person can act on: `message` says what failed and why, `hint` what to do next. Each program has a table
 * of codes with their exit statuses or problems.
 */
export class Failure<Code extends string = string> extends Error {
  readonly code: Code;
  readonly hint: string | undefined;

  constructor(message: string, options: { code?: Code; hint?: string | undefined; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'Failure';
    this.code = options.code ?? ('failure' as Code);
    this.hint = options.hint;
  }
}

/** Returns true if an error is a failure with a code from the table. */
export function isOneOf<T extends object>(codes: T, error: unknown): error is Failure<keyof T & string> {
  return error instanceof Failure && Object.hasOwn(codes, error.code);
}

/** Returns the system's code of an error, such as `ENOENT`; undefined if the system did not cause it. */
export function errno(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/**
 * Words that people search for, by code that a client or an operation on files gets from the system (errno(3)), or from
 * getaddrinfo(3) by libuv. Codes that only a mistake of the program causes are left out, because their own words say as much.
 */
const REASONS: { [code: string]: string | undefined } = {
  ENOSPC: 'No space left on disk. Free some space there',
  EDQUOT: 'Disk quota exceeded. Free some space there',
  EROFS: 'Read-only file system',
  EACCES: 'Permission denied',
  EPERM: 'Operation not permitted',
  EEXIST: 'A file is in its place',
  ENOENT: 'No such file or directory',
  ENOTDIR: 'Not a directory',
  EISDIR: 'Is a directory',
  ELOOP: 'Too many symbolic links',
  ENAMETOOLONG: 'File name too long',
  EMFILE: 'Too many open files',
  ENFILE: 'Too many open files',
  EBUSY: 'In use by another program',
  ETXTBSY: 'In use by another program',
  ENOTEMPTY: 'The directory is not empty',
  EXDEV: 'It is on another file system',
  EFBIG: 'File too large',
  EMLINK: 'Too many links',
  EIO: 'Input or output failed',
  EREMOTEIO: 'Input or output failed',
  ENODEV: 'No such device',
  ENXIO: 'No such device',
  ENOMEM: 'Not enough memory',
  ENOBUFS: 'Not enough memory',
  EAGAIN: 'Too much at once. Try again',
  ENOSYS: 'This system does not support it',
  ENOTSUP: 'This system does not support it',
  E2BIG: 'Too many arguments',
  ESRCH: 'No such process',
  EINTR: 'Interrupted',
  ECANCELED: 'Canceled',
  ECONNREFUSED: 'Connection refused',
  ECONNRESET: 'Connection closed by the other side',
  ECONNABORTED: 'Connection closed by this system',
  EPIPE: 'Connection closed by the other side',
  ENOTCONN: 'Not connected',
  EADDRNOTAVAIL: 'This computer does not have that address',
  EAFNOSUPPORT: 'This system does not support addresses of this kind',
  EPROTO: 'The other side did not follow the protocol',
  EMSGSIZE: 'Message too long',
  ETIMEDOUT: 'No answer in time',
  ENETDOWN: 'The network is off',
  ENONET: 'The network is off',
  ENETUNREACH: 'This network has no way there',
  EHOSTUNREACH: 'This network has no way there',
  EHOSTDOWN: 'The other computer does not answer',
  ENOTFOUND: 'Name not found',
  EAI_NONAME: 'Name not found',
  EAI_NODATA: 'The name has no address',
  EAI_ADDRFAMILY: 'The name has no address of this kind',
  EAI_FAMILY: 'This system does not support addresses of this kind',
  EAI_AGAIN: 'No name server answered',
  EAI_FAIL: 'The name server answered with an error',
  EAI_MEMORY: 'Not enough memory',
  EAI_CANCELED: 'Canceled',
};

/**
 * Matches messages of Node and libuv about a failed call, with the code and libuv's own words: `ENOENT: no such file or
 * directory, open '/x'`, `listen EADDRINUSE: address already in use 127.0.0.1:80`, `connect ECONNREFUSED 127.0.0.1:80`,
 * `getaddrinfo EAI_AGAIN example.com`. A place on the network is the third group; a path is not.
 */
const FAILED_CALL = /^(?:\w+ )?(E[A-Z\d_]+)(?:: ([^,]+)|$| ([^\s/]\S*)?)/;
/** Matches the address at the end of libuv's own words about a listener. It does not match a path. */
const ADDRESS = / ([^\s/]*[:.][^\s/]*\d)$/;
/** Matches OpenSSL's words in the message of a failed call: `write EPROTO 8031:error:0A00010B:SSL routines::wrong version number:…`. */
const TLS_FAILED = /:SSL routines:[^:]*:([^:\n]+)/;
/** Matches the message about a program that was not started: `spawn warp-cli ENOENT`. */
const FAILED_SPAWN = /^spawn (\S+) (E[A-Z\d]+)$/;

/**
 * Returns the message of a thrown value, in words: an error of the system without its code and the call, but with its place
 * on the network.
 */
export function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // a connection that was tried to each address of a name lacks its own message
  if (error.message === '' && error instanceof AggregateError && error.errors.length > 0)
    return [...new Set(error.errors.map(reason))].join('; ');
  if (error.message === '') return REASONS[errno(error) ?? ''] ?? errno(error) ?? error.name;
  // execa puts its command line before the message
  const original = 'originalMessage' in error && errno(error) !== undefined ? error.originalMessage : undefined;
  const message = typeof original === 'string' ? original : error.message;
  const [, program, refusal] = FAILED_SPAWN.exec(message) ?? [];
  if (program !== undefined && refusal === errno(error)) return `${program}: ${REASONS[refusal!] ?? refusal}`;
  const [, tls] = TLS_FAILED.exec(message) ?? [];
  if (tls !== undefined) return `TLS failed: ${tls}`;
  const [, code, own, place] = FAILED_CALL.exec(message) ?? [];
  if (code === undefined || code !== errno(error)) return error.message;
  const words = REASONS[code];
  const at = place ?? ADDRESS.exec(own ?? '')?.[1];
  if (words !== undefined && at !== undefined) return `${words}: ${at}`;
  return words ?? (own === undefined ? message : `${own[0]!.toUpperCase()}${own.slice(1)}`);
}

/** Returns the message of a thrown value for a place that does not name the file: the words of `reason`, after the path. */
export function reasonWithPath(error: unknown): string {
  const text = reason(error);
  const path = error instanceof Error && 'path' in error && text !== error.message ? error.path : undefined;
  return typeof path === 'string' && !text.includes(path) ? `${path}: ${text}` : text;
}

/** Error for a file that could not be written. `code` is the system's. Programs with their own words use `path` and `cause`. */
export class FileError extends Error {
  readonly path: string;
  readonly code: string | undefined;

  constructor(path: string, cause: unknown) {
    super(`${path} can't be written: ${REASONS[errno(cause) ?? ''] ?? reason(cause)}.`, { cause });
    this.name = 'FileError';
    this.path = path;
    this.code = errno(cause);
  }
}
