// The tile in a real GNOME Shell: installed by the command line, seen in each state, pressed, left without bridge and daemon.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Bus, makeHome, startBus } from '../support/gnome/bridge.ts';
import { createDaemon, type FakeDaemon } from '../support/gnome/daemon.ts';
import type { Running } from '../support/gnome/desktop.ts';
import { change, KILL_SWITCH } from '../support/gnome/initial.ts';
import { until } from '../support/until.ts';
import { type Desktop, evaluateMeanwhile as evaluate, gnome } from './shells.ts';
import { failureOf, type Step, startSystemBus } from './visit.ts';

const UUID = 'culvert@culvert.org';
const PREFIX = resolve('build/prefix');
/** Finds the tile again in each script: `tile`, its menu's items and the icon in the panel. */
const PRELUDE = `
  const all = actor => [actor, ...actor.get_children().flatMap(all)];
  const { quickSettings } = Main.panel.statusArea;
  const tile = all(quickSettings.menu.box).find(actor => /^WARP/.test(actor.accessible_name ?? '') && actor.menu);
  const icons = all(quickSettings).map(actor => actor.gicon?.file?.get_basename()).filter(name => /Culvert/.test(name));
  const items = tile?.menu._getMenuItems() ?? [];`;

interface Visit {
  desktop: Desktop;
  bus: Bus;
  daemon: FakeDaemon;
  shell: Running | null;
  culvert(...words: string[]): string;
  picture(name: string): Promise<void>;
}

const STEPS: [name: string, step: (visit: Visit) => Promise<void>][] = [
  ['the command line installs the tile', installs],
  ['the Shell loads it', loads],
  ['each state has its words and its shape', states],
  ['a press connects and disconnects', presses],
  ['every item of the menu', everyItem],
  ['a failure is said', failure],
  ['dark and light', themes],
  ['it sleeps while nothing changes', sleeps],
  ['without the bridge it reads as unknown, until the menu opens', withoutBridge],
  ['without the daemon it reads as unknown', withoutDaemon],
  ['fifty times off and on leave nothing behind', cycles],
  ['the command line removes it', removes],
];

/** As `visit` (visit.ts). */
export async function visitTile(pictures: string, report: (step: Step) => void): Promise<void> {
  const ends: (() => unknown)[] = [];
  const home = makeHome({ after: end => void ends.unshift(end) });
  const { WAYLAND_DISPLAY, ...env } = gnome.env;
  const system = join(home.directory, 'system');
  installApp(system);
  const XDG_DATA_DIRS = `${system}:/usr/local/share:/usr/share`;
  Object.assign(home.env, env, { XDG_CONFIG_HOME: join(home.directory, 'home', '.config'), XDG_DATA_DIRS });
  mkdirSync(home.env.XDG_CONFIG_HOME!);
  const daemon = createDaemon(home.socket);
  try {
    await daemon.listen();
    daemon.answers['GET /api/version'] = { version: version() };
    const bus = await startBus({ after: end => void ends.unshift(end) }, home, PREFIX);
    bus.env.DBUS_SYSTEM_BUS_ADDRESS = await startSystemBus({ ...bus, directory: home.directory });
    const desktop = bus;
    const culvert = (...words: string[]) =>
      execFileSync(join(PREFIX, 'bin', 'culvert'), words, { env: bus.env, encoding: 'utf8' });
    const picture = (name: string) => gnome.picture(desktop, join(pictures, `tile-${name}.png`));
    const all: Visit = { desktop, bus, daemon, shell: null, culvert, picture };
    for (const [name, step] of STEPS) report({ name, failure: await failureOf(step(all)) });
  } finally {
    for (const end of ends) await end();
    await daemon.stop();
  }
}

/** Puts the app and its icons where a package has them. @param directory one of `XDG_DATA_DIRS` */
function installApp(directory: string): void {
  for (const part of ['applications/org.culvert.Culvert.desktop', 'icons/hicolor']) {
    mkdirSync(join(directory, part, '..'), { recursive: true });
    cpSync(join(PREFIX, 'share', part), join(directory, part), { recursive: true });
  }
}

const version = () =>
  execFileSync(join(PREFIX, 'bin', 'culvert'), ['--version'], { encoding: 'utf8' })
    .trim()
    .split(' ')[1];

const run = ({ desktop }: Visit, script: string) => evaluate(desktop, `{ ${PRELUDE}\n ${script} }`);

interface Shown {
  subtitle: string;
  on: boolean;
  icons: string[];
  items: string[];
}

const shown = (visit: Visit) =>
  run(
    visit,
    `({ subtitle: tile?.accessible_name.replace('WARP: ', ''), on: tile?.checked, icons, items: items.map(item => item.label?.text ?? '') })`,
  ) as Promise<Shown>;

const open = async (visit: Visit) => {
  await run(visit, 'Main.overview.hide(); quickSettings.menu.open(0); tile.menu.open(0)');
  await until(async () => (await shown(visit)).items.length > 0, 'the items');
};
const close = (visit: Visit) => run(visit, 'tile.menu.close(0); quickSettings.menu.close(0)');
const shows = async (visit: Visit, subtitle: RegExp) => {
  let last: Shown | null = null;
  const isShown = async () => {
    last = await shown(visit);
    return subtitle.test(last.subtitle);
  };
  await until(isShown, () => `${subtitle}; it shows ${JSON.stringify(last)}`);
};

async function installs({ culvert }: Visit): Promise<void> {
  assert.match(culvert('shell', 'install', 'gnome'), /turned on\.\nLog out and in again/);
  assert.match(culvert('shell'), /^gnome +on /m);
}

async function loads(visit: Visit): Promise<void> {
  visit.shell = await gnome.start(visit.desktop);
  const known = () => evaluate(visit.desktop, `Main.extensionManager.lookup('${UUID}')?.state ?? null`);
  await until(
    async () => (await known()) === 1,
    () => `the extension: ${visit.shell!.output()}`,
  );
  assert.match(visit.culvert('shell'), /^gnome +on +a tile in the quick settings of GNOME Shell 43 to 51$/m);
  await shows(visit, /^Disconnected$/);
}

async function states(visit: Visit): Promise<void> {
  const { daemon } = visit;
  const disconnected = { state: 'disconnected', reason: null, blocked: null, raw: 'Disconnected' } as const;
  const end = new Date(Date.now() + 25 * 60_000).toISOString();
  const scenes: [name: string, subtitle: RegExp, set: () => void][] = [
    ['disconnected', /^Disconnected$/, () => daemon.set('status', disconnected)],
    ['connecting', /^Connecting…$/, () => daemon.set('status', { ...disconnected, state: 'connecting' })],
    ['connected', /^Connected$/, () => daemon.set('status', { ...disconnected, state: 'connected' })],
    [
      'paused',
      /^Back on at .* · .*25.*min.* left$/,
      () => {
        daemon.set('status', disconnected);
        daemon.setChanges([change('connection', { value: 'off', endsAt: end })]);
      },
    ],
    [
      'blocked',
      /^Internet is blocked$/,
      () => {
        daemon.setChanges([]);
        daemon.set('killSwitch', { ...KILL_SWITCH, enabled: true, active: true });
      },
    ],
    [
      'sign-in',
      /sign in/i,
      () => {
        daemon.set('killSwitch', KILL_SWITCH);
        daemon.set('status', {
          ...disconnected,
          state: 'unable',
          reason: { code: 'CaptivePortalTimedOut', text: '' },
        });
      },
    ],
  ];
  const seen = new Map<string, string>();
  for (const [name, subtitle, set] of scenes) {
    set();
    await open(visit);
    await shows(visit, subtitle);
    const { icons, on } = await shown(visit);
    // in the panel, in the tile and in the head of its menu
    assert.equal(new Set(icons).size, 1, `${name}: ${icons}`);
    assert.equal(on, ['connected', 'connecting'].includes(name), name);
    seen.set(name, icons[0]!);
    await visit.picture(name);
    await close(visit);
  }
  assert.notEqual(seen.get('connected'), seen.get('disconnected'));
  daemon.set('status', disconnected);
  await shows(visit, /^Disconnected$/);
}

async function presses(visit: Visit): Promise<void> {
  const { daemon } = visit;
  for (const [action, state, label] of [
    ['connect', 'connected', /^Connected$/],
    ['disconnect', 'disconnected', /^Disconnected$/],
  ] as const) {
    daemon.actions.length = 0;
    await run(visit, `tile.emit('clicked', 1)`);
    await until(() => daemon.actions.length > 0, action);
    assert.deepEqual(daemon.actions, [{ action }]);
    daemon.set('status', { state });
    await shows(visit, label);
  }
}

async function everyItem(visit: Visit): Promise<void> {
  const { daemon } = visit;
  daemon.set('killSwitch', KILL_SWITCH);
  daemon.set('status', { state: 'connected' });
  daemon.setChanges([change('mode', { value: 'doh', confirmBy: new Date(Date.now() + 600_000).toISOString() })]);
  await shows(visit, /^Connected$/);
  await open(visit);
  const labels = (await shown(visit)).items;
  assert.deepEqual(labels, [
    'Mode: DNS only',
    'Keep',
    'Revert Now',
    'Mode',
    'All traffic',
    'DNS only',
    'Chosen apps only',
    'All traffic, your own DNS',
    '',
    'Pause for 15 minutes',
    'Pause for 1 hour',
    '',
    'Kill Switch',
    '',
    'Open Culvert',
  ]);
  await visit.picture('menu');
  // the bridge waits for the effect of an action
  daemon.onAction = request => {
    if (request.action === 'setMode') daemon.set('settings', { Mode: request.value });
    else daemon.set('status', { state: 'disconnected' });
  };
  const asked = async (label: string) => {
    daemon.set('status', { state: 'connected' });
    await shows(visit, /^Connected$/);
    daemon.actions.length = 0;
    daemon.asked.length = 0;
    await open(visit);
    await run(visit, `items.find(item => item.label?.text === ${JSON.stringify(label)}).emit('activate', null)`);
    await until(() => daemon.actions.length + daemon.asked.length > 0, label);
    return daemon.actions[0] ?? daemon.asked[0];
  };
  assert.deepEqual(await asked('DNS only'), { action: 'setMode', value: 'doh', confirmWithin: 30 });
  assert.deepEqual(await asked('Pause for 1 hour'), { action: 'disconnect', forSeconds: 3600 });
  const body = { enabled: true, allowLan: false, confirmWithin: 30 };
  assert.deepEqual(await asked('Kill Switch'), { line: 'POST /api/killswitch', body });
  assert.deepEqual(await asked('Keep'), { line: 'POST /api/changes/confirm', body: { subject: 'mode' } });
  daemon.onAction = () => {};
  daemon.setChanges([]);
  daemon.set('status', { state: 'connected' });
  await shows(visit, /^Connected$/);
  await close(visit);
}

async function failure(visit: Visit): Promise<void> {
  visit.daemon.onAction = () => {
    throw { type: '', title: '', status: 502, code: 'cli-failed', detail: 'WARP said no.' };
  };
  await run(visit, `tile.emit('clicked', 1)`);
  const titles = () =>
    run(visit, `Main.messageTray.getSources().flatMap(source => source.notifications.map(each => each.title))`);
  await until(async () => ((await titles()) as string[]).includes('Culvert'), 'the notification');
  visit.daemon.onAction = () => {};
}

async function themes(visit: Visit): Promise<void> {
  for (const scheme of ['prefer-light', 'prefer-dark']) {
    execFileSync('gsettings', ['set', 'org.gnome.desktop.interface', 'color-scheme', scheme], { env: visit.bus.env });
    await open(visit);
    await visit.picture(scheme.replace('prefer-', ''));
    await run(visit, 'tile.menu.close(0)');
    await visit.picture(`${scheme.replace('prefer-', '')}-closed`);
    await close(visit);
  }
}

/** Counts the messages between tile and bridge: without one, and without a clock, nothing of the tile runs. */
async function sleeps(visit: Visit): Promise<void> {
  const seconds = process.env.CULVERT_TILE_SECONDS ?? '20';
  const monitor = visit.bus.start('timeout', [seconds, 'busctl', '--user', 'monitor', 'org.culvert.Client1']);
  await monitor.exited;
  assert.match(monitor.output(), /Monitoring bus message stream/);
  assert.doesNotMatch(monitor.output(), /Type=/);
}

const names = ({ bus }: Visit) =>
  execFileSync('busctl', ['--user', '--list', '--no-legend', 'list'], { env: bus.env, encoding: 'utf8' });

const bridgePid = (visit: Visit) => Number(/^org\.culvert\.Client1 +(\d+)/m.exec(names(visit))?.[1] ?? 0);

async function withoutBridge(visit: Visit): Promise<void> {
  visit.daemon.set('status', { state: 'connected' });
  await shows(visit, /^Connected$/);
  const pid = bridgePid(visit);
  assert.ok(pid > 0, '0 would be this very process');
  process.kill(pid, 'SIGKILL');
  await shows(visit, /^Unavailable$/);
  assert.equal((await shown(visit)).on, false);
  await open(visit);
  await shows(visit, /^Connected$/);
  await close(visit);
}

async function withoutDaemon(visit: Visit): Promise<void> {
  await visit.daemon.crash();
  await shows(visit, /^Unavailable$/);
  await open(visit);
  await visit.picture('no-daemon');
  await close(visit);
  await visit.daemon.listen();
  await shows(visit, /^Connected$/);
}

async function cycles(visit: Visit): Promise<void> {
  // the overview fills its grid of apps when it likes
  const count = () =>
    run(
      visit,
      `({ actors: all(Main.layoutManager.uiGroup).length - all(Main.layoutManager.overviewGroup).length, panel: all(Main.panel).length, tiles: all(quickSettings.menu.box).filter(actor => /^WARP/.test(actor.accessible_name ?? '')).length })`,
    );
  const turn = async (on: boolean) => {
    await evaluate(visit.desktop, `Main.extensionManager.${on ? 'enable' : 'disable'}Extension('${UUID}')`);
    await until(
      async () => (await evaluate(visit.desktop, `Main.extensionManager.lookup('${UUID}').state`)) === (on ? 1 : 2),
      `${on}`,
    );
  };
  await turn(false);
  const connections = () =>
    names(visit)
      .split('\n')
      .filter(line => line.startsWith(':')).length;
  // the bridge has no other caller
  await until(() => bridgePid(visit) === 0, 'the bridge to end');
  const before = await count();
  const connected = connections();
  for (let i = 0; i < 50; i++) {
    await turn(true);
    await turn(false);
  }
  assert.deepEqual(await count(), before);
  await until(() => bridgePid(visit) === 0, 'the bridge to end');
  await until(() => connections() <= connected, 'its connections to end');
  await turn(true);
  await shows(visit, /^Connected$/);
  // each stack of the tile has its directory
  assert.doesNotMatch(visit.shell!.output(), /^.*culvert@culvert\.org.*$/m);
}

async function removes(visit: Visit): Promise<void> {
  assert.match(visit.culvert('shell', 'remove', 'gnome'), /The tile is removed\./);
  await until(async () => (await run(visit, 'tile === undefined')) === true, 'the tile to go');
  assert.match(visit.culvert('shell'), /^gnome +not installed/m);
  await until(() => bridgePid(visit) === 0, 'the bridge to end');
}
