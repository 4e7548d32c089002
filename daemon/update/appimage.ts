// Updates an AppImage: writes the new file next to the old one and gives it the name; the old file stays under a hidden name.
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Failure } from '../core/errors.ts';
import { makeDirectory, syncDirectory, temporaryName } from '../core/files.ts';
import { acquireLock, sweepLock } from '../core/lock.ts';
import type { Paths } from '../system/paths.ts';
import { refused } from './errors.ts';
import { requireSpace, smokeTest, type Target } from './target.ts';
import { loadUpdateState, saveUpdateState } from './update-state.ts';

interface AppImage {
  /** `$APPIMAGE`, which its runtime sets; without it, the file to replace is unknown. */
  file: string | undefined;
  /** The version that runs. */
  version: string;
  /** As in `uname -m`. */
  machine: string;
  env: NodeJS.ProcessEnv;
  paths: Pick<Paths, 'state'>;
}

export function appImage({ file, version: running, machine, env, paths }: AppImage): Target {
  const resolved = () => realpathSync(file!);

  return {
    artifactName: version => `culvert-${version}-${machine}.AppImage`,
    notApplicableReason() {
      if (!file?.startsWith('/')) return 'APPIMAGE is not set, so the file to replace is not known.';
      try {
        accessSync(dirname(resolved()), constants.W_OK);
        return null;
      } catch (error) {
        return `${file} can't be replaced: ${(error as Error).message}.`;
      }
    },
    previous: keptVersion,
    replace: ({ version, artifact, signal, fetch, installing }) =>
      withStateLock(paths, async () => {
        const old = resolved();
        requireSpace(dirname(old), artifact.size);
        const fresh = temporaryName(old);
        try {
          await fetch(fresh);
          installing();
          await smokeTest(fresh, version, outside(env), signal);
          chmodSync(fresh, (statSync(old).mode & 0o777) | 0o100);
          sync(fresh);
          if (signal.aborted) throw refused('stopped', 'The daemon is stopping.');
          keep(old);
          saveUpdateState(paths, { previous: { version: running, file: previousOf(old) } });
          renameSync(fresh, old);
          syncDirectory(dirname(old));
        } finally {
          rmSync(fresh, { force: true });
        }
      }),
    rollBack: () =>
      withStateLock(paths, async () => {
        const version = keptVersion();
        if (version === null) throw new Failure('There is no version to go back to.', { code: 'nothing-previous' });
        renameSync(previousOf(resolved()), resolved());
        syncDirectory(dirname(resolved()));
        return version; // keptVersion ignores the recorded version from now on, because its file is gone
      }),
  };

  function keptVersion(): string | null {
    const { previous } = loadUpdateState(paths);
    const there = previous !== null && lstatSync(previous.file, { throwIfNoEntry: false })?.isFile() === true;
    return there && previous.version !== running && previous.file === previousOf(resolved()) ? previous.version : null;
  }
}

/** Path of the previous version: hidden, so that it is not started by mistake. */
function previousOf(file: string): string {
  return join(dirname(file), `.${basename(file)}.previous`);
}

/** Keeps the old file under a second name, or as a copy where the file system has no hard links. */
function keep(file: string): void {
  const backup = previousOf(file);
  const temporary = temporaryName(backup);
  rmSync(temporary, { force: true });
  try {
    try {
      linkSync(file, temporary);
    } catch {
      copyFileSync(file, temporary, constants.COPYFILE_EXCL);
      chmodSync(temporary, statSync(file).mode & 0o777);
      sync(temporary);
    }
    renameSync(temporary, backup);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** The environment without the variables that the runtime of the running AppImage set; the new one sets its own. */
function outside(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { APPIMAGE: _, APPDIR, ARGV0: __, OWD: ___, ...rest } = env;
  // it runs unpacked, so this machine can't mount AppImages
  return APPDIR === undefined || APPDIR.includes('.mount_') ? rest : { ...rest, APPIMAGE_EXTRACT_AND_RUN: '1' };
}

async function withStateLock<T>({ state }: Pick<Paths, 'state'>, work: () => Promise<T>): Promise<T> {
  makeDirectory(state);
  const lock = acquireLock(join(state, 'lock'));
  if ('heldBy' in lock)
    throw new Failure(`Process ${lock.heldBy} is updating this AppImage. Wait for it.`, { code: 'locked' });
  try {
    sweepLock(join(state, 'lock'));
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
