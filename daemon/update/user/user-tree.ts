// Updates a user installation: unpacks the archive into a new tree next to the one in use, tests it, and switches to it.
import { accessSync, constants, rmSync } from 'node:fs';
import { join } from 'node:path';
import { reason } from '../../system/errno.ts';
import { checkMembers, extractArchive, listArchive } from '../archive.ts';
import { requireSpace } from '../disk-space.ts';
import { UpdateRefused } from '../errors.ts';
import { smokeTest } from '../smoke-test.ts';
import type { Download, Target } from '../target.ts';
import { adopt, isPending, repair, rollBack } from './installation.ts';
import { type UserLayout, versionOf } from './layout.ts';
import { withInstallLock } from './lock.ts';
import { currentOf, makeStaging, previousOf, prune } from './trees.ts';

/** An estimate: the unpacked tree takes so many times the archive. Its exact size is checked after the download. */
const UNPACKED_RATIO = 6;
/** Bytes that a file takes on disk beyond its size, at most. */
const BLOCK = 4096;

/** The installation that is updated. */
export interface UserInstall {
  layout: UserLayout;
  /** The prefix that this process runs from. */
  prefix: string;
  /** For the smoke test of the new version. */
  env: NodeJS.ProcessEnv;
  /** Prints what was left alone, where the daemon was started. */
  say(line: string): void;
}

export function userTree(install: UserInstall): Target {
  const { layout, prefix, say } = install;
  const report = (paths: string[]) => {
    if (paths.length > 0) say(`Left as they are, because Culvert did not write them: ${paths.join(', ')}`);
  };
  return {
    artifactName: version => `culvert-${version}-user.tar.gz`,
    notApplicableReason() {
      if (currentOf(layout) === null)
        return `This Culvert runs from ${prefix}, which is not the installation in ${layout.root}.`;
      try {
        accessSync(layout.root, constants.W_OK);
        return null;
      } catch (error) {
        return `${layout.root} can't be written: ${reason(error)}.`;
      }
    },
    previous() {
      const name = previousOf(layout);
      return name === null ? null : versionOf(name);
    },
    replace: download =>
      withInstallLock(layout, async () => {
        repair(layout);
        prune(layout, prefix);
        report(await replaceTree(install, download));
        prune(layout, prefix);
      }),
    rollBack: () =>
      withInstallLock(layout, () => {
        repair(layout);
        const { version, kept } = rollBack(layout);
        report(kept);
        return version;
      }),
  };
}

/** @returns paths that were left alone */
async function replaceTree({ layout, env }: UserInstall, download: Download): Promise<string[]> {
  const { version, artifact, signal } = download;
  requireSpace(layout.root, artifact.size * (1 + UNPACKED_RATIO));
  const staging = makeStaging(layout);
  try {
    const archive = join(staging, 'archive');
    await download.fetch(archive);
    download.installing();
    const top = `culvert-${version}`;
    const members = await listArchive(archive, signal);
    checkMembers(members, top);
    requireSpace(
      layout.root,
      members.reduce((sum, { size }) => sum + size + BLOCK, 0),
    );
    await extractArchive(archive, staging, signal);
    rmSync(archive, { force: true });
    const staged = join(staging, top);
    await smokeTest(join(staged, 'bin/culvert'), version, env, signal);
    if (signal.aborted) throw new UpdateRefused('stopped', 'The daemon is stopping.');
    return adopt(layout, staged, version);
  } finally {
    removeStaging(staging);
  }
}

/** Leaves files that can't be removed now to the next update; this one does not fail. */
function removeStaging(staging: string): void {
  try {
    rmSync(staging, { recursive: true, force: true });
  } catch {
    // see above
  }
}

/** Completes what a killed run left half written outside of the tree. */
export async function completeInterrupted(layout: UserLayout): Promise<void> {
  if (isPending(layout)) await withInstallLock(layout, () => repair(layout));
}
