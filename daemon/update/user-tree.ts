// Updates a user installation: unpacks the archive into a new tree next to the current tree, tests it, and switches to it.
import { accessSync, constants, createReadStream, rmSync } from 'node:fs';
import { join, posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { extract, list, type ReadEntry } from 'tar';
import { errno, type Failure, reason } from '../core/errors.ts';
import { printable } from '../core/printable.ts';
import { refused } from './errors.ts';
import { adopt, isPending, repair, rollBack, withInstallLock } from './installation.ts';
import { type Download, requireSpace, smokeTest, type Target } from './target.ts';
import { currentOf, makeStaging, previousOf, prune, type UserLayout, versionOf } from './user-layout.ts';

/** Estimated ratio of the unpacked size to the archive's size. The exact size is checked after the download. */
const UNPACKED_RATIO = 6;
/** Maximum number of bytes that a file takes on disk beyond its size. */
const BLOCK = 4096;

/** The installation to update. */
interface UserInstall {
  layout: UserLayout;
  /** The prefix of this process's program. */
  prefix: string;
  /** Environment for the smoke test of the new version. */
  env: NodeJS.ProcessEnv;
  /** Prints the skipped files to the daemon's output. */
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

/** @returns skipped paths */
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
    if (signal.aborted) throw refused('stopped', 'The daemon is stopping.');
    return adopt(layout, staged, version);
  } finally {
    removeStaging(staging);
  }
}

/** Removes the staging directory. The next update removes files that can't be removed now. */
function removeStaging(staging: string): void {
  try {
    rmSync(staging, { recursive: true, force: true });
  } catch {
    // the next update tries again
  }
}

/** Completes the files outside of the tree after a killed run. */
export async function completeInterrupted(layout: UserLayout): Promise<void> {
  if (isPending(layout)) await withInstallLock(layout, () => repair(layout));
}

export interface Member {
  kind: 'file' | 'directory' | 'link';
  name: string;
  /** Size in bytes; 0 for directories and links. */
  size: number;
  /** Target of a symbolic link. */
  target: string | null;
}

/**
 * Lists the members of a gzip-compressed tar archive.
 * @throws Failure `archive-broken`, `archive-unsafe`, `stopped`
 */
export async function listArchive(file: string, signal: AbortSignal): Promise<Member[]> {
  const members: Member[] = [];
  let refusal: Failure | undefined;
  const onReadEntry = (entry: ReadEntry) => {
    try {
      members.push(toMember(entry));
    } catch (error) {
      refusal ??= error as Failure;
    }
    entry.resume();
  };
  await unpack(file, list({ strict: true, onReadEntry }), signal);
  if (refusal) throw refusal;
  return members;
}

/**
 * Refuses members that could be written outside of the top directory, strange names, duplicates, and files below a
 * symbolic link. The archive's signature is verified earlier. Pure.
 * @param top the directory that must contain every member
 * @throws Failure `archive-unsafe`, `archive-broken`
 */
export function checkMembers(members: readonly Member[], top: string): void {
  const links = new Set(members.filter(({ kind }) => kind === 'link').map(({ name }) => name));
  const seen = new Set<string>();
  for (const { name, kind, target } of members) {
    const parts = name.split('/');
    if (parts[0] !== top) throw unsafe(name, `is not in ${top}/`);
    if (parts.some(part => !PART.test(part) || part === '.' || part === '..'))
      throw unsafe(name, 'has a name that is not allowed');
    if (seen.has(name)) throw unsafe(name, 'occurs twice');
    seen.add(name);
    for (let at = posix.dirname(name); at !== '.'; at = posix.dirname(at))
      if (links.has(at)) throw unsafe(name, 'is below a symbolic link');
    if (kind !== 'link') continue;
    const end = posix.normalize(posix.join(posix.dirname(name), target!));
    if (target!.startsWith('/') || !end.startsWith(`${top}/`)) throw unsafe(name, 'leads out of that directory');
  }
  if (seen.size === 0) throw refused('archive-broken', 'The archive is empty.');
}

/**
 * Unpacks an archive after the check of its members.
 * @throws Failure `archive-broken`, `disk-full`, `stopped`
 */
export async function extractArchive(file: string, directory: string, signal: AbortSignal): Promise<void> {
  await unpack(file, extract({ cwd: directory, strict: true }), signal);
}

const PART = /^[\w@.+:,=~-]+$/;
const KINDS: Partial<Record<string, Member['kind']>> = {
  File: 'file',
  OldFile: 'file',
  Directory: 'directory',
  SymbolicLink: 'link',
};
/** Set-user-id, set-group-id and the sticky bit. */
const SPECIAL_BITS = 0o7000;

function toMember({ type, path, size, mode = 0, linkpath }: ReadEntry): Member {
  const kind = KINDS[type];
  if (!kind) throw unsafe(path, `is of the type ${type}, which is not expected`);
  if ((mode & SPECIAL_BITS) !== 0) throw unsafe(path, `has the mode ${mode.toString(8)}`);
  const name = path.replace(/^\.\//, '').replace(/\/$/, '');
  return { kind, name, size: kind === 'file' ? size : 0, target: kind === 'link' ? (linkpath ?? '') : null };
}

async function unpack(file: string, into: ReturnType<typeof list> | ReturnType<typeof extract>, signal: AbortSignal) {
  try {
    await pipeline(createReadStream(file), into as unknown as NodeJS.WritableStream, { signal });
  } catch (error) {
    if (signal.aborted) throw refused('stopped', 'The daemon is stopping.', error);
    const why = reason(error).slice(0, 300);
    if (errno(error) === 'ENOSPC' || errno(error) === 'EDQUOT')
      throw refused('disk-full', `No space left on disk to unpack the archive: ${why}`, error);
    throw refused('archive-broken', `The archive can't be unpacked: ${why}`, error);
  }
}

function unsafe(name: string, what: string): Failure {
  return refused('archive-unsafe', `The archive has "${printable(name).slice(0, 200)}", which ${what}.`);
}
