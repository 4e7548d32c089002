// Fetches and verifies the newest release of a channel and its artifacts.
import { closeSync, fsyncSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Artifact, MANIFEST_NAME, SIDECAR_NAME } from '../../manifest/schema.ts';
import {
  type Channel,
  checkArtifact,
  type Expectations,
  MANIFEST_LIMIT,
  Refusal,
  SIDECAR_LIMIT,
  type Verified,
  verifySidecar,
} from '../../manifest/verify.ts';
import { errno, reason } from '../core/errors.ts';
import { createExclusive } from '../core/files.ts';
import { refused } from './errors.ts';
import { type Fetching, fetchArtifact, fetchSmall } from './fetch.ts';

/** Maximum size of an artifact, in bytes. Culvert's largest artifact has a tenth of it. */
const ARTIFACT_LIMIT = 1 << 30;
/** Time for a publisher to replace the manifest and then the sidecar. */
const PUBLISHING_MS = 500;

/** Source of releases: `updates.source` and `updates.channel`. */
export interface ReleaseSource {
  source: string;
  channel: Channel;
}

/**
 * Returns the address of a file of a channel. A source is a base address with a directory for each channel, or a pattern
 * with `{name}` and perhaps `{channel}` for the release pages of forges.
 * @param name a result of `artifactName` or a constant, never a name in a manifest
 */
export function addressOf({ source, channel }: ReleaseSource, name: string): URL {
  const pattern = source.includes('{name}') ? source : `${source.replace(/\/+$/, '')}/{channel}/{name}`;
  return new URL(pattern.replaceAll('{channel}', channel).replaceAll('{name}', name));
}

/**
 * Fetches and verifies the manifest and the sidecar of a channel. While a release is published, a check can get one old
 * and one new file, so it fetches both files again after a missing or invalid signature.
 * @throws Failure
 */
export async function fetchRelease(from: ReleaseSource, expected: Expectations, by: Fetching): Promise<Verified> {
  try {
    return await fetchOnce(from, expected, by);
  } catch (error) {
    if (!(error instanceof Refusal) || (error.code !== 'signature-invalid' && error.code !== 'unsigned')) throw error;
    await delay(PUBLISHING_MS, undefined, { signal: by.signal }).catch(() => {});
    return fetchOnce(from, expected, by);
  }
}

async function fetchOnce(from: ReleaseSource, expected: Expectations, by: Fetching): Promise<Verified> {
  const [manifest, sidecar] = await Promise.all([
    fetchSmall(addressOf(from, MANIFEST_NAME), MANIFEST_LIMIT, by),
    fetchSmall(addressOf(from, SIDECAR_NAME), SIDECAR_LIMIT, by),
  ]);
  if (!manifest) throw refused('release-missing', `There is no release at ${addressOf(from, MANIFEST_NAME).href}.`);
  return verifySidecar(manifest, sidecar, { ...expected, channels: [from.channel] });
}

/**
 * Returns an artifact of a verified release by name.
 * @throws Failure `artifact-not-listed`, `artifact-too-large`
 */
export function artifactIn({ manifest, version }: Verified, name: string): Artifact {
  const artifact = manifest.artifacts.find(listed => listed.name === name);
  if (!artifact) throw refused('artifact-not-listed', `The release ${version} has no ${name}.`);
  if (artifact.size > ARTIFACT_LIMIT)
    throw refused('artifact-too-large', `${name} has ${artifact.size} bytes; the limit is ${ARTIFACT_LIMIT}.`);
  return artifact;
}

/** An artifact to fetch, with callbacks for its progress. */
interface ArtifactDownload {
  url: URL;
  artifact: Artifact;
  /** Called with the number of bytes received so far. */
  onProgress(bytes: number): void;
  onVerifying(): void;
}

/**
 * Fetches an artifact into a new file, and verifies the file on the disk: first its size, then its hash.
 * @param file created with mode 0700; on a failure the caller removes it
 * @throws Failure, NodeJS.ErrnoException
 */
export async function fetchVerified(download: ArtifactDownload, file: string, by: Fetching): Promise<void> {
  const { url, artifact, onProgress, onVerifying } = download;
  const fd = createExclusive(file, 0o700);
  try {
    let received = 0;
    const write = (piece: Buffer) => {
      for (let at = 0; at < piece.length; ) at += writeSync(fd, piece, at);
      received += piece.length;
      onProgress(received);
    };
    await fetchArtifact(url, artifact.size, write, by);
    fsyncSync(fd);
  } catch (error) {
    if (errno(error) !== 'ENOSPC' && errno(error) !== 'EDQUOT') throw error;
    throw refused('disk-full', `No space left on disk to write ${file}: ${reason(error)}.`, error);
  } finally {
    closeSync(fd);
  }
  onVerifying();
  const fault = await checkArtifact(file, artifact);
  if (fault) throw new Refusal(fault.code, `${artifact.name} ${fault.detail}.`);
}
