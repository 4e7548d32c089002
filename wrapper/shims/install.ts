// Puts shims in place of commands. Each step is a rename: after a kill at any point, the command still runs, and install and
// uninstall can continue.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { isExecutable, readOptional, removeIfEmpty, syncStrictly } from '../../daemon/core/files.ts';
import {
  findOnPath,
  foreignShim,
  type Installed,
  type Installs,
  isForeignShim,
  readInstalls,
  shimOf,
} from '../store/installs.ts';
import type { Paths } from '../store/paths.ts';
import { planFile } from '../store/plan.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { assertPrivate, createDirectory, withLock, writeAtomic } from '../system/files.ts';
import { isShared, originalsOf } from './check.ts';
import { assertWritable, isSameFile, keepAt, place, readLink } from './move-file.ts';
import { type Programs, recordIn, recoverRecord, shimText } from './shim.ts';

/** Name of the directory for originals next to commands that other users also run. */
const SHARED_ORIGINALS = '.culvert-wrap';

export interface InstallOptions {
  cli: string;
  bin: string;
  authCommand: string;
  /** The npm package, for the hint if the command is missing. */
  npmPackage?: string | undefined;
  paths: Paths;
  programs: Programs;
  /** The value of `PATH`. */
  search: string;
  /** Directory for the shim, if the original stays in its place. */
  directory?: string | undefined;
  /** True to move a script even if it looks for files next to itself. */
  force?: boolean | undefined;
}

export interface InstallResult {
  /** `foreign`: a shim of another user's installation exists, and was left unchanged. */
  change: 'installed' | 'adopted' | 'refreshed' | 'unchanged' | 'foreign';
  bin: string;
  original: string;
  /** True if other users run this command as well. */
  shared: boolean;
}

/**
 * Puts a shim in place of a command, refreshes the shim, or adopts an original with which an upgrade replaced it.
 * @throws WrapError `not-on-path`, `not-writable`, `location-dependent`, `foreign-file`, `foreign-shim`, `unsafe-directory`
 */
export function install(options: InstallOptions): InstallResult {
  const { cli, paths } = options;
  assertPrivate(paths.state);
  return withLock(paths.installs, () => {
    const installs = readInstalls(paths);
    const previous = installs[cli];
    if (previous && isForeignShim(previous.bin, paths)) delete installs[cli];
    const foreign = foreignShim(options.bin, options.search, paths);
    if (!installs[cli] && foreign !== undefined) {
      if (previous) writeInstalls(paths, installs);
      return { change: 'foreign', bin: foreign, original: usableOriginal(foreign, cli), shared: true };
    }
    const old = installs[cli] ?? recoverRecord(cli, options.bin, paths, options.search);
    if (old && shimOf(old.bin) === cli) {
      const entry = shareOriginal(cli, old, paths);
      const text = textFor(options, entry);
      const unchanged = readOptional(entry.bin) === text;
      if (!unchanged) place(paths, entry.bin, stage => writeScript(stage, text));
      if (!installs[cli] || entry !== old) writeInstalls(paths, { ...installs, [cli]: entry });
      if (entry !== old) fs.rmSync(old.original, { force: true });
      const { bin, original } = entry;
      return { change: unchanged ? 'unchanged' : 'refreshed', bin, original, shared: isShared(bin) };
    }
    const adopted = old !== undefined && fs.existsSync(old.bin);
    const file = adopted ? old.bin : findOriginal(options);
    const entry = options.directory ? beside(options, file) : save(options, file, adopted);
    writeInstalls(paths, { ...installs, [cli]: entry });
    if (readOptional(planFile(paths, cli)) === undefined) writeAtomic(planFile(paths, cli), '');
    try {
      place(paths, entry.bin, stage => writeScript(stage, textFor(options, entry)));
    } catch (error) {
      // Only the sync to disk failed: the shim is in place and needs its original.
      if (shimOf(entry.bin) === cli) throw error;
      writeInstalls(paths, installs);
      if (entry.kind !== 'beside' && !old) {
        fs.rmSync(entry.original, { force: true });
        removeIfEmpty(path.dirname(entry.original));
      }
      throw error;
    }
    const done = { bin: entry.bin, original: entry.original, shared: isShared(entry.bin) };
    return { change: adopted ? 'adopted' : 'installed', ...done };
  });
}

/**
 * Returns the original of a shim from another user's installation.
 * @throws WrapError `foreign-shim` if this user can't run the original
 */
function usableOriginal(shim: string, cli: string): string {
  const record = recordIn(shim);
  const usable = record && originalsOf(record).find(isExecutable);
  if (usable !== undefined) return usable;
  const { uid } = fs.statSync(shim);
  throw new WrapError(
    'foreign-shim',
    EXIT.noPermission,
    `${shim} is a shim of the user ${uid}, who keeps its original`,
    {
      hint: `have that user run \`culvert-wrap install ${cli}\` again, or put a ${cli} of your own first on PATH`,
    },
  );
}

/** Reports whether a program looks for files next to itself and would break in another directory. */
function isLocationDependent(file: string): boolean {
  const head = Buffer.alloc(256 * 1024);
  const fd = fs.openSync(file, 'r');
  const text = head.toString('latin1', 0, fs.readSync(fd, head, 0, head.length, 0));
  fs.closeSync(fd);
  if (!text.startsWith('#!')) return text.includes('$ORIGIN');
  return /dirname[^\n]{0,200}\$\{?0|\$\{0%|BASH_SOURCE|__dirname|__file__|FindBin|(?:require\(|from )\s*['"]\.\.?\//.test(
    text,
  );
}

function findOriginal({ cli, bin, search, npmPackage }: InstallOptions): string {
  const program = findOnPath(bin, search);
  if (program) return program;
  throw new WrapError('not-on-path', EXIT.noInput, `${cli} can't be wrapped: there is no command ${bin} on PATH`, {
    hint: `install ${cli} first${npmPackage ? ` (npm install -g ${npmPackage})` : ''}, or add its directory to PATH`,
  });
}

/**
 * Saves the original in the state directory, or next to the shim if other users need it. The command itself stays untouched.
 */
function save(options: InstallOptions, bin: string, adopted: boolean): Installed {
  const { cli, paths } = options;
  assertWritable(path.dirname(bin), cli);
  const stat = fs.lstatSync(bin);
  const shared = !stat.isSymbolicLink() && isShared(bin);
  const directory = shared ? path.join(path.dirname(bin), SHARED_ORIGINALS) : paths.originals;
  const original = path.join(directory, options.bin);
  if (!adopted) assertReplaceable(original, bin, cli);
  if (shared) makeSharedDirectory(directory);
  else createDirectory(directory);
  if (stat.isSymbolicLink()) {
    const link = fs.readlinkSync(bin);
    const stage = `${original}.new`;
    fs.rmSync(stage, { force: true });
    fs.symlinkSync(path.resolve(path.dirname(bin), link), stage);
    fs.renameSync(stage, original);
    syncStrictly(directory);
    return { bin, original, kind: 'link', link, mtime: stat.mtimeMs / 1000 };
  }
  if (!options.force && isLocationDependent(bin)) {
    throw new WrapError(
      'location-dependent',
      EXIT.cannotCreate,
      `${bin} looks for files next to itself and would break if it were moved`,
      {
        hint: `put the shim into another directory that comes earlier on PATH: culvert-wrap install ${cli} --dir ~/.local/bin`,
      },
    );
  }
  keepAt(bin, original);
  return { bin, original, kind: 'file' };
}

/** Moves an original to a place where other users can run it: an earlier version kept it where only this user can. */
function shareOriginal(cli: string, entry: Installed, paths: Paths): Installed {
  const { bin, original, kind } = entry;
  if (kind !== 'file' || path.dirname(original) !== paths.originals || !isShared(bin)) return entry;
  const directory = path.join(path.dirname(bin), SHARED_ORIGINALS);
  const copy = path.join(directory, path.basename(original));
  assertReplaceable(copy, original, cli);
  makeSharedDirectory(directory);
  keepAt(original, copy);
  return { ...entry, original: copy };
}

/**
 * Makes the directory of originals with the rights of its parent.
 * @throws WrapError `unsafe-directory` if another user could replace the originals in it
 */
function makeSharedDirectory(directory: string): void {
  const around = fs.statSync(path.dirname(directory));
  if (!fs.existsSync(directory)) {
    fs.mkdirSync(directory);
    if (process.getuid?.() === 0) fs.chownSync(directory, around.uid, around.gid);
    fs.chmodSync(directory, around.mode & 0o775);
  }
  const stat = fs.lstatSync(directory);
  const owners = [0, around.uid, process.getuid?.()];
  if (stat.isDirectory() && owners.includes(stat.uid) && (stat.mode & 0o022 & ~around.mode) === 0) return;
  throw new WrapError('unsafe-directory', EXIT.noPermission, `${directory} can't be used: others can change it`, {
    hint: 'remove it, then install again',
  });
}

/** Keeps `install` from overwriting the original of an installation without a record, unless it is the same command. */
function assertReplaceable(original: string, bin: string, cli: string): void {
  const existing = fs.lstatSync(original, { throwIfNoEntry: false });
  if (!existing) return;
  const link = readLink(original);
  const same =
    link === undefined
      ? isSameFile(original, bin)
      : !fs.existsSync(original) || fs.realpathSync(original) === fs.realpathSync(bin);
  if (same) return;
  throw new WrapError('original-kept', EXIT.cannotCreate, `${original} is kept from another installation of ${cli}`, {
    hint: `move it away if ${bin} is the command to wrap, then install again`,
  });
}

function beside(options: InstallOptions, original: string): Installed {
  const dir = path.resolve(options.directory!);
  const bin = path.join(dir, options.bin);
  assertWritable(dir, options.cli);
  if (bin === original) {
    throw new WrapError('foreign-file', EXIT.usage, `${bin} is the original itself`, {
      hint: 'leave --dir out, or name another directory',
    });
  }
  if (fs.lstatSync(bin, { throwIfNoEntry: false }) && shimOf(bin) === undefined) {
    throw new WrapError('foreign-file', EXIT.cannotCreate, `${bin} exists and is not the wrapper's`, {
      hint: 'remove it or choose another directory',
    });
  }
  return { bin, original: original, kind: 'beside' };
}

function writeScript(file: string, text: string): void {
  const fd = fs.openSync(file, 'wx', 0o755);
  fs.writeFileSync(fd, text);
  fs.fchmodSync(fd, 0o755);
  fs.fsyncSync(fd);
  fs.closeSync(fd);
}

function textFor(options: InstallOptions, entry: Installed): string {
  return shimText(options.cli, entry, options.authCommand, options);
}

function writeInstalls(paths: Paths, installs: Installs): void {
  if (Object.keys(installs).length > 0) writeAtomic(paths.installs, `${JSON.stringify(installs)}\n`);
  else fs.rmSync(paths.installs, { force: true });
}
