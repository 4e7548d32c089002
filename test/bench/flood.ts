// Floods the listeners with pipelined requests of another user and of this one, and measures the answers that this user
// gets. Prints a line for each shape of request. Exits 1 when an answer takes longer than a second, or is refused.
// Run as root: node --import tsx test/bench/flood.ts [--minutes 10] [SHAPE…]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { flooding, residentMegabytes } from '../support/daemon/flooding.ts';
import { raw, request } from '../support/daemon/listeners.ts';
import type { Ends } from '../support/temporary.ts';

const BAR_MS = 1_000;
const OTHER_USER = 65_534;
const SHAPES = ['openapi', 'health', 'snapshot', 'slow', 'bare', 'header', 'foreign'];

const { values, positionals } = parseArgs({
  options: { minutes: { type: 'string', default: '10' } },
  allowPositionals: true,
});
const shapes = positionals.length ? positionals : SHAPES;
const directory = mkdtempSync(join(tmpdir(), 'culvert-bench-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const { start, attack } = flooding(directory);

/** Asks over both listeners in turn, until the time is over. */
async function measure(t: Ends, shape: string, by: 'another user' | 'this user', limitMs: number): Promise<void> {
  const { pid, port, socket } = await start(t);
  const before = residentMegabytes(pid);
  // another user may not open the socket
  const targets = by === 'this user' ? [String(port), socket] : [String(port)];
  for (const target of targets) await attack(t, target, shape, by === 'this user' ? null : OTHER_USER);
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
    if (status !== 200) {
      console.log(`✗ ${shape}: answered ${status}`);
      process.exitCode = 1;
    }
    most = Math.max(most, residentMegabytes(pid));
  }
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
for (const shape of shapes)
  for (const by of users) {
    const ends: (() => unknown)[] = [];
    try {
      await measure({ after: end => ends.push(end) }, shape, by, limitMs);
    } finally {
      for (const end of ends) end();
    }
  }
