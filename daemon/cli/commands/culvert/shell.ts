// Runs `culvert shell`, which installs and enables this user's GNOME Shell tile, and removes exactly the files it wrote.
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { userData } from '../../../apps/data-home.ts';
import { assertOwn, makeDirectory, removeIfEmpty } from '../../../core/files.ts';
import { runsSystemd } from '../../../core/process.ts';
import { runHelper } from '../../../core/run-helper.ts';
import { INSTALL_FORMAT, prefix, programs, stablePrefix } from '../../../system/installation.ts';
import { paths } from '../../../system/paths.ts';
import { writeEntry } from '../../../update/installation.ts';
import {
  EMPTY_RECORD,
  type Entry,
  isForeign,
  missingDirectories,
  readRecord,
  stateOf,
  toRecorded,
  withPrevious,
  writeRecord,
} from '../../../update/record.ts';
import { quote } from '../../../view/fix.ts';
import { type Run, show } from '../../context.ts';
import { EXIT, Failure, usage } from '../../errors.ts';
import { columns } from '../../layout.ts';

export const listShells: Run = async context => {
  const { name, title, status } = gnome;
  const state = await status(placeOf(context.env));
  const { bold, dim } = context.style;
  show(context, { shells: [{ name, title, ...state }] }, () =>
    columns(
      [
        ['NAME', 'STATE', 'WHAT'],
        [
          name,
          state.installed ? (state.on ? 'on' : 'off') : 'not installed',
          state.note ? `${title}. ${state.note}` : title,
        ],
      ],
      (text, column, row) => (row ? (column === 0 ? bold(text) : text) : dim(text)),
      context.width,
    ),
  );
  return EXIT.ok;
};

export const installShell: Run = async (context, [name]) => {
  assertKnown(name);
  const lines = await gnome.install(placeOf(context.env));
  show(context, { name, lines }, () => lines.join('\n'));
  return EXIT.ok;
};

export const removeShell: Run = async (context, [name]) => {
  if (name !== undefined) assertKnown(name);
  const place = placeOf(context.env);
  const lines = await gnome.remove(place);
  show(context, { lines }, () => lines.join('\n') || 'Nothing is installed.');
  return EXIT.ok;
};

function assertKnown(name: string | undefined): void {
  if (name !== gnome.name) throw usage(`There is no shell "${name}".`, `There are: ${gnome.name}`);
}

const LIMIT_MS = 10_000;
const UUID = 'culvert@culvert.org';
const LOG_OUT = 'Log out and in again: GNOME Shell looks for new extensions when it starts.';
const OLD = 'This version of GNOME Shell is not supported.';

/** Values of `state` in org.gnome.Shell.Extensions. */
const STATES: Readonly<Record<number, 'on' | 'error' | 'old'>> = { 1: 'on', 3: 'error', 4: 'old' };

interface Status {
  installed: boolean;
  on: boolean;
  /** A sentence about the remaining steps, or null. */
  note: string | null;
}

export interface Place {
  env: NodeJS.ProcessEnv;
  /** `<prefix>/share`, by a path that stays the same across versions. */
  share: string;
  /** File of the running AppImage, if any: `share` disappears when it ends, and no bus can start its programs. */
  image: string | null;
  /** True if the desktop finds `share` without a link, as part of the system. */
  isSystem: boolean;
  /** `$XDG_DATA_HOME`. */
  data: string;
  /** Directory of the lists of written files. */
  records: string;
}

/** @throws Failure without a home */
function placeOf(env: NodeJS.ProcessEnv): Place {
  const data = userData(env);
  if (!data) throw new Failure('Neither XDG_DATA_HOME nor HOME is set, so there is no place to install to.');
  const share = join(stablePrefix(prefix), 'share');
  const directories = (env.XDG_DATA_DIRS || '/usr/local/share:/usr/share').split(':').filter(isAbsolute);
  const image = INSTALL_FORMAT === 'appimage' ? programs.culvert : null;
  return {
    env,
    share,
    image,
    isSystem: !image && directories.some(directory => join(directory, '.') === join(share, '.')),
    data,
    records: join(paths(env).state, 'shells'),
  };
}

export const gnome = {
  name: 'gnome',
  title: 'a tile in the quick settings of GNOME Shell 43 to 51',

  async status(place: Place): Promise<Status> {
    const installed = existsSync(join(directoryOf(place), 'metadata.json'));
    const on = installed && ((await setting(place, 'enabled-extensions')) ?? []).includes(UUID);
    const state = on ? await stateIn(place) : 'on';
    return { installed, on, note: state === 'on' ? null : noteOn(state) };
  },

  /**
   * Installs the tile for this user, and turns it on.
   * @returns sentences about the result and the remaining steps
   * @throws Failure
   */
  async install(place: Place): Promise<string[]> {
    // before writing anything
    if ((await setting(place, 'enabled-extensions')) === null)
      throw new Failure('GNOME Shell is not installed here.', {
        hint: 'Its settings are read with the command gsettings.',
      });
    if (!existsSync(extensionIn(place.share)))
      throw new Failure(`This Culvert has no extension: there is no ${extensionIn(place.share)}.`);
    if (!place.isSystem) putFiles(recordOf(place), filesOf(place));
    // a running Shell writes the settings itself, unless the extension is new to it
    await inShell(place, 'EnableExtension', UUID);
    await change(place, 'enabled-extensions', list => [...list.filter(id => id !== UUID), UUID]);
    await change(place, 'disabled-extensions', list => list.filter(id => id !== UUID));
    const off = (await read(place, ['get', 'org.gnome.shell', 'disable-user-extensions']))?.trim() === 'true';
    const state = await stateIn(place);
    return [
      `The tile is installed in ${directoryOf(place)} and turned on.`,
      ...(off ? ['GNOME’s extensions are turned off altogether: turn them on in the app Extensions.'] : []),
      ...(state === 'on' || off ? [] : [noteOn(state)]),
    ];
  },

  /** Turns the tile off, and removes the files of `install`. @returns as `install`; empty if there is nothing to do */
  async remove(place: Place): Promise<string[]> {
    // reading the settings creates a file, so read them only for users with the tile
    const hasRecord = existsSync(recordOf(place));
    if (!hasRecord && !place.isSystem) return [];
    if (!hasRecord && !(await setting(place, 'enabled-extensions'))?.includes(UUID)) return [];
    await inShell(place, 'DisableExtension', UUID);
    for (const key of ['enabled-extensions', 'disabled-extensions'])
      await change(place, key, list => list.filter(id => id !== UUID));
    const kept = removeFiles(recordOf(place));
    return [
      place.isSystem ? 'The tile is turned off; its files belong to the package.' : 'The tile is removed.',
      ...(kept.length > 0 ? [`Left as they are, because they were changed since: ${kept.join(', ')}`] : []),
    ];
  },
};

const extensionIn = (share: string) => join(share, 'gnome-shell/extensions', UUID);
const directoryOf = ({ isSystem, share, data }: Place) => extensionIn(isSystem ? share : data);
const recordOf = ({ records }: Place) => join(records, 'gnome.json');

/** Returns a link, so that updates include the tile, or for an AppImage copies, and services that start its programs. */
function filesOf(place: Place): Entry[] {
  const { share, data, image } = place;
  const [from, to] = [extensionIn(share), extensionIn(data)];
  if (!image) return [{ path: to, link: from }];
  return [
    ...copies(from, to, name => !/^(icons|locale)(\/|$)/.test(name)),
    ...copies(join(share, 'icons/hicolor/scalable/status'), join(to, 'icons')),
    ...copies(join(share, 'locale'), join(to, 'locale'), name => name.endsWith('/culvert.mo')),
    ...imageServices(place, image),
  ];
}

function noteOn(state: 'error' | 'old' | 'absent'): string {
  if (state === 'absent') return LOG_OUT;
  if (state === 'old') return OLD;
  const log = runsSystemd() ? 'its journal says why: journalctl --user -b -g culvert' : 'its output says why';
  return `GNOME Shell could not load it; ${log}`;
}

/** Returns the extension's state in the running Shell; `absent` also without a Shell. */
async function stateIn(place: Place): Promise<'on' | 'error' | 'old' | 'absent'> {
  const info = await inShell(place, 'GetExtensionInfo', UUID);
  const number = /'state': <(\d+)(?:\.0)?>/.exec(info ?? '')?.[1];
  return number === undefined ? 'absent' : (STATES[Number(number)] ?? 'on');
}

/** Calls org.gnome.Shell.Extensions. @returns the answer in GVariant's text format; null without a Shell */
function inShell({ env }: Place, method: string, argument: string): Promise<string | null> {
  const at = ['--dest', 'org.gnome.Shell', '--object-path', '/org/gnome/Shell'];
  const words = ['call', '--session', ...at, '--method', `org.gnome.Shell.Extensions.${method}`, argument];
  return output('gdbus', words, env);
}

/** Reads a list in the Shell's settings; null if the Shell is not installed. */
async function setting(place: Place, key: string): Promise<string[] | null> {
  const text = await read(place, ['get', 'org.gnome.shell', key]);
  // GVariant's text format quotes such strings unchanged: '@as []' or "['a@b', 'c@d']"
  return text === null ? null : [...text.matchAll(/'([^']*)'/g)].map(([, id]) => id!);
}

async function change(place: Place, key: string, to: (list: string[]) => string[]): Promise<void> {
  const before = (await setting(place, key)) ?? [];
  const after = to(before);
  if (after.length === before.length && after.every(id => before.includes(id))) return;
  await read(place, ['set', 'org.gnome.shell', key, `[${after.map(id => `'${id}'`).join(', ')}]`]);
}

const read = ({ env }: Place, words: string[]) => output('gsettings', words, env);

/** Returns service files for the session bus to start an AppImage's programs. */
function imageServices({ data }: Place, image: string): Entry[] {
  const service = (name: string, words: string): Entry => ({
    path: join(data, 'dbus-1/services', `${name}.service`),
    text: `[D-BUS Service]\nName=${name}\nExec=${quote([image])} --bus-service ${words}\n`,
  });
  return [service('org.culvert.Client1', 'bridge'), service('org.culvert.Culvert', 'panel --gapplication-service')];
}

/** Returns a program's output; null if it failed or is missing. */
async function output(program: string, words: string[], env: NodeJS.ProcessEnv): Promise<string | null> {
  const { exit, stdout } = await runHelper([program, ...words], { env, timeoutMs: LIMIT_MS });
  return exit === 0 ? stdout : null;
}

/**
 * Writes the entries, and removes obsolete entries of an earlier run.
 * @param record file of the list
 * @throws Failure before changing anything, if other programs' files are in the way
 */
export function putFiles(record: string, planned: readonly Entry[]): void {
  assertOwn(dirname(record), ...planned.map(({ path }) => dirname(path)));
  const before = readRecord({ record }) ?? EMPTY_RECORD;
  const foreign = planned.filter(entry => isForeign(entry, before)).map(({ path }) => path);
  if (foreign.length > 0)
    throw new Failure(`Files that Culvert did not write are in the way: ${foreign.join(', ')}. Nothing was changed.`, {
      hint: 'Move them away, then try again.',
    });
  const paths = new Set(planned.map(({ path }) => path));
  const obsolete = before.entries.filter(({ path }) => !paths.has(path));
  const directories = [...new Set([...before.directories, ...missingDirectories([...paths, record])])].sort();
  const either = planned.map(entry => withPrevious(toRecorded(entry), before));
  makeDirectory(dirname(record));
  writeRecord({ record }, { pending: true, entries: [...either, ...obsolete], directories });
  for (const entry of planned) writeEntry(entry);
  for (const entry of obsolete) if (stateOf(entry) === 'ours') rmSync(entry.path, { force: true });
  writeRecord({ record }, { pending: false, entries: planned.map(toRecorded), directories });
}

/** Removes the files of the list, except changed files. @returns the paths of the changed files */
function removeFiles(record: string): string[] {
  const { entries, directories } = readRecord({ record }) ?? EMPTY_RECORD;
  const changed = entries.filter(entry => stateOf(entry) === 'foreign').map(({ path }) => path);
  for (const entry of entries) if (stateOf(entry) === 'ours') rmSync(entry.path, { force: true });
  rmSync(record, { force: true });
  for (const directory of [...directories].reverse()) removeIfEmpty(directory);
  return changed;
}

/** Returns copies of the files below a directory, including the targets of links. */
function copies(from: string, to: string, wanted: (name: string) => boolean = () => true): Entry[] {
  if (!existsSync(from)) return [];
  return readdirSync(from, { recursive: true, encoding: 'utf8' })
    .filter(name => wanted(name) && !statSync(join(from, name)).isDirectory())
    .map(name => ({ path: join(to, name), text: readFileSync(join(from, name)) }));
}
