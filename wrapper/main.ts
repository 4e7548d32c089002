// Starts the program, which runs a wrapped command for a shim, or a command of `culvert-wrap`.
import { existsSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { isatty } from 'node:tty';
import { errno } from '../daemon/core/errors.ts';
import type { Context } from './context.ts';
import { runShimmed } from './run/run.ts';
import { exitLike, signalForwarding } from './run/upstream/attempt.ts';
import { pathsFor } from './store/paths.ts';
import { EXIT, say, WrapError } from './system/errors.ts';
import { notStored } from './system/files.ts';

declare const __VERSION__: string | undefined;
declare const __FORMAT__: string | undefined;

// A shim calls this file by its own path, so that path needs no resolving.
const calledByShim = Boolean(process.env.CULVERT_WRAP_SHIM);
const program = calledByShim ? process.argv[1]! : realpathSync(process.argv[1]!);
/** True for `node --import tsx wrapper/main.ts`. A build has the catalog next to the program. */
const fromSources = program.endsWith('.ts');

const context: Context = {
  env: { ...process.env },
  cwd: workingDirectory(),
  paths: pathsFor(process.env),
  catalog: join(dirname(program), fromSources ? 'catalog/providers' : 'providers.toml'),
  now: Date.now,
  signals: signalForwarding(),
  load: () => import('./manage/lazy.ts'),
  loadPool: () => import('./pool/leases.ts'),
  loadCommands: () => import('./commands/main.ts'),
};

/** Resolves when the program is done, for a caller in the same process. */
export const ended = main(process.argv.slice(2)).catch(fail);

async function main(argv: string[]): Promise<void> {
  const [mode, cli, original] = argv;
  const fromShim = calledByShim && cli !== undefined && original !== undefined;
  if (fromShim && mode === 'shim') {
    const end = await runShimmed(cli, original, argv.slice(3), context);
    return exitLike(end.exit, end.signal);
  }
  // `run` without a tool, or with an option, is for the parser of commands
  if (mode === 'run' && cli !== undefined && !cli.startsWith('-')) {
    const { runTool } = await import('./commands/run.ts');
    const end = await runTool(cli, argv.slice(2), context);
    return exitLike(end.exit, end.signal);
  }
  const { HOME } = context.env;
  if (!fromShim && HOME && !isAbsolute(HOME))
    throw new WrapError('home-relative', EXIT.config, `HOME is "${HOME}", and has to begin with a slash`, {
      hint: 'set HOME to your home directory',
    });
  // In an AppImage, only the path of the image is stable. AppRun forwards the arguments of shims.
  const image = typeof __FORMAT__ === 'string' && __FORMAT__ === 'appimage' ? process.env.APPIMAGE : undefined;
  const programs = image ? { node: image, bundle: image } : { node: process.execPath, bundle: stable(program) };
  // Raw mode hides a credential that the user types while the command that asks for it is still loading.
  if (fromShim && mode === 'auth' && argv[4] === 'add' && isatty(0)) process.stdin.setRawMode(true);
  process.stdout.on('error', stopWithReader);
  const { runCommands, runAuth } = await import('./commands/main.ts');
  if (fromShim && mode === 'auth') await runAuth(cli, argv.slice(4), context);
  else await runCommands(argv, context, programs, typeof __VERSION__ === 'string' ? __VERSION__ : 'development');
}

/** Ends the program like SIGPIPE when the reader of the output is gone, because Node ignores the signal itself. */
function stopWithReader(error: Error): void {
  if (errno(error) !== 'EPIPE') throw error;
  exitLike(null, 'SIGPIPE');
}

/** Returns a path for shims: in a user's installation, through the link to the current version. */
function stable(file: string): string {
  return file.replace(/\/culvert\/versions\/[^/]+(?=\/share\/culvert\/wrap\/[^/]+$)/, '/culvert/current');
}

function fail(thrown: unknown): void {
  const path = thrown instanceof Error && 'path' in thrown ? String(thrown.path) : 'a file';
  const error = notStored(path, thrown);
  const isOurs = error instanceof WrapError;
  const message = isOurs ? error.message : `unexpected error: ${error instanceof Error ? error.stack : String(error)}`;
  // For a run, `--json` is the upstream's option, and does not ask for the wrapper's errors in JSON.
  if (process.argv.includes('--json') && !['shim', 'run'].includes(process.argv[2] ?? '')) {
    const code = isOurs ? error.code : 'internal';
    const hint = isOurs ? error.hint : undefined;
    process.stdout.write(`${JSON.stringify({ ok: false, error: { code, message, hint } })}\n`);
  } else {
    say(message);
    if (isOurs && error.hint) say(error.hint);
  }
  process.exitCode = isOurs ? (error.code === 'original-missing' ? 127 : error.exit) : EXIT.software;
}

function workingDirectory(): string {
  try {
    return process.cwd();
  } catch {
    // The directory was removed, and perhaps created again; the upstream reports that if it matters.
    const link = '/proc/self/cwd';
    return existsSync(link) ? readlinkSync(link).replace(/ \(deleted\)$/, '') : '/';
  }
}
