// The tunnel CLI that is installed right now, with its version (asked for once per executable) and what it can do.
import { basename } from 'node:path';
import { createCli } from './cli.ts';
import type { Runner } from './run.ts';
import { type Capabilities, capabilitiesOf, parseVersion } from './version.ts';

export interface Program {
  path: string;
  /** null where `--version` gave no answer that is one. */
  version: string | null;
  /** May lose members: see `demote`. */
  can: Capabilities;
}

export interface Programs {
  start(): void;
  stop(): void;
  /** The program, looked at anew; null when there is none, or none that can be started. */
  current(): Promise<Program | null>;
  /**
   * The program refused a command for its form, although its version promised it: use the next older form from now
   * on. False when the form was not the cause.
   */
  demote(program: Program, args: readonly string[], message: string): boolean;
  /** As the command log shows it. */
  name(): string;
}

const VERSION_LIMIT_MS = 5000;
/** How long a failure to tell the version is taken for an answer; then it is asked for again, when needed. */
const UNVERSIONED_MS = 60_000;

/** @param options.onChange called when the executable appeared, vanished or was replaced */
export function createProgram(options: {
  cli: string;
  env: NodeJS.ProcessEnv;
  runner: Runner;
  onChange: () => void;
}): Programs {
  const { runner, onChange } = options;
  const cli = createCli({ cli: options.cli, path: options.env.PATH ?? '', onChange });
  let known: { identity: string; program: Promise<Program | null>; until: number } | null = null;

  const identify = async (path: string): Promise<Program | null> => {
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
    start: () => cli.start(),
    stop: () => cli.stop(),
    async current() {
      const binary = cli.current();
      if (!binary) return null;
      const identity = `${binary.path} ${binary.identity}`;
      const now = performance.now();
      if (known?.identity === identity && now < known.until) return known.program;

      const again = known?.identity === identity;
      const before = again ? known?.program : null;
      const program = Promise.all([identify(binary.path), before]).then(([found, old]) =>
        // What was learnt of an unnumbered program (see demote) stays.
        found?.version === null ? (old ?? found) : found,
      );
      const asked = { identity, program, until: now + UNVERSIONED_MS };
      known = asked;
      program.then(
        found => {
          if (found && found.version === null) return;
          asked.until = Number.POSITIVE_INFINITY;
          if (again) onChange();
        },
        () => {
          if (known === asked) known = null; // too busy to ask: ask again
        },
      );
      return program;
    },
    demote({ version, can }, args, message) {
      if (args.includes('-j') && /'(-j|--json)'/.test(message)) can.json = false;
      // A stated version is believed about the names of commands.
      else if (can.grouped && version === null && /subcommand|wasn't recognized/i.test(message))
        Object.assign(can, { grouped: false, httpProxy: false });
      else return false;
      return true;
    },
    name: () => basename(cli.current()?.path ?? options.cli),
  };
}
