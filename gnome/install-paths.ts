// Derives the paths of this build and of its daemon's socket; paths in the prefix follow the running file, wherever it is moved.
import GLib from 'gi://GLib?version=2.0';

declare const __NAME__: string | undefined;
declare const __APP_ID__: string | undefined;
declare const __FORMAT__: string | undefined;

/** Name of this build's directories; a development build has another name (data/build/profiles.mjs). */
const NAME = typeof __NAME__ === 'string' ? __NAME__ : 'culvert';
/** Name of the icons and resources; the same for every application ID. */
export const BRAND = 'org.culvert.Culvert';
export const RESOURCES = '/org/culvert/Culvert';
export const APP_ID = typeof __APP_ID__ === 'string' ? __APP_ID__ : BRAND;
/** True in a development build; the window shows this. */
export const DEVELOPMENT = APP_ID !== BRAND;
/** Object path that GApplication derives from the application ID. */
export const APP_PATH = `/${APP_ID.replaceAll('.', '/')}`;
export const TRAY_NAME = `${APP_ID}.Tray`;
export const TRAY_PATH = `${APP_PATH}/Tray`;
/** Name of the bridge on the session bus. */
export const CLIENT_NAME = DEVELOPMENT ? 'org.culvert.Devel.Client1' : 'org.culvert.Client1';

/** Directory of the running file: `<prefix>/share/culvert`. */
export const pkgdatadir = GLib.path_get_dirname(GLib.filename_from_uri(import.meta.url)[0]);
const datadir = GLib.path_get_dirname(pkgdatadir);
export const localedir = GLib.build_filenamev([datadir, 'locale']);
export const icondir = GLib.build_filenamev([datadir, 'icons']);

/** Returns the path of the API's Unix socket, by the daemon's own rule (daemon/system/paths.ts). */
export function socketPath(): string {
  const session = absolute('XDG_RUNTIME_DIR');
  if (session) return GLib.build_filenamev([session, NAME, 'api.sock']);
  return statePath(GLib.build_filenamev(['run', 'api.sock']));
}

/** Returns the AppImage file, which outlives its mount; else `culvert` in this prefix or in PATH; else null. */
export function culvertProgram(): string | null {
  const image = typeof __FORMAT__ === 'string' && __FORMAT__ === 'appimage' ? absolute('APPIMAGE') : null;
  if (image) return image;
  const own = GLib.build_filenamev([GLib.path_get_dirname(datadir), 'bin', 'culvert']);
  return GLib.file_test(own, GLib.FileTest.IS_EXECUTABLE) ? own : GLib.find_program_in_path('culvert');
}

/** Program in this prefix that runs repairs as root; only a system-wide build installs it. */
export const ownRepairProgram = GLib.build_filenamev([
  GLib.path_get_dirname(datadir),
  'lib',
  'culvert-repair',
  'culvert-repair',
]);

/** Returns the gjs that runs the other programs: the AppImage's copy, or else the system's. */
export function gjsProgram(): string {
  const own = GLib.build_filenamev([GLib.path_get_dirname(datadir), 'lib', 'culvert', 'gjs']);
  if (GLib.file_test(own, GLib.FileTest.IS_EXECUTABLE)) return own;
  return GLib.find_program_in_path('gjs') ?? '/usr/bin/gjs';
}

/** Returns the path of `name` in the state directory, which may not exist yet. */
export function statePath(name: string): string {
  const state = absolute('XDG_STATE_HOME') ?? GLib.build_filenamev([GLib.get_home_dir(), '.local', 'state']);
  return GLib.build_filenamev([state, NAME, name]);
}

function absolute(variable: string): string | null {
  const value = GLib.getenv(variable);
  return value?.startsWith('/') ? value : null;
}
