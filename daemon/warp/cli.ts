// Knows which executable the tunnel CLI is right now: found, missing, replaced or back again, without polling.
import { accessSync, constants, type FSWatcher, realpathSync, type Stats, statSync, watch } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';

/** One executable; another file under the same path has another identity. */
export interface Binary {
  /** Absolute, as found in PATH. */
  path: string;
  identity: string;
}

export interface Cli {
  /** The executable, looked at anew; null when there is none. Tells `onChange` when it is another one. */
  current(): Binary | null;
  /** Begins to notice changes by itself. */
  start(): void;
  stop(): void;
}

const SETTLE_MS = 100;
const FIRST_LOOK_MS = 1000;
const LAST_LOOK_MS = 60_000;

/**
 * @param options.cli a name to look up in `path`, or an absolute path
 * @param options.path directories as in PATH; relative ones are skipped
 * @param options.onChange called when the executable appeared, vanished or was replaced
 */
export function createCli(options: { cli: string; path: string; onChange: (binary: Binary | null) => void }): Cli {
  const { cli, onChange } = options;
  const candidates = candidatesOf(cli, options.path);
  let watchers: FSWatcher[] = [];
  let known: Binary | null = candidates.flatMap(binaryAt)[0] ?? null;
  let settling: NodeJS.Timeout | undefined;
  let looking: NodeJS.Timeout | undefined;
  let delay = FIRST_LOOK_MS;

  const current = () => {
    const found = candidates.flatMap(binaryAt)[0] ?? null;
    if (found?.identity === known?.identity && found?.path === known?.path) return found;
    known = found;
    delay = FIRST_LOOK_MS;
    if (watchers.length > 0) watchDirectories();
    onChange(found);
    return found;
  };

  /** Directories of all candidates, and where the present one really lies (it may be a link). */
  const watchDirectories = () => {
    for (const watcher of watchers) watcher.close();
    const real = known ? [realpathSync(known.path)] : [];
    watchers = [...new Set([...candidates, ...real].map(path => dirname(path)))].flatMap(directory => {
      try {
        // Unreferenced: a look-out is no reason to keep the process running.
        const watcher = watch(directory, { persistent: false }, noticed);
        return watcher.on('error', () => watcher.close());
      } catch {
        return []; // no such directory, or no inotify watches left: the look by the clock finds it
      }
    });
  };

  const names = new Set(candidates.map(path => basename(path)));
  const noticed = (_: string, name: string | null) => {
    if (name !== null && !names.has(name) && !(known && basename(realOf(known.path)) === name)) return;
    clearTimeout(settling);
    settling = setTimeout(current, SETTLE_MS).unref();
  };

  /** Directories that did not exist can't be watched, so a missing CLI is looked for now and then as well. */
  const lookAgain = () => {
    looking = setTimeout(() => {
      if (known === null || watchers.length === 0) current();
      delay = Math.min(delay * 2, LAST_LOOK_MS);
      lookAgain();
    }, delay).unref();
  };

  return {
    current,
    start() {
      watchDirectories();
      lookAgain();
    },
    stop() {
      for (const watcher of watchers) watcher.close();
      watchers = [];
      clearTimeout(settling);
      clearTimeout(looking);
    },
  };
}

function candidatesOf(cli: string, path: string): string[] {
  if (isAbsolute(cli)) return [cli];
  // A relative path would depend on where the daemon was started.
  if (cli.includes('/')) return [];
  return path
    .split(':')
    .filter(directory => isAbsolute(directory))
    .map(directory => join(directory, cli));
}

function binaryAt(path: string): Binary[] {
  try {
    const stats: Stats = statSync(path);
    if (!stats.isFile()) return [];
    accessSync(path, constants.X_OK);
    return [{ path, identity: `${stats.dev}:${stats.ino}:${stats.mtimeMs}:${stats.size}` }];
  } catch {
    return [];
  }
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
