// The gateway's figures, against a direct request and a bare forwarder in the same run; exits 1 when a bar is not met.
// Run: node --import tsx test/bench/gateway.ts [rounds]
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { Agent, type ClientRequest, get, type IncomingMessage, request } from 'node:http';
import * as path from 'node:path';
import { buildWrapper, sandbox } from '../support/wrapper/sandbox.ts';
import { quiet } from './support/quiet.ts';
import { median, note, report, reportAtLeast, roundsOf, sized } from './support/report.ts';

const rounds = roundsOf(7);
/** Bytes of a large answer: 1 GiB. */
const GIB = sized(1024 ** 3, 1024 ** 2);
const REQUESTS = sized(2_000, 100);
/** Requests one after the other. */
const ASKED = sized(200, 10);
const CONNECTIONS = 64;
/** Links of programs, in megabits a second. */
const LINKS = [1_000, 2_500];
const host = '127.0.0.1';

const cleanups: (() => void)[] = [];
const box = sandbox({ after: (fn?: unknown) => void cleanups.push(fn as () => void) });

/** `/big` streams 1 GiB, and `/link/MBIT` half a GiB as fast as over a link of that many megabits a second. */
const PROVIDER = `
const block = Buffer.alloc(65536, 'x');
const server = require('node:http').createServer((req, res) => {
  req.resume().on('end', () => {
    if (req.url.startsWith('/link/')) return overLink(res, Number(req.url.slice(6)) * 125_000);
    if (req.url !== '/big') return res.setHeader('content-type', 'application/json').end('{"ok":true}');
    let left = ${GIB} / block.length;
    const more = () => { while (left-- > 0) if (!res.write(block)) return res.once('drain', more); res.end(); };
    more();
  });
});
function overLink(res, bytesASecond) {
  const began = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.min(${GIB} / 2, (performance.now() - began) / 1_000 * bytesASecond);
    for (; sent < due; sent += block.length) res.write(block);
    if (sent < ${GIB} / 2) return;
    clearInterval(timer);
    res.end();
  }, 1);
}
server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;

/** The yardstick: what a program of 30 lines does. */
const FORWARDER = `
const http = require('node:http');
const agent = new http.Agent({ keepAlive: true });
const server = http.createServer((req, res) => {
  const headers = { ...req.headers, host: '127.0.0.1' };
  const up = http.request({ port: Number(process.argv[1]), path: req.url, method: req.method, headers, agent }, answer => {
    res.writeHead(answer.statusCode, answer.headers);
    answer.pipe(res);
  });
  req.pipe(up);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;

async function start(args: string[]): Promise<{ child: ChildProcess; port: number }> {
  const child = spawn(process.execPath, args, { env: box.env, stdio: ['ignore', 'pipe', 'inherit'] });
  cleanups.push(() => child.kill());
  const [text] = await once(child.stdout!, 'data');
  return { child, port: Number(/(\d+)\b(?!\.)/.exec(String(text).replace('127.0.0.1', ''))?.[1]) };
}

const provider = await start(['-e', PROVIDER]);
const forwarder = await start(['-e', FORWARDER, String(provider.port)]);
box.script('fake', '#!/bin/sh\n');
box.provider(
  'fake',
  `inject = ["FAKE_KEY"]\n[providers.fake.http]\nbase = "http://127.0.0.1:${provider.port}"\nkey_variable = "FAKE_KEY"`,
);
box.accounts('fake', { a: 'real-a', b: 'real-b' });
fs.chmodSync(path.join(box.config, 'keys.env'), 0o600);
const { placeholder } = JSON.parse((await box.wrap(['serve', 'token', 'add', 'fake', 'bench', '--json'])).stdout);
const gateway = await start([buildWrapper(), 'serve', 'fake']);
const headers = { authorization: `Bearer ${placeholder}` };

/** A good answer: what is refused is quick, and measures nothing. */
async function answerTo(asking: ClientRequest): Promise<IncomingMessage> {
  const [answer] = await once(asking, 'response');
  if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`);
  return answer;
}

/** Median time of a number of requests, one after the other, in milliseconds. */
async function latency(port: number, count: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const began = performance.now();
    const answer = await answerTo(get({ host, port, path: '/small', agent, headers }));
    await once(answer.resume(), 'end');
    times.push(performance.now() - began);
  }
  agent.destroy();
  return median(times);
}

/** Requests a second over a number of connections. */
async function throughput(port: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let left = REQUESTS;
  const worker = async () => {
    while (left-- > 0) {
      const asking = request({ host, port, path: '/small', method: 'POST', agent, headers });
      const answer = await answerTo(asking.end('{}'));
      await once(answer.resume(), 'end');
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  agent.destroy();
  return REQUESTS / ((performance.now() - began) / 1_000);
}

/** Seconds for a large answer. */
async function stream(port: number, large = '/big'): Promise<number> {
  const began = performance.now();
  const answer = await answerTo(get({ host, port, path: large, headers }));
  await once(answer.resume(), 'end');
  return (performance.now() - began) / 1_000;
}

/** Processor time of a process so far, in milliseconds: fields 14 and 15 of proc_pid_stat(5), in hundredths of a second. */
function processorTimeOf({ pid }: ChildProcess): number {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Most memory of a process so far, in MB. */
function peakOf({ pid }: ChildProcess): number {
  return Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}

await quiet();
for (const { port } of [provider, forwarder, gateway]) await latency(port, ASKED);
const added: number[] = [];
const shares: number[] = [];
const stretches: number[] = [];
const ofForwarder: number[] = [];
const onLinks = LINKS.map(() => [] as number[]);
const spent: number[] = [];
for (let round = 0; round < rounds; round += 1) {
  const direct = await latency(provider.port, ASKED);
  added.push((await latency(gateway.port, ASKED)) - direct);
  const times = [processorTimeOf(forwarder.child), processorTimeOf(gateway.child)] as const;
  const bare = await throughput(forwarder.port);
  shares.push((await throughput(gateway.port)) / bare);
  spent.push((processorTimeOf(gateway.child) - times[1]) / (processorTimeOf(forwarder.child) - times[0]));
}
const before = peakOf(gateway.child);
for (let round = 0; round < Math.min(3, rounds); round += 1) {
  const direct = await stream(provider.port);
  const forwarded = await stream(forwarder.port);
  ofForwarder.push(forwarded / direct);
  stretches.push((await stream(gateway.port)) / forwarded);
  for (const [index, link] of LINKS.entries()) {
    const large = `/link/${link}`;
    const alone = await stream(provider.port, large);
    onLinks[index]!.push((await stream(gateway.port, large)) / alone);
  }
}
report('a small request over a direct one', median(added), 1, 'ms');
reportAtLeast(`requests a second over ${CONNECTIONS} connections, of a bare forwarder's`, median(shares), 0.5, '×');
note('processor time of these requests, over a bare forwarder', median(spent), '×');
report('1 GiB, over a bare forwarder', median(stretches), 1.3, '×');
note('1 GiB through a bare forwarder, over a direct stream', median(ofForwarder), '×');
for (const [index, link] of LINKS.entries())
  report(`512 MiB over a link of ${link / 1_000} Gbit/s, against a direct stream`, median(onLinks[index]!), 1.3, '×');
note('1 GiB, memory', peakOf(gateway.child) - before, 'MB');
for (const cleanup of cleanups) cleanup();
