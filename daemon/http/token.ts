// Manages the bearer token that lets other machines in. It is made once, and only this user can read it.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Config } from '../api/schema.ts';
import { errno, Failure, FileError, reason } from '../core/errors.ts';
import { makeDirectory, replaceFile, uniqueName } from '../core/files.ts';
import type { State } from '../state/store.ts';
import type { Paths } from '../system/paths.ts';

/** Credentials for requests from other machines. */
export interface RemoteAccess {
  /** Compares a token with the right token, in constant time. */
  token(given: string): boolean;
  /** webui.address: the address at which a reverse proxy or a name leads to this daemon. */
  address: string | null;
}

/**
 * Opens remote access and publishes it. Creates the token if it does not exist yet.
 * @throws Failure like `readToken`
 */
export async function openRemoteAccess(paths: Paths, state: State, { webui }: Config): Promise<RemoteAccess> {
  const address = webui.address || null;
  state.set('remoteAccess', { address });
  return { token: tokenCheck(await readToken(paths.token, { create: true })), address };
}

/** 32 random bytes as base64url. */
const SHAPE = /^[A-Za-z0-9_-]{43}$/;

/**
 * Reads the token at `path`; null if it is missing. With `create`, makes a missing token: any number of processes that do so at
 * the same time return the same token.
 * @throws Failure when others may read the file, when it holds no token, or when it can't be read or made.
 */
export async function readToken(path: string, options: { create: true }): Promise<string>;
export async function readToken(path: string, options?: { create?: boolean }): Promise<string | null>;
export async function readToken(path: string, { create = false } = {}): Promise<string | null> {
  const line = await read(path);
  if (line !== null || !create) return line;
  make(path);
  return (await read(path))!;
}

/** Returns a constant-time check of bearer tokens against `token`. */
export function tokenCheck(token: string): (given: string) => boolean {
  const secret = Buffer.from(token);
  return text => {
    const given = Buffer.from(text);
    return given.length === secret.length && timingSafeEqual(given, secret);
  };
}

async function read(path: string): Promise<string | null> {
  let text: string;
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const { mode, uid } = await file.stat();
      if (mode & 0o077 || uid !== process.getuid?.()) {
        throw new Failure(`${path} may be read by others, so its token is not safe. Delete it; a new one is made.`);
      }
      text = (await file.readFile('utf8')).trim();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (errno(error) === 'ENOENT') return null;
    throw new Failure(`${path} can't be read: ${reason(error)}.`, { cause: error });
  }
  if (!SHAPE.test(text)) throw new Failure(`${path} holds no token. Delete it; a new one is made.`);
  return text;
}

/** Makes the file with its whole content, unless another process was first. */
function make(path: string): void {
  const text = `${randomBytes(32).toString('base64url')}\n`;
  try {
    makeDirectory(dirname(path));
    replaceFile(path, text, { overwrite: false, temporary: uniqueName(path) });
  } catch (error) {
    if (errno(error) === 'EEXIST') return;
    const why = error instanceof FileError && error.path === path ? error.cause : error;
    throw new Failure(`${path} can't be made: ${reason(why)}.`, { cause: error });
  }
}
