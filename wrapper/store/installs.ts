// Reads which shims are installed, and finds commands on PATH. The daemon reads this, too.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { readOptional } from '../../daemon/core/files.ts';
import { type Checked, isNumber, isRecord, isText, oneOf, optional, shape } from '../../daemon/core/shape.ts';
import type { Paths } from './paths.ts';

/** Begins the second line of a shim; the CLI's name follows. */
export const MARKER = '# culvert-wrap shim for ';

const isShim = shape({
  /** Path of the shim. */
  bin: isText,
  /** Path of the program that the shim runs. */
  original: isText,
  /**
   * `link`: the original was this symlink. `file`: it is kept in the state directory, or in `.culvert-wrap` next to the shim
   * where other users run it. `beside`: it stays where it is.
   */
  kind: oneOf('link', 'file', 'beside'),
  link: optional(isText),
  /** Modification time of the symlink, in seconds. */
  mtime: optional(isNumber),
});
export type Installed = Checked<typeof isShim>;

export type Installs = Record<string, Installed>;

/** The installed shims; damaged records read as none, and `doctor` says so. */
export function readInstalls(paths: Paths): Installs {
  try {
    const value: unknown = JSON.parse(readOptional(paths.installs) ?? '{}');
    const entries = isRecord(value) ? Object.entries(value) : [];
    return Object.fromEntries(entries.filter((entry): entry is [string, Installed] => isInstalled(entry[1])));
  } catch {
    return {};
  }
}

/** The first executable of that name on `PATH` that is not one of our shims. */
export function findOnPath(name: string, search: string): string | undefined {
  return search
    .split(':')
    .map(dir => path.resolve(dir || '.', name))
    .find(file => isExecutable(file) && shimOf(file) === undefined);
}

/**
 * The shim of another user's installation that `PATH` finds first under this name, or `undefined`. It belongs to the user who wrote
 * it, also for root.
 */
export function foreignShim(name: string, search: string, paths: Paths): string | undefined {
  const first = search
    .split(':')
    .map(dir => path.resolve(dir || '.', name))
    .find(isExecutable);
  return first !== undefined && isForeignShim(first, paths) ? first : undefined;
}

/** Reports whether a file is a shim of another user's installation. */
export function isForeignShim(file: string, paths: Paths): boolean {
  if (shimOf(file) === undefined || fs.statSync(file).uid === process.getuid?.()) return false;
  return !(readOptional(file) ?? '').includes(`'${paths.plans}/`);
}

/** Reports whether this user can run a file. */
export function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The CLI whose shim `file` is, or `undefined`. Follows symlinks. */
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

/** Reports whether a value has the form of a record. */
export function isInstalled(value: unknown): value is Installed {
  return isShim(value) && (value.kind !== 'link' || (value.link !== undefined && value.mtime !== undefined));
}
