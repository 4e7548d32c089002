// Manages the trees of a user installation: one per version, one of them in use, one kept to roll back to.
import { existsSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { makeDirectory, namesIn } from '../../system/files.ts';
import { linkAt } from '../links.ts';
import type { UserLayout } from './layout.ts';

/** The directory name of the version in use, or null. */
export function currentOf({ current, versions }: UserLayout): string | null {
  return treeAt(current, versions);
}

/** The directory name of the version that a rollback returns to, or null. */
export function previousOf(layout: UserLayout): string | null {
  const name = treeAt(layout.previous, layout.versions);
  return name === currentOf(layout) ? null : name;
}

/** Makes an empty directory for a new tree, in place of the one that a killed run left. To be called under the lock. */
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

/** A directory name for a version that no tree in use has; what a killed run left under that name is removed. */
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
