// Defines an installation that the updater can replace, and checks the free space and the new version before the replacement.
import { execFile } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Artifact } from '../../manifest/schema.ts';
import { Failure } from '../core/errors.ts';
import { formatBytes } from '../view/format.ts';
import { english } from '../view/translator.ts';
import { refused } from './errors.ts';

export interface Download {
  version: string;
  artifact: Artifact;
  signal: AbortSignal;
  /** Fetches the artifact into a new file and verifies it there. */
  fetch(file: string): Promise<void>;
  /** Call it after the artifact is fetched and verified, and before the installation. */
  installing(): void;
}

export interface Target {
  /** File name of the artifact that replaces this installation. */
  artifactName(version: string): string;
  /** Returns the reason why the daemon can't replace this installation, or null. */
  notApplicableReason(): string | null;
  /** Returns the version that `rollBack` restores, or null. */
  previous(): string | null;
  /**
   * Replaces the installation, and keeps the current version for a rollback. Changes nothing if it rejects.
   * @throws Failure, NodeJS.ErrnoException
   */
  replace(download: Download): Promise<void>;
  /** @returns the restored version. @throws Failure `nothing-previous` */
  rollBack(): Promise<string>;
}

const run = promisify(execFile);
const TIMEOUT_MS = 60_000;

/**
 * Runs `culvert --version`, which prints the version, and `culvert help`, which needs Node and the bundles.
 * @throws Failure `program-broken`, `stopped`
 */
export async function smokeTest(program: string, version: string, env: NodeJS.ProcessEnv, signal: AbortSignal) {
  const options = { env, signal, timeout: TIMEOUT_MS };
  try {
    const { stdout } = await run(program, ['--version'], options);
    if (stdout.trim() !== `culvert ${version}`)
      throw refused('program-broken', `Culvert ${version} calls itself "${stdout.trim().slice(0, 100)}".`);
    await run(program, ['help'], options);
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (signal.aborted) throw refused('stopped', 'The daemon is stopping.', error);
    const { stderr, message } = error as Error & { stderr?: string };
    const why = (stderr || message).trim().split('\n').at(-1)!.slice(0, 300);
    throw refused('program-broken', `Culvert ${version} does not run here: ${why}`, error);
  }
}

/** Free space to leave for other programs, in bytes. */
const MARGIN = 16 << 20;

/**
 * Checks the free space before a download.
 * @param bytes the number of bytes to write
 * @throws Failure `disk-full`
 */
export function requireSpace(directory: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(directory);
  const free = bavail * bsize;
  const need = bytes + MARGIN;
  const amount = (size: number) => formatBytes(size, english);
  if (free < need)
    throw refused('disk-full', `${directory} has ${amount(free)} free; the update needs ${amount(need)}.`);
}
