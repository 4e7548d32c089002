// The tray's figures: memory against a bare gjs in the same run, and the processes it starts while idle.
// Exits 1 when a bar is not met. Run: ./culvert-tool bench tray [rounds]
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { FRUGAL } from '../../daemon/launcher.ts';

if (!process.env.CULVERT_BENCH_BUS) {
  // once more, on its own session bus
  const command = ['--', process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const env = { ...process.env, CULVERT_BENCH_BUS: '1' };
  process.exit(spawnSync('dbus-run-session', command, { stdio: 'inherit', env }).status ?? 1);
}

const rounds = Number(process.argv[2] ?? 5);
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
const wait = (ms: number) => new Promise<void>(done => setTimeout(done, ms));
const median = (values: number[]) => [...values].sort((a, b) => a - b)[values.length >> 1]!;

spawn(
  process.execPath,
  [join(prefix, 'share/culvert/daemon/main.cjs'), '--demo', '--no-tray', '--no-panel', '--port', '19173'],
  { env, stdio: 'ignore' },
);
await wait(1_500);

/** Resident memory in MB after some seconds of rest. */
async function memory(words: string[], rest: (pid: number) => Promise<void>): Promise<number> {
  const child = spawn('gjs', words, { env, stdio: 'ignore' });
  await rest(child.pid!);
  const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]);
  const ended = once(child, 'exit');
  child.kill();
  await ended;
  return kilobytes / 1024;
}

const ratios: number[] = [];
let started = 0;
for (let i = 0; i < rounds; i++) {
  const bare = await memory(['-c', 'imports.gi.GLib.MainLoop.new(null, false).run()'], () => wait(3_000));
  const tray = await memory(['-m', join(prefix, 'share/culvert/tray.js')], async pid => {
    await wait(3_000);
    if (i > 0) return;
    const trace = join(home, 'trace');
    const tracer = spawn('strace', ['-f', '-qq', '-e', 'trace=execve', '-o', trace, '-p', String(pid)], {
      stdio: 'ignore',
    });
    await wait(10_000);
    tracer.kill('SIGINT');
    await once(tracer, 'exit');
    started = readFileSync(trace, 'utf8')
      .split('\n')
      .filter(line => line.includes('execve(')).length;
  });
  ratios.push(tray / bare);
}
execFileSync(join(prefix, 'bin/culvert'), ['stop'], { env, stdio: 'ignore' });

const ratio = median(ratios);
console.log(
  `${ratio <= 1.2 ? '✓' : '✗'} memory of the idle tray, against a bare gjs      ${ratio.toFixed(2)} ×   ≤ 1.2`,
);
console.log(`${started === 0 ? '✓' : '✗'} processes in 10 s of an idle tray                ${started}        ≤ 0`);
process.exitCode = ratio <= 1.2 && started === 0 ? 0 : 1;
