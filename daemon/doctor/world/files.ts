// Reads files of a machine, or of a directory that stands for it, with size limits and without blocking on a pipe.
import { constants } from 'node:fs';
import { access, lstat, open, readdir, readlink, stat, statfs } from 'node:fs/promises';
import { errno, reason } from '../../core/errors.ts';
import { message } from '../../view/message.ts';
import { type PolicyFile, readPolicyFile } from '../../warp/parse/policy-file.ts';
import { NoVerdict } from '../errors.ts';

export interface Files {
  /** Returns the real path for a path of the machine, for programs that read it. */
  locate(path: string): string;
  /**
   * Returns the text of a regular file, or null if it does not exist.
   * @param limit in bytes @throws NoVerdict if it can't be read, is longer, or is not a regular file
   */
  readText(path: string, limit?: number): Promise<string | null>;
  /** Like `readText`, for bytes. */
  readBytes(path: string, limit?: number): Promise<Buffer | null>;
  /** Returns the target of a symbolic link, or null if the path is not one. */
  readLink(path: string): Promise<string | null>;
  /** Returns the names in a directory; empty if it can't be read. */
  list(path: string): Promise<string[]>;
  /** Describes a file (for a link: the target, as kind `link`); null if absent or unreadable. */
  stat(path: string): Promise<FileInfo | null>;
  /** Returns an organization's policy file as it lies there; null if there is none. */
  policyFile(path: string): PolicyFile | null;
  /** Returns an obstacle to writing in a directory, which may not exist yet; null without one. */
  obstacle(directory: string): Promise<Obstacle | null>;
}

/** An obstacle to writing files: no space, no inodes, a read-only file system, or no permission. */
interface Obstacle {
  kind: 'space' | 'inodes' | 'read-only' | 'denied';
  /** The nearest directory that exists. */
  at: string;
}

interface FileInfo {
  kind: 'file' | 'directory' | 'link' | 'other';
  size: number;
  mtimeMs: number;
  mode: number;
  uid: number;
  gid: number;
}

const LIMIT = 256 * 1024;
/** Free space that counts as enough, far more than any single file of Culvert. */
const ROOM_BYTES = 1024 * 1024;
const MISSING = new Set(['ENOENT', 'ENOTDIR', 'ESRCH']);

/** @param root a directory that stands for `/`; the machine itself by default */
export function createFiles(root = ''): Files {
  return {
    locate: path => `${root}${path}`,
    async readText(path, limit) {
      return (await this.readBytes(path, limit))?.toString('utf8') ?? null;
    },
    async readBytes(path, limit = LIMIT) {
      try {
        // a pipe or a device must not block the reader
        const file = await open(`${root}${path}`, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
        try {
          if (!(await file.stat()).isFile()) throw new NoVerdict(message('%s is not a regular file.', path));
          return await readUpTo(file, path, limit);
        } finally {
          await file.close();
        }
      } catch (error) {
        if (error instanceof NoVerdict) throw error;
        if (MISSING.has(errno(error) ?? '')) return null;
        if (errno(error) === 'EACCES' || errno(error) === 'EPERM')
          throw new NoVerdict(message('You may not read %s.', path), error);
        throw new NoVerdict(message("%s can't be read: %s", path, reason(error)), error);
      }
    },
    readLink: path => readlink(`${root}${path}`).catch(() => null),
    list: path => readdir(`${root}${path}`).catch(() => []),
    policyFile(path) {
      const file = readPolicyFile(`${root}${path}`);
      return file && { ...file, path };
    },
    async obstacle(directory) {
      const at = await nearest(root, directory);
      const path = `${root}${at}`;
      const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
      const bytes = (process.getuid?.() === 0 ? bfree : bavail) * bsize;
      // /proc has no blocks at all
      if (blocks > 0 && bytes < ROOM_BYTES) return { kind: 'space', at };
      // file systems without a fixed number of inodes report 0 of 0
      if (files > 0 && ffree === 0) return { kind: 'inodes', at };
      return access(path, constants.W_OK | constants.X_OK).then(
        () => null,
        error => ({ kind: errno(error) === 'EROFS' ? 'read-only' : 'denied', at }),
      );
    },
    async stat(path) {
      const stats = await lstat(`${root}${path}`).catch(() => null);
      if (!stats) return null;
      const kind = stats.isSymbolicLink()
        ? 'link'
        : stats.isFile()
          ? 'file'
          : stats.isDirectory()
            ? 'directory'
            : 'other';
      // for a link, report the target's size and age
      const { size, mtimeMs, mode, uid, gid } = (await stat(`${root}${path}`).catch(() => null)) ?? stats;
      return { kind, size, mtimeMs, mode, uid, gid };
    },
  };
}

/** Returns the directory, or its nearest existing parent. */
async function nearest(root: string, directory: string): Promise<string> {
  for (let at = directory; ; at = at.slice(0, at.lastIndexOf('/')))
    if (at === '' || (await stat(`${root}${at}`).catch(() => null))) return at || '/';
}

/** Reads a file to its end, because files of /proc report a size of 0. */
async function readUpTo(file: Awaited<ReturnType<typeof open>>, path: string, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for (;;) {
    // begin with a small buffer: most files are small, and /proc has many
    const { bytesRead, buffer } = await file.read(Buffer.alloc(size === 0 ? 4 * 1024 : 64 * 1024), 0);
    if (bytesRead === 0) return Buffer.concat(chunks);
    size += bytesRead;
    if (size > limit) throw new NoVerdict(message('%s is longer than %d KiB, so it was not read.', path, limit / 1024));
    chunks.push(buffer.subarray(0, bytesRead));
  }
}
