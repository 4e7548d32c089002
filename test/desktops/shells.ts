// The desktops whose tray and windows Culvert has to get on with, each started for real and without a screen.
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { missing, type Running, type Desktop as WholeDesktop } from '../support/gnome/desktop.ts';
import { XFCE_PANEL } from '../support/gnome/xfce.ts';
import { until } from '../support/until.ts';

/** Environment of a shell. */
export type Desktop = Pick<WholeDesktop, 'env' | 'start'>;

export interface Shell {
  name: string;
  /** Programs that must be installed. */
  needs: string[];
  /** The environment of the programs that run in it. */
  env: NodeJS.ProcessEnv;
  /** Programs that stay while the shell restarts, such as a window manager. */
  prepare(desktop: Desktop): void;
  /** Starts what draws the tray. */
  start(desktop: Desktop): Promise<Running>;
  /** It is the display server: no window outlives it. */
  isDisplay?: true;
  /** Another process keeps the list of tray icons, which outlives the shell. */
  listOutlives?: true;
  /** Titles of the windows that it shows. */
  windows(desktop: Desktop): string[];
  picture(desktop: Desktop, file: string): Promise<void>;
}

function tool(desktop: Desktop, command: string, ...args: string[]): string {
  return execFileSync(command, args, { env: desktop.env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/** The output of a program, or nothing where it failed: it found nothing, or its window went away. */
function attempt<T>(ask: () => T, otherwise: T): T {
  try {
    return ask();
  } catch {
    return otherwise;
  }
}

/** Those of a shell on the private X server. */
const ON_X11: Pick<Shell, 'windows' | 'picture'> = {
  windows(desktop) {
    const ids = attempt(() => tool(desktop, 'xdotool', 'search', '--onlyvisible', '--name', '.'), '').trim();
    return ids.split('\n').flatMap(id => attempt(() => [tool(desktop, 'xdotool', 'getwindowname', id).trim()], []));
  },
  picture: async (desktop, file) => void tool(desktop, 'import', '-window', 'root', file),
};

const xfce: Shell = {
  ...ON_X11,
  name: 'xfce',
  needs: ['xfce4-panel', 'xfwm4'],
  env: { XDG_CURRENT_DESKTOP: 'XFCE' },
  prepare(desktop) {
    const settings = join(desktop.env.XDG_CONFIG_HOME!, 'xfce4', 'xfconf', 'xfce-perchannel-xml');
    mkdirSync(settings, { recursive: true });
    writeFileSync(join(settings, 'xfce4-panel.xml'), XFCE_PANEL);
    desktop.start('xfwm4', ['--compositor=off']);
  },
  start: async desktop => desktop.start('xfce4-panel', []),
};

const LXQT_PANEL = `[General]
panels=panel1
[panel1]
plugins=statusnotifier, worldclock
position=Bottom
panelSize=36
[statusnotifier]
type=statusnotifier
[worldclock]
type=worldclock
`;

const lxqt: Shell = {
  ...ON_X11,
  name: 'lxqt',
  needs: ['lxqt-panel', 'openbox'],
  env: { XDG_CURRENT_DESKTOP: 'LXQt', QT_QPA_PLATFORM: 'xcb' },
  prepare(desktop) {
    const settings = join(desktop.env.XDG_CONFIG_HOME!, 'lxqt');
    mkdirSync(settings, { recursive: true });
    writeFileSync(join(settings, 'panel.conf'), LXQT_PANEL);
    desktop.start('openbox', []);
  },
  start: async desktop => desktop.start('lxqt-panel', []),
};

/** Plasma 5 has its own. */
const kded = missing('kded6') ? 'kded5' : 'kded6';

const plasma: Shell = {
  ...ON_X11,
  name: 'plasma',
  listOutlives: true,
  needs: ['plasmashell', kded, 'xfwm4', 'dbus-update-activation-environment'],
  env: {
    XDG_CURRENT_DESKTOP: 'KDE',
    KDE_FULL_SESSION: 'true',
    KDE_SESSION_VERSION: kded.slice(-1),
    XDG_SESSION_TYPE: 'x11',
    QT_QPA_PLATFORM: 'xcb',
    QT_QUICK_BACKEND: 'software',
    LIBGL_ALWAYS_SOFTWARE: '1',
  },
  prepare(desktop) {
    // its services are started by the bus, and need the display too
    tool(desktop, 'dbus-update-activation-environment', '--all');
    desktop.start('xfwm4', ['--compositor=off']);
  },
  async start(desktop) {
    desktop.start(kded, []); // keeps the list of tray icons; a second one exits immediately
    const shell = desktop.start('plasmashell', ['--no-respawn']);
    const strip = ['-window', 'root', '-crop', '1280x20+0+780', '-format', '%[fx:mean]', 'info:'];
    await until(() => Number(attempt(() => tool(desktop, 'import', ...strip), '0')) > 0.05, 'the panel of Plasma');
    return shell;
  },
};

const SHELL_BUS = ['call', '--session', '--dest', 'org.gnome.Shell'];

const EVALUATE = ['--object-path', '/org/gnome/Shell', '--method', 'org.gnome.Shell.Eval'];

/** Runs JavaScript in the shell, which `--unsafe-mode` allows, and returns its value. */
function evaluate(desktop: Desktop, script: string): unknown {
  return parseAnswer(tool(desktop, 'gdbus', ...SHELL_BUS, ...EVALUATE, script));
}

/** The same without blocking this process, whose daemon answers the shell. */
export async function evaluateMeanwhile({ env }: Desktop, script: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)('gdbus', [...SHELL_BUS, ...EVALUATE, script], { env });
  return parseAnswer(stdout);
}

function parseAnswer(answer: string): unknown {
  const [, ok, json] = /^\((true|false), '(.*)'\)\n$/s.exec(answer) ?? [];
  if (ok !== 'true') throw new Error(`GNOME Shell: ${answer}`);
  return json ? JSON.parse(json.replaceAll("\\'", "'").replaceAll('\\\\', '\\')) : null;
}

export const gnome: Shell = {
  name: 'gnome',
  isDisplay: true,
  needs: ['gnome-shell', 'gsettings'],
  env: {
    XDG_CURRENT_DESKTOP: 'GNOME',
    XDG_SESSION_TYPE: 'wayland',
    LIBGL_ALWAYS_SOFTWARE: '1',
    GSETTINGS_BACKEND: 'keyfile',
    GDK_BACKEND: 'wayland',
    WAYLAND_DISPLAY: 'wayland-0',
  },
  prepare: desktop =>
    void tool(
      desktop,
      'gsettings',
      'set',
      'org.gnome.shell',
      'enabled-extensions',
      "['ubuntu-appindicators@ubuntu.com']",
    ),
  async start(desktop) {
    const options = ['--headless', '--wayland', '--no-x11', '--virtual-monitor', '1280x800', '--unsafe-mode'];
    const shell = desktop.start('gnome-shell', options, { DISPLAY: undefined, WAYLAND_DISPLAY: undefined });
    await until(() => attempt(() => evaluate(desktop, '1'), null) === 1, 'GNOME Shell');
    return shell;
  },
  windows: desktop =>
    evaluate(desktop, 'global.get_window_actors().map(actor => actor.meta_window.get_title())') as string[],
  async picture(desktop, file) {
    // it begins with an overview that glides in even when it was hidden before
    await until(() => evaluate(desktop, 'Main.overview.hide(); Main.overview.visible') === false, 'the windows');
    const at = ['--dest', 'org.gnome.Shell.Screenshot', '--object-path', '/org/gnome/Shell/Screenshot'];
    const method = ['--method', 'org.gnome.Shell.Screenshot.Screenshot', 'false', 'false', file];
    tool(desktop, 'gdbus', 'call', '--session', ...at, ...method);
  },
};

export const SHELLS: readonly Shell[] = [gnome, plasma, xfce, lxqt];
