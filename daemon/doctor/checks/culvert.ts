// Checks Culvert itself: its daemon, socket directory, port, configuration, kill switch, panel and tray.
import { createServer } from 'node:net';
import * as z from 'zod/mini';
import type { KillSwitch } from '../../api/schema.ts';
import { reason } from '../../core/errors.ts';
import { parseJson } from '../../core/shape.ts';
import { UNENCRYPTED } from '../../view/client/labels.ts';
import { quote } from '../../view/fix.ts';
import { N_ } from '../../view/translator.ts';
import { type Check, labeled, message, NoVerdict, notApplicable, notice, ok, problem, quoted } from '../check.ts';
import type { World } from '../world/world.ts';

const RESTART = message('Restart the daemon: culvert restart');
const WITHOUT_DAEMON = message('Only the running daemon knows it.');

export const daemon: Check = {
  id: 'daemon',
  title: N_('Daemon'),
  group: 'culvert',
  source: null,
  async probe({ culvert }) {
    if (!culvert.daemon) return problem([message('not running')], message('Start it with: culvert'));
    const { version, pid } = culvert.daemon;
    if (version !== culvert.version)
      return notice([message('version %s runs, %s is installed', version, culvert.version)], RESTART);
    return ok(message('version %s, pid %s', version, String(pid)));
  },
};

export const socketDirectory: Check = {
  id: 'socket-directory',
  title: N_('Socket directory'),
  group: 'culvert',
  source: null,
  async probe({ files, culvert }) {
    const { runtime } = culvert;
    const info = await files.stat(runtime);
    if (!info) return notApplicable(message('There is no %s before the first start.', runtime));
    const { mode, uid } = info;
    if (uid === process.getuid?.() && (mode & 0o077) === 0) return ok(message('%s is open to you alone', runtime));
    return problem(
      [message('%s is open to others (owner %s, mode %s)', runtime, String(uid), (mode & 0o777).toString(8))],
      message('Stop the daemon, remove %s, and start again.', runtime),
      uid === process.getuid?.()
        ? {
            kind: 'commands',
            ...labeled(message('Close the directory to others')),
            commands: [['chmod', '700', runtime]],
            undo: [['chmod', (mode & 0o777).toString(8), runtime]],
            privileged: false,
          }
        : null,
    );
  },
};

const Health = z.object({ pid: z.int() });

export const port: Check = {
  id: 'port',
  title: N_('Port of the API'),
  group: 'culvert',
  source: null,
  async probe({ culvert }, signal) {
    if (!culvert.daemon) return probeFree(culvert.port);
    const { port: number, pid } = culvert.daemon;
    if (number === null)
      return notice(
        [message('the daemon has no TCP port; the socket works')],
        message('Choose a free port with --port.'),
      );
    try {
      const answer = await fetch(`http://127.0.0.1:${number}/api/health`, { signal });
      const health = z.safeParse(Health, await answer.json());
      if (health.data?.pid === pid) return ok(message('%s answers', `http://127.0.0.1:${number}`));
      return problem([message('something else answers on %s', `127.0.0.1:${number}`)], RESTART);
    } catch (error) {
      const why = error instanceof Error && error.cause ? reason(error.cause) : reason(error);
      return problem([message('%s does not answer: %s', `127.0.0.1:${number}`, why)], RESTART);
    }
  },
};

async function probeFree(number: number) {
  const free = await new Promise<boolean>(resolve => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(number, '127.0.0.1', () => server.close(() => resolve(true)));
  });
  if (free) return ok(message('%s is free', String(number)));
  return notice(
    [message('%s is taken by another program', String(number))],
    message('Culvert uses the next free port. To choose one, use --port.'),
  );
}

export const configuration: Check = {
  id: 'configuration',
  title: N_('Configuration'),
  group: 'culvert',
  source: null,
  async probe({ culvert, files }) {
    const { configuration: read, userConfig } = culvert;
    const info = await files.stat(userConfig);
    // root may be the owner: an administrator provides the file
    if (info && info.kind !== 'link' && ((info.mode & 0o002) !== 0 || ![0, process.getuid?.()].includes(info.uid)))
      return problem(
        [message('%s can be changed by others (owner %s, mode %s)', userConfig, String(info.uid), modeOf(info.mode))],
        message('Check what it says, and take the right from them: %s', `chmod go-w ${quote([userConfig])}`),
      );
    if (read === null) return notApplicable(message('It was not read.'));
    if ('error' in read)
      return problem([quoted(read.error)], message('The daemon does not start until this is corrected.'));
    const { problems, restartRequired } = read;
    if (problems.length > 0) return problem(problems.map(quoted), message('Correct the file; the rest of it is used.'));
    if (restartRequired.length > 0)
      return notice([message('%s changed since the start', restartRequired.join(', '))], RESTART);
    return ok(message('no problem in %s', userConfig));
  },
};

const OBSTACLES = {
  space: message('The disk is full.'),
  inodes: message('The disk has room for no further file (no free inodes: see "df -i").'),
  'read-only': message('The file system is read-only.'),
  denied: message('You have no permission to write there.'),
} as const;

export const storage: Check = {
  id: 'storage',
  title: N_('Space for state'),
  group: 'culvert',
  source: null,
  async probe({ culvert, files }) {
    const { state, userConfig, runtime } = culvert;
    const directories = [state, userConfig.slice(0, userConfig.lastIndexOf('/')), runtime];
    const found = await Promise.all(directories.map(async path => ({ path, why: await files.obstacle(path) })));
    const bad = found.flatMap(({ path, why }) => (why ? [{ path, why }] : []));
    if (bad.length === 0) return ok(message('Culvert can write in %s', directories.join(', ')));
    return problem(
      bad.map(({ path, why }) => message("%s can't be written", why.at === path ? path : `${path} (${why.at})`)),
      [
        ...new Set(bad.map(({ why }) => OBSTACLES[why.kind])),
        message(
          'Settings, changes that revert, and the history are not stored. Free space there, or make it writable.',
        ),
      ],
    );
  },
};

const modeOf = (mode: number) => (mode & 0o777).toString(8);

export const pendingChanges: Check = {
  id: 'pending-changes',
  title: N_('Pending changes'),
  group: 'culvert',
  source: null,
  async probe({ tunnel, culvert, files }) {
    const lost = tunnel?.lostChanges?.file ?? ((await files.stat(culvert.brokenChanges)) && culvert.brokenChanges);
    if (!lost) return ok(message('no pending change was lost'));
    return problem(
      [message("%s can't be read", lost)],
      [
        message('Changes that should have reverted are still in effect. Check the mode and the connection.'),
        message('Then dismiss this message with: culvert keep'),
      ],
    );
  },
};

export const killSwitch: Check = {
  id: 'kill-switch',
  title: N_('Kill switch'),
  group: 'culvert',
  source: null,
  cheap: true,
  async probe({ tunnel, serviceManager }) {
    if (!tunnel) return notApplicable(WITHOUT_DAEMON);
    if (serviceManager && !tunnel.killSwitch.installed && !tunnel.killSwitch.enabled)
      return notApplicable(message('It needs systemd, which does not run here.'));
    return judgeKillSwitch(tunnel.killSwitch);
  },
};

const NOT_INSTALLED = message('It is not installed.');

function judgeKillSwitch(state: KillSwitch) {
  const { enabled, active, installed, detail, command, backend, protection, bootGuard, pausedUntil } = state;
  const details = state.wording?.length ? state.wording : detail === null ? [] : [quoted(detail)];
  const why = details.length ? details : [message('the reason is not known')];
  if (!installed)
    return enabled
      ? problem(why, command ? message('Install it with: %s', command) : NOT_INSTALLED)
      : notApplicable(NOT_INSTALLED);
  if (!enabled) return ok(message('off'));
  if (pausedUntil !== null)
    return notice(
      [message('paused until %s', { time: pausedUntil })],
      message('End the pause with: culvert killswitch resume'),
    );
  if (active === null) return notice(why, message('See: systemctl status culvert-killswitch'));
  if (!active)
    return problem([message('on, but it does not block'), ...details], message('Try: culvert killswitch on'));
  // an unconfirmed value does not outlive a reboot, and has its own notice
  if (!bootGuard && !state.unconfirmed)
    return notice(
      [message('blocks, but not while the machine starts')],
      message('See: systemctl status culvert-killswitch-guard'),
    );
  return ok(message('blocks, by %s (%s)', backend ?? 'nftables', protection));
}

export const remoteAccess: Check = {
  id: 'remote-access',
  title: N_('Remote access'),
  group: 'culvert',
  source: null,
  async probe({ tunnel }) {
    if (!tunnel) return notApplicable(WITHOUT_DAEMON);
    if (!tunnel.remoteAccess) return ok(message('off'));
    const { address } = tunnel.remoteAccess;
    if (address?.startsWith('https:')) return ok(message('encrypted by the reverse proxy at %s', address));
    return notice([message('Culvert does not encrypt these connections.')], message(UNENCRYPTED));
  },
};

/** Script for GJS: it finds the same libraries as panel and tray. */
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
/** GTK starts slowly on a machine that has just booted. */
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
    return z.safeParse(Found, parseJson(stdout)).data ?? null; // null: gjs does not run
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
    if (!answer) throw new NoVerdict(message('gjs is missing or does not run'));
    if (answer.host) return ok(message('the desktop shows tray icons'));
    return answer.host === null
      ? notice([message('no session bus')], message('Start Culvert inside the desktop session.'))
      : notice(
          [message('the desktop shows no tray icons')],
          message('On GNOME, install the extension AppIndicator and KStatusNotifierItem Support.'),
        );
  },
};
