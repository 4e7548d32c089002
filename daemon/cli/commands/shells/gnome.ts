// The tile in the quick settings of GNOME Shell: puts its extension where the Shell looks, and turns it on.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Entry } from '../../../update/user/integration.ts';
import { Failure } from '../../errors.ts';
import { copies, putFiles, removeFiles } from './files.ts';
import { type Integration, imageServices, output, type Place, type Status } from './integration.ts';

const UUID = 'culvert@culvert.org';
const LOG_OUT = 'Log out and in again: GNOME Shell looks for new extensions when it starts.';
const OLD = 'This version of GNOME Shell is not supported.';

/** Numbers of `state` of org.gnome.Shell.Extensions. */
const STATES: Readonly<Record<number, 'on' | 'error' | 'old'>> = { 1: 'on', 3: 'error', 4: 'old' };

export const gnome: Integration = {
  name: 'gnome',
  title: 'a tile in the quick settings of GNOME Shell 43 to 51',

  async status(place): Promise<Status> {
    const installed = existsSync(join(directoryOf(place), 'metadata.json'));
    const on = installed && ((await setting(place, 'enabled-extensions')) ?? []).includes(UUID);
    const state = on ? await stateIn(place) : 'on';
    return { installed, on, note: state === 'on' ? null : noteOn(state) };
  },

  async install(place) {
    // before anything is written
    if ((await setting(place, 'enabled-extensions')) === null)
      throw new Failure('GNOME Shell is not installed here.', {
        hint: 'Its settings are read with the command gsettings.',
      });
    if (!existsSync(extensionIn(place.share)))
      throw new Failure(`This Culvert has no extension: there is no ${extensionIn(place.share)}.`);
    if (!place.isSystem) putFiles(recordOf(place), filesOf(place));
    // a running Shell writes the settings itself; this also serves one that doesn't know the extension yet
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

  async remove(place) {
    // merely reading the settings creates a file, so they are read only for users who have the tile
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

/** A link, so that an update brings a new tile; of an AppImage copies, and what starts its programs over the bus. */
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
  return state === 'old' ? OLD : 'GNOME Shell could not load it; its journal says why: journalctl --user -b -g culvert';
}

/** State of the extension in the running Shell: `absent` also where none runs. */
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

/** A list of the settings of the Shell; null if it is not installed. */
async function setting(place: Place, key: string): Promise<string[] | null> {
  const text = await read(place, ['get', 'org.gnome.shell', key]);
  // GVariant's text format quotes such strings as they are: '@as []' or "['a@b', 'c@d']"
  return text === null ? null : [...text.matchAll(/'([^']*)'/g)].map(([, id]) => id!);
}

async function change(place: Place, key: string, to: (list: string[]) => string[]): Promise<void> {
  const before = (await setting(place, key)) ?? [];
  const after = to(before);
  if (after.length === before.length && after.every(id => before.includes(id))) return;
  await read(place, ['set', 'org.gnome.shell', key, `[${after.map(id => `'${id}'`).join(', ')}]`]);
}

const read = ({ env }: Place, words: string[]) => output('gsettings', words, env);
