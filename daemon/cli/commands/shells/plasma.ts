// The applet of Plasma: puts it where Plasma looks for those of a user, as kpackagetool6 does.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Entry } from '../../../update/user/integration.ts';
import { Failure } from '../../errors.ts';
import { copies, links, putFiles, removeFiles } from './files.ts';
import { type Integration, imageServices, output, type Place, type Status, systemData } from './integration.ts';

const ID = 'org.culvert.Culvert';
/** The first with what the applet needs (data/doc/decisions.md). */
const NEEDED: readonly [number, number] = [6, 4];
const ADD = 'Add it to a panel: right-click the panel, choose “Add or Manage Widgets…”, and search for Culvert.';

export const plasma: Integration = {
  name: 'plasma',
  title: 'an applet for the panel of Plasma 6.4 or newer',

  async status(place): Promise<Status> {
    const installed = existsSync(join(directoryOf(place), 'metadata.json'));
    const on = installed && isInPanel(place);
    if (!installed) return { installed, on, note: null };
    const old = oldNote(versionOf(place));
    return { installed, on, note: old ?? (on ? null : ADD) };
  },

  async install(place) {
    // before anything is written
    const version = versionOf(place);
    if (version === null)
      throw new Failure('Plasma is not installed here.', {
        hint: 'There is no session of Plasma in /usr/share/wayland-sessions or xsessions.',
      });
    const old = oldNote(version);
    if (old) throw new Failure(old, { hint: 'Plasma’s tray shows the icon of Culvert: turn it on in the settings.' });
    if (!existsSync(appletIn(place.share)))
      throw new Failure(`This Culvert has no applet: there is no ${appletIn(place.share)}.`);
    if (!place.isSystem) putFiles(recordOf(place), filesOf(place));
    await announce(place, 'packageInstalled');
    return [`The applet is installed in ${directoryOf(place)}.`, ...(isInPanel(place) ? [] : [ADD])];
  },

  async remove(place) {
    if (!existsSync(recordOf(place))) return [];
    const kept = removeFiles(recordOf(place));
    await announce(place, 'packageUninstalled');
    return [
      'The applet is removed.',
      ...(isInPanel(place) ? ['A panel still has a place for it: remove it there as well.'] : []),
      ...(kept.length > 0 ? [`Left as they are, because they were changed since: ${kept.join(', ')}`] : []),
    ];
  },
};

const appletIn = (share: string) => join(share, 'plasma/plasmoids', ID);
const directoryOf = ({ isSystem, share, data }: Place) => appletIn(isSystem ? share : data);
const recordOf = ({ records }: Place) => join(records, 'plasma.json');

/** Links, so that an update brings a new applet; of an AppImage copies, and what starts its programs over the bus. */
function filesOf(place: Place): Entry[] {
  const { share, data, image } = place;
  const isCatalog = (name: string) => name.endsWith('/culvert.mo');
  const locale = [join(share, 'locale'), join(data, 'locale')] as const;
  if (!image) return [{ path: appletIn(data), link: appletIn(share) }, ...links(...locale, isCatalog)];
  const icons = 'icons/hicolor';
  return [
    ...copies(appletIn(share), appletIn(data)),
    ...copies(...locale, isCatalog),
    ...copies(join(share, icons), join(data, icons), name => name.endsWith('.svg')),
    ...imageServices(place, image),
  ];
}

/** Sentence on a Plasma that can't show the applet; null for one that can, and where Plasma is missing. */
function oldNote(version: readonly [number, number] | null): string | null {
  if (!version) return null;
  const isOld = version[0] === NEEDED[0] ? version[1] < NEEDED[1] : version[0] < NEEDED[0];
  return isOld ? `The applet needs Plasma ${NEEDED.join('.')} or newer, and this is ${version.join('.')}.` : null;
}

/** By the descriptions of its sessions: `plasmashell --version` needs a display, and crashes without. */
function versionOf({ env }: Place): [number, number] | null {
  for (const directory of systemData(env).flatMap(data => [join(data, 'wayland-sessions'), join(data, 'xsessions')]))
    for (const name of existsSync(directory) ? readdirSync(directory) : []) {
      if (!/^plasma.*\.desktop$/.test(name)) continue;
      const text = readFileSync(join(directory, name), 'utf8');
      const [, major, minor] = /^X-KDE-PluginInfo-Version=(\d+)\.(\d+)/m.exec(text) ?? [];
      if (major !== undefined) return [Number(major), Number(minor)];
    }
  return null;
}

/** True where the settings of Plasma have it in a panel or on the desktop. */
function isInPanel({ config }: Place): boolean {
  try {
    const text = readFileSync(join(config, 'plasma-org.kde.plasma.desktop-appletsrc'), 'utf8');
    return text.split('\n').includes(`plugin=${ID}`);
  } catch {
    return false;
  }
}

/** The signal of KPackage (packagejob.cpp), with which an open list of widgets follows. */
async function announce({ env }: Place, what: 'packageInstalled' | 'packageUninstalled'): Promise<void> {
  const signal = ['--object-path', '/KPackage/Plasma/Applet', '--signal', `org.kde.plasma.kpackage.${what}`];
  await output('gdbus', ['emit', '--session', ...signal, ID], env);
}
