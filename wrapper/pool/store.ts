// The operations of the pool's script with typed requests and replies; see pool.lua for what they do.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha1 } from '../store/hash.ts';
import { parseAddress } from './address.ts';
import { type Connection, type ConnectOptions, type Script, StoreUnreachable } from './connection.ts';
import { connectDirectly } from './direct.ts';

/** An account that a command may use. The fingerprint identifies it in the store, the name is for people. */
export interface PoolAccount {
  fp: string;
  name: string;
}

/** What a provider said an account has left. */
export interface Observation {
  fp: string;
  /** In the provider's unit; `null`: unlimited, unknown, or the question failed. */
  remaining: number | null;
  limit: number | null;
  /** Milliseconds since the epoch, as the provider stated it. */
  resets: number | null;
  /** Accounts with the same value share one budget. */
  identity?: string;
  /** Milliseconds since the question was asked. */
  age: number;
}

/** Why an account is to be left alone, and until when; see `Cooldown` in run/rules/classify.ts. */
interface Rest {
  class: string;
  kind: 'elapsed' | 'time' | 'period' | 'credential';
  ms?: number;
  at?: number;
  /** Milliseconds, where `period` has no known end or `time` has passed. */
  fallback: number;
}

/** What became of a lease. */
export interface Done {
  fence: string;
  fp: string;
  spent: number;
  rest?: Rest;
  seen?: Omit<Observation, 'fp'>;
  /** Ends the lease as well. */
  release?: boolean;
}

export interface LeaseRequest {
  /** Names this machine in `pool leases`. */
  owner: string;
  /** In the order in which this machine would try them. */
  accounts: PoolAccount[];
  /** What the command is expected to use. */
  want: number;
  /** Milliseconds until the lease ends by itself. */
  ttl: number;
  strategy: string;
  /** The first account was named by the user. */
  pinned: boolean;
  reserve: number;
  /** Leases that an account may have at a time. */
  max?: number | undefined;
  /** `switch_below` and `return_above`. */
  below?: number | undefined;
  above?: number | undefined;
  /** Whether the provider can be asked what an account has left, and for how many milliseconds an answer is good. */
  askable: boolean;
  stale: number;
  done?: Done[];
  seen?: Observation[];
  /** What was used while the store could not be reached; 0 asks whether that share of the reserve is there again. */
  away?: { fp: string; spent: number }[];
}

export interface Granted {
  /** Rises strictly from lease to lease. */
  fence: string;
  fp: string;
  /** The figures are old: whoever has this lease asks the provider when the command has ended. */
  refresh?: boolean;
}

export type AccountState = 'ready' | 'refused' | 'resting' | 'spent' | 'reserved' | 'busy' | 'asking' | 'unknown';

/** `intact`: accounts of `away` whose share of the reserve is there again. */
export type LeaseReply = { intact: string[] } & (
  | { kind: 'granted'; lease: Granted }
  /** Nobody knows what these have left: ask the provider, and call again with the answers. */
  | { kind: 'ask'; ask: string[] }
  /** `soon`: another command may free something at any time; `ms`: until the first cooldown ends. */
  | {
      kind: 'none';
      soon: boolean;
      ms: number | undefined;
      accounts: { fp: string; state: AccountState; ms?: number }[];
    }
);

export interface AccountRow {
  fp: string;
  name: string;
  /** Accounts with the same value share one budget. */
  budget: string;
  leases: number;
  remaining?: number;
  reserved: number;
  limit?: number;
  resets?: number;
  /** Milliseconds since the figures were asked for. */
  age?: number;
  /** Milliseconds until the cooldown ends; -1: when the credential changes. */
  rest?: number;
  class?: string;
}

export interface LeaseRow {
  fence: string;
  name: string;
  fp: string;
  owner: string;
  want: number;
  age: number;
  ttl: number;
}

export type Store = ReturnType<typeof storeOf>;

/** Computed by the build, because a run would wait 3 ms for node:crypto. */
declare const __POOL_SHA__: string | undefined;

/** The script, which lies beside this file or beside the program's bundle. */
function poolScript(): Script {
  const text = () => readFileSync(join(import.meta.dirname, 'pool.lua'), 'utf8');
  return { text, sha: typeof __POOL_SHA__ === 'string' ? __POOL_SHA__ : sha1(text()) };
}

/**
 * The store at an address. It is connected to with the first operation.
 * @throws WrapError `pool-address`
 */
export async function openStore(options: Omit<ConnectOptions, 'script'> & { script?: Script }): Promise<Store> {
  const address = parseAddress(options.url);
  const all = { ...options, script: options.script ?? poolScript() };
  if (address.kind === 'single') return storeOf(connectDirectly(address, all));
  return storeOf((await import('./library.ts')).connectByLibrary(address, all));
}

function storeOf(connection: Connection) {
  const call = async <T>(cli: string, operation: string, request: object): Promise<T> => {
    const base = `culvert:1:{${cli}}`;
    const reply = await connection.run([base, `culvert:{${cli}}:schema`], [operation, JSON.stringify(request)]);
    try {
      return JSON.parse(reply) as T;
    } catch (error) {
      throw new StoreUnreachable('it answers with something that is no reply of the script', { cause: error });
    }
  };
  return {
    /** @throws StoreUnreachable, StoreRefused, as all of these */
    lease: async (cli: string, request: LeaseRequest): Promise<LeaseReply> => {
      const reply = await call<{ [key: string]: unknown }>(cli, 'lease', request);
      const intact = list<string>(reply.intact);
      if (reply.ask) return { kind: 'ask', ask: list(reply.ask), intact };
      if (typeof reply.fence === 'string') return { kind: 'granted', lease: reply as unknown as Granted, intact };
      const ms = typeof reply.ms === 'number' ? reply.ms : undefined;
      return { kind: 'none', soon: reply.soon === true, ms, accounts: list(reply.accounts), intact };
    },
    /** Whether the lease is still held. */
    renew: async (cli: string, fence: string, ttl: number): Promise<boolean> =>
      (await call<{ held: boolean }>(cli, 'renew', { fence, ttl })).held,
    report: async (cli: string, done: Done): Promise<boolean> =>
      (await call<{ held: boolean }>(cli, 'report', done)).held,
    release: async (cli: string, done: Done): Promise<boolean> =>
      (await call<{ held: boolean }>(cli, 'release', done)).held,
    /** How many credentials of that name there were. */
    reset: async (cli: string, name: string): Promise<number> =>
      (await call<{ count: number }>(cli, 'reset', { name })).count,
    status: async (cli: string): Promise<AccountRow[]> =>
      list((await call<{ accounts: unknown }>(cli, 'status', {})).accounts),
    leases: async (cli: string): Promise<LeaseRow[]> =>
      list((await call<{ leases: unknown }>(cli, 'leases', {})).leases),
    warm: () => connection.warm(),
    close: () => connection.close(),
  };
}

/** The script's JSON has no empty arrays: they come as empty objects. */
function list<T>(value: unknown): T[] {
  return Array.isArray(value) ? value : [];
}
