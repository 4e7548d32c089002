// Updates of a user installation: the archive becomes a tree beside the one in use, and then the one in use.
import { accessSync, constants, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkMembers, extractArchive, listArchive } from './archive.ts';
import { adopt, currentOf, goBack, isPending, locked, makeStaging, previousOf, prune, repair } from './installation.ts';
import { type Places, versionOf } from './places.ts';
import { tryProgram } from './program.ts';
import { Refused } from './refused.ts';
import { requireSpace } from './space.ts';
import type { Target } from './target.ts';

/** A compressed tree takes so much more when it is unpacked; the exact size is checked once it is known. */
const UNPACKED = 6;

/**
 * @param prefix the prefix that this process runs from
 * @param env for the program that is tried out
 * @param say tells whoever started the daemon what was left alone
 */
export function userTree(places: Places, prefix: string, env: NodeJS.ProcessEnv, say: (line: string) => void): Target {
  const tell = (kept: string[]) => {
    if (kept.length > 0) say(`Left as they are, because Culvert did not write them: ${kept.join(', ')}`);
  };
  return {
    artifactOf: version => `culvert-${version}-user.tar.gz`,
    obstacle() {
      if (currentOf(places) === null)
        return `This Culvert runs from ${prefix}, which is not the installation in ${places.root}.`;
      try {
        accessSync(places.root, constants.W_OK);
        return null;
      } catch (error) {
        return `${places.root} can't be written: ${(error as Error).message}.`;
      }
    },
    previous() {
      const name = previousOf(places);
      return name === null ? null : versionOf(name);
    },
    replace: ({ version, artifact, signal, fetch, installing }) =>
      locked(places, async () => {
        repair(places);
        prune(places, prefix);
        requireSpace(places.root, artifact.size * (1 + UNPACKED));
        const staging = makeStaging(places);
        try {
          const archive = join(staging, 'archive');
          await fetch(archive);
          installing();
          const top = `culvert-${version}`;
          const members = await listArchive(archive, signal);
          checkMembers(members, top);
          requireSpace(
            places.root,
            members.reduce((sum, { size }) => sum + size + BLOCK, 0),
          );
          await extractArchive(archive, staging, signal);
          rmSync(archive, { force: true });
          const staged = join(staging, top);
          await tryProgram(join(staged, 'bin/culvert'), version, env, signal);
          if (signal.aborted) throw new Refused('stopped', 'The daemon is stopping.');
          tell(adopt(places, staged, version));
        } finally {
          clear(staging);
        }
        prune(places, prefix);
      }),
    goBack: () =>
      locked(places, () => {
        repair(places);
        const { version, kept } = goBack(places);
        tell(kept);
        return version;
      }),
  };
}
const BLOCK = 4096;

/** What can't be removed now goes with the next update; whether this one was made is another matter. */
function clear(staging: string): void {
  try {
    rmSync(staging, { recursive: true, force: true });
  } catch {
    // see above
  }
}

/** Completes what a run that was killed left outside of the tree. */
export async function completeInterrupted(places: Places): Promise<void> {
  if (isPending(places)) await locked(places, () => repair(places));
}
