// Finds the paths and trees of a user installation (XDG base directories): one tree in use, and one to roll back to.
import { existsSync, realpathSync, rmSync } from 'node:fs';
import { basename, isAbsolute, join } from 'node:path';
import { makeDirectory, namesIn } from '../core/files.ts';
import { linkAt } from '../core/undo.ts';

export interface UserLayout {
  /** `$XDG_DATA_HOME/culvert`. */
  root: string;
  /** Holds a whole tree per version. */
  versions: string;
  /** Link to the tree in use, relative: `versions/1.2.3`. Files outside of the root name this path. */
  current: string;
  /** Link to the previous tree, or missing. */
  previous: string;
  /** Lists the files that were written outside of `root`. */
  record: string;
  /** `$XDG_DATA_HOME`: desktop entries, icons, completions, manual and units go below it. */
  data: string;
  /** `~/.local/bin`. */
  bin: string;
  /** Directories of configuration and state, which the programs make themselves. */
  own: string[];
}

/**
 * The layout for an environment.
 * @throws Error when HOME is not set, or a path has control characters.
 */
export function userLayout(env: NodeJS.ProcessEnv): UserLayout {
  if (!env.HOME || !isAbsolute(env.HOME)) throw new Error('HOME is not set, so it is not known where to install.');
  const base = (variable: string | undefined, below: string) =>
    variable && isAbsolute(variable) ? variable : join(env.HOME!, below);
  const data = base(env.XDG_DATA_HOME, '.local/share');
  if (/[\x00-\x1f\x7f]/.test(env.HOME + data))
    throw new Error('The path of the home directory has control characters, which no desktop entry can hold.');
  const root = join(data, 'culvert');
  const config = base(env.XDG_CONFIG_HOME, '.config');
  const state = base(env.XDG_STATE_HOME, '.local/state');
  return {
    root,
    versions: join(root, 'versions'),
    current: join(root, 'current'),
    previous: join(root, 'previous'),
    record: join(root, 'install.json'),
    data,
    bin: join(env.HOME, '.local/bin'),
    own: [config, state].flatMap(directory => [join(directory, 'culvert'), join(directory, 'culvert-wrap')]),
  };
}

/**
 * Reports whether a text names a file of an installation: by the path of the root, or by its resolved path (`/home` is a link to
 * `/var/home` on some systems, and programs find themselves by the resolved path).
 */
export function mentionsInstall({ root }: Pick<UserLayout, 'root'>, text: string): boolean {
  if (text.includes(`${root}/`)) return true;
  try {
    return text.includes(`${realpathSync(root)}/`);
  } catch {
    return false;
  }
}

/**
 * The version of a tree's directory. A version that was installed again gets another directory, `1.2.3~2`, because the
 * tree in use is never written to.
 */
export function versionOf(directory: string): string {
  return basename(directory).split('~')[0]!;
}

/** The directory name of the version in use, or null. */
export function currentOf({ current, versions }: UserLayout): string | null {
  return treeAt(current, versions);
}

/** The directory name of the version that a rollback returns to, or null. */
export function previousOf(layout: UserLayout): string | null {
  const name = treeAt(layout.previous, layout.versions);
  return name === currentOf(layout) ? null : name;
}

/** Makes an empty directory for a new tree, and removes the directory of a killed run first. Call it under the lock. */
export function makeStaging({ versions }: UserLayout): string {
  const staging = join(versions, '.staging');
  rmSync(staging, { recursive: true, force: true });
  makeDirectory(staging);
  return staging;
}

/**
 * Removes trees that are neither in use nor the previous one. A tree that can't be removed stays until the next update.
 * @param running the tree that this process runs in; the next update removes it
 */
export function prune(layout: UserLayout, running: string): void {
  const inUse = [currentOf(layout), previousOf(layout), basename(running)];
  for (const name of namesIn(layout.versions)) {
    if (inUse.includes(name)) continue;
    try {
      rmSync(join(layout.versions, name), { recursive: true, force: true });
    } catch {
      // see above
    }
  }
}

/** A directory name for a version that no tree in use has. Removes leftovers of a killed run under that name. */
export function freeName(layout: UserLayout, version: string): string {
  const taken = [treeAt(layout.current, layout.versions), treeAt(layout.previous, layout.versions)];
  for (let n = 1; ; n++) {
    const name = n === 1 ? version : `${version}~${n}`;
    if (taken.includes(name)) continue;
    rmSync(join(layout.versions, name), { recursive: true, force: true });
    return name;
  }
}

function treeAt(link: string, versions: string): string | null {
  const target = linkAt(link);
  const name = target === null ? null : basename(target);
  return name !== null && target === join('versions', name) && existsSync(join(versions, name)) ? name : null;
}
