// Finds problems with installed shims, and files that keep a shim from working for other users.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { isExecutable, readOptional } from '../../daemon/core/files.ts';
import { type Installed, isForeignShim, pathsOf, shimOf } from '../store/installs.ts';
import type { Paths } from '../store/paths.ts';
import { type Programs, recordIn } from './shim.ts';

/** The result of a `doctor` check. */
export interface Finding {
  level: 'ok' | 'warning' | 'problem';
  what: string;
  fix?: string;
}

/** Checks an installed shim and returns one finding, `ok` if the shim works. */
export function checkShim(
  cli: string,
  entry: Installed,
  { env, paths }: { env: NodeJS.ProcessEnv; paths: Paths },
  programs: Programs,
): Finding[] {
  if (isForeignShim(entry.bin, paths)) return [foreignFinding(cli, entry.bin)];
  const repair = `run \`culvert-wrap install ${cli}\``;
  if (!fs.existsSync(entry.bin))
    return [
      {
        level: 'problem',
        what: `${cli}: the shim ${entry.bin} is gone`,
        fix: `${repair}, or \`culvert-wrap uninstall ${cli}\``,
      },
    ];
  if (shimOf(entry.bin) !== cli) {
    return [
      {
        level: 'warning',
        what: `${cli}: ${entry.bin} has been replaced, probably by an upgrade; it runs without accounts`,
        fix: `${repair} to adopt it`,
      },
    ];
  }
  if (!fs.existsSync(entry.original)) {
    return [
      {
        level: 'problem',
        what: `${cli}: the original ${entry.original} is missing`,
        fix: `install ${cli} again, then ${repair}`,
      },
    ];
  }
  const first = pathsOf(path.basename(entry.bin), env.PATH ?? '').find(isExecutable);
  if (!first || fs.realpathSync(first) !== fs.realpathSync(entry.bin)) {
    return [
      {
        level: 'warning',
        what: `${cli}: PATH finds ${first ?? 'nothing'} before the shim ${entry.bin}`,
        fix: `put ${path.dirname(entry.bin)} first on PATH`,
      },
    ];
  }
  const text = readOptional(entry.bin) ?? '';
  if (!text.includes(`'${programs.bundle}'`))
    return [{ level: 'warning', what: `${cli}: the shim starts another installation of culvert-wrap`, fix: repair }];
  const closed = closedToOthers(entry, programs.bundle);
  if (closed !== undefined) {
    const kept = closed.file.startsWith(`${paths.state}/`);
    const what = `${cli}: ${describeClosed(entry.bin, closed)}`;
    return [{ level: 'warning', what, fix: kept ? repair : OPEN_TO_OTHERS }];
  }
  return [{ level: 'ok', what: `${cli}: ${entry.bin} -> ${entry.original}` }];
}

/** Checks whether this user can use another user's shim. */
export function foreignFinding(cli: string, shim: string): Finding {
  const unusable = unusableIn(shim);
  if (unusable !== undefined) {
    return {
      level: 'problem',
      what: `${cli}: ${shim} is a shim that another user has installed, and ${unusable} is missing or not yours to run`,
      fix: `ask that user to run \`culvert-wrap doctor\` and \`culvert-wrap install ${cli}\``,
    };
  }
  return { level: 'ok', what: `${cli}: ${shim} is a shim that another user has installed; it uses your accounts` };
}

/** Checks the file of installed shims for damage. */
export function checkInstalls(file: string): Finding[] {
  try {
    JSON.parse(readOptional(file) ?? '{}');
    return [];
  } catch {
    return [
      {
        level: 'problem',
        what: `${file} is damaged, so uninstall does not know what to restore`,
        fix: 'the originals are next to it in originals/, or in .culvert-wrap next to their shims; move them back by hand, then install again',
      },
    ];
  }
}

/** Returns the file of another user's shim that this user can't run or read: its original, or culvert-wrap's program. */
function unusableIn(shim: string): string | undefined {
  const record = recordIn(shim);
  const originals = record ? originalsOf(record) : [];
  if (record && !originals.some(isExecutable)) return originals.at(-1);
  // the format of `shimText`
  const bundle = /^ {2}__cw_b='([^']+)'$/m.exec(readOptional(shim) ?? '')?.[1];
  return bundle !== undefined && !isReadable(bundle) ? bundle : undefined;
}

/** Returns the paths of the original in the order in which a shim tries them: the kept file, then the target of its link. */
export function originalsOf({ bin, original, link }: Installed): string[] {
  return link === undefined ? [original] : [original, path.resolve(path.dirname(bin), link)];
}

/**
 * Returns the file that keeps a shim from working for other users: its original, without which the command fails, or
 * culvert-wrap's program, without which the command uses no account.
 */
export function closedToOthers(
  entry: Installed,
  program: string,
): { what: 'original' | 'program'; file: string } | undefined {
  const originals = originalsOf(entry);
  if (!isShared(entry.bin) || !isForEverybody(entry.bin)) return undefined;
  if (!originals.some(file => isForEverybody(file))) return { what: 'original', file: originals.at(-1)! };
  return isForEverybody(program, 0o004) ? undefined : { what: 'program', file: program };
}

/** Describes the problem to the user who installed the shim. */
export function describeClosed(bin: string, { what, file }: NonNullable<ReturnType<typeof closedToOthers>>): string {
  return what === 'original'
    ? `other users can run ${bin}, but not its original ${file}`
    : `other users run ${bin} without accounts, because they can't read ${file}`;
}

export const OPEN_TO_OTHERS = 'give them the rights to read and run it, and to enter the directories above it';

/**
 * Reports whether other users may run the command, so its original must stay readable for them. They may if the directory is
 * another user's, or if it is outside the home and all users or a group can search it.
 */
export function isShared(file: string): boolean {
  const stat = fs.statSync(path.dirname(file));
  if (stat.uid !== process.getuid?.()) return true;
  if (path.resolve(file).startsWith(`${ownHome()}/`)) return false;
  for (let dir = fs.realpathSync(path.dirname(file)); ; dir = path.dirname(dir)) {
    if ((fs.statSync(dir).mode & 0o011) === 0) return false;
    if (dir === path.dirname(dir)) return true;
  }
}

/** Returns the user's home. Root's `HOME` may be another user's, and a container may not know its user. */
function ownHome(): string {
  try {
    return os.userInfo().homedir;
  } catch {
    return os.homedir();
  }
}

function isReadable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** Reports whether all users have these rights to a file, by its mode and the mode of each directory above it. */
function isForEverybody(file: string, rights = 0o005): boolean {
  try {
    let place = fs.realpathSync(file);
    if ((fs.statSync(place).mode & rights) !== rights) return false;
    while (place !== '/') {
      place = path.dirname(place);
      if ((fs.statSync(place).mode & 0o001) === 0) return false;
    }
    return true;
  } catch {
    return false;
  }
}
