// Floods the listeners with pipelined requests of another user and of this one, and measures the answers that this user gets
// meanwhile. Prints a line for each shape of request. Exits 1 when an answer takes longer than a second.
// Run as root: node --import tsx test/bench/flood.ts [--minutes 10] [SHAPE…]
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { raw, request } from '../support/daemon/listeners.ts';
import { bundleScript } from '../support/script.ts';

const BAR_MS = 1_000;
const [OTHER_USER, OTHER_CONNECTIONS, OWN_CONNECTIONS] = [65_534, 120, 60];
const SHAPES = ['openapi', 'health', 'snapshot', 'slow', 'bare', 'large', 'header', 'foreign'];

const { values, positionals } = parseArgs({
  options: { minutes: { type: 'string', default: '10' } },
  allowPositionals: true,
});
const shapes = positionals.length ? positionals : SHAPES;
const directory = mkdtempSync(join(tmpdir(), 'culvert-bench-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
chmodSync(directory, 0o755);
const support = join(import.meta.dirname, '../support/daemon');
const [serve, flood] = ['serve-listeners.ts', 'flood.ts'].map(name => bundleScript(join(support, name), directory));

function startFlood(target: string, shape: string, user: number | null): ChildProcess {
  const words = [process.execPath, flood!, target, String(user === null ? OWN_CONNECTIONS : OTHER_CONNECTIONS), shape];
  const command = user === null ? words : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', ...words];
  return spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'ignore', 'inherit'] });
}

const residentMegabytes = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

/** Asks over both listeners in turn, until the time is over. */
async function measure(shape: string, by: 'another user' | 'this user', limitMs: number): Promise<void> {
  const server = spawn(process.execPath, [serve!], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  const { port, socket } = JSON.parse(line.toString());
  const before = residentMegabytes(server.pid!);
  // another user may not open the socket
  const targets = by === 'this user' ? [String(port), socket] : [String(port)];
  const clients = targets.map(target => startFlood(target, shape, by === 'this user' ? null : OTHER_USER));
  await delay(1_000);
  const times: number[] = [];
  let most = before;
  for (const end = performance.now() + limitMs; performance.now() < end; await delay(100)) {
    const overTcp = times.length % 2 === 0;
    const begun = performance.now();
    const target = overTcp ? { port } : { path: socket };
    const host = overTcp ? `127.0.0.1:${port}` : 'localhost';
    const { status } = await raw(target, request('GET /api/health', host, { connection: 'close' }));
    times.push(performance.now() - begun);
    if (status !== 200) console.log(`✗ ${shape}: answered ${status}`);
    most = Math.max(most, residentMegabytes(server.pid!));
  }
  for (const child of [...clients, server]) child.kill('SIGKILL');
  times.sort((a, b) => a - b);
  const worst = times.at(-1)!;
  const inTime = times.filter(ms => ms <= BAR_MS).length;
  const [median, resident] = [times[times.length >> 1]!.toFixed(0), `${before.toFixed(0)} MB to ${most.toFixed(0)} MB`];
  const answers = `${inTime} of ${times.length} within ${BAR_MS / 1000} s, median ${median} ms, worst ${worst.toFixed(0)} ms`;
  console.log(`${worst <= BAR_MS ? '✓' : '✗'} ${shape} by ${by}: ${answers}; ${resident}`);
  if (worst > BAR_MS) process.exitCode = 1;
}

const users = process.getuid!() === 0 ? (['another user', 'this user'] as const) : (['this user'] as const);
const limitMs = (Number(values.minutes) * 60_000) / (shapes.length * users.length);
for (const shape of shapes) for (const by of users) await measure(shape, by, limitMs);
