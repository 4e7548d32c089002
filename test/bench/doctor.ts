// Figures of the doctor: all checks on a machine without a fault, within 3 s and 20 processes.
// Exits 1 when a bar is not met. Run: ./culvert-tool bench doctor [rounds]
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import * as z from 'zod/mini';
import { DoctorReport } from '../../daemon/api/doctor.ts';
import { freePort } from '../support/ports.ts';
import { median, note, report, roundsOf } from './support/report.ts';

const rounds = roundsOf(10);
const prefix = resolve('build/prefix');
const home = mkdtempSync(join(tmpdir(), 'culvert-bench-'));
const session = join(home, 'session');
mkdirSync(session, { mode: 0o700 });
const env = { PATH: process.env.PATH ?? '', HOME: home, XDG_RUNTIME_DIR: session, LANG: 'C.UTF-8' };
const culvert = (...words: string[]) =>
  spawnSync(`${prefix}/bin/culvert`, words, { env, encoding: 'utf8', timeout: 60_000 });

const port = String(freePort());
const daemon = spawn(`${prefix}/bin/culvert`, ['--demo', '--no-tray', '--no-panel', '--no-open', '--port', port], {
  env,
  stdio: 'ignore',
});
process.on('exit', () => {
  culvert('stop'); // and waits until the daemon writes no more
  daemon.kill();
  rmSync(home, { recursive: true, force: true });
});
const connected = culvert('wait', '--timeout', '1').status === 0;
if (!connected)
  for (const words of [
    ['account', 'accept-terms'],
    ['account', 'register'],
    ['connect', '--wait'],
  ])
    culvert(...words);

/** `execve` calls of the command and of what it starts, by strace; the daemon's are in its own log. */
async function processes(): Promise<{ own: number; daemon: number }> {
  const trace = mkdtempSync(join(home, 'trace-'));
  const before = await logged();
  spawnSync(
    'strace',
    ['-ff', '-qq', '-e', 'trace=execve', '-o', join(trace, 'x'), `${prefix}/bin/culvert`, 'doctor', '--json'],
    { env },
  );
  const own = readdirSync(trace).filter(name => / = 0$/m.test(readFileSync(join(trace, name), 'utf8'))).length;
  return { own, daemon: (await logged()) - before };
}

/** The number of the last command given to the tunnel CLI. */
async function logged(): Promise<number> {
  const reply = await fetch(`http://127.0.0.1:${port}/api/logs`);
  return z.parse(z.object({ next: z.int() }), await reply.json()).next;
}

const walls: number[] = [];
const checks: number[] = [];
for (let round = 0; round < rounds; round++) {
  const started = performance.now();
  const { stdout } = culvert('doctor', '--json');
  walls.push(performance.now() - started);
  checks.push(z.parse(DoctorReport, JSON.parse(stdout)).durationMs);
}
const counted = await processes();

report('culvert doctor, from start to end, median', median(walls), 3_000, 'ms');
report('culvert doctor, the slowest run', Math.max(...walls), 6_000, 'ms');
report('processes: the command with all that it starts', counted.own, 20, '');
report('processes: those and what the daemon starts for it', counted.own + counted.daemon, 20, '');
note('of it the checks', median(checks), 'ms');
process.exit();
