// Reads errors of the operating system, for code that catches `unknown`.

/** The code of a system error, such as `ENOENT`; undefined for any other value. */
export function errno(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}

/** The message of whatever was thrown. */
export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The codes that people meet, in the words that they search for (errno(3)). */
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

/** A file that could not be written. `code` is the system's. */
export class FileError extends Error {
  readonly code: string | undefined;

  constructor(path: string, cause: unknown) {
    super(`${path} can't be written: ${REASONS[errno(cause) ?? ''] ?? reason(cause)}.`, { cause });
    this.name = 'FileError';
    this.code = errno(cause);
  }
}
