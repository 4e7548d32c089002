// The daemon's figures, as ratios against a bare node:http server (or what the row names) in the same run.
// Exits 1 when a bar is not met. Run: ./culvert-tool bench daemon [rounds]
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ACTION_NAMES } from '../../daemon/api/actions.ts';
import { ACTION_VALUES } from '../support/daemon/action-values.ts';
import { freePort } from '../support/ports.ts';
import { answering, end, promptly } from './support/process.ts';
import { median, note, report, reportAtLeast, roundsOf, sized, rest as wait } from './support/report.ts';

const rounds = roundsOf(20);
const prefix = resolve('build/prefix');
const home = mkdtempSync(join(tmpdir(), 'culvert-bench-'));
const session = join(home, 'session');
mkdirSync(session, { mode: 0o700 });
const env: Record<string, string> = { PATH: process.env.PATH!, HOME: home, XDG_RUNTIME_DIR: session, LANG: 'C.UTF-8' };
/** The environment that the launcher gives the daemon. */
const LAUNCHED = { MALLOC_ARENA_MAX: '1' };
process.on('exit', () => rmSync(home, { recursive: true, force: true }));

/** Rounds of what takes seconds. */
const measured = sized(Math.max(5, rounds / 4), 1);

const RAW = `
const body = Buffer.from(JSON.stringify({ ok: true, app: 'raw', version: '1', pid: process.pid, startedAt: new Date() }));
require('http').createServer((q, r) => {
  r.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }); r.end(body);
}).listen(+process.argv[1], '127.0.0.1');`;
const commands = {
  raw: (port: number) => [process.execPath, '-e', RAW, String(port)],
  // the daemon as its launcher starts it, without the launcher's shell, which the bare server does not have either
  culvert: (port: number) => [
    process.execPath,
    join(prefix, 'share/culvert/daemon/main.cjs'),
    '--demo',
    '--no-tray',
    '--no-panel',
    '--no-open',
    '--port',
    String(port),
  ],
};

async function launch(kind: keyof typeof commands) {
  const port = freePort();
  const [command, ...words] = commands[kind](port) as [string, ...string[]];
  const started = performance.now();
  const child = spawn(command, words, { env: kind === 'culvert' ? { ...env, ...LAUNCHED } : env, stdio: 'ignore' });
  await answering(child, port);
  const ms = performance.now() - started;
  return {
    port,
    ms,
    pid: child.pid!,
    rssMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1024,
    end: () => end(child),
  };
}

/** Ratio of culvert to raw, round by round in turn. */
async function startAndMemory() {
  const [starts, memory] = [[] as number[], [] as number[]];
  for (let i = 0; i < rounds; i++) {
    const raw = await launch('raw');
    await wait(1_000);
    const rawMb = raw.rssMb();
    await raw.end();
    const culvert = await launch('culvert');
    await wait(1_000);
    memory.push(culvert.rssMb() / rawMb);
    starts.push(culvert.ms / raw.ms);
    await culvert.end();
  }
  report('start to first 200 on /api/health, against node:http', median(starts), 1.8, '×');
  report('memory when idle, against node:http', median(memory), 1.15, '×');
}

function requestsPerSecond(port: number, path: string, ...headers: string[]): number {
  const words = ['-t1', '-c16', '-d1s', ...headers.flatMap(h => ['-H', h]), `http://127.0.0.1:${port}${path}`];
  const output = execFileSync('wrk', words, { encoding: 'utf8', timeout: 60_000 });
  if (/Non-2xx/.test(output) && !headers.length) throw new Error(output);
  const rate = Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]);
  if (!(rate > 0)) throw new Error(`No request was answered, so nothing was measured:\n${output}`);
  return rate;
}

async function throughput() {
  const [raw, culvert] = [await launch('raw'), await launch('culvert')];
  const etag = await new Promise<string>(done =>
    get({ host: '127.0.0.1', port: culvert.port, path: '/api/snapshot' }, response => {
      response.resume();
      done(response.headers.etag!);
    }),
  );
  const [health, unchanged] = [[] as number[], [] as number[]];
  for (let i = 0; i < measured; i++) {
    const base = requestsPerSecond(raw.port, '/');
    const h = requestsPerSecond(culvert.port, '/api/health');
    health.push(h / base);
    unchanged.push(h / requestsPerSecond(culvert.port, '/api/snapshot', `If-None-Match: ${etag}`));
  }
  reportAtLeast('GET /api/health, 16 connections, of the requests of node:http', median(health), 0.6, '×');
  report('GET /api/snapshot, unchanged (304), against /api/health', median(unchanged), 1.5, '×');
  note('memory after this', culvert.rssMb(), 'MB');
  note('memory of node:http after this', raw.rssMb(), 'MB');
  await raw.end();
  await culvert.end();
}

/** `execve` calls of the daemon's tree, counted by strace. */
async function processesPerAction() {
  const culvert = await launch('culvert');
  const call = (body: object) =>
    fetch(`http://127.0.0.1:${culvert.port}/api/action`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).then(response => response.text());
  const snapshot = async () => (await fetch(`http://127.0.0.1:${culvert.port}/api/snapshot`)).json();
  const logged = async () =>
    ((await (await fetch(`http://127.0.0.1:${culvert.port}/api/logs?since=0`)).json()) as { next: number }).next;
  await snapshot();
  const stream = connect(join(session, 'culvert/api.sock')).on('data', () => {});
  stream.write('GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n');
  let [worst, worstName] = [0, ''];
  for (const action of ACTION_NAMES) {
    const before = await logged();
    await call({ action, ...(action in ACTION_VALUES ? { value: ACTION_VALUES[action] } : {}) });
    await wait(400); // stale parts are read again in the background
    const count = (await logged()) - before;
    if (count > worst) [worst, worstName] = [count, action];
  }
  stream.destroy();
  report(`processes by one action, itself included (worst: ${worstName})`, worst, 4, '');
  await wait(2_000);
  const before = await logged();
  await wait(10_000);
  report('processes in 10 s of an idle daemon, beyond the listener', (await logged()) - before, 0, '');
  await culvert.end();
}

/** A CLI whose listener prints on request, with the time of the clock that all processes share. */
async function eventLatency() {
  const fifo = join(home, 'tell');
  execFileSync('mkfifo', [fifo]);
  const cli = join(home, 'warp-cli');
  writeFileSync(
    cli,
    `#!${process.execPath}
const words = process.argv.slice(2);
if (words.includes('--version')) console.log('warp-cli 2026.7.1377.0');
else if (words.includes('-l')) {
  const fs = require('fs');
  fs.writeSync(1, '{"status":"Disconnected","reason":"Manual"}\\n');
  let n = 0;
  fs.createReadStream(${JSON.stringify(fifo)}).on('data', () => {
    n++;
    fs.writeSync(1, JSON.stringify({ status: 'Connecting', reason: { EstablishingConnection: process.hrtime.bigint() + ':' + n } }) + '\\n');
  });
} else console.log('Success');
`,
    { mode: 0o755 },
  );
  const port = freePort();
  const child = spawn(
    process.execPath,
    [join(prefix, 'share/culvert/daemon/main.cjs'), '--no-tray', '--no-panel', '--port', String(port)],
    {
      env: { ...env, CULVERT_WARP_CLI: cli },
      stdio: 'ignore',
    },
  );
  await answering(child, port);
  const stream = connect(join(session, 'culvert/api.sock'));
  stream.write('GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const { openSync, writeSync } = await import('node:fs');
  const tell = openSync(fifo, 'r+');
  const latencies: number[] = [];
  let heard = '';
  let next: () => void = () => {};
  stream.setEncoding('utf8').on('data', (piece: string) => {
    const now = process.hrtime.bigint();
    heard += piece;
    for (const match of heard.matchAll(/"text":"[^"]*?(\d{9,}):\d+"/g)) {
      latencies.push(Number(now - BigInt(match[1]!)) / 1e6);
      next();
    }
    if (heard.includes('\n\n')) heard = heard.slice(heard.lastIndexOf('\n\n'));
  });
  await wait(500);
  for (let i = 0; i < sized(10 * rounds, 2); i++) {
    const told = new Promise<void>(done => (next = done));
    writeSync(tell, 'x');
    await promptly(told, 'an event');
    await wait(5);
  }
  report('state printed by the CLI to event at a client, median', median(latencies), 2, 'ms');
  stream.destroy();
  await end(child);
}

async function statusCommand() {
  const culvert = await launch('culvert');
  await wait(500);
  const program = join(prefix, 'bin/culvert');
  const loop = (command: string) => {
    const before = performance.now();
    spawnSync('sh', ['-c', `i=0; while [ $i -lt ${sized(100, 2)} ]; do ${command} >/dev/null; i=$((i+1)); done`], {
      env,
    });
    return performance.now() - before;
  };
  const ratios: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const base = loop('sh -c :');
    ratios.push(loop(`${program} status`) / base);
  }
  report('culvert status, against sh -c :', median(ratios), 3, '×');
  await culvert.end();
}

const parts = { startAndMemory, throughput, processesPerAction, eventLatency, statusCommand };
const wanted = process.argv[3]
  ? [process.argv[3] as keyof typeof parts]
  : (Object.keys(parts) as (keyof typeof parts)[]);
for (const part of wanted) await parts[part]();
