// The pool's figures: a lease against a bare EVALSHA, and a wrapped command with a pool against one without.
// Run: node --import tsx test/bench/pool/pool.ts [rounds]
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '../../../wrapper/pool/connection.ts';
import { type LeaseReply, openStore } from '../../../wrapper/pool/store.ts';
import { sandbox } from '../../support/wrapper/sandbox.ts';
import { storeServer } from '../../support/wrapper/store-server.ts';
import { quiet } from '../support/quiet.ts';
import { median, report, roundsOf, sized } from '../support/report.ts';

const rounds = roundsOf(200);
const ends: (() => unknown)[] = [];
const t = { after: (end: unknown) => void ends.push(end as () => unknown) };

const server = await storeServer(t);
await quiet();
await roundTrip();
await quiet();
await command();
for (const end of ends.reverse()) await end();

/** A lease of five accounts whose figures are known, against a script that returns one. Both take turns. */
async function roundTrip() {
  const text = 'return "1"';
  const script = { text, sha: createHash('sha1').update(text).digest('hex') };
  const bare = connect({ url: server.url, timeoutMs: 10_000, script });
  const store = openStore({ url: server.url, timeoutMs: 10_000 });
  const accounts = ['a', 'b', 'c', 'd', 'e'].map(fp => ({ fp, name: fp }));
  const request = {
    owner: 'm1',
    accounts,
    want: 1,
    ttl: 90_000,
    strategy: 'most-remaining',
    pinned: false,
    reserve: 10,
    askable: true,
    stale: 60_000,
  };
  const seen = accounts.map(({ fp }) => ({ fp, remaining: 1e9, limit: 1e9, resets: null, age: 0 }));
  await store.lease('tool', { ...request, seen });
  const times = { bare: [] as number[], order: [] as number[], lease: [] as number[], release: [] as number[] };
  for (let i = sized(-200, -1); i < sized(3_000, 20); i++) {
    const first = performance.now();
    await bare.evaluate(['culvert:1:{tool}', 'culvert:{tool}:schema'], ['lease', JSON.stringify(request)]);
    const next = performance.now();
    const inOrder = (await store.lease('tool', { ...request, strategy: 'in-order' })) as LeaseReply & {
      kind: 'granted';
    };
    const then = performance.now();
    await store.release('tool', { fence: inOrder.lease.fence, fp: inOrder.lease.fp, spent: 1 });
    const second = performance.now();
    const reply = (await store.lease('tool', request)) as LeaseReply & { kind: 'granted' };
    const third = performance.now();
    await store.release('tool', { fence: reply.lease.fence, fp: reply.lease.fp, spent: 1 });
    if (i < 0) continue;
    times.bare.push(next - first);
    times.order.push(then - next);
    times.lease.push(third - second);
    times.release.push(performance.now() - third);
  }
  const base = median(times.bare);
  report('a lease of five accounts, in order, against a bare EVALSHA', median(times.order) / base, 2, '×');
  report('a lease of five accounts, most remaining, against a bare EVALSHA', median(times.lease) / base, 2, '×');
  report('a release, against a bare EVALSHA', median(times.release) / base, 2, '×');
  bare.close();
  store.close();
}

/** The same command with two accounts, with and without a pool on a Unix socket. */
async function command() {
  const pair = [sandbox(t), sandbox(t)] as const;
  for (const box of pair) {
    box.script('tool', '#!/bin/sh\necho ok\n');
    box.provider('tool', 'inject = ["FAKE_KEY"]\n[[providers.tool.rules]]\nclass = "quota"\nstderr = "^Error: quota"');
    box.accounts('tool', { a: 'k1', b: 'k2' });
  }
  appendFileSync(join(pair[1].config, 'config.toml'), `[pool]\nurl = "${server.url}"\nmachine = "bench"\n`);
  for (const box of pair) await box.run('tool', ['warm']);
  const differences: number[] = [];
  const alone: number[] = [];
  for (let round = sized(-3, 0); round < rounds; round++) {
    const times = [0, 0];
    for (const i of round % 2 ? [0, 1] : [1, 0]) {
      const box = pair[i]!;
      const started = performance.now();
      const { status, stderr } = spawnSync(join(box.bin, 'tool'), ['x'], {
        env: box.env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      times[i] = performance.now() - started;
      if (status !== 0) throw new Error(String(stderr));
    }
    if (round < 0) continue;
    differences.push(times[1]! - times[0]!);
    alone.push(times[0]!);
  }
  const without = `ms over ${median(alone).toFixed(0)}`;
  report('a wrapped command with two accounts, with a pool over without', median(differences), 40, without);
}
