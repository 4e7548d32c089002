// Watches which executable the tunnel CLI is: found, missing, replaced or back again.
import { accessSync, constants, type FSWatcher, realpathSync, statSync, watch } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';

/** One executable; another file under the same path has another identity. */
export interface Binary {
  /** Absolute, as found in PATH. */
  path: string;
  identity: string;
}

export interface ExecutableWatch {
  /** The executable, looked up again; null if it is missing. Calls `onChange` when it is another one. */
  current(): Binary | null;
  /** Begins to notice changes. */
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
export function watchExecutable(options: {
  cli: string;
  path: string;
  onChange: (binary: Binary | null) => void;
}): ExecutableWatch {
  const { cli, onChange } = options;
  const candidates = candidatesOf(cli, options.path);
  let watchers: FSWatcher[] = [];
  let binary: Binary | null = candidates.flatMap(binaryAt)[0] ?? null;
  let settling: NodeJS.Timeout | undefined;
  let looking: NodeJS.Timeout | undefined;
  let delay = FIRST_LOOK_MS;

  const current = () => {
    const next = candidates.flatMap(binaryAt)[0] ?? null;
    if (next?.identity === binary?.identity && next?.path === binary?.path) return next;
    binary = next;
    delay = FIRST_LOOK_MS;
    if (watchers.length > 0) watchDirectories();
    onChange(next);
    return next;
  };

  /** Directories of all candidates, and of the file that the present one links to. */
  const watchDirectories = () => {
    for (const watcher of watchers) watcher.close();
    const real = binary ? [realpathSync(binary.path)] : [];
    watchers = [...new Set([...candidates, ...real].map(path => dirname(path)))].flatMap(directory => {
      try {
        const watcher = watch(directory, { persistent: false }, noticed);
        return watcher.on('error', () => watcher.close());
      } catch {
        return []; // no such directory, or no inotify watches left: lookAgain finds it
      }
    });
  };

  const names = new Set(candidates.map(path => basename(path)));
  const noticed = (_: string, name: string | null) => {
    if (name !== null && !names.has(name) && !(binary && basename(realOf(binary.path)) === name)) return;
    clearTimeout(settling);
    settling = setTimeout(current, SETTLE_MS).unref();
  };

  /** Directories that don't exist can't be watched, so a missing CLI is looked up periodically as well. */
  const lookAgain = () => {
    looking = setTimeout(() => {
      if (binary === null || watchers.length === 0) current();
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
  // a relative path would depend on where the daemon was started
  if (cli.includes('/')) return [];
  return path
    .split(':')
    .filter(directory => isAbsolute(directory))
    .map(directory => join(directory, cli));
}

function binaryAt(path: string): Binary[] {
  try {
    const stats = statSync(path, { bigint: true });
    if (!stats.isFile()) return [];
    accessSync(path, constants.X_OK);
    return [{ path, identity: `${stats.dev}:${stats.ino}:${stats.mtimeNs}:${stats.ctimeNs}:${stats.size}` }];
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
