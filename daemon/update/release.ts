// Fetches what a channel's source says is the newest release, and one of its artifacts; nothing unverified comes out of here.
import { closeSync, fsyncSync, writeSync } from 'node:fs';
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
import { type Fetching, fetchArtifact, fetchSmall } from './fetch.ts';
import { create } from './files.ts';
import { Refused } from './refused.ts';

/** No artifact of Culvert comes near this size. */
export const ARTIFACT_LIMIT = 1 << 30;

/**
 * The address of a file of a channel.
 * @param name from `artifactOf` or a constant, never from a manifest
 */
export function addressOf(source: string, channel: Channel, name: string): URL {
  return new URL(`${source.replace(/\/+$/, '')}/${channel}/${name}`);
}

/**
 * Fetches a channel's manifest and sidecar, and verifies them.
 * @throws Refused, Refusal
 */
export async function fetchRelease(
  source: string,
  channel: Channel,
  expected: Expectations,
  by: Fetching,
): Promise<Verified> {
  const [manifest, sidecar] = await Promise.all([
    fetchSmall(addressOf(source, channel, MANIFEST_NAME), MANIFEST_LIMIT, by),
    fetchSmall(addressOf(source, channel, SIDECAR_NAME), SIDECAR_LIMIT, by),
  ]);
  if (!manifest)
    throw new Refused('release-missing', `There is no release at ${addressOf(source, channel, MANIFEST_NAME).href}.`);
  return verifySidecar(manifest, sidecar, { ...expected, channels: [channel] });
}

/**
 * The artifact of a verified release by its name.
 * @throws Refused artifact-not-listed, artifact-too-large
 */
export function artifactIn({ manifest, version }: Verified, name: string): Artifact {
  const artifact = manifest.artifacts.find(listed => listed.name === name);
  if (!artifact) throw new Refused('artifact-not-listed', `The release ${version} has no ${name}.`);
  if (artifact.size > ARTIFACT_LIMIT)
    throw new Refused('artifact-too-large', `${name} has ${artifact.size} bytes; the limit is ${ARTIFACT_LIMIT}.`);
  return artifact;
}

/**
 * Fetches an artifact into a new file, and verifies what stands on the disk then: size first, then hash.
 * @param file made with mode 0700; on a failure the caller removes it
 * @param arrived called with the bytes so far
 * @throws Refused, Refusal, NodeJS.ErrnoException
 */
export async function fetchVerified(
  url: URL,
  artifact: Artifact,
  file: string,
  by: Fetching,
  arrived: (bytes: number) => void,
  verifying: () => void,
): Promise<void> {
  const fd = create(file, 0o700);
  try {
    let received = 0;
    await fetchArtifact(url, artifact.size, by, piece => {
      for (let at = 0; at < piece.length; ) at += writeSync(fd, piece, at);
      received += piece.length;
      arrived(received);
    });
    fsyncSync(fd);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
    throw new Refused('disk-full', `${file} could not be written whole: ${message}.`, error);
  } finally {
    closeSync(fd);
  }
  verifying();
  const fault = await checkArtifact(file, artifact);
  if (fault) throw new Refusal(fault.code, `${artifact.name} ${fault.detail}.`);
}
