// Worlds for checks: a directory that stands for `/`, a private bus with fake services, a network namespace.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { CheckResult } from '../../../daemon/api/doctor.ts';
import type { KillSwitch, Snapshot } from '../../../daemon/api/schema.ts';
import type { Check } from '../../../daemon/doctor/check.ts';
import { type RunOptions, runChecks } from '../../../daemon/doctor/engine.ts';
import { type Knowledge, loadKnowledge } from '../../../daemon/doctor/knowledge.ts';
import { createWorld, type World, type WorldOptions } from '../../../daemon/doctor/world/world.ts';
import { createState } from '../../../daemon/state/store.ts';
import { type Ends, missing, temporary } from '../temporary.ts';

/** The time in a world, in ms since the epoch. */
export const NOW = Date.parse('2026-11-21T12:00:00.000Z');
export const NEWEST = '2026.8.2100.0';
export const KNOWLEDGE: Knowledge = loadKnowledge([join(import.meta.dirname, '../../../data/knowledge')]);

/** A kill switch that is on and blocks. */
export const BLOCKING: Partial<KillSwitch> = { installed: true, enabled: true, active: true, bootGuard: true };

/** Parts that a test changes; objects are merged one level deep. */
export type Parts = { [K in keyof Snapshot]?: Partial<Snapshot[K]> };

/** A free account, connected in the mode `warp` with the usual split tunnel. */
export function snapshot(parts: Parts = {}): Snapshot {
  const base = createState({ available: true, path: '/usr/bin/warp-cli', version: NEWEST, emulated: false }).snapshot();
  const usual: Parts = {
    status: { state: 'connected', network: 'healthy', since: '2026-11-21T10:00:00.000Z' },
    settings: { Mode: 'warp', 'WARP tunnel protocol': 'MASQUE', 'Fallback domains': ['corp', 'lan'] },
    splitTunnel: {
      mode: 'exclude',
      ips: ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fd00::/8'].map(value => ({
        value,
        description: null,
      })),
    },
    account: { registered: true, type: 'free', organization: null, managed: false },
  };
  const merged: Record<string, unknown> = { ...base };
  for (const source of [usual, parts])
    for (const [part, value] of Object.entries(source))
      merged[part] = { ...(merged[part] as object), ...(value as object) };
  return merged as Snapshot;
}

export const CULVERT: WorldOptions['culvert'] = {
  version: '1.2.3',
  runtime: '/run/user/1000/culvert',
  state: '/home/user/.local/state/culvert',
  userConfig: '/home/user/.config/culvert/config.json',
  brokenChanges: '/home/user/.local/state/culvert/changes.json.broken',
  daemon: { version: '1.2.3', pid: process.pid, port: null },
  configuration: { problems: [], restartRequired: [] },
  port: 3200,
  cli: 'warp-cli',
};

/** A file with text, a link, or a file with more properties; the path begins with `/`. */
export type Fixture = Record<string, string | { link: string } | { text: string; mode?: number; at?: Date }>;

/** A directory with these files, removed with the test. */
export function tree(t: Ends, files: Fixture = {}): string {
  const root = temporary(t, 'root');
  for (const [path, content] of Object.entries(files)) {
    const file = `${root}${path}`;
    mkdirSync(dirname(file), { recursive: true });
    if (typeof content === 'string') writeFileSync(file, content);
    else if ('link' in content) symlinkSync(content.link, file);
    else {
      writeFileSync(file, content.text);
      if (content.mode !== undefined) chmodSync(file, content.mode);
      if (content.at) utimesSync(file, content.at, content.at);
    }
  }
  return root;
}

/** An environment whose whole PATH is a directory with these shell scripts. */
export function onlyPrograms(t: Ends, scripts: Record<string, string>): { PATH: string } {
  const root = tree(t);
  for (const [name, text] of Object.entries(scripts))
    writeFileSync(join(root, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return { PATH: root };
}

/** The machine's programs, with these shell scripts in place of some. */
export function withPrograms(t: Ends, scripts: Record<string, string>): { PATH: string } {
  return { PATH: `${onlyPrograms(t, scripts).PATH}:${process.env.PATH}` };
}

export const ENV = { PATH: process.env.PATH ?? '', HOME: missing({ after() {} }) };
/** An address at which no bus is: nothing of the machine's own bus shows. */
const NO_BUS = `unix:path=${ENV.HOME}/bus`;

export function world(t: Ends, options: Partial<WorldOptions> = {}): World {
  return createWorld({
    env: ENV,
    tunnel: snapshot(),
    culvert: CULVERT,
    knowledge: KNOWLEDGE,
    bus: NO_BUS,
    now: () => NOW,
    // other tests have the machine too
    toolMs: 20_000,
    serviceManager: null,
    ...options,
    root: options.root ?? tree(t),
  });
}

/** Runs one check. */
export async function examine(check: Check, within: World, options: RunOptions = {}): Promise<CheckResult> {
  const [result] = await runChecks([check], within, options);
  if (!result) throw new Error(`no result of ${check.id}`);
  return result;
}

/** Type and value (in GVariant's text form) of each property; with `()` before the type, of each method. */
export type Services = Record<string, Record<string, Record<string, Record<string, [string, string]>>>>;

/** The address of a private bus on which these services are. */
export async function startBus(t: Ends, services: Services): Promise<string> {
  const directory = tree(t, { '/services.json': JSON.stringify(services) });
  const address = `unix:path=${directory}/bus`;
  const daemon = spawn(
    'dbus-daemon',
    ['--session', '--nofork', '--nopidfile', `--address=${address}`, '--print-address'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  t.after(() => daemon.kill('SIGKILL'));
  await firstLine(daemon.stdout);
  const service = spawn('/usr/bin/python3', [join(import.meta.dirname, 'bus.py'), join(directory, 'services.json')], {
    env: { ...ENV, DBUS_SESSION_BUS_ADDRESS: address },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => service.kill('SIGKILL'));
  await firstLine(service.stdout);
  return address;
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  const lines = createInterface(stream);
  const [line] = await once(lines, 'line', { signal: AbortSignal.timeout(60_000) });
  return String(line);
}

export interface Namespace {
  /** The first process in it. */
  pid: number;
  /** Words that run a command in it. */
  prefix: string[];
}

/**
 * Its own network namespace, set up by shell commands. Its processes have a process namespace as well, so that
 * they all end with the test.
 */
export async function namespace(t: Ends, setUp: string): Promise<Namespace> {
  const script = `set -e; ip link set lo up; ${setUp}\necho ready; exec sleep 600`;
  // root needs no user namespace, which a changed root directory would not allow
  const isRoot = process.getuid?.() === 0;
  const options = [isRoot ? '-npf' : '-rnpf', '--kill-child', '--mount-proc'];
  const holder = spawn('unshare', [...options, 'sh', '-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => holder.kill('SIGKILL'));
  await firstLine(holder.stdout);
  const { pid } = holder;
  const user = isRoot ? [] : ['-U', '--preserve-credentials'];
  const prefix = ['/usr/bin/nsenter', '-t', String(pid), '-n', ...user];
  return { pid: Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()), prefix };
}
