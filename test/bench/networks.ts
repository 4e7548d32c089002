// Cost of the rules for networks to a daemon that has none: processes, connections to the system's bus, and wake-ups while it is idle.
// The same with a rule shows that the measurement sees them. Exits 1 when a bar is not met. Run: ./culvert-tool bench networks [seconds]
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/ports.ts';
import { answering, end } from './support/process.ts';
import { note, report, reportAtLeast, sized } from './support/report.ts';

const SECONDS = sized(Number(process.argv[2] ?? 60), 0.3);
/** The start is over then, and so is the tidying of the heap after it. */
const SETTLE_MS = sized(30_000, 3_000);
const MAIN = resolve('build/prefix/share/culvert/daemon/main.cjs');
const RULE = '[[network]]\nname = "cafes"\nany = "unknown-wifi"\nwarp = "connect"\n';

interface Idle {
  processes: string[];
  connections: number;
  wakeUps: number;
}

/** A demo daemon with a bus that takes connections and answers nothing. @param rules null: no file */
async function measure(rules: string | null, port: number): Promise<Idle> {
  const home = mkdtempSync(join(tmpdir(), 'culvert-bench-'));
  const state = join(home, '.local/state/culvert/demo');
  mkdirSync(state, { recursive: true });
  mkdirSync(join(home, 'run'), { mode: 0o700 });
  if (rules !== null) writeFileSync(join(state, 'networks.toml'), rules);
  const sockets: Socket[] = [];
  const bus = createServer(socket => {
    sockets.push(socket.on('error', () => {}));
  }).listen(join(home, 'bus'));
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    XDG_RUNTIME_DIR: join(home, 'run'),
    DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${join(home, 'bus')}`,
    MALLOC_ARENA_MAX: '1',
  };
  const words = ['--demo', '--no-tray', '--no-panel', '--no-open', '--port', String(port)];
  const daemon = spawn(process.execPath, [MAIN, ...words], { env, stdio: 'ignore' });
  try {
    await answering(daemon, port);
    await delay(SETTLE_MS);
    const before = wakeUpsOf(daemon.pid!);
    await delay(SECONDS * 1000);
    return {
      processes: childrenOf(daemon.pid!),
      connections: sockets.length,
      wakeUps: wakeUpsOf(daemon.pid!) - before,
    };
  } finally {
    await end(daemon);
    bus.close();
    // calls of the daemon to the bus outlive it, and would keep this process as long as they wait for an answer
    for (const socket of sockets) socket.destroy();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Times that a thread of the process waited for something, since it began. */
function wakeUpsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/task`)
    .map(thread => readFileSync(`/proc/${pid}/task/${thread}/status`, 'latin1'))
    .reduce((sum, status) => sum + Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1]), 0);
}

/** Names of the children, without the tunnel CLI's listener, which the daemon always has. */
function childrenOf(pid: number): string[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => {
      try {
        const [stat, words] = ['stat', 'cmdline'].map(file => readFileSync(`/proc/${name}/${file}`, 'latin1'));
        const parent = Number(stat!.slice(stat!.lastIndexOf(')') + 2).split(' ')[1]);
        return parent === pid && !words!.includes('emulator') ? [words!.replaceAll('\0', ' ').trim()] : [];
      } catch {
        return []; // it has ended
      }
    });
}

const port = freePort(2);
const [without, withRule] = await Promise.all([measure(null, port), measure(RULE, port + 1)]);
report('processes without rules', without.processes.length, 0, '');
report('connections to the bus without rules', without.connections, 0, '');
note(`wake-ups in ${SECONDS} s without rules`, without.wakeUps, '');
// otherwise the measurement sees nothing
reportAtLeast('processes with a rule', withRule.processes.length, 1, '');
reportAtLeast('connections to the bus with a rule', withRule.connections, 1, '');
note(`wake-ups in ${SECONDS} s with a rule`, withRule.wakeUps, '');
if (without.processes.length > 0) console.log(`processes without rules: ${without.processes.join(', ')}`);
