// Updates of an AppImage: the new file is made beside the old one and takes its name; the old one is kept, hidden.
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { acquire } from '../instance.ts';
import type { Paths } from '../paths.ts';
import { sweepLocks, syncDirectory, temporaryOf } from './files.ts';
import { InstallError } from './installation.ts';
import { recall, remember } from './memory.ts';
import { tryProgram } from './program.ts';
import { Refused } from './refused.ts';
import { requireSpace } from './space.ts';
import type { Target } from './target.ts';

export interface AppImage {
  /** `$APPIMAGE`, which its runtime sets; where it is missing, nothing can be replaced. */
  file: string | undefined;
  /** The version that runs. */
  version: string;
  /** As in `uname -m`. */
  machine: string;
  env: NodeJS.ProcessEnv;
  paths: Pick<Paths, 'state'>;
}

export function appImage({ file, version: running, machine, env, paths }: AppImage): Target {
  const place = () => realpathSync(file!);

  return {
    artifactOf: version => `culvert-${version}-${machine}.AppImage`,
    obstacle() {
      if (!file?.startsWith('/')) return 'APPIMAGE is not set, so the file to replace is not known.';
      try {
        accessSync(dirname(place()), constants.W_OK);
        return null;
      } catch (error) {
        return `${file} can't be replaced: ${(error as Error).message}.`;
      }
    },
    previous: keptVersion,
    replace: ({ version, artifact, signal, fetch, installing }) =>
      alone(paths, async () => {
        const old = place();
        requireSpace(dirname(old), artifact.size);
        const fresh = temporaryOf(old);
        try {
          await fetch(fresh);
          installing();
          // an executable that is still open for writing can't be run, and nothing here is
          await tryProgram(fresh, version, outside(env), signal);
          chmodSync(fresh, (statSync(old).mode & 0o777) | 0o100);
          sync(fresh);
          if (signal.aborted) throw new Refused('stopped', 'The daemon is stopping.');
          keep(old);
          remember(paths, { previous: { version: running, file: previousOf(old) } });
          renameSync(fresh, old);
          syncDirectory(dirname(old));
        } finally {
          rmSync(fresh, { force: true });
        }
      }),
    goBack: () =>
      alone(paths, async () => {
        const version = keptVersion();
        if (version === null) throw new InstallError('nothing-previous', 'There is no version to go back to.');
        renameSync(previousOf(place()), place());
        syncDirectory(dirname(place()));
        return version; // with its file gone, the memory of it counts for nothing
      }),
  };

  function keptVersion(): string | null {
    const { previous } = recall(paths);
    const there = previous !== null && lstatSync(previous.file, { throwIfNoEntry: false })?.isFile() === true;
    return there && previous.version !== running && previous.file === previousOf(place()) ? previous.version : null;
  }
}

/** Where the version before is kept: hidden, so that nobody starts it by mistake. */
function previousOf(file: string): string {
  return join(dirname(file), `.${basename(file)}.previous`);
}

/** A second name for the old file, or a copy where there are no hard links. */
function keep(file: string): void {
  const kept = previousOf(file);
  const temporary = temporaryOf(kept);
  rmSync(temporary, { force: true });
  try {
    try {
      linkSync(file, temporary);
    } catch {
      copyFileSync(file, temporary, constants.COPYFILE_EXCL);
      chmodSync(temporary, statSync(file).mode & 0o777);
      sync(temporary);
    }
    renameSync(temporary, kept);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** The environment without what the running AppImage's own runtime set, which would lead the new one astray. */
function outside(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { APPIMAGE: _, APPDIR, ARGV0: __, OWD: ___, ...rest } = env;
  // not mounted, so this machine can't mount one
  return APPDIR === undefined || APPDIR.includes('.mount_') ? rest : { ...rest, APPIMAGE_EXTRACT_AND_RUN: '1' };
}

async function alone<T>({ state }: Pick<Paths, 'state'>, work: () => Promise<T>): Promise<T> {
  mkdirSync(state, { recursive: true, mode: 0o700 });
  const lock = acquire({ runtime: state });
  if ('heldBy' in lock)
    throw new InstallError('locked', `Process ${lock.heldBy} is updating this AppImage. Wait for it.`);
  try {
    sweepLocks(state);
    return await work();
  } finally {
    lock.release();
  }
}

function sync(file: string): void {
  const fd = openSync(file, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
