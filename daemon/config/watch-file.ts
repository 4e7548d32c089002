// Watches a file, even before the file or its directory exists.
import { type FSWatcher, lstatSync, readlinkSync, statSync, watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';

interface Watched {
  directory: string;
  inode: number;
  removed: boolean;
  watcher: FSWatcher;
}

/**
 * Calls `changed` after every change to the file or its link targets. Watches the nearest existing directory above each path,
 * and adapts when directories appear, vanish or are replaced.
 * @returns a function that stops watching.
 */
export function watchFile(file: string, changed: () => void): () => void {
  let watchers: Watched[] = [];
  let closed = false;

  function arm() {
    const directories = [...new Set(linkChain(file).map(path => nearestDirectory(dirname(path))))];
    const current = watchers.filter(
      ({ directory, inode, removed }) => !removed && directories.includes(directory) && inodeOf(directory) === inode,
    );
    for (const entry of watchers) if (!current.includes(entry)) entry.watcher.close();
    const added = directories
      .filter(directory => !current.some(entry => entry.directory === directory))
      .flatMap(watched);
    watchers = [...current, ...added];
    return added.length > 0;
  }

  function watched(directory: string) {
    try {
      const watcher = watch(directory, { persistent: false }, (_, name) => {
        // inotify reports a removed directory under its own name; a new one at this path can have the same inode
        entry.removed ||= name === basename(directory);
        noticed();
      });
      watcher.on('error', () => {}); // the directory is gone, and noticed() has already been called
      const entry: Watched = { directory, inode: inodeOf(directory), removed: false, watcher };
      return [entry];
    } catch {
      return []; // the directory just vanished, or no inotify watches are left
    }
  }

  function noticed() {
    if (closed) return;
    // check again for a file that appeared before the new watch began
    while (arm());
    changed();
  }

  while (arm());
  return () => {
    closed = true;
    for (const { watcher } of watchers) watcher.close();
  };
}

/** Maximum number of links in a chain; the kernel treats longer chains as loops (ELOOP, path_resolution(7)). */
const LINKS = 40;

/** Returns the path and its link targets; the last target may be missing. */
export function linkChain(path: string): string[] {
  const chain = [path];
  for (let last = path; chain.length <= LINKS; chain.push(last)) {
    try {
      last = resolve(dirname(last), readlinkSync(last));
    } catch {
      break; // not a link
    }
  }
  return chain;
}

function nearestDirectory(directory: string): string {
  while (directory !== '/' && !isDirectory(directory)) directory = dirname(directory);
  return directory;
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function inodeOf(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}
