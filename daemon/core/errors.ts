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

/** Returns the message of a thrown value. */
export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Words that people search for, by code of the system (errno(3)). */
const REASONS: { [code: string]: string | undefined } = {
  ENOSPC: 'No space left on disk. Free some space there',
  EDQUOT: 'Disk quota exceeded. Free some space there',
  EROFS: 'Read-only file system',
  EACCES: 'Permission denied',
  EPERM: 'Operation not permitted',
  EEXIST: 'A file is in its place',
  ENOENT: 'No such file or directory',
  ENOTDIR: 'Not a directory',
};

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
