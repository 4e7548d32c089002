// Updates an AppImage: downloads the new file next to the old file, keeps the old file under a hidden name, and swaps them.
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
import { Failure, reason } from '../core/errors.ts';
import { makeDirectory, syncDirectory, temporaryName } from '../core/files.ts';
import { acquireLock, sweepLock } from '../core/lock.ts';
import type { Paths } from '../system/paths.ts';
import { refused } from './errors.ts';
import { requireSpace, smokeTest, type Target } from './target.ts';
import { loadUpdateState, saveUpdateState } from './update-state.ts';

interface AppImage {
  /** `$APPIMAGE` from the AppImage runtime. Without it, the file to replace is unknown. */
  file: string | undefined;
  /** The running version. */
  version: string;
  /** Machine type, as in `uname -m`. */
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
        return `${file} can't be replaced: ${reason(error)}.`;
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
        return version; // keptVersion now ignores the recorded version, because its file is missing
      }),
  };

  function keptVersion(): string | null {
    const { previous } = loadUpdateState(paths);
    const there = previous !== null && lstatSync(previous.file, { throwIfNoEntry: false })?.isFile() === true;
    return there && previous.version !== running && previous.file === previousOf(resolved()) ? previous.version : null;
  }
}

/** Returns the path of the previous version, which is hidden to prevent an accidental start. */
function previousOf(file: string): string {
  return join(dirname(file), `.${basename(file)}.previous`);
}

/** Keeps the old file under a second name, or as a copy if the file system has no hard links. */
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

/** Returns the environment without the variables of the running AppImage's runtime. The new AppImage sets its own. */
function outside(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { APPIMAGE: _, APPDIR, ARGV0: __, OWD: ___, ...rest } = env;
  // an AppImage that runs unpacked shows that this machine can't mount AppImages
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
