// A private X server, session bus and home for one test file, and the panel and tray built from the present source.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleGjs, bundlePanel } from '../../../data/build/bundle.mjs';
import { builtOnce } from '../built.ts';
import { until } from '../until.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export interface Desktop {
  env: NodeJS.ProcessEnv;
  /** Installation prefix with `share/culvert/{panel,tray}.js`. */
  prefix: string;
  /** The socket at which the daemon is expected. */
  socket: string;
  /** Temporary directory, gone at the end. */
  directory: string;
  /** Starts a program in the desktop; it is ended with it. */
  start(command: string, args: string[], env?: NodeJS.ProcessEnv): Running;
  close(): Promise<void>;
}

export interface Running {
  child: ChildProcess;
  stdout(): string;
  /** Its output so far on both streams. */
  output(): string;
  exited: Promise<number | null>;
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/** Why GUI tests can't run here, or false; as node:test's `skip` takes it. */
export function missing(...more: string[]): string | false {
  const programs = ['gjs', 'Xvfb', 'dbus-daemon', 'glib-compile-resources', ...more];
  const directories = (process.env.PATH ?? '').split(':');
  const absent = programs.filter(name => !directories.some(directory => existsSync(join(directory, name))));
  if (absent.length) return `needs ${absent.join(', ')}`;
  return readFileSync(join(builtOnce('missing-libraries', askForLibraries), 'answer'), 'utf8') || false;
}

/** Writes which libraries are missing, which takes a start of each. */
function askForLibraries(directory: string): void {
  const has = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;
  const missing = [];
  if (!has('gjs', '-c', 'imports.gi.versions.Gtk = "4.0"; imports.gi.Adw'))
    missing.push('the typelibs of GTK 4, libadwaita');
  const bindings = 'import gi; gi.require_version("Atspi", "2.0"); from gi.repository import Atspi';
  if (!has('/usr/bin/python3', '-c', bindings)) missing.push('python3-gi and the typelib of AT-SPI');
  mkdirSync(directory);
  writeFileSync(join(directory, 'answer'), missing.length ? `needs ${missing.join(', ')}` : '');
}

/** @param screen size of the X screen, such as `1440x900`; GTK makes no window larger. */
export async function openDesktop(screen = '1440x900'): Promise<Desktop> {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-gui-'));
  for (const name of ['run', 'home']) mkdirSync(join(directory, name), { mode: 0o700 });
  // a test does not wait for a dialog to glide in; buttons of the window as GNOME has them
  const settings = join(directory, 'home', '.config', 'gtk-4.0');
  mkdirSync(settings, { recursive: true });
  writeFileSync(
    join(settings, 'settings.ini'),
    '[Settings]\ngtk-enable-animations=false\ngtk-decoration-layout=:close\n',
  );
  const running: Running[] = [];
  const start = (command: string, args: string[], env: NodeJS.ProcessEnv = {}) => {
    const program = startProgram(command, args, { ...desktop.env, ...env });
    running.push(program);
    return program;
  };
  const desktop: Desktop = {
    env: {
      PATH: process.env.PATH,
      LANG: 'C.UTF-8',
      HOME: join(directory, 'home'),
      XDG_CONFIG_HOME: join(directory, 'home', '.config'),
      XDG_RUNTIME_DIR: join(directory, 'run'),
      GDK_BACKEND: 'x11',
      GSK_RENDERER: 'cairo',
      ADW_DISABLE_PORTAL: '1',
      GSETTINGS_BACKEND: 'memory',
      NO_AT_BRIDGE: '0',
      GTK_A11Y: 'atspi',
    },
    prefix: join(directory, 'prefix'),
    socket: join(directory, 'run', 'culvert', 'api.sock'),
    directory,
    start,
    async close() {
      for (const program of running.reverse()) await program.kill();
      // a process that they started, such as the bus of AT-SPI, may hold these pipes open, and the test would never end
      for (const { child } of running) for (const stream of child.stdio) stream?.destroy();
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  // a test that fails before it closes must not leave an X server behind
  process.once('exit', () => {
    for (const { child } of running) child.kill('SIGKILL');
  });
  cpSync(builtOnce('desktop', buildPrefix), desktop.prefix, { recursive: true });
  // -noreset: else the server resets when its last client leaves, and the next one may find no display
  const x = start('Xvfb', ['-displayfd', '1', '-screen', '0', `${screen}x24`, '-nolisten', 'tcp', '-noreset']);
  const bus = start('dbus-daemon', [`--config-file=${busConfiguration(directory)}`, '--nofork', '--print-address=1']);
  desktop.env.DISPLAY = `:${await firstLine(x)}`;
  desktop.env.DBUS_SESSION_BUS_ADDRESS = await firstLine(bus);
  return desktop;
}

/** Services that the bus starts on demand. A developer's own desktop has more, such as one for notifications. */
const SERVICES = ['org.a11y.Bus', 'org.xfce.Xfconf', 'org.kde.ActivityManager'];

/** Makes the configuration of a session bus, whose services are described in `services` of the directory. */
export function busConfiguration(directory: string): string {
  const services = join(directory, 'services');
  mkdirSync(services);
  for (const name of SERVICES) {
    const file = `/usr/share/dbus-1/services/${name}.service`;
    if (existsSync(file)) cpSync(file, join(services, `${name}.service`));
  }
  const file = join(directory, 'bus.conf');
  writeFileSync(
    file,
    `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <auth>EXTERNAL</auth>
  <servicedir>${services}</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`,
  );
  return file;
}

/** Bundles panel and tray and lays them out as an installation does. */
function buildPrefix(prefix: string): void {
  const share = join(prefix, 'share', 'culvert');
  mkdirSync(share, { recursive: true });
  cpSync(join(ROOT, 'data', 'icons', 'hicolor'), join(prefix, 'share', 'icons', 'hicolor'), { recursive: true });
  const define = { __VERSION__: '"0.0.0-test"' };
  bundleGjs(['tray'], share, define);
  bundlePanel(share, define);
  bundlePanel(share, define, false, { inside: 'test/support/gnome/inside/entry.gjs.ts' });
  const data = join(ROOT, 'data');
  for (const language of readFileSync(join(ROOT, 'po', 'LINGUAS'), 'utf8')
    .trim()
    .split('\n')) {
    const messages = join(prefix, 'share', 'locale', language, 'LC_MESSAGES');
    mkdirSync(messages, { recursive: true });
    // gettext is not everywhere, and only a picture in another language needs it
    spawnSync('msgfmt', ['-o', join(messages, 'culvert.mo'), join(ROOT, 'po', `${language}.po`)]);
  }
  execFileSync('gjs', ['-m', join(data, 'build', 'render-icons.js'), join(share, 'tray-icons.json')]);
  execFileSync('glib-compile-resources', [
    `--sourcedir=${data}`,
    `--sourcedir=${join(ROOT, 'gnome', 'panel')}`,
    `--target=${join(share, 'panel.gresource')}`,
    join(ROOT, 'gnome', 'panel', 'panel.gresource.xml'),
  ]);
}

export type Ask = (request: Record<string, unknown>) => Promise<unknown>;

/** Starts one of the Python drivers next to this file. */
export function startDriver(desktop: Desktop, script: 'driver.py' | 'host.py'): Ask {
  const path = fileURLToPath(new URL(script, import.meta.url));
  // the system's Python has the GObject bindings, one from PATH may not
  return talk(desktop.start('/usr/bin/python3', ['-W', 'ignore', path]));
}

/** Requests to a program as JSON lines, answered in order on its standard output. An answer's `error` is thrown. */
export function talk({ child, output, exited }: Running): Ask {
  const pending: { resolve(line: string): void; reject(error: Error): void }[] = [];
  let rest = '';
  child.stdout!.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line.startsWith('{')) pending.shift()?.resolve(line);
  });
  void exited.then(() => {
    for (const { reject } of pending.splice(0)) reject(new Error(`the program ended; it said: ${output()}`));
  });
  return async request => {
    const line = await new Promise<string>((resolve, reject) => {
      pending.push({ resolve, reject });
      child.stdin!.write(`${JSON.stringify(request)}\n`);
    });
    const answer = JSON.parse(line) as { ok?: unknown; error?: string };
    if (answer.error) throw new Error(answer.error);
    return answer.ok;
  };
}

export function startProgram(command: string, args: string[], env: NodeJS.ProcessEnv): Running {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const said = { stdout: '', both: '' };
  child.stdout.setEncoding('utf8').on('data', text => {
    said.stdout += text;
    said.both += text;
  });
  child.stderr.setEncoding('utf8').on('data', text => (said.both += text));
  const exited = new Promise<number | null>((resolve, reject) => {
    child.on('exit', resolve);
    child.on('error', reject);
  });
  return {
    child,
    stdout: () => said.stdout,
    output: () => said.both,
    exited,
    async kill(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      const late = setTimeout(() => child.kill('SIGKILL'), 3000);
      await exited;
      clearTimeout(late);
    },
  };
}

/** Reads standard output alone: on the other stream Xvfb complains about every display that is taken. */
export async function firstLine({ child, stdout }: Running): Promise<string> {
  await until(() => stdout().includes('\n'), `a line from ${child.spawnfile}`);
  return stdout().split('\n')[0]!.trim();
}
