// Checks the desktop: a display, the libraries of the panel, and a host for the tray.
import * as z from 'zod/mini';
import { N_ } from '../../../view/translator.ts';
import { type Check, message, notApplicable, notice, ok, problem, quoted, Unknown } from '../../check.ts';
import type { World } from '../../world/world.ts';

/** Runs in GJS, like panel and tray, so that it finds what they find. */
const PROBE = `
const { Gio, GLib } = imports.gi;
const report = { missing: [], host: null };
for (const [name, version] of [['Gtk', '4.0'], ['Adw', '1']]) {
  try { imports.gi.versions[name] = version; imports.gi[name]; } catch (e) { report.missing.push(name + ' ' + version); }
}
try {
  const bus = Gio.bus_get_sync(Gio.BusType.SESSION, null);
  const has = bus.call_sync('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus', 'NameHasOwner',
    new GLib.Variant('(s)', ['org.kde.StatusNotifierWatcher']), null, Gio.DBusCallFlags.NONE, 2000, null);
  report.host = has.deepUnpack()[0];
} catch (e) {}
print(JSON.stringify(report));
`;
const Found = z.object({ missing: z.array(z.string()), host: z.nullable(z.boolean()) });
const INSTALL = message(
  'Install it: %s',
  'apt install gjs gir1.2-adw-1 gir1.2-gtk-4.0 (Fedora: dnf install gjs libadwaita; Arch: pacman -S gjs libadwaita)',
);
/** GTK takes its time on a machine that has just started. */
const LIMIT_MS = 15_000;

const hasDisplay = ({ env }: World) => Boolean(env.WAYLAND_DISPLAY || env.DISPLAY);

export const display: Check = {
  id: 'display',
  title: N_('Display'),
  group: 'desktop',
  source: null,
  async probe(world) {
    const { env } = world;
    if (!hasDisplay(world))
      return notice(
        [message('none, so panel and tray cannot be shown')],
        message('A machine without a screen needs no display: use the command line.'),
      );
    return ok(quoted(env.WAYLAND_DISPLAY ? `Wayland ${env.WAYLAND_DISPLAY}` : `X11 ${env.DISPLAY}`));
  },
};

function askGjs(world: World): Promise<z.infer<typeof Found> | null> {
  return world.once('gjs', async () => {
    if (!world.tools.has('gjs')) return null;
    const { stdout } = await world.tools.run('gjs', ['-c', PROBE], { limitMs: LIMIT_MS });
    try {
      return z.parse(Found, JSON.parse(stdout));
    } catch {
      return null; // it does not run
    }
  });
}

export const panel: Check = {
  id: 'panel',
  title: N_('Libraries of the panel'),
  group: 'desktop',
  source: null,
  limitMs: LIMIT_MS,
  async probe(world) {
    if (!hasDisplay(world)) return notApplicable(message('There is no display.'));
    const answer = await askGjs(world);
    if (!answer) return problem([message('gjs is missing or does not run')], INSTALL);
    if (answer.missing.length > 0) return problem([message('missing: %s', answer.missing.join(', '))], INSTALL);
    return ok(message('gjs, GTK 4 and libadwaita are there'));
  },
};

export const tray: Check = {
  id: 'tray',
  title: N_('Tray'),
  group: 'desktop',
  source: null,
  limitMs: LIMIT_MS,
  async probe(world) {
    if (!hasDisplay(world)) return notApplicable(message('There is no display.'));
    const answer = await askGjs(world);
    if (!answer) throw new Unknown(message('gjs is missing or does not run'));
    if (answer.host) return ok(message('the desktop shows tray icons'));
    return answer.host === null
      ? notice([message('no session bus')], message('Start Culvert inside the desktop session.'))
      : notice(
          [message('the desktop shows no tray icons')],
          message('On GNOME, install the extension AppIndicator and KStatusNotifierItem Support.'),
        );
  },
};
