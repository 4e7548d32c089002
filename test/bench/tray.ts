// The figures of tray and bridge: memory against a bare gjs in the same run, and what they do while idle.
// Exits 1 when a bar is not met. Run: ./culvert-tool bench tray [rounds] [seconds of rest]
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { FRUGAL } from '../../daemon/launcher.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import { end } from './support/process.ts';
import { median, report, rest, roundsOf, sized } from './support/report.ts';

if (!process.env.CULVERT_BENCH_BUS) {
  // once more, on its own session bus
  const command = ['--', process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const env = { ...process.env, CULVERT_BENCH_BUS: '1' };
  process.exit(spawnSync('dbus-run-session', command, { stdio: 'inherit', env }).status ?? 1);
}

const rounds = roundsOf(5);
const prefix = resolve('build/prefix');
const home = mkdtempSync(join(tmpdir(), 'culvert-bench-tray-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
mkdirSync(join(home, 'session'), { mode: 0o700 });
const env = {
  PATH: process.env.PATH!,
  HOME: home,
  XDG_RUNTIME_DIR: join(home, 'session'),
  DBUS_SESSION_BUS_ADDRESS: process.env.DBUS_SESSION_BUS_ADDRESS!,
  LANG: 'C.UTF-8',
  // as the launcher starts the tray; the bare gjs gets the same
  ...FRUGAL,
};
/** Time without events in which the bridge is traced. */
const IDLE_MS = sized(Number(process.argv[3] ?? 60) * 1000, 300);

spawn(
  process.execPath,
  [join(prefix, 'share/culvert/daemon/main.cjs'), '--demo', '--no-tray', '--no-panel', '--port', String(freePort())],
  { env, stdio: 'ignore' },
);
await rest(1_500);

/** Resident memory in MB after some seconds of rest. */
async function memory(words: string[], rest: (pid: number) => Promise<void>): Promise<number> {
  const child = spawn('gjs', words, { env, stdio: 'ignore' });
  await rest(child.pid!);
  const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]);
  await end(child);
  return kilobytes / 1024;
}

/** Traces a process for some seconds. @returns its system calls, one a line */
async function trace(pid: number, calls: string, ms: number): Promise<string[]> {
  const file = join(home, 'trace');
  rmSync(file, { force: true });
  const tracer = spawn('strace', ['-f', '-qq', '-e', `trace=${calls}`, '-o', file, '-p', String(pid)], {
    stdio: 'ignore',
  });
  await until(() => existsSync(file), 'strace to begin');
  await rest(ms);
  await end(tracer, 'SIGINT');
  return readFileSync(file, 'utf8').split('\n').filter(Boolean);
}

/** A shell that shows the state: it keeps the bridge running. */
const SHELL = `const { Gio, GLib } = imports.gi;
const name = 'org.culvert.Client1';
Gio.DBusProxy.new_for_bus_sync(Gio.BusType.SESSION, 0, null, name, '/org/culvert/Client1', name, null);
GLib.MainLoop.new(null, false).run();`;

const ratios: number[] = [];
const bridgeRatios: number[] = [];
let started = 0;
let woken = 0;
for (let i = 0; i < rounds; i++) {
  const bare = await memory(['-c', 'imports.gi.GLib.MainLoop.new(null, false).run()'], () => rest(3_000));
  const tray = await memory(['-m', join(prefix, 'share/culvert/tray.js')], async pid => {
    await rest(3_000);
    if (i > 0) return;
    started = (await trace(pid, 'execve', 10_000)).filter(line => line.includes('execve(')).length;
  });
  ratios.push(tray / bare);
  const bridge = await memory(['-m', join(prefix, 'share/culvert/bridge.js')], async pid => {
    await rest(3_000);
    if (i > 0) return;
    const shell = spawn('gjs', ['-c', SHELL], { env, stdio: 'ignore' });
    // the engine collects garbage ten seconds after the last event
    await rest(15_000);
    woken = (await trace(pid, 'poll,ppoll,read,recvmsg', IDLE_MS)).filter(line => !line.includes('unfinished')).length;
    await end(shell);
  });
  bridgeRatios.push(bridge / bare);
}
execFileSync(join(prefix, 'bin/culvert'), ['stop'], { env, stdio: 'ignore' });

report('memory of the idle tray, against a bare gjs', median(ratios), 1.2, '×');
report('processes in 10 s of an idle tray', started, 0, '');
report('memory of the idle bridge, against a bare gjs', median(bridgeRatios), 1.15, '×');
report(`wake-ups in ${IDLE_MS / 1000} s of an idle bridge`, woken, 0, '');
