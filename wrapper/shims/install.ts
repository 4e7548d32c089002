// Puts shims in place and takes them away again. Each step is a rename, so that a kill at any point leaves a command that
// runs and a state from which install and uninstall both go on.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { EXIT, reason, say, WrapError } from '../errors.ts';
import { assertPrivate, readText, syncDirectory, withLock, writeAtomic } from '../store/files.ts';
import { findOnPath, type Installed, type Installs, readInstalls, shimOf } from '../store/installs.ts';
import type { Paths } from '../store/paths.ts';
import { planFile } from '../store/plan.ts';
import { assertWritable, linkOrCopy, moveBack, place } from './move-file.ts';
import { type Programs, recordIn, shimText } from './shim.ts';

export interface InstallOptions {
  cli: string;
  bin: string;
  authCommand: string;
  /** Of npm, for the hint when the command is not there. */
  npmPackage?: string | undefined;
  paths: Paths;
  programs: Programs;
  /** `PATH` */
  search: string;
  /** Put the shim into this directory and leave the original alone. */
  directory?: string | undefined;
  /** Move a script although it looks for files beside itself. */
  force?: boolean | undefined;
}

export interface InstallResult {
  change: 'installed' | 'adopted' | 'refreshed' | 'unchanged';
  bin: string;
  original: string;
}

export interface UninstallResult {
  change: 'restored' | 'removed' | 'kept-foreign' | 'not-installed';
  bin?: string;
  /** The original, when a foreign file keeps it from its place. */
  kept?: string;
}

/**
 * Puts a shim in place of a command, or refreshes it, or adopts an original that an upgrade has put over it.
 * @throws WrapError `not-on-path`, `not-writable`, `location-dependent`, `foreign-file`
 */
export function install(options: InstallOptions): InstallResult {
  const { cli, paths } = options;
  assertPrivate(paths.state);
  return withLock(paths.installs, () => {
    const installs = readInstalls(paths);
    const old = installs[cli] ?? recover(cli, options.bin, options.search);
    if (old && shimOf(old.bin) === cli) {
      const text = textFor(options, old);
      if (!installs[cli]) writeAtomic(paths.installs, `${JSON.stringify({ ...installs, [cli]: old })}\n`);
      if (readText(old.bin) === text) return { change: 'unchanged', bin: old.bin, original: old.original };
      place(paths, old.bin, stage => writeScript(stage, text));
      return { change: 'refreshed', bin: old.bin, original: old.original };
    }
    const adopted = old !== undefined && fs.existsSync(old.bin);
    const found = adopted ? old.bin : findOriginal(options);
    if (!adopted && !options.directory) assertReplaceable(path.join(paths.originals, options.bin), found, cli);
    const entry = options.directory ? beside(options, found) : save(options, found);
    installs[cli] = entry;
    writeAtomic(paths.installs, `${JSON.stringify(installs)}\n`);
    if (readText(planFile(paths, cli)) === undefined) writeAtomic(planFile(paths, cli), '');
    place(paths, entry.bin, stage => writeScript(stage, textFor(options, entry)));
    return { change: adopted ? 'adopted' : 'installed', bin: entry.bin, original: entry.original };
  });
}

/**
 * Takes a shim away and puts the original back, with its inode, times and mode where the file systems allow. A file that
 * somebody else put in the shim's place is left alone.
 * @param bin the command's name, to look for its shim when the records are lost
 * @throws WrapError `original-missing`, `not-writable`
 */
export function uninstall(cli: string, bin: string, paths: Paths, search: string): UninstallResult {
  const result = withLock(paths.installs, (): UninstallResult => {
    const installs = readInstalls(paths);
    const entry = installs[cli] ?? recover(cli, bin, search);
    if (!entry) return { change: 'not-installed' };
    const done = takeAway(cli, entry, paths);
    if (entry.kind === 'link') fs.rmSync(entry.original, { force: true });
    removePlans(paths, cli);
    delete installs[cli];
    if (Object.keys(installs).length > 0) record(paths, installs);
    else fs.rmSync(paths.installs, { force: true });
    return done;
  });
  for (const dir of [paths.originals, paths.plans, paths.state]) removeIfEmpty(dir);
  return result;
}

/** Whether a program looks for files beside itself, so that it would break in another directory. */
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

/** The record that a shim on `PATH` carries, for when the state directory has been lost. */
function recover(cli: string, bin: string, search: string): Installed | undefined {
  return search
    .split(':')
    .map(dir => path.resolve(dir || '.', bin))
    .filter(file => shimOf(file) === cli)
    .map(recordIn)
    .find(record => record !== undefined && shimOf(record.bin) === cli);
}

function findOriginal({ cli, bin, search, npmPackage }: InstallOptions): string {
  const found = findOnPath(bin, search);
  if (found) return found;
  throw new WrapError('not-on-path', EXIT.noInput, `${cli} can't be wrapped: there is no command ${bin} on PATH`, {
    hint: `install ${cli} first${npmPackage ? ` (npm install -g ${npmPackage})` : ''}, or add its directory to PATH`,
  });
}

/** Keeps the original in the state directory. The command itself is still untouched. */
function save(options: InstallOptions, bin: string): Installed {
  const { cli, paths } = options;
  assertWritable(path.dirname(bin), cli);
  const original = path.join(paths.originals, options.bin);
  const stage = `${original}.new`;
  fs.mkdirSync(paths.originals, { recursive: true, mode: 0o700 });
  fs.rmSync(stage, { force: true });
  const stat = fs.lstatSync(bin);
  if (stat.isSymbolicLink()) {
    const link = fs.readlinkSync(bin);
    fs.symlinkSync(path.resolve(path.dirname(bin), link), stage);
    fs.renameSync(stage, original);
    return { bin, original, kind: 'link', link, mtime: stat.mtimeMs / 1000 };
  }
  if (!options.force && isLocationDependent(bin)) {
    throw new WrapError(
      'location-dependent',
      EXIT.cannotCreate,
      `${bin} looks for files beside itself and would break if it were moved`,
      {
        hint: `put the shim into another directory that comes earlier on PATH: culvert-wrap install ${cli} --dir ~/.local/bin`,
      },
    );
  }
  linkOrCopy(bin, stage, stat);
  fs.renameSync(stage, original);
  syncDirectory(paths.originals);
  return { bin, original, kind: 'file' };
}

function beside(options: InstallOptions, found: string): Installed {
  const dir = path.resolve(options.directory!);
  const bin = path.join(dir, options.bin);
  assertWritable(dir, options.cli);
  if (bin === found) {
    throw new WrapError('foreign-file', EXIT.usage, `${bin} is the original itself`, {
      hint: 'leave --dir out, or name another directory',
    });
  }
  if (fs.lstatSync(bin, { throwIfNoEntry: false }) && shimOf(bin) === undefined) {
    throw new WrapError('foreign-file', EXIT.cannotCreate, `${bin} exists and is not the wrapper's`, {
      hint: 'remove it or choose another directory',
    });
  }
  return { bin, original: found, kind: 'beside' };
}

function takeAway(cli: string, entry: Installed, paths: Paths): UninstallResult {
  const { bin } = entry;
  const present = fs.lstatSync(bin, { throwIfNoEntry: false }) !== undefined;
  const ours = shimOf(bin) === cli;
  if (entry.kind === 'beside') {
    if (ours) fs.rmSync(bin, { force: true });
    return { change: 'removed', bin };
  }
  // The CLI has been removed altogether: a link to nothing can't be brought back.
  if (!present && entry.kind === 'link' && !fs.existsSync(entry.original)) return { change: 'removed', bin };
  if (ours || !present) {
    restore(entry, paths);
    return { change: 'restored', bin };
  }
  const saved = entry.kind === 'file' && fs.existsSync(entry.original);
  // A kill between saving and placing the shim leaves two names of one file.
  if (saved && sameFile(entry.original, bin)) {
    fs.rmSync(entry.original, { force: true });
    return { change: 'restored', bin };
  }
  if (entry.kind === 'link' && readLink(bin) === entry.link) return { change: 'restored', bin };
  return { change: 'kept-foreign', bin, ...(saved && { kept: entry.original }) };
}

function restore(entry: Installed, paths: Paths): void {
  if (entry.kind === 'link') {
    place(paths, entry.bin, stage => {
      fs.symlinkSync(entry.link!, stage);
      fs.lutimesSync(stage, entry.mtime!, entry.mtime!);
    });
  } else if (fs.lstatSync(entry.original, { throwIfNoEntry: false })) moveBack(paths, entry.original, entry.bin);
  else {
    throw new WrapError(
      'original-missing',
      EXIT.unavailable,
      `the original of ${entry.bin} is missing (${entry.original})`,
      { hint: 'install the CLI again over the shim, then uninstall' },
    );
  }
}

function sameFile(a: string, b: string): boolean {
  const [one, other] = [fs.statSync(a), fs.statSync(b)];
  if (one.ino === other.ino && one.dev === other.dev) return true;
  return one.size === other.size && fs.readFileSync(a).equals(fs.readFileSync(b));
}

function readLink(file: string): string | undefined {
  try {
    return fs.readlinkSync(file);
  } catch {
    return undefined;
  }
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

function removeIfEmpty(dir: string): void {
  try {
    fs.rmdirSync(dir);
  } catch {
    // Not empty, or not there.
  }
}

/** Plans, shortcuts and stamps of a CLI: everything in their directory that carries its name. */
function removePlans(paths: Paths, cli: string): void {
  const names = fs.existsSync(paths.plans) ? fs.readdirSync(paths.plans) : [];
  const own = [
    cli,
    `${cli}.sh`,
    ...['config', 'user', 'shipped'].flatMap(name => [`.${cli}.${name}`, `.${cli}.${name}.time`]),
  ];
  for (const name of names) if (own.includes(name)) fs.rmSync(path.join(paths.plans, name), { force: true });
}

/** A full disk must not keep anybody from uninstalling: what stays recorded is only reported as replaced. */
function record(paths: Paths, installs: Installs): void {
  try {
    writeAtomic(paths.installs, `${JSON.stringify(installs)}\n`);
  } catch (error) {
    say(`${paths.installs} could not be updated: ${reason(error)}`);
  }
}

/** What is kept from an installation whose record is lost is not overwritten, unless it is the same command. */
function assertReplaceable(original: string, bin: string, cli: string): void {
  const kept = fs.lstatSync(original, { throwIfNoEntry: false });
  if (!kept) return;
  const link = readLink(original);
  const same =
    link === undefined
      ? sameFile(original, bin)
      : !fs.existsSync(original) || fs.realpathSync(original) === fs.realpathSync(bin);
  if (same) return;
  throw new WrapError('original-kept', EXIT.cannotCreate, `${original} is kept from another installation of ${cli}`, {
    hint: `move it away if ${bin} is the command to wrap, then install again`,
  });
}
