// Does with the applet of Plasma what a person does, in a real one: by the names that a screen reader gets.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleGjs } from '../../data/build/bundle.mjs';
import { createDaemon, type FakeDaemon } from '../support/gnome/daemon.ts';
import { type Ask, type Desktop, openDesktop, type Running, startDriver } from '../support/gnome/desktop.ts';
import { change, KILL_SWITCH } from '../support/gnome/initial.ts';
import { until } from '../support/until.ts';
import type { Step } from './visit.ts';

const ID = 'org.culvert.Culvert';
const NAME = 'org.culvert.Client1';
/** A person who waits longer takes it for broken. */
const LIMIT_MS = 15_000;
const TOO_OLD = 'This widget needs Plasma 6.4 or newer.';

interface Visit {
  desktop: Desktop;
  daemon: FakeDaemon;
  ask: Ask;
  applet: Running;
  picture(name: string): void;
}

const STEPS: [name: string, step: (visit: Visit) => Promise<void>][] = [
  ['the applet shows the state', shown],
  ['every control asks for what it says', controls],
  ['a change waits to be kept', pending],
  ['a pause counts down', paused],
  ['nothing wakes it while nothing changes', rests],
  ['without the bridge it shows nothing of the last state', withoutBridge],
  ['a bridge that is back is followed', backAgain],
  ['without the daemon the state is unknown', withoutDaemon],
];

/**
 * @param env of programs in Plasma
 * @param pictures directory for what was seen
 * @param report called after each step
 */
export async function visitApplet(
  env: NodeJS.ProcessEnv,
  pictures: string,
  report: (step: Step) => void,
): Promise<void> {
  const desktop = await openDesktop('1280x800');
  Object.assign(desktop.env, env, { QT_LINUX_ACCESSIBILITY_ALWAYS_ON: '1', XDG_SESSION_TYPE: 'x11' });
  const daemon = createDaemon(desktop.socket);
  try {
    install(desktop);
    await daemon.listen();
    daemon.set('tunnelCli', { emulated: false });
    daemon.set('killSwitch', KILL_SWITCH);
    daemon.set('status', { state: 'connected', reason: null, blocked: null, raw: 'connected' });
    desktop.start('xfwm4', ['--compositor=off']);
    const picture = (name: string) => {
      spawnSync('import', ['-window', 'root', join(pictures, `plasma-applet-${name}.png`)], { env: desktop.env });
    };
    const ask = startDriver(desktop, 'driver.py');
    const visit: Visit = { desktop, daemon, ask, applet: open(desktop), picture };
    const attempt = async (name: string, step: (visit: Visit) => Promise<void>) =>
      report({
        name,
        failure: await step(visit).then(
          () => null,
          (error: Error) => `${error.message}\n${visit.applet.output().slice(-2000)}`,
        ),
      });
    if (!isNewEnough(desktop)) return await attempt('an older Plasma says what it needs', tooOld);
    for (const [name, step] of STEPS) await attempt(name, step);
  } finally {
    await desktop.close();
    await daemon.stop();
  }
}

function isNewEnough({ env }: Desktop): boolean {
  const text = spawnSync('plasmashell', ['--version'], { env, encoding: 'utf8', timeout: 10_000 }).stdout;
  const [, major, minor] = /(\d+)\.(\d+)/.exec(text)!;
  return Number(major) > 6 || (Number(major) === 6 && Number(minor) >= 4);
}

/** Lays applet and bridge out as packages do. */
function install(desktop: Desktop): void {
  const share = join(desktop.prefix, 'share');
  const plasmoid = join(share, 'plasma', 'plasmoids', ID);
  cpSync('data/plasma/contents', join(plasmoid, 'contents'), { recursive: true });
  const metadata = readFileSync('data/plasma/metadata.json.in', 'utf8');
  writeFileSync(join(plasmoid, 'metadata.json'), metadata.replace(/@\w+@/g, '1'));
  desktop.env.XDG_DATA_DIRS = `${share}:/usr/local/share:/usr/share`;
  bundleGjs(['bridge'], join(share, 'culvert'), { __VERSION__: '"0.0.0-test"' });
  const service = readFileSync('data/org.culvert.Client1.service.in', 'utf8')
    .replace('@GJS@', 'gjs')
    .replace('@PKGDATADIR@', join(share, 'culvert'));
  mkdirSync(join(desktop.directory, 'services'), { recursive: true });
  writeFileSync(join(desktop.directory, 'services', `${NAME}.service`), service);
}

const open = (desktop: Desktop) => desktop.start('plasmawindowed', [ID]);

/** The process of the bridge. */
function bridgeOf({ desktop }: Visit): number | null {
  const ask = ['call', '--session', '--dest', 'org.freedesktop.DBus', '--object-path', '/org/freedesktop/DBus'];
  const method = ['--method', 'org.freedesktop.DBus.GetConnectionUnixProcessID', NAME];
  const { stdout } = spawnSync('gdbus', [...ask, ...method], { env: desktop.env, encoding: 'utf8' });
  return Number(/uint32 (\d+)/.exec(stdout)?.[1]) || null;
}

async function tooOld({ ask, picture }: Visit): Promise<void> {
  await ask({ do: 'find', name: TOO_OLD, ms: LIMIT_MS });
  picture('too-old');
}

async function shown({ desktop, ask, applet, picture }: Visit): Promise<void> {
  for (const name of ['Connected', 'Disconnect', 'Kill Switch', 'All traffic', 'Open Culvert'])
    await ask({ do: 'find', name, ms: LIMIT_MS });
  picture('light');
  await applet.kill();
  spawnSync('plasma-apply-colorscheme', ['BreezeDark'], { env: desktop.env });
  const dark = open(desktop);
  await ask({ do: 'find', name: 'Connected', ms: LIMIT_MS });
  picture('dark');
  const light = brightest(desktop);
  await dark.kill();
  spawnSync('plasma-apply-colorscheme', ['BreezeLight'], { env: desktop.env });
  assert.ok(light > 0.8, `the sign of the state is as light as the text: ${light}`);
}

/** Brightness of the lightest pixel of the sign of the state, 0 to 1. */
function brightest({ env }: Desktop): number {
  const id = spawnSync('xdotool', ['search', '--onlyvisible', '--name', '^Culvert$'], { env, encoding: 'utf8' }).stdout;
  const words = ['-window', id.trim().split('\n')[0]!, '-crop', '28x28+4+4', '-format', '%[fx:maxima]', 'info:'];
  return Number(spawnSync('import', words, { env, encoding: 'utf8' }).stdout);
}

async function controls(visit: Visit): Promise<void> {
  const { desktop, ask, daemon } = visit;
  visit.applet = open(desktop);
  daemon.setLastPause(1800);
  for (const [name, expected] of [
    ['Disconnect', { action: 'disconnect' }],
    ['DNS only', { action: 'setMode', value: 'doh', confirmWithin: 30 }],
    ['Pause for 15 minutes', { action: 'disconnect', forSeconds: 900 }],
    ['Pause for 30 minutes', { action: 'disconnect', forSeconds: 1800 }],
    ['Pause for 1 hour', { action: 'disconnect', forSeconds: 3600 }],
  ] as const) {
    const before = daemon.actions.length;
    await ask({ do: 'press', name });
    await until(() => daemon.actions.length > before, `what "${name}" asks for`);
    assert.deepEqual(daemon.actions.at(-1), expected, name);
  }
}

async function pending({ ask, daemon, picture }: Visit): Promise<void> {
  daemon.setChanges([change('mode', { value: 'doh', confirmBy: new Date(Date.now() + 30_000).toISOString() })]);
  await ask({ do: 'find', name: 'Keep', ms: LIMIT_MS });
  await ask({ do: 'find', name: 'Revert Now', ms: LIMIT_MS });
  picture('pending');
  daemon.setChanges([]);
  await ask({ do: 'gone', name: 'Keep', ms: LIMIT_MS });
}

async function paused({ ask, daemon, picture }: Visit): Promise<void> {
  daemon.setChanges([change('connection', { value: 'off', endsAt: new Date(Date.now() + 600_000).toISOString() })]);
  daemon.set('status', { state: 'disconnected', reason: null, blocked: null, raw: 'disconnected' });
  const left = async () => ((await ask({ do: 'names' })) as string[]).find(name => / left$/.test(name));
  const first = await until(left, 'the time left');
  await until(async () => (await left()) !== first, 'the next second');
  picture('paused');
  daemon.setChanges([]);
  daemon.set('status', { state: 'connected', reason: null, blocked: null, raw: 'connected' });
  await ask({ do: 'find', name: 'Connected', ms: LIMIT_MS });
}

/** By the switches of context of the main thread, which runs all of the applet. */
async function rests({ applet }: Visit): Promise<void> {
  const switches = () => {
    const status = readFileSync(`/proc/${applet.child.pid}/status`, 'utf8');
    return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)![1]);
  };
  let before = -1;
  const quiet = () => {
    const now = switches();
    const isSame = now === before;
    before = now;
    return isSame;
  };
  const seconds = Number(process.env.CULVERT_APPLET_SECONDS ?? 10);
  await until(quiet, `${seconds} s without a wake-up`, { pollMs: seconds * 1000, limitMs: seconds * 12_000 });
}

async function withoutBridge(visit: Visit): Promise<void> {
  process.kill(bridgeOf(visit)!, 'SIGKILL');
  await visit.ask({ do: 'find', name: 'Unavailable', ms: LIMIT_MS });
  await visit.ask({ do: 'gone', name: 'Connected', ms: LIMIT_MS });
  await visit.ask({ do: 'gone', name: 'Disconnect', ms: LIMIT_MS });
  visit.picture('no-bridge');
}

async function backAgain({ desktop, ask }: Visit): Promise<void> {
  desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'bridge.js')]);
  await ask({ do: 'find', name: 'Connected', ms: LIMIT_MS });
}

async function withoutDaemon({ ask, daemon, picture }: Visit): Promise<void> {
  await daemon.crash();
  await ask({ do: 'gone', name: 'Connected', ms: LIMIT_MS });
  await ask({ do: 'gone', name: 'Disconnect', ms: LIMIT_MS });
  picture('no-daemon');
}
