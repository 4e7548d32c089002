// Creates a manifest from files. The same files and time give the same bytes, whatever the order of the arguments.
import { basename } from 'node:path';
import { escaped } from '../daemon/core/printable.ts';
import { type Fault, hashFiles, type Outcome, sizeOf } from './artifacts.ts';
import { Refusal, usage } from './errors.ts';
import { Artifact, checkNames, dateTime, MANIFEST_LIMIT, type Manifest, PROJECT, SCHEMA_URL } from './schema.ts';

export interface CreateOptions {
  /** Paths; the last part of a path becomes the artifact's name. */
  files: readonly string[];
  tag?: string | undefined;
  /** Milliseconds since 1970, as {@link buildTime} returns it. */
  time: number;
  /** Path of the program that hashes (see `hashFiles`). */
  worker: string;
  /** Receives the number of bytes hashed so far, and the total. */
  progress: (bytes: number, total: number) => void;
}

/**
 * Hashes files and lists them by name.
 * @returns the manifest and the bytes to write
 * @throws Refusal `name-foreign`, `name-unsafe`, `name-duplicate`, `artifact-*`, `manifest-too-large`
 */
export async function createManifest(options: CreateOptions): Promise<{ manifest: Manifest; bytes: Buffer }> {
  const { files, tag, time, worker, progress } = options;
  const names = files.map(file => basename(file));
  for (const [index, name] of names.entries()) {
    if (Artifact.shape.name.safeParse(name).success) continue;
    throw new Refusal(
      'name-foreign',
      `${escaped(files[index]!)} can't be listed: its name must start with "${PROJECT}-".`,
    );
  }
  checkNames(names);
  const jobs = files.map(path => ({ path, size: usableSize(path) }));
  const total = jobs.reduce((sum, { size }) => sum + size, 0);
  const outcomes = await hashFiles(jobs, worker, bytes => progress(bytes, total));
  const artifacts = jobs.map(({ path, size }, index) => ({
    name: names[index]!,
    size,
    sha256: digestOf(path, outcomes[index]!),
  }));
  const manifest: Manifest = {
    schema: SCHEMA_URL,
    project: PROJECT,
    ...(tag === undefined ? {} : { tag }),
    generated_at: dateTime(time),
    // sort by code unit, because the collation of a locale differs between machines
    artifacts: artifacts.sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
  const bytes = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  if (bytes.length <= MANIFEST_LIMIT) return { manifest, bytes };
  throw new Refusal(
    'manifest-too-large',
    `${files.length} artifacts make a manifest of more than ${MANIFEST_LIMIT} bytes.`,
    {
      hint: 'Pack them into fewer files.',
    },
  );
}

/**
 * Returns the build's time: `SOURCE_DATE_EPOCH` in seconds (reproducible-builds.org), else now.
 * @returns milliseconds since 1970
 * @throws Failure `usage` when the variable is not a number of seconds before the year 10000
 */
export function buildTime(env: NodeJS.ProcessEnv, now: number): number {
  const text = env.SOURCE_DATE_EPOCH;
  if (text === undefined || text === '') return now;
  const seconds = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds <= LAST_SECOND) return seconds * 1000;
  throw usage(`SOURCE_DATE_EPOCH is ${JSON.stringify(text)}; it must be seconds since 1970, before the year 10000.`);
}

const LAST_SECOND = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000;

function usableSize(path: string): number {
  const size = sizeOf(path);
  if (typeof size !== 'number') throw refusal(path, size);
  if (size === 0) throw refusal(path, { code: 'artifact-empty', detail: 'is empty' });
  return size;
}

function digestOf(path: string, outcome: Outcome): string {
  if ('sha256' in outcome) return outcome.sha256;
  // the size was read a moment ago, so the file has changed since
  throw refusal(path, outcome.code === 'artifact-size' ? { ...outcome, code: 'artifact-changed' } : outcome);
}

function refusal(path: string, { code, detail }: Fault): Refusal {
  return new Refusal(code, `${escaped(path)} ${detail}.`);
}
