// Does with tray and window in a desktop what a person does: each step is a separate check.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDaemon, type FakeDaemon } from '../support/gnome/daemon.ts';
import { type Ask, type Desktop, openDesktop, type Running, startDriver } from '../support/gnome/desktop.ts';
import { KILL_SWITCH } from '../support/gnome/initial.ts';
import { until } from '../support/until.ts';
import type { Shell } from './shells.ts';

export interface Step {
  name: string;
  /** Why it failed; null when it passed. */
  failure: string | null;
}

interface Entry {
  id: number;
  label?: string;
  type?: string;
  enabled?: boolean;
  /** 1 for a check or radio entry that is on. */
  'toggle-state'?: number;
  /** `radio` or `checkmark`. */
  'toggle-type'?: string;
  children: Entry[];
}

interface Visit {
  shell: Shell;
  desktop: Desktop;
  daemon: FakeDaemon;
  ask: Ask;
  tray: Running;
  running: Running | null;
  /** Arguments of the daemon's program. */
  called(): string[];
  picture(name: string): Promise<void>;
}

const STEPS: [name: string, step: (visit: Visit) => Promise<void>][] = [
  ['without a tray the tray waits', absent],
  ['the tray appears later', appears],
  ['the icon follows the state', follows],
  ['every entry of the menu', everyEntry],
  ['the shell restarts', restarts],
  ['the window', windowShown],
  ['the tray goes away, and the window stays', leaves],
  ['quit', quits],
];

/**
 * @param pictures directory for screenshots
 * @param report called after each step
 */
export async function visit(shell: Shell, pictures: string, report: (step: Step) => void): Promise<void> {
  const desktop = await openDesktop('1280x800');
  Object.assign(desktop.env, shell.env);
  const daemon = createDaemon(desktop.socket);
  try {
    desktop.env.DBUS_SYSTEM_BUS_ADDRESS = await startSystemBus(desktop);
    await daemon.listen();
    daemon.set('tunnelCli', { emulated: false });
    daemon.set('killSwitch', KILL_SWITCH);
    const log = scriptCulvert(desktop);
    shell.prepare(desktop);
    const tray = desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'tray.js')]);
    const picture = (name: string) => shell.picture(desktop, join(pictures, `${shell.name}-${name}.png`));
    const called = () => readFileSync(log, 'utf8').trim().split('\n');
    const ask = startDriver(desktop, 'host.py');
    const all: Visit = { shell, desktop, daemon, ask, tray, running: null, called, picture };
    for (const [name, step] of STEPS) report({ name, failure: await failureOf(step(all)) });
  } finally {
    endWindows(desktop); // those that the tray opened
    await desktop.close();
    await daemon.stop();
  }
}

export function failureOf(step: Promise<void>): Promise<string | null> {
  return step.then(
    () => null,
    (error: Error) => error.message,
  );
}

/** An empty one: shells end without. */
export async function startSystemBus(desktop: Pick<Desktop, 'directory' | 'start'>): Promise<string> {
  const file = join(desktop.directory, 'system-bus.conf');
  const policy =
    '<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>';
  const address = `unix:path=${desktop.directory}/system-bus`;
  writeFileSync(
    file,
    `<busconfig><type>system</type><listen>${address}</listen><auth>EXTERNAL</auth>${policy}</busconfig>`,
  );
  const bus = desktop.start('dbus-daemon', [`--config-file=${file}`, '--nofork', '--print-address=1']);
  await until(() => bus.stdout().includes('\n'), 'the system bus');
  return address;
}

/** Stands in for the installed `culvert`, which tray and panel start. @returns the file of what it was called with */
function scriptCulvert(desktop: Desktop): string {
  const log = join(desktop.directory, 'called');
  writeFileSync(log, '');
  mkdirSync(join(desktop.prefix, 'bin'), { recursive: true });
  writeFileSync(join(desktop.prefix, 'bin', 'culvert'), `#!/bin/sh\necho "$@" >> '${log}'\n`, { mode: 0o755 });
  return log;
}

const registered = ({ ask }: Visit) => until(() => ask({ do: 'adopt' }), 'the registration with the tray');

async function absent({ tray, daemon }: Visit): Promise<void> {
  await until(() => daemon.streams() === 1, 'the stream');
  await until(() => /shows no tray icons/.test(tray.output()), 'the word about the missing tray');
}

async function appears(visit: Visit): Promise<void> {
  visit.running = await visit.shell.start(visit.desktop);
  await registered(visit);
}

/** Has the daemon say a state, and waits until the tray shows it. */
async function show({ ask, daemon }: Visit, state: 'disconnected' | 'connected', shown: string): Promise<void> {
  daemon.set('status', { state, reason: null, blocked: null, raw: state });
  const title = async () => ((await ask({ do: 'item' })) as { title: string }).title;
  await until(async () => (await title()) === shown, `the tooltip "${shown}"`);
}

async function follows(visit: Visit): Promise<void> {
  const { ask } = visit;
  const seen = new Set<string>();
  for (const [state, shown] of [
    ['disconnected', 'Disconnected'],
    ['connected', 'Connected'],
  ] as const) {
    await show(visit, state, shown);
    await visit.picture(`tray-${state}`);
    seen.add(((await ask({ do: 'item' })) as { picture: string }).picture);
  }
  assert.equal(seen.size, 2, 'each state has its own picture');
}

const leafEntries = (entries: Entry[]): Entry[] =>
  entries.flatMap(entry => (entry.children.length > 0 ? leafEntries(entry.children) : entry.label ? [entry] : []));

/** Sensitive, and not the choice that is made already. */
const isUseful = (entry: Entry) =>
  entry.enabled !== false && !(entry['toggle-type'] === 'radio' && entry['toggle-state'] === 1);

async function everyEntry(visit: Visit): Promise<void> {
  const { ask, daemon, shell, desktop } = visit;
  daemon.onAction = ({ action }) => {
    if (action === 'disconnect') daemon.set('status', { state: 'disconnected' });
  };
  const entries = leafEntries((await ask({ do: 'tree' })) as Entry[]).filter(isUseful);
  assert.ok(entries.length >= 8, `only ${entries.length} entries`);
  for (const { id, label } of entries) {
    if (label === 'Quit Culvert') continue; // the last step
    // both, one after the other: the tray may still show the state before the last action
    await show(visit, 'disconnected', 'Disconnected');
    daemon.set('settings', { Mode: 'warp' });
    await show(visit, 'connected', 'Connected');
    // those that only make sense while the tunnel is up come back with it
    const usable = async () =>
      leafEntries((await ask({ do: 'tree' })) as Entry[]).some(e => e.id === id && isUseful(e));
    await until(usable, `"${label}" to be there and sensitive`);
    const before = daemon.actions.length + daemon.asked.length;
    const opens = label === 'Open Culvert' || label === 'Settings';
    await ask({ do: 'click', id });
    const done = () =>
      opens ? shell.windows(desktop).includes('Culvert') : daemon.actions.length + daemon.asked.length > before;
    await until(done, `what "${label}" does`);
  }
}

/**
 * As a session does whose display has ended. GTK 4.8 loops in a window that was just opening then, which would keep the
 * next one from opening.
 */
function endWindows({ prefix }: Desktop): void {
  const program = join(prefix, 'share', 'culvert', 'panel.js');
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name)))
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(program)) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // it has ended
    }
}

async function restarts(visit: Visit): Promise<void> {
  await visit.running!.kill('SIGKILL');
  if (visit.shell.isDisplay) endWindows(visit.desktop);
  if (!visit.shell.listOutlives) await until(async () => !(await visit.ask({ do: 'adopt' })), 'the tray to be gone');
  await appears(visit);
  await visit.picture('restarted');
}

async function windowShown(visit: Visit): Promise<void> {
  const { desktop, shell } = visit;
  const panel = desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'panel.js')]);
  await until(
    () => shell.windows(desktop).includes('Culvert'),
    () => `the window; its program ${panel.child.exitCode ?? 'runs'}: ${panel.output()}; ${shell.windows(desktop)}`,
  );
  await visit.picture('window');
}

async function leaves(visit: Visit): Promise<void> {
  const { tray, daemon, shell } = visit;
  if (!shell.isDisplay) {
    await visit.running!.kill('SIGKILL');
    assert.ok(shell.windows(visit.desktop).includes('Culvert'), 'the window is still there');
  }
  assert.equal(tray.child.exitCode, null, 'the tray goes on');
  assert.ok(daemon.streams() > 0);
  if (!shell.isDisplay) await appears(visit);
}

async function quits({ ask, tray, called }: Visit): Promise<void> {
  const entry = leafEntries((await ask({ do: 'tree' })) as Entry[]).find(({ label }) => label === 'Quit Culvert');
  await ask({ do: 'click', id: entry!.id });
  assert.equal(await tray.exited, 0);
  await until(() => called().includes('stop'), 'the stop of the daemon');
}
