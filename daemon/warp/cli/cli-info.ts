// Tracks the executable, version and capabilities of the installed tunnel CLI.
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { settledVersionAt } from '../../core/file-version.ts';
import { isExecutable, realPath } from '../../core/files.ts';
import { programPaths } from '../../core/run-helper.ts';
import type { Runner } from './run.ts';
import { type Capabilities, capabilitiesOf, parseVersion } from './version.ts';

interface CliInfo {
  path: string;
  /** null if the output of `--version` is not understood. */
  version: string | null;
  /** null if the CLI is too old. `json` may become false: see `refusesJson`. */
  can: Capabilities | null;
}

export interface CliTracker {
  start(): void;
  stop(): void;
  /**
   * Looks up the CLI again; null if it is missing or can't be started. Reads the version of each executable once, but an
   * unknown version again.
   */
  current(): Promise<CliInfo | null>;
  /**
   * Handles a refused command: if `-j` was the cause, switches to text.
   * @returns true if `-j` was the cause
   */
  refusesJson(can: Capabilities, args: readonly string[], message: string): boolean;
  /** Name of the CLI in the command log. */
  name(): string;
}

const VERSION_LIMIT_MS = 5000;
/** Time after which an unknown version is read again on demand. */
const UNVERSIONED_MS = 60_000;

/** @param options.onChange called when the executable appears, disappears or is replaced */
export function createCliTracker(options: {
  cli: string;
  env: NodeJS.ProcessEnv;
  runner: Runner;
  onChange: () => void;
}): CliTracker {
  const { runner, onChange } = options;
  const executable = watchExecutable({ cli: options.cli, path: options.env.PATH ?? '', onChange });
  let cache: { identity: string; info: Promise<CliInfo | null>; until: number } | null = null;

  const identify = async (path: string): Promise<CliInfo | null> => {
    const { output, notStarted } = await runner.run({
      file: path,
      args: ['--version'],
      source: 'read',
      timeoutMs: VERSION_LIMIT_MS,
    });
    if (notStarted) return null;
    const version = parseVersion(output.stdout);
    return { path, version, can: capabilitiesOf(version) };
  };

  return {
    start: () => executable.start(),
    stop: () => executable.stop(),
    async current() {
      const binary = executable.current();
      if (!binary) return null;
      const identity = `${binary.path} ${binary.identity}`;
      const now = performance.now();
      if (cache?.identity === identity && now < cache.until) return cache.info;

      const again = cache?.identity === identity;
      const before = again ? cache?.info : null;
      const info = Promise.all([identify(binary.path), before]).then(([info, old]) =>
        // a CLI without a version keeps the capabilities of the first read, such as a refused `-j`
        info?.version === null ? (old ?? info) : info,
      );
      const asked = { identity, info, until: now + UNVERSIONED_MS };
      cache = asked;
      info.then(
        info => {
          if (info && info.version === null) return;
          asked.until = Number.POSITIVE_INFINITY;
          if (again) onChange();
        },
        () => {
          if (cache === asked) cache = null; // the runner was busy
        },
      );
      return info;
    },
    refusesJson(can, args, message) {
      if (!args.includes('-j') || !/'(-j|--json)'/.test(message)) return false;
      can.json = false;
      return true;
    },
    name: () => basename(executable.current()?.path ?? options.cli),
  };
}

/** An executable; another file at the same path has another identity. */
interface Binary {
  /** Absolute path, as found in PATH. */
  path: string;
  identity: string;
}

interface ExecutableWatch {
  /** Looks up the executable again; null if it is missing. Calls `onChange` if it has changed. */
  current(): Binary | null;
  /** Begins to watch for changes. */
  start(): void;
  stop(): void;
}

const SETTLE_MS = 100;
const FIRST_LOOK_MS = 1000;
const LAST_LOOK_MS = 60_000;

/**
 * @param options.cli a name to look up in `path`, or an absolute path
 * @param options.path directories as in PATH; relative directories are skipped
 * @param options.onChange called when the executable appears, disappears or is replaced
 */
export function watchExecutable(options: {
  cli: string;
  path: string;
  onChange: (binary: Binary | null) => void;
}): ExecutableWatch {
  const { cli, onChange } = options;
  const candidates = programPaths(cli, options.path);
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

  /** Watches the directories of all candidates, and of the file that the present executable links to. */
  const watchDirectories = () => {
    for (const watcher of watchers) watcher.close();
    const real = binary ? [realPath(binary.path)] : [];
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
    if (name !== null && !names.has(name) && !(binary && basename(realPath(binary.path)) === name)) return;
    clearTimeout(settling);
    settling = setTimeout(current, SETTLE_MS).unref();
  };

  /** Also looks up a missing CLI periodically, because missing directories can't be watched. */
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

function binaryAt(path: string): Binary[] {
  try {
    if (!isExecutable(path)) return [];
    // not `versionAt`, by which a file that was just written would be another one at each look
    const identity = settledVersionAt(path);
    return identity === null ? [] : [{ path, identity }];
  } catch {
    return [];
  }
}
