// One machine of a pool in its own process: takes leases, uses the counting provider under them, and writes a JSON
// line for each. Its clock is wrong by as much as its command line says. Started by `machines` in pool-machines.ts.
import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnreachable } from '../../../wrapper/pool/address.ts';
import { openStore, type PoolAccount } from '../../../wrapper/pool/store.ts';
import type { Observation } from '../../../wrapper/store/pool-file.ts';

interface Task {
  name: string;
  url: string;
  api: string;
  accounts: PoolAccount[];
  leases: number;
  clockMs: number;
  strategy: string;
  ttl: number;
  timeoutMs: number;
  max?: number;
}

const task: Task = JSON.parse(process.argv[2]!);
const now = Date.now;
Date.now = () => now() + task.clockMs;
const monotonic = () => Number(process.hrtime.bigint() / 1_000n);

const tell = (line: object) => process.stdout.write(`${JSON.stringify({ machine: task.name, ...line })}\n`);
const { timeoutMs } = task;
let store = openStore({ url: task.url, timeoutMs });

for (let i = 0; i < task.leases; i++) await one(`${task.name}-${i}`);
store.close();

async function one(id: string): Promise<void> {
  const begun = monotonic();
  const lease = await persistently(() => acquire());
  if (!lease) {
    tell({ id, none: true });
    return;
  }
  tell({ id, fence: lease.fence, fp: lease.fp, begun, got: monotonic() });
  const status = await call('POST', `/use?key=${lease.fp}&id=${id}`);
  const ended = monotonic();
  const done = { fence: lease.fence, fp: lease.fp, spent: status.code === 200 ? 1 : 0, release: true };
  const rest = status.code === 402 && { rest: { class: 'quota', kind: 'elapsed' as const, ms: 60_000, fallback: 0 } };
  const held = await persistently(() => store.release('tool', { ...done, ...rest }));
  tell({ id, done: lease.fence, fp: lease.fp, ended, code: status.code, held });
}

/** A lease, or nothing when all accounts have nothing left. */
async function acquire() {
  let seen: Observation[] = [];
  for (;;) {
    const reply = await store.lease('tool', {
      owner: task.name,
      accounts: task.accounts,
      want: 1,
      ttl: task.ttl,
      strategy: task.strategy,
      reserve: 0,
      max: task.max,
      askable: true,
      stale: 3_600_000,
      seen,
    });
    if (reply.kind === 'granted') return reply.lease;
    seen = [];
    if (reply.kind === 'ask') for (const fp of reply.ask) seen.push(await ask(fp));
    else if (reply.soon) await delay(5);
    else return undefined;
  }
}

async function ask(fp: string): Promise<Observation> {
  const asked = performance.now();
  const { body } = await call('GET', `/usage?key=${fp}`);
  return { fp, ...JSON.parse(body), resets: null, age: Math.ceil(performance.now() - asked) };
}

/** Repeats what the store did not answer, on a new connection. */
async function persistently<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnreachable)) throw error;
      tell({ unreachable: error.message });
      store.close();
      await delay(20);
      store = openStore({ url: task.url, timeoutMs });
    }
  }
}

function call(method: string, path: string): Promise<{ code: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${task.api}${path}`, { method }, response => {
      let body = '';
      response.on('data', chunk => {
        body += chunk;
      });
      response.on('end', () => resolve({ code: response.statusCode ?? 0, body }));
    });
    sent.on('error', reject);
    sent.end();
  });
}
