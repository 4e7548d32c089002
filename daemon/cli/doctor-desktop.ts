// What `culvert doctor` looks at on the desktop: a display, the libraries of the panel, and a host for the tray.
import type { Check } from './doctor.ts';

/** Runs in GJS, which panel and tray run in as well, so that what it finds is what they find. */
const PROBE = `
const { Gio, GLib } = imports.gi;
const found = { missing: [], host: null };
for (const [name, version] of [['Gtk', '4.0'], ['Adw', '1']]) {
  try { imports.gi.versions[name] = version; imports.gi[name]; } catch (e) { found.missing.push(name + ' ' + version); }
}
try {
  const bus = Gio.bus_get_sync(Gio.BusType.SESSION, null);
  const has = bus.call_sync('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus', 'NameHasOwner',
    new GLib.Variant('(s)', ['org.kde.StatusNotifierWatcher']), null, Gio.DBusCallFlags.NONE, 2000, null);
  found.host = has.deepUnpack()[0];
} catch (e) {}
print(JSON.stringify(found));
`;

export async function desktopChecks(env: NodeJS.ProcessEnv): Promise<Check[]> {
  if (!env.WAYLAND_DISPLAY && !env.DISPLAY) {
    const action = 'On a machine without a screen that is as it should be: use the command line.';
    return [{ name: 'Display', level: 'warning', detail: 'none, so panel and tray cannot be shown', action }];
  }
  const display: Check = {
    name: 'Display',
    level: 'ok',
    detail: env.WAYLAND_DISPLAY ? `Wayland ${env.WAYLAND_DISPLAY}` : `X11 ${env.DISPLAY}`,
    action: null,
  };
  const probed = await probe(env);
  if (!probed) {
    return [
      display,
      { name: 'Panel', level: 'broken', detail: 'gjs is missing or does not run', action: `Install it: ${INSTALL}` },
    ];
  }
  return [display, panelCheck(probed.missing), trayCheck(probed.host)];
}

const INSTALL =
  'apt install gjs gir1.2-adw-1 gir1.2-gtk-4.0 (Fedora: dnf install gjs libadwaita; Arch: pacman -S gjs libadwaita)';

interface Probed {
  missing: string[];
  /** null when there is no session bus. */
  host: boolean | null;
}

async function probe(env: NodeJS.ProcessEnv): Promise<Probed | null> {
  const { execa } = await import('execa');
  const { stdout } = await execa('gjs', ['-c', PROBE], { env, extendEnv: false, timeout: 15_000, reject: false });
  try {
    return JSON.parse(stdout ?? '') as Probed;
  } catch {
    return null; // missing, broken, or too slow
  }
}

function panelCheck(missing: string[]): Check {
  if (!missing.length)
    return { name: 'Panel', level: 'ok', detail: 'gjs, GTK 4 and libadwaita are there', action: null };
  return { name: 'Panel', level: 'broken', detail: `missing: ${missing.join(', ')}`, action: `Install it: ${INSTALL}` };
}

function trayCheck(host: boolean | null): Check {
  if (host) return { name: 'Tray', level: 'ok', detail: 'the desktop shows tray icons', action: null };
  return {
    name: 'Tray',
    level: 'warning',
    detail: host === null ? 'no session bus' : 'the desktop shows no tray icons',
    action:
      host === null
        ? 'Start Culvert inside the desktop session.'
        : 'On GNOME, install the extension AppIndicator and KStatusNotifierItem Support.',
  };
}
