// Unpacks the tree of a release. Its signature is verified by then; what it may contain is checked all the same.
import { execFile } from 'node:child_process';
import { posix } from 'node:path';
import { promisify } from 'node:util';
import { Refused } from './refused.ts';

const run = promisify(execFile);
const LISTING_BYTES = 16 << 20;
const PATIENCE_MS = 120_000;

export interface Member {
  kind: 'file' | 'directory' | 'link';
  name: string;
  /** Bytes that it takes on disk, at least. */
  size: number;
  /** Where a symbolic link leads. */
  target: string | null;
}

/**
 * Lists a gzip-compressed tar archive with the system's tar (GNU, BSD or BusyBox).
 * @throws Refused archive-broken, archive-unsafe, tar-missing
 */
export async function listArchive(file: string, signal: AbortSignal): Promise<Member[]> {
  const { stdout } = await tar(['-tvzf', file], signal);
  return stdout.split('\n').filter(Boolean).map(parseMember);
}

/**
 * Refuses members that could be written outside of the top directory, or that no installed tree has: other types,
 * hard links, set-user-id, names that stand twice, what lies below a symbolic link. Pure.
 * @param top the one directory that everything lies in
 * @throws Refused archive-unsafe
 */
export function checkMembers(members: readonly Member[], top: string): void {
  const links = new Set(members.filter(({ kind }) => kind === 'link').map(({ name }) => name));
  const seen = new Set<string>();
  for (const { name, kind, target } of members) {
    const parts = name.split('/');
    if (parts[0] !== top) throw unsafe(name, `does not lie in ${top}/`);
    if (parts.some(part => !PART.test(part) || part === '.' || part === '..')) throw unsafe(name, 'is no name for it');
    if (seen.has(name)) throw unsafe(name, 'stands there twice');
    seen.add(name);
    for (let at = posix.dirname(name); at !== '.'; at = posix.dirname(at))
      if (links.has(at)) throw unsafe(name, 'lies below a symbolic link');
    if (kind !== 'link') continue;
    const end = posix.normalize(posix.join(posix.dirname(name), target!));
    if (target!.startsWith('/') || !end.startsWith(`${top}/`)) throw unsafe(name, 'leads out of it');
  }
  if (seen.size === 0) throw new Refused('archive-broken', 'The archive is empty.');
}

/** @throws Refused archive-broken, tar-missing */
export async function extractArchive(file: string, directory: string, signal: AbortSignal): Promise<void> {
  await tar(['-xzof', file, '-C', directory], signal);
}

const PART = /^[\w@.+:,=~-]+$/;
/** `-rw-r--r-- root/root 12 2026-11-21 05:40 name` (GNU, BusyBox), `-rw-r--r--  0 root root 12 Nov 21 05:40 name` (BSD). */
const LINE =
  /^([-dl])(?:[r-][w-][x-]){3}\S? +(?:\S+\/\S+|\d+ +\S+ +\S+) +(\d+) (?:\d{4}-\d\d-\d\d [\d:]{5,8}|\w{3} +\d+ +[\d:]+) (\S+)(?: -> (\S+))?$/;
const KINDS = { '-': 'file', d: 'directory', l: 'link' } as const;

function parseMember(line: string): Member {
  const match = LINE.exec(line);
  const kind = KINDS[match?.[1] as keyof typeof KINDS];
  if (!match || (kind === 'link') !== (match[4] !== undefined)) throw unsafe(line, 'is not expected in it');
  const name = match[3]!.replace(/^\.\//, '').replace(/\/$/, '');
  return { kind, name, size: Number(match[2]), target: match[4] ?? null };
}

async function tar(args: string[], signal: AbortSignal) {
  try {
    return await run('tar', args, {
      signal,
      timeout: PATIENCE_MS,
      maxBuffer: LISTING_BYTES,
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    });
  } catch (error) {
    const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string };
    if (signal.aborted) throw new Refused('stopped', 'The daemon is stopping.', error);
    if (code === 'ENOENT')
      throw new Refused('tar-missing', 'tar is not installed, and the release is an archive.', error);
    const why = (stderr || message).trim().split('\n')[0]!.slice(0, 300);
    if (/No space left/.test(stderr ?? '')) throw new Refused('disk-full', `The disk became full: ${why}`, error);
    throw new Refused('archive-broken', `The archive can't be unpacked: ${why}`, error);
  }
}

function unsafe(name: string, what: string): Refused {
  return new Refused(
    'archive-unsafe',
    `The archive has "${name.replace(/\p{C}/gu, ' ').slice(0, 200)}", which ${what}.`,
  );
}
