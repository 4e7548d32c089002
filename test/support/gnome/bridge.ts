// Session buses that start the bridge on demand, for tests, and programs that use it.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleGjs } from '../../../data/build/bundle.mjs';
import { builtOnce } from '../built.ts';
import { type Ends, temporary } from '../temporary.ts';
import { type Ask, busConfiguration, firstLine, type Running, startProgram, talk } from './desktop.ts';

/** Version of the bridge under test. */
export const VERSION = '0.0.0-test';

export interface Home {
  directory: string;
  env: NodeJS.ProcessEnv;
  /** The socket at which the daemon is expected. */
  socket: string;
}

/** Why the tests can't run here, or false. */
export function missing(): string | false {
  const programs = ['gjs', 'dbus-daemon', 'busctl', 'gdbus', 'msgfmt'];
  const absent = programs.filter(name => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
  if (absent.length) return `needs ${absent.join(', ')}`;
  return spawnSync('/usr/bin/python3', ['-c', 'import gi']).status !== 0 && 'needs python3-gi';
}

/** A user's directories. */
export function makeHome(t: Ends): Home {
  const directory = temporary(t, 'bridge');
  for (const name of ['run', 'home']) mkdirSync(join(directory, name), { mode: 0o700 });
  const env = {
    PATH: process.env.PATH,
    LANG: 'C.UTF-8',
    HOME: join(directory, 'home'),
    XDG_RUNTIME_DIR: join(directory, 'run'),
  };
  return { directory, env, socket: join(directory, 'run', 'culvert', 'api.sock') };
}

export interface Bus {
  env: NodeJS.ProcessEnv;
  start(command: string, args: string[], env?: NodeJS.ProcessEnv): Running;
  /** Starts a bridge without a caller. */
  startBridge(): Running;
  /** A program that uses the bridge until it is ended. */
  caller(): { ask: Ask; program: Running };
}

/** Builds the bridge as it is installed, with one language. @returns its prefix, which is not to be changed */
export const builtBridge = () => builtOnce('bridge', buildPrefix);

/** Starts a session bus of a user, with the service file as it is installed. @param prefix of the bridge */
export async function startBus(t: Ends, { directory, env }: Home, prefix = builtBridge()): Promise<Bus> {
  const share = join(prefix, 'share', 'culvert');
  const own = mkdtempSync(join(directory, 'bus-'));
  const configuration = busConfiguration(own);
  const service = readFileSync('data/org.culvert.Client1.service.in', 'utf8')
    .replace('@GJS@', 'gjs')
    .replace('@PKGDATADIR@', share);
  writeFileSync(join(own, 'services', 'org.culvert.Client1.service'), service);
  const running: Running[] = [];
  const bus: Bus = {
    env,
    start(command, args, more = {}) {
      const program = startProgram(command, args, { ...bus.env, ...more });
      running.push(program);
      return program;
    },
    startBridge: () => bus.start('gjs', ['-m', join(share, 'bridge.js')]),
    caller() {
      const script = fileURLToPath(new URL('caller.py', import.meta.url));
      const program = bus.start('/usr/bin/python3', ['-W', 'ignore', script]);
      return { ask: talk(program), program };
    },
  };
  // a bridge ends with its bus
  t.after(async () => {
    for (const program of running.reverse()) await program.kill();
    for (const { child } of running) for (const stream of child.stdio) stream?.destroy();
  });
  const daemon = bus.start('dbus-daemon', [`--config-file=${configuration}`, '--nofork', '--print-address=1']);
  bus.env = { ...env, DBUS_SESSION_BUS_ADDRESS: await firstLine(daemon) };
  return bus;
}

function buildPrefix(prefix: string): void {
  const share = join(prefix, 'share', 'culvert');
  const messages = join(prefix, 'share', 'locale', 'de', 'LC_MESSAGES');
  for (const directory of [share, messages]) mkdirSync(directory, { recursive: true });
  bundleGjs(['bridge'], share, { __VERSION__: `"${VERSION}"` });
  execFileSync('msgfmt', ['-o', join(messages, 'culvert.mo'), 'po/de.po']);
}
