// Provides the operations of the pool's script, pool.lua, with typed requests and replies.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha1 } from '../../daemon/core/hash.ts';
import { masked } from '../../daemon/core/printable.ts';
import {
  type Checked,
  isAmount,
  isNumber,
  isRecord,
  isText,
  listOf,
  oneOf,
  optional,
  shape,
} from '../../daemon/core/shape.ts';
import type { Done, Observation } from '../store/pool-file.ts';
import { parseAddress, StoreUnreachable } from './address.ts';
import { type Connection, type ConnectOptions, connect, type Script } from './connection.ts';

/** An account that a command may use. The fingerprint identifies it in the store; the name is for people. */
export interface PoolAccount {
  fp: string;
  name: string;
}

export interface LeaseRequest {
  /** This machine's name in `pool leases`. */
  owner: string;
  /** Accounts in this machine's preferred order. */
  accounts: PoolAccount[];
  /** Units that the command is expected to use. */
  want: number;
  /** Milliseconds until the lease ends without renewal. */
  ttl: number;
  strategy: string;
  reserve: number;
  /** Maximum number of leases of an account at a time. */
  max?: number | undefined;
  /** `switch_below` and `return_above`. */
  below?: number | undefined;
  above?: number | undefined;
  /** True if the provider can report the remaining quota; `stale` is the lifetime of its answer, in milliseconds. */
  askable: boolean;
  stale: number;
  done?: Done[];
  seen?: Observation[];
  /** Units used while the store could not be reached; 0 asks whether that share of the reserve is available again. */
  away?: { fp: string; spent: number }[];
}

const isGranted = shape({
  /** Rises strictly from lease to lease. */
  fence: isText,
  fp: isText,
  /** Accounts with old figures: the holder of this lease asks the provider about them after the command. */
  refresh: optional(listOf(isText)),
});
export type Granted = Checked<typeof isGranted>;

const STATES = ['refused', 'paused', 'spent', 'reserved', 'busy', 'asking', 'unknown'] as const;
export type AccountState = (typeof STATES)[number];

const isUnavailable = shape({
  fp: isText,
  state: oneOf(...STATES),
  /** Milliseconds until this state ends, if known. */
  ms: optional(isAmount),
  remaining: optional(isNumber),
  class: optional(isText),
});
/** Why an account was not leased. */
export type Unavailable = Checked<typeof isUnavailable>;

/** `intact` lists the accounts of `away` whose share of the reserve is available again. */
export type LeaseReply = { intact: string[] } & (
  | { kind: 'granted'; lease: Granted }
  /** `ask` lists accounts with an unknown remaining quota: ask the provider, and call again with the answers. */
  | { kind: 'ask'; ask: string[] }
  /** `soon`: another command may free an account at any time; `ms`: milliseconds until the first pause ends. */
  | { kind: 'none'; soon: boolean; ms: number | undefined; accounts: Unavailable[] }
);

const isAccountRow = shape({
  fp: isText,
  name: isText,
  /** Accounts with the same value share one budget. */
  budget: isText,
  leases: isNumber,
  reserved: isNumber,
  remaining: optional(isNumber),
  limit: optional(isNumber),
  resets: optional(isNumber),
  /** Milliseconds since the provider was asked for the figures. */
  age: optional(isNumber),
  /** Milliseconds until the pause ends; -1 if it lasts until the credential changes. */
  paused: optional(isNumber),
  class: optional(isText),
});
export type AccountRow = Checked<typeof isAccountRow>;

const isLeaseRow = shape({
  fence: isText,
  name: isText,
  fp: isText,
  owner: isText,
  want: isNumber,
  age: isNumber,
  ttl: isNumber,
});
export type LeaseRow = Checked<typeof isLeaseRow>;

export type Store = ReturnType<typeof storeOf>;

/** Reads the script, which is next to this file or the program's bundle. */
function poolScript(): Script {
  const text = readFileSync(join(import.meta.dirname, 'pool.lua'), 'utf8');
  return { text, sha: sha1(text) };
}

/**
 * Returns the store at an address. The first operation opens the connection.
 * @throws WrapError `pool-address`
 */
export function openStore({
  script = poolScript(),
  ...options
}: Omit<ConnectOptions, 'script'> & { script?: Script }): Store {
  return storeOf(connect({ ...options, script }), parseAddress(options.url).database);
}

function storeOf(connection: Connection, database: number) {
  const where = database === 0 ? [] : [String(database)];
  const call = async (cli: string, operation: string, request: object): Promise<Record<string, unknown>> => {
    const base = `culvert:1:{${cli}}`;
    return parsed(
      await connection.evaluate([base, `culvert:{${cli}}:schema`], [operation, JSON.stringify(request), ...where]),
    );
  };
  const isHeld = async (cli: string, operation: string, request: object): Promise<boolean> => {
    const { held } = await call(cli, operation, request);
    return typeof held === 'boolean' ? held : noReply();
  };
  return {
    /** @throws StoreUnreachable, WrapError `pool-refused`, like all operations here */
    lease: async (cli: string, request: LeaseRequest): Promise<LeaseReply> => {
      const accounts = request.accounts.flatMap(({ fp, name }) => [fp, name]);
      const reply = await call(cli, 'lease', { ...request, accounts });
      const intact = list(reply.intact ?? {}, isText);
      if (reply.ask) return { kind: 'ask', ask: list(reply.ask, isText), intact };
      if (isGranted(reply)) return { kind: 'granted', lease: reply, intact };
      const { none, soon, ms } = reply;
      if (none !== true || typeof soon !== 'boolean' || !(ms === undefined || isAmount(ms))) noReply();
      const refused = list(reply.accounts, isUnavailable);
      if (!refused.every(({ fp }) => accounts.includes(fp))) noReply();
      return { kind: 'none', soon, ms, accounts: refused, intact };
    },
    /** Renews a lease. Resolves to false if the lease is no longer held. */
    renew: (cli: string, fence: string, ttl: number): Promise<boolean> => isHeld(cli, 'renew', { fence, ttl }),
    report: (cli: string, done: Done): Promise<boolean> => isHeld(cli, 'report', done),
    release: (cli: string, done: Done): Promise<boolean> => isHeld(cli, 'release', done),
    /** Stores a job's account for `seconds`, or 40 days by default. Without an account, forgets the job. */
    keepJob: (cli: string, id: string, fp?: string, seconds?: number): Promise<boolean> =>
      isHeld(cli, 'keep-job', { id, fp, seconds }),
    /** Returns the fingerprint of a job's account. */
    findJob: async (cli: string, id: string): Promise<string | undefined> => {
      const { fp } = await call(cli, 'find-job', { id });
      return fp === undefined || isText(fp) ? fp : noReply();
    },
    /** Resets the accounts with a name. Returns the number of their credentials. */
    reset: async (cli: string, name: string): Promise<number> => {
      const { count } = await call(cli, 'reset', { name });
      return isAmount(count) ? count : noReply();
    },
    status: async (cli: string): Promise<AccountRow[]> => list((await call(cli, 'status', {})).accounts, isAccountRow),
    leases: async (cli: string): Promise<LeaseRow[]> => list((await call(cli, 'leases', {})).leases, isLeaseRow),
    close: () => connection.close(),
  };
}

/** Number of characters to quote from an answer. */
const MAX_QUOTED = 200;

function withPrintableTexts(_key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return masked(value.length > MAX_QUOTED ? `${value.slice(0, MAX_QUOTED)}…` : value);
}

function parsed(reply: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(reply, withPrintableTexts);
    if (isRecord(value)) return value;
  } catch (error) {
    noReply(error);
  }
  return noReply();
}

/** Checks a list. The script encodes an empty array as an empty object. */
function list<T>(value: unknown, is: (item: unknown) => item is T): T[] {
  if (isRecord(value) && Object.keys(value).length === 0) return [];
  return Array.isArray(value) && value.every(is) ? value : noReply();
}

function noReply(cause?: unknown): never {
  throw new StoreUnreachable('it answers with something that is not a reply of the script', { cause });
}
