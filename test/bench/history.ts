// Measures what a week of history costs the daemon: memory, and the time of an answer. Exits 1 when a bar is not met.
// Run: ./culvert-tool bench history [rounds]
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { summarize, tierOf } from '../../daemon/history/summarize.ts';
import { freePort } from '../support/ports.ts';
import { answering, end } from './support/process.ts';
import { quiet } from './support/quiet.ts';
import { median, note, report, rest, roundsOf } from './support/report.ts';

const QUESTION = '/api/history?since=1d';
const rounds = roundsOf(7);
const home = mkdtempSync(join(tmpdir(), 'culvert-bench-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
const session = join(home, 'session');
mkdirSync(session, { mode: 0o700 });
const directory = join(home, '.local/state/culvert/demo/history');

/** A sample each five seconds and a change each ten minutes, as a window that is always open would bring about. */
function writeWeek(): void {
  mkdirSync(directory, { recursive: true });
  const now = Date.now();
  const today = new Date(now).toISOString().slice(0, 10);
  for (let ago = 0; ago <= 8; ago++) {
    const start = Date.parse(today) - ago * 86_400_000;
    const day = new Date(start).toISOString().slice(0, 10);
    const lines: string[] = [];
    for (let at = start; at < Math.min(now, start + 86_400_000); at += 5_000) {
      const latency = 10_000 + (at % 7_000);
      lines.push(`${at / 1000} 5 1 ${latency} ${latency} ${latency} 200 ${at % 1_000_000} 12345\n`);
      if (at % 600_000 === 0)
        lines.push(
          `{"at":${at},"kind":"state","state":"${at % 1_200_000 ? 'unable' : 'connected'}","blocked":null,"network":null,"reason":${at % 1_200_000 ? '"NoNetwork"' : 'null'},"mode":"warp","colo":null}\n`,
        );
    }
    const tier = tierOf(day, today)!;
    writeFileSync(join(directory, `${day}.log`), tier.name ? summarize(lines.join(''), tier) : lines.join(''));
  }
}

function ask(port: number, path: string): Promise<{ ms: number; text: string }> {
  const started = performance.now();
  return new Promise((done, fail) => {
    get({ host: '127.0.0.1', port, path, agent: false }, response => {
      let text = '';
      response.setEncoding('utf8').on('data', piece => {
        text += piece;
      });
      response.on('end', () => done({ ms: performance.now() - started, text }));
    }).on('error', fail);
  });
}

async function launch(enabled: boolean) {
  const port = freePort();
  const flags = ['--demo', '--no-tray', '--no-panel', '--no-open', '--port', String(port)];
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    XDG_RUNTIME_DIR: session,
    LANG: 'C.UTF-8',
    CULVERT_HISTORY_ENABLED: String(enabled),
  };
  // the launcher becomes the daemon
  const child = spawn(resolve('build/prefix/bin/culvert'), flags, { env, stdio: 'ignore' });
  await answering(child, port);
  return {
    port,
    memoryMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1024,
    end: () => end(child),
  };
}

const [extra, answers] = [[] as number[], [] as number[]];
await quiet();
for (let round = 0; round < rounds; round++) {
  rmSync(directory, { recursive: true, force: true });
  const measured: number[] = [];
  for (const enabled of [false, true]) {
    if (enabled) writeWeek();
    const daemon = await launch(enabled);
    // the first answer loads what every answer needs, in both
    await ask(daemon.port, QUESTION);
    for (let i = 0; i < 5; i++) {
      const { ms, text } = await ask(daemon.port, QUESTION);
      if (!enabled) continue;
      answers.push(ms);
      const { samples } = JSON.parse(text) as { samples: unknown[] };
      if (samples.length < 24) throw new Error(`${samples.length} samples`);
    }
    await rest(1_000);
    measured.push(daemon.memoryMb());
    await daemon.end();
  }
  extra.push(measured[1]! - measured[0]!);
}
note('a week of history, memory over none', median(extra), 'MB');
report(`GET ${QUESTION}, median of ${answers.length}`, median(answers), 100, 'ms');
