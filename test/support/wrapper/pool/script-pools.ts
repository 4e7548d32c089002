// Pools on one real store, whose script has a clock that the test sets.
import assert from 'node:assert/strict';
import { type LeaseReply, type LeaseRequest, openStore } from '../../../../wrapper/pool/store.ts';
import type { Done } from '../../../../wrapper/store/pool-file.ts';
import type { Ends } from '../../temporary.ts';
import { storeServer } from '../store-server.ts';
import { scriptWithClock, setClock } from '../virtual-clock.ts';

/** The time at the start of each test, in ms since the epoch. */
export const START = Date.UTC(2026, 10, 22);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

export const account = (fp: string) => ({ fp, name: fp });
export const knows = (fp: string, remaining: number | null, more: object = {}) => ({
  fp,
  remaining,
  limit: null,
  resets: null,
  age: 0,
  ...more,
});
export const quota = (ms: number) => ({ class: 'quota', kind: 'elapsed' as const, ms, fallback: HOUR });

/** Starts a store. @param ends those of the file */
export async function scriptPools(ends: Ends) {
  const server = await storeServer(ends);
  let clock = START;
  let clis = 0;
  /** A separate pool for each test, with two accounts. */
  const pool = async (t: Ends) => {
    const cli = `tool${clis++}`;
    const store = openStore({ url: server.url, timeoutMs: 10_000, script: scriptWithClock() });
    t.after(() => store.close());
    clock = START;
    await setClock(server.client, clock);
    const request = (more: Partial<LeaseRequest> = {}): LeaseRequest => ({
      owner: 'm1',
      accounts: [account('a'), account('b')],
      want: 1,
      ttl: 90_000,
      strategy: 'in-order',
      reserve: 0,
      askable: false,
      stale: MINUTE,
      ...more,
    });
    return {
      cli,
      store,
      pass: async (ms: number) => {
        clock += ms;
        await setClock(server.client, clock);
      },
      flush: async () => {
        await server.client.flushall();
        await setClock(server.client, clock);
      },
      lease: (more?: Partial<LeaseRequest>) => store.lease(cli, request(more)),
      got: async (more?: Partial<LeaseRequest>) => granted(await store.lease(cli, request(more))),
      release: (lease: { fence: string; fp: string }, more: Partial<Done> = {}) =>
        store.release(cli, { fence: lease.fence, fp: lease.fp, spent: 0, ...more }),
      row: async (name: string) => (await store.status(cli)).find(row => row.name === name)!,
    };
  };
  return { server, pool };
}

function granted(reply: LeaseReply) {
  assert.equal(reply.kind, 'granted', JSON.stringify(reply));
  return (reply as LeaseReply & { kind: 'granted' }).lease;
}
