// Tracks version and capabilities of the installed tunnel CLI; the version is read once per executable.
import { basename } from 'node:path';
import { watchExecutable } from './executable.ts';
import type { Runner } from './run.ts';
import { type Capabilities, capabilitiesOf, parseVersion } from './version.ts';

export interface CliInfo {
  path: string;
  /** null where the output of `--version` is not understood. */
  version: string | null;
  /** May lose members: see `downgradeCapability`. */
  can: Capabilities;
}

export interface CliTracker {
  start(): void;
  stop(): void;
  /** The CLI, looked up again; null when there is none, or none that can be started. */
  current(): Promise<CliInfo | null>;
  /**
   * The CLI refused the form of a command that its version promises: uses the next older form from now on.
   * @returns false when the form was not the cause.
   */
  downgradeCapability(cli: CliInfo, args: readonly string[], message: string): boolean;
  /** As the command log shows it. */
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
  let known: { identity: string; info: Promise<CliInfo | null>; until: number } | null = null;

  const identify = async (path: string): Promise<CliInfo | null> => {
    const { output, notStarted } = await runner.run({
      file: path,
      args: ['--version'],
      source: 'read',
      timeoutMs: VERSION_LIMIT_MS,
    });
    if (notStarted) return null;
    const version = parseVersion(output.stdout);
    return { path, version, can: { ...capabilitiesOf(version) } };
  };

  return {
    start: () => executable.start(),
    stop: () => executable.stop(),
    async current() {
      const binary = executable.current();
      if (!binary) return null;
      const identity = `${binary.path} ${binary.identity}`;
      const now = performance.now();
      if (known?.identity === identity && now < known.until) return known.info;

      const again = known?.identity === identity;
      const before = again ? known?.info : null;
      const info = Promise.all([identify(binary.path), before]).then(([found, old]) =>
        // capabilities that a CLI without a version has lost stay lost
        found?.version === null ? (old ?? found) : found,
      );
      const asked = { identity, info, until: now + UNVERSIONED_MS };
      known = asked;
      info.then(
        found => {
          if (found && found.version === null) return;
          asked.until = Number.POSITIVE_INFINITY;
          if (again) onChange();
        },
        () => {
          if (known === asked) known = null; // the runner was busy
        },
      );
      return info;
    },
    downgradeCapability({ version, can }, args, message) {
      if (args.includes('-j') && /'(-j|--json)'/.test(message)) can.json = false;
      // a known version decides the names of commands
      else if (can.grouped && version === null && /subcommand|wasn't recognized/i.test(message))
        Object.assign(can, { grouped: false, httpProxy: false });
      else return false;
      return true;
    },
    name: () => basename(executable.current()?.path ?? options.cli),
  };
}
