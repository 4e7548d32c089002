// Watches a file that may not exist yet, in a directory that may not exist yet either.
import { type FSWatcher, lstatSync, readlinkSync, statSync, watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';

interface Watched {
  directory: string;
  inode: number;
  removed: boolean;
  watcher: FSWatcher;
}

/**
 * Calls `changed` after every change of the file, and of what it links to. Watches the nearest existing directory above
 * each, and follows when directories appear, vanish or are replaced.
 * @returns stops watching.
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
        // inotify reports its removal under its own name; a new directory at this path can have the same inode
        entry.removed ||= name === basename(directory);
        noticed();
      });
      watcher.on('error', () => {}); // the directory is gone; noticed() has been called for that
      const entry: Watched = { directory, inode: inodeOf(directory), removed: false, watcher };
      return [entry];
    } catch {
      return []; // it vanished just now, or no inotify watches are left
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

/** Links longer than this are loops to the kernel as well (ELOOP, path_resolution(7)). */
const LINKS = 40;

/** The path and everything that it links to, the last of which need not exist. */
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
