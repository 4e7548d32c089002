// Runs `culvert diagnose record`, which writes the answers of the installed tunnel CLI as a transcript to share.
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import project from '../../../../data/project.json' with { type: 'json' };
import { loadConfig } from '../../../config/layers.ts';
import { errno, reason } from '../../../core/errors.ts';
import { replaceFile } from '../../../core/files.ts';
import { printable } from '../../../core/printable.ts';
import { findProgram } from '../../../core/run-helper.ts';
import { createRecording } from '../../../doctor/diagnose/recording.ts';
import { knowledgeOf } from '../../../doctor/gather.ts';
import { createLog } from '../../../state/store.ts';
import { programs } from '../../../system/installation.ts';
import { paths as pathsOf } from '../../../system/paths.ts';
import { childEnv, createRunner } from '../../../warp/cli/run.ts';
import { parseVersion, READ_LIMIT_MS } from '../../../warp/cli/version.ts';
import { createTerms } from '../../../warp/consent.ts';
import { type RawRow, recordReadings } from '../../../warp/record/record.ts';
import { formatTranscript, type Row } from '../../../warp/record/transcript.ts';
import { type Context, type Run, show } from '../../context.ts';
import { createProgress } from '../../dialog.ts';
import { EXIT, Failure } from '../../errors.ts';
import { confirmWithinOf } from '../../keep.ts';
import { prepareTrial, runTrial, type TrialResult } from './trial.ts';

export const record: Run = async (context, [file], options) => {
  const cli = await installedCli(context);
  const log = createLog({ capacity: 1, onEntry() {} });
  const runner = createRunner({ env: childEnv(context.env, cli.emulated), log });
  const recording = { file: cli.path, runner, acceptTerms: cli.acceptTerms, signal: context.signal };
  const seconds = confirmWithinOf(options.confirmWithin);
  try {
    const out = file ?? (await nameByVersion(recording));
    // before a trial breaks connections for nothing
    if (existsSync(out)) throw alreadyThere(out);
    assertWritable(dirname(out));
    const trial = options.try === true ? await prepareTrial(context, options, seconds) : null;
    const tried = trial && (await runTrial(trial, recording));
    if (tried && context.signal.aborted)
      throw new Failure(`Interrupted, and nothing was written. ${restoredText(tried)}`, { code: 'interrupted' });
    const raw = await readings(context, recording);
    const { version } = raw[0]!;
    const { rows, redacted } = createRecording([...raw, ...(tried?.rows ?? []).map(row => ({ ...row, version }))], {
      emulated: cli.emulated,
      public: publicAddresses(context),
    });
    write(out, rows);
    const sendTo = cli.emulated ? null : addressOfProject();
    const failed = rows.filter(isFailure).map(({ argv }) => argv.join(' '));
    const trialReport = tried && { steps: tried.steps, restored: tried.left.length === 0, left: tried.left };
    show(context, { ok: true, out, version, commands: rows.length, failed, redacted, sendTo, trial: trialReport }, () =>
      describe(out, rows, failed, { tried, emulated: cli.emulated, redacted }),
    );
    return tried && tried.left.length > 0 ? EXIT.failure : EXIT.ok;
  } finally {
    await runner.stop();
  }
};

/** Returns the default name of the file. */
async function nameByVersion({ file, runner }: Parameters<typeof recordReadings>[0]): Promise<string> {
  const { output } = await runner.run({ file, args: ['--version'], source: 'read', timeoutMs: READ_LIMIT_MS });
  return `warp-cli-${parseVersion(output.stdout) ?? 'unknown'}.jsonl`;
}

/** True for a command that was refused, failed or did not end; a listener is always ended. */
function isFailure({ argv, exit_code }: Row): boolean {
  return exit_code !== 0 && !argv.includes('-l');
}

interface InstalledCli {
  /** Absolute path. */
  path: string;
  emulated: boolean;
  /** True if the user agreed to the vendor's terms in Culvert. */
  acceptTerms: boolean;
}

/** Finds the tunnel CLI that the daemon uses, or would use. @throws Failure if it is not installed */
async function installedCli({ env, paths, isDemo }: Context): Promise<InstalledCli> {
  const emulated = isDemo();
  const acceptTerms = createTerms(pathsOf(env, emulated).acceptedTerms).accepted();
  const settings = await loadConfig({ system: paths.systemConfig, user: paths.userConfig }, env);
  const cli = emulated ? programs.emulator : settings.config.warp.cli;
  const path = findProgram(cli, env.PATH ?? '');
  if (path) return { path, emulated, acceptTerms };
  throw new Failure(`${cli} is not installed, so there is nothing to record.`, {
    code: 'cliMissing',
    hint: 'Record the emulator with: culvert --demo, and then this command again',
  });
}

async function readings(context: Context, recording: Parameters<typeof recordReadings>[0]): Promise<RawRow[]> {
  const progress = createProgress(context);
  const onStart = (argv: readonly string[]) => {
    if (context.stderr.isTTY) progress.step(`Asking: ${argv.join(' ')}`);
  };
  try {
    return await recordReadings({ ...recording, onStart });
  } finally {
    progress.end();
  }
}

/** Addresses from the vendor's documentation, which identify no user. */
function publicAddresses({ paths, env }: Context): string[] {
  const { limits } = knowledgeOf(paths, env);
  return limits.flatMap(({ values }) => values);
}

/** @throws Failure for an existing file, and if the disk is full or not writable */
function write(out: string, rows: readonly Row[]): void {
  try {
    replaceFile(out, formatTranscript(rows), { overwrite: false, owner: 'directory' });
  } catch (error) {
    if (errno(error) === 'EEXIST') throw alreadyThere(out);
    throw new Failure(`${out} could not be written: ${reason(error)}`, { cause: error });
  }
}

/** @throws Failure for a directory in which no file can be made */
function assertWritable(directory: string): void {
  try {
    if (!statSync(directory).isDirectory()) throw new Error(`${directory} is not a directory`);
    accessSync(directory, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Failure(`Nothing can be written in ${directory}: ${reason(error)}`, {
      hint: 'Name a file in another directory.',
      cause: error,
    });
  }
}

function alreadyThere(out: string): Failure {
  return new Failure(`${out} already exists.`, { hint: 'Remove it, or name another file.' });
}

/** Returns the addresses of the project; null if the build names none (RELEASING.md, "The project's address"). */
function addressOfProject(): { page: string; mail: string } | null {
  const { homepage, contact } = project;
  return isPlaceholder(new URL(homepage).hostname) ? null : { page: homepage, mail: contact };
}

/** True for a name that never exists (RFC 2606), as in the sources of a project without an address. */
function isPlaceholder(host: string): boolean {
  return /(?:^|\.)example$/.test(host);
}

interface Told {
  tried: TrialResult | null;
  emulated: boolean;
  redacted: Record<string, number>;
}

function describe(out: string, rows: readonly Row[], failed: readonly string[], told: Told): string {
  const { tried, emulated, redacted } = told;
  const counts = Object.entries(redacted).map(([kind, count]) => `${count} × <${kind}-…>`);
  return [
    ...(tried ? tried.steps.map(({ name, outcome }) => printable(`${name}: ${outcome}`)) : []),
    ...(tried ? [restoredText(tried)] : []),
    `Wrote ${out}: ${rows.length} answers, of which ${failed.length} are refusals or failures.`,
    `Replaced by placeholders: ${counts.join(', ') || 'nothing'}. Read it before you share it.`,
    `Replay it in a clone of Culvert: ./culvert-tool test --transcript ${resolve(out)}`,
    emulated ? 'These are the answers of the demo, so nobody needs them.' : sendText(),
  ].join('\n');
}

function restoredText({ left }: TrialResult): string {
  return left.length > 0
    ? `NOT put back yet: ${left.join(', ')}. Culvert tries again; see: culvert status`
    : 'Mode, connection and kill switch are as before.';
}

function sendText(): string {
  const address = addressOfProject();
  return address
    ? `Send it to the project: ${address.page} or ${address.mail}`
    : 'Where to send it is not known: this build names no address of the project.';
}
