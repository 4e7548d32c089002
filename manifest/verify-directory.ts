// Compares the files of a directory with a manifest: sizes first, so that a file of the wrong size is never hashed.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { reason } from '../daemon/core/errors.ts';
import { compare, type Fault, hashFiles, type Progress, sizeFault, sizeOf } from './artifacts.ts';
import { Refusal } from './errors.ts';
import type { Artifact, Manifest } from './schema.ts';

export interface Finding {
  readonly artifact: Artifact;
  /** `undefined` when the file is what the manifest says. */
  readonly fault: Fault | undefined;
}

/**
 * Compares every artifact with the file of its name in a directory.
 * @param manifest as `readManifest` returns it: its names stay in the directory
 * @param worker the program to hash with (see `hashFiles`)
 * @param progress called with the bytes so far, and the bytes to be hashed
 * @returns a finding for each artifact, in the manifest's order
 * @throws Refusal `input-unreadable` when there is no such directory
 */
export async function verifyDirectory(
  manifest: Manifest,
  directory: string,
  worker: string,
  progress: (bytes: number, total: number) => void,
): Promise<Finding[]> {
  checkDirectory(directory);
  const faults = new Map<Artifact, Fault>();
  for (const artifact of manifest.artifacts) {
    const size = sizeOf(join(directory, artifact.name));
    if (typeof size !== 'number') faults.set(artifact, size);
    else if (size !== artifact.size) faults.set(artifact, sizeFault(size, artifact.size));
  }
  const rest = manifest.artifacts.filter(artifact => !faults.has(artifact));
  const total = rest.reduce((sum, { size }) => sum + size, 0);
  const report: Progress = bytes => progress(bytes, total);
  const jobs = rest.map(({ name, size }) => ({ path: join(directory, name), size }));
  const outcomes = await hashFiles(jobs, worker, report);
  for (const [index, artifact] of rest.entries()) {
    const fault = compare(outcomes[index]!, artifact);
    if (fault) faults.set(artifact, fault);
  }
  return manifest.artifacts.map(artifact => ({ artifact, fault: faults.get(artifact) }));
}

function checkDirectory(directory: string): void {
  try {
    if (statSync(directory).isDirectory()) return;
  } catch (cause) {
    throw new Refusal('input-unreadable', `The directory of the artifacts can't be read: ${reason(cause)}.`, { cause });
  }
  throw new Refusal('input-unreadable', `${directory} is not a directory.`);
}
