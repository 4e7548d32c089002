// Tracks version and capabilities of the installed tunnel CLI; the version is read once per executable.
import { basename } from 'node:path';
import { watchExecutable } from './executable.ts';
import type { Runner } from './run.ts';
import { type Capabilities, capabilitiesOf, parseVersion } from './version.ts';

interface CliInfo {
  path: string;
  /** null if the output of `--version` is not understood. */
  version: string | null;
  /** null if it is too old to be used. `json` may become false: see `refusesJson`. */
  can: Capabilities | null;
}

export interface CliTracker {
  start(): void;
  stop(): void;
  /** The CLI, looked up again; null if none is installed or it can't be started. */
  current(): Promise<CliInfo | null>;
  /**
   * The CLI refused a command: if `-j` was the cause, asks for text from now on.
   * @returns whether `-j` was the cause
   */
  refusesJson(can: Capabilities, args: readonly string[], message: string): boolean;
  /** Its name in the command log. */
  name(): string;
}

const VERSION_LIMIT_MS = 5000;
/** After this time an unknown version is read again, when it is needed. */
const UNVERSIONED_MS = 60_000;

/** @param options.onChange called when the executable appeared, vanished or was replaced */
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
        // capabilities that a CLI without a version has lost stay lost
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
