// Carries out the panel's requests to the system: starts services and repairs through polkit, opens network settings, reads
// the current network, and makes Culvert the program that finishes a sign-in with an organization.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { REPAIR_PROGRAMS } from '../../daemon/view/fix.ts';
import type { CurrentNetwork, Desktop } from '../../daemon/view/host.ts';
import { parseReport } from '../../daemon/view/states/findings.ts';
import { _ } from '../i18n.ts';
import { APP_ID, culvertProgram, ownRepairProgram } from '../install-paths.ts';
import { rememberApp } from '../recent-apps.ts';

Gio._promisify(Gio.DBusConnection.prototype, 'call', 'call_finish');
Gio._promisify(Gio.Subprocess.prototype, 'communicate_utf8_async', 'communicate_utf8_finish');

const WARP_UNIT = 'warp-svc.service';
/** Time limit for typing a password, in ms. */
const PASSWORD_MS = 300_000;

/**
 * Starts or restarts WARP's service; polkit asks for a password if necessary.
 * @throws Error with systemd's message, NotAllowed without a password
 */
export async function manageWarp(what: 'StartUnit' | 'RestartUnit'): Promise<void> {
  const bus = Gio.bus_get_sync(Gio.BusType.SYSTEM, null);
  const args = new GLib.Variant('(ss)', [WARP_UNIT, 'replace']);
  const flags = Gio.DBusCallFlags.ALLOW_INTERACTIVE_AUTHORIZATION;
  const manager = 'org.freedesktop.systemd1';
  try {
    await bus.call(
      manager,
      '/org/freedesktop/systemd1',
      `${manager}.Manager`,
      what,
      args,
      null,
      flags,
      PASSWORD_MS,
      null,
    );
  } catch (error) {
    if (isRefusal(error)) throw new NotAllowed();
    throw new Error(
      Gio.DBusError.strip_remote_error(error as GLib.Error) ? (error as GLib.Error).message : String(error),
    );
  }
}

/** Errors from systemd if the dialog was closed, the password was wrong, or no dialog could be shown. */
const REFUSALS = ['AccessDenied', 'InteractiveAuthorizationRequired'].map(name => `org.freedesktop.DBus.Error.${name}`);

function isRefusal(error: unknown): boolean {
  return error instanceof GLib.Error && REFUSALS.includes(Gio.DBusError.get_remote_error(error) ?? '');
}

/** Creates the pages' access to desktop facts and repairs. @param tell shows the user why nothing was repaired */
export function createDesktop(tell: (text: string) => void): Omit<Desktop, 'offerApps'> {
  /** The repair program; undefined until a page first needs it. */
  let program: string | null | undefined;
  const repairer = () => {
    if (program === undefined) program = repairProgram();
    return program;
  };
  return {
    hasTrayHost,
    hasShortcuts,
    watchAutostart,
    currentNetwork,
    watchNetwork,
    signInProgram,
    rememberApp: ({ id, name }) => rememberApp({ id, name }),
    async runDoctor() {
      return parseReport(await runProgram([requireCulvert(), 'doctor', '--json'], null, true));
    },
    canRepair: () => repairer() !== null,
    async repair(argv) {
      const found = repairer();
      if (found === null) return false;
      try {
        await runRepair(argv, found);
        return true;
      } catch (error) {
        if (!(error instanceof NotAllowed)) throw error;
        // from now on, pages show the commands without folding them
        if (!error.canAsk) program = null;
        tell(error.message);
        return false;
      }
    },
  };
}

/** Returns the path of the command-line program. @throws Error if the program is missing */
function requireCulvert(): string {
  const program = culvertProgram();
  if (!program) throw new Error(_('The program “culvert” was not found. Install Culvert again.'));
  return program;
}

/** Returns the program that runs repairs as root; null if the panel can't start it. */
function repairProgram(): string | null {
  if (!GLib.find_program_in_path('pkexec')) return null;
  return [ownRepairProgram, ...REPAIR_PROGRAMS].find(isRoots) ?? null;
}

const OTHERS_MAY_WRITE = 0o022;

/** True if only root can change the file: a user's file must not ask for a password in Culvert's name. */
function isRoots(path: string): boolean {
  try {
    const { NOFOLLOW_SYMLINKS } = Gio.FileQueryInfoFlags;
    const info = Gio.File.new_for_path(path).query_info('standard::type,unix::*', NOFOLLOW_SYMLINKS, null);
    const isOwn = info.get_attribute_uint32('unix::uid') === 0;
    const isGuarded = (info.get_attribute_uint32('unix::mode') & OTHERS_MAY_WRITE) === 0;
    return info.get_file_type() === Gio.FileType.REGULAR && isOwn && isGuarded;
  } catch {
    return false;
  }
}

/** Reports that nothing was changed because authorization failed. */
export class NotAllowed extends Error {
  readonly canAsk: boolean;

  /** @param canAsk false if the desktop cannot ask for a password */
  constructor(canAsk = true) {
    super(
      canAsk
        ? _('Not allowed, so nothing was changed.')
        : _('This desktop cannot ask for a password. Run the commands in a terminal.'),
    );
    this.canAsk = canAsk;
  }
}

/** Exit codes of pkexec(1): the dialog was closed, or the authorization was not obtained. */
const DISMISSED = 126;
const DENIED = 127;

/**
 * Runs a repair as root; polkit asks for a password.
 * @throws Error with the reason; NotAllowed without a password
 */
async function runRepair(argv: readonly string[], program: string): Promise<void> {
  const { STDOUT_SILENCE, STDERR_PIPE } = Gio.SubprocessFlags;
  const child = Gio.Subprocess.new(['pkexec', program, ...argv], STDOUT_SILENCE | STDERR_PIPE);
  const [, stderr] = (await child.communicate_utf8_async(null, null)) as unknown as [string, string];
  const code = child.get_if_exited() ? child.get_exit_status() : null;
  if (code === 0) return;
  if (code === DENIED && /authentication agent/i.test(stderr)) throw new NotAllowed(false);
  if (code === DISMISSED || code === DENIED) throw new NotAllowed();
  throw new Error(stderr.trim() || `pkexec: ${code}`);
}

/** Installs the kill switch's service: runs the script from `culvert killswitch installer` through pkexec. */
export async function installKillSwitch(): Promise<void> {
  const program = requireCulvert();
  if (!GLib.find_program_in_path('pkexec'))
    throw new Error(_('pkexec is not installed. Run the command below in a terminal.'));
  const script = await runProgram([program, 'killswitch', 'installer'], null);
  await runProgram(['pkexec', 'sh', '-s'], script);
}

/** Opens the desktop's network settings. @throws Error if no known program for them is installed */
export function openNetworkSettings(): void {
  const programs = [
    ['gnome-control-center', 'network'],
    ['systemsettings', 'kcm_networkmanagement'],
    ['nm-connection-editor'],
  ];
  const argv = programs.find(([program]) => GLib.find_program_in_path(program!));
  if (!argv) throw new Error(_('No network settings were found on this desktop.'));
  Gio.Subprocess.new(argv, Gio.SubprocessFlags.STDOUT_SILENCE | Gio.SubprocessFlags.STDERR_SILENCE);
}

/**
 * Runs a program until it exits.
 * @returns its output. @throws Error with its error output if it fails and `allowFailure` is false
 */
async function runProgram(argv: string[], input: string | null, allowFailure = false): Promise<string> {
  const pipes = Gio.SubprocessFlags.STDOUT_PIPE | Gio.SubprocessFlags.STDERR_PIPE;
  const flags = input === null ? pipes : pipes | Gio.SubprocessFlags.STDIN_PIPE;
  const child = Gio.Subprocess.new(argv, flags);
  const [stdout, stderr] = (await child.communicate_utf8_async(input, null)) as unknown as [string, string];
  if (!child.get_successful() && !allowFailure)
    throw new Error(stderr.trim() || `${argv[0]}: ${child.get_exit_status()}`);
  return stdout;
}

const MANAGER = 'org.freedesktop.NetworkManager';

/** Returns the default route's network according to NetworkManager, or null without NetworkManager. */
async function currentNetwork(): Promise<CurrentNetwork | null> {
  try {
    const bus = Gio.bus_get_sync(Gio.BusType.SYSTEM, null);
    const get = async (path: string, iface: string, name: string) => {
      const args = new GLib.Variant('(ss)', [`${MANAGER}${iface}`, name]);
      const reply = await bus.call(
        MANAGER,
        path,
        'org.freedesktop.DBus.Properties',
        'Get',
        args,
        null,
        Gio.DBusCallFlags.NONE,
        2000,
        null,
      );
      return (reply.recursiveUnpack() as [unknown])[0];
    };
    const active = String(await get('/org/freedesktop/NetworkManager', '', 'PrimaryConnection'));
    const type = String(await get(active, '.Connection.Active', 'Type'));
    if (type === '802-3-ethernet') return { kind: 'wired', ssid: null };
    if (type !== '802-11-wireless') return { kind: 'other', ssid: null };
    const point = String(await get(active, '.Connection.Active', 'SpecificObject'));
    const ssid = (await get(point, '.AccessPoint', 'Ssid')) as number[];
    return { kind: 'wifi', ssid: new TextDecoder().decode(Uint8Array.from(ssid)) };
  } catch {
    return null;
  }
}

/**
 * Calls `changed` when the default route moves to another network.
 * @returns a function that ends the watch.
 */
function watchNetwork(changed: () => void): () => void {
  try {
    const bus = Gio.bus_get_sync(Gio.BusType.SYSTEM, null);
    const signal = ['org.freedesktop.DBus.Properties', 'PropertiesChanged', '/org/freedesktop/NetworkManager'] as const;
    const watch = bus.signal_subscribe(
      MANAGER,
      ...signal,
      MANAGER,
      Gio.DBusSignalFlags.NONE,
      (...[, , , , , parameters]) => {
        const [, properties] = parameters.recursiveUnpack() as [string, Record<string, unknown>];
        if ('PrimaryConnection' in properties) changed();
      },
    );
    return () => bus.signal_unsubscribe(watch);
  } catch {
    // without a system bus, no network changes are reported
    return () => {};
  }
}

/** Returns true if the desktop shows tray icons; null if the answer took too long. */
async function hasTrayHost(): Promise<boolean | null> {
  const watcher = 'org.kde.StatusNotifierWatcher';
  const place = { name: watcher, path: '/StatusNotifierWatcher', iface: watcher };
  const host = await readProperty<boolean>(place, 'IsStatusNotifierHostRegistered');
  return host === null ? null : host === true;
}

/** Returns true if the desktop has global shortcuts for apps; null if the answer took too long. */
async function hasShortcuts(): Promise<boolean | null> {
  const name = 'org.freedesktop.portal.Desktop';
  const place = { name, path: '/org/freedesktop/portal/desktop', iface: 'org.freedesktop.portal.GlobalShortcuts' };
  const version = await readProperty<number>(place, 'version');
  return version === null ? null : version !== undefined;
}

/** Reads a running service's property; undefined if that fails, null if no answer came in time. */
async function readProperty<T>(
  { name, path, iface }: { name: string; path: string; iface: string },
  property: string,
): Promise<T | null | undefined> {
  try {
    const bus = Gio.bus_get_sync(Gio.BusType.SESSION, null);
    const args = new GLib.Variant('(ss)', [iface, property]);
    const reply = await bus.call(
      name,
      path,
      'org.freedesktop.DBus.Properties',
      'Get',
      args,
      null,
      Gio.DBusCallFlags.NO_AUTO_START,
      2000,
      null,
    );
    return reply.recursiveUnpack<[T]>()[0];
  } catch (error) {
    return (error as GLib.Error).matches?.(Gio.io_error_quark(), Gio.IOErrorEnum.TIMED_OUT) ? null : undefined;
  }
}

/**
 * Reports whether the session starts Culvert: immediately, and whenever its autostart entry changes.
 * @returns a function that ends the watch.
 */
function watchAutostart(report: (on: boolean) => void): () => void {
  const path = GLib.build_filenamev([GLib.get_user_config_dir(), 'autostart', `${APP_ID}.desktop`]);
  const file = Gio.File.new_for_path(path);
  const monitor = file.monitor_file(Gio.FileMonitorFlags.NONE, null);
  const read = () => report(startsWithSession(path));
  monitor.connect('changed', read);
  read();
  return () => void monitor.cancel();
}

/** Follows the Desktop Application Autostart Specification, and GNOME's key for an entry that the user turned off. */
function startsWithSession(path: string): boolean {
  const entry = new GLib.KeyFile();
  try {
    entry.load_from_file(path, GLib.KeyFileFlags.NONE);
  } catch {
    return false;
  }
  const is = (key: string, absent: boolean) => {
    try {
      return entry.get_boolean('Desktop Entry', key);
    } catch {
      return absent;
    }
  };
  return !is('Hidden', false) && is('X-GNOME-Autostart-enabled', true);
}

/** Content type of the URL that the vendor's page opens at the end. */
const SIGN_IN = 'x-scheme-handler/com.cloudflare.warp';
const ENTRY = `${APP_ID}.desktop`;

/** Returns the program that the desktop starts for a sign-in: its name, `culvert` for this build, or null. */
function signInProgram(): string | null {
  const program = Gio.AppInfo.get_default_for_type(SIGN_IN, false);
  return program && (program.get_id() === ENTRY ? 'culvert' : program.get_name());
}

/** Makes Culvert the sign-in program. @throws Error if Culvert is not in the app menu */
export function claimSignIn(): void {
  const entry = Gio.AppInfo.get_all().find(app => app.get_id() === ENTRY);
  if (!entry) throw new Error(_('Culvert is not in the app menu. Install it, then try again.'));
  entry.set_as_default_for_type(SIGN_IN);
}
