// Reads the list of installed shims and finds commands on PATH. The daemon uses this module, too.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { isExecutable, readOptional, readText } from '../../daemon/core/files.ts';
import {
  type Checked,
  isNumber,
  isRecord,
  isText,
  oneOf,
  optional,
  parseJson,
  shape,
} from '../../daemon/core/shape.ts';
import type { Paths } from './paths.ts';

/** Start of the second line of a shim; the CLI's name follows. */
export const MARKER = '# culvert-wrap shim for ';

const isShim = shape({
  /** Path of the shim. */
  bin: isText,
  /** Path of the program that the shim runs. */
  original: isText,
  /**
   * `link`: the original was a symlink. `file`: the original is kept in the state directory, or, if other users run it, in
   * `.culvert-wrap` next to the shim. `beside`: the original stays in place.
   */
  kind: oneOf('link', 'file', 'beside'),
  link: optional(isText),
  /** Modification time of the symlink, in seconds. */
  mtime: optional(isNumber),
});
export type Installed = Checked<typeof isShim>;

export type Installs = Record<string, Installed>;

/** Returns the installed shims, without damaged records, which `doctor` reports. */
export function readInstalls(paths: Paths): Installs {
  const value = parseJson(readText(paths.installs));
  const entries = isRecord(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, Installed] => isInstalled(entry[1])));
}

/** Returns the paths of a name on `PATH`, in order. An empty entry is the current directory, as for a shell. */
export function pathsOf(name: string, search: string): string[] {
  return search.split(':').map(dir => path.resolve(dir || '.', name));
}

/** Returns the first executable on `PATH` with this name, skipping shims. */
export function findOnPath(name: string, search: string): string | undefined {
  return pathsOf(name, search).find(file => isExecutable(file) && shimOf(file) === undefined);
}

/**
 * Returns the first executable on `PATH` with this name if it is a shim of another user's installation. A shim belongs to
 * the user who wrote it, even when root looks it up.
 */
export function foreignShim(name: string, search: string, paths: Paths): string | undefined {
  const first = pathsOf(name, search).find(isExecutable);
  return first !== undefined && isForeignShim(first, paths) ? first : undefined;
}

/** Reports whether a file is a shim of another user's installation. */
export function isForeignShim(file: string, paths: Paths): boolean {
  if (shimOf(file) === undefined || fs.statSync(file).uid === process.getuid?.()) return false;
  return !(readOptional(file) ?? '').includes(`'${paths.plans}/`);
}

/** Returns the name of the CLI if `file` is a shim. Follows symlinks. */
export function shimOf(file: string): string | undefined {
  let fd: number;
  try {
    fd = fs.openSync(file, 'r');
  } catch {
    return undefined;
  }
  try {
    const head = Buffer.alloc(256);
    const text = head.toString('latin1', 0, fs.readSync(fd, head, 0, head.length, 0));
    const line = text.split('\n')[1] ?? '';
    return text.startsWith('#!/bin/sh\n') && line.startsWith(MARKER)
      ? line.slice(MARKER.length).split(';')[0]
      : undefined;
  } catch {
    return undefined;
  } finally {
    fs.closeSync(fd);
  }
}

/** Reports whether a value is a valid record of a shim. */
export function isInstalled(value: unknown): value is Installed {
  return isShim(value) && (value.kind !== 'link' || (value.link !== undefined && value.mtime !== undefined));
}
