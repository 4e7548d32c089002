// Finds the paths of a user installation (XDG base directories), and manages the directories of its versions.
import { existsSync, realpathSync, rmSync } from 'node:fs';
import { basename, isAbsolute, join } from 'node:path';
import { makeDirectory, namesIn } from '../core/files.ts';
import { linkAt } from '../core/undo.ts';

export interface UserLayout {
  /** `$XDG_DATA_HOME/culvert`. */
  root: string;
  /** Directory with a complete tree for each version. */
  versions: string;
  /** Relative link to the current tree, such as `versions/1.2.3`. Files outside of the root name this path. */
  current: string;
  /** Link to the previous tree, if there is one. */
  previous: string;
  /** File that lists the files installed outside of `root`. */
  record: string;
  /** `$XDG_DATA_HOME`, which gets desktop entries, icons, completions, manual pages and units. */
  data: string;
  /** `~/.local/bin`. */
  bin: string;
  /** Directories of configuration and state, which the programs create. */
  own: string[];
}

/**
 * Returns the layout for an environment.
 * @throws Error if HOME is not set, or a path has control characters.
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
 * True if a text contains the path of an installed file, below the root or below its resolved path. On some systems, `/home`
 * is a link to `/var/home`, and programs find their files by the resolved path.
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
 * Returns the version of a tree's directory. A second installation of a version gets another directory, `1.2.3~2`,
 * because the updater never writes to the current tree.
 */
export function versionOf(directory: string): string {
  return basename(directory).split('~')[0]!;
}

/** Returns the directory name of the current version, or null. */
export function currentOf({ current, versions }: UserLayout): string | null {
  return treeAt(current, versions);
}

/** Returns the directory name of the version that a rollback restores, or null. */
export function previousOf(layout: UserLayout): string | null {
  const name = treeAt(layout.previous, layout.versions);
  return name === currentOf(layout) ? null : name;
}

/** Creates an empty directory for a new tree, without the files of a killed run. Call it under the lock. */
export function makeStaging({ versions }: UserLayout): string {
  const staging = join(versions, '.staging');
  rmSync(staging, { recursive: true, force: true });
  makeDirectory(staging);
  return staging;
}

/**
 * Removes all trees except the current, previous and running trees. A tree that can't be removed stays until the next
 * update.
 * @param running this process's tree; a later update removes it
 */
export function prune(layout: UserLayout, running: string): void {
  const inUse = [currentOf(layout), previousOf(layout), basename(running)];
  for (const name of namesIn(layout.versions)) {
    if (inUse.includes(name)) continue;
    try {
      rmSync(join(layout.versions, name), { recursive: true, force: true });
    } catch {
      // the next update tries again
    }
  }
}

/** Returns an unused directory name for a version, and removes leftovers of a killed run with this name. */
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
