// Stores the tokens for the gateway of a provider, and its port. Of a placeholder, only the digest is kept.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readText, withLock, writeAtomic } from '../system/files.ts';
import { isAmount, isNumber, isRecord, isText, isTime, optional, shape } from '../system/shape.ts';
import type { Paths } from './paths.ts';

/** The right of one program to use a gateway. Times are in milliseconds since the epoch. */
export interface Token {
  name: string;
  /** SHA-256 of the placeholder, in hexadecimal. A placeholder is random, so it can't be guessed from that. */
  digest: string;
  created: number;
  expires?: number | undefined;
  /** Most that its requests may cost, in the provider's unit. */
  budget?: number | undefined;
  /** Cost of its requests so far. */
  used: number;
  requests: number;
  /** Requests that were not forwarded because the budget was used up. */
  refused: number;
  /** Time and account of the last request. */
  lastAt?: number | undefined;
  lastAccount?: string | undefined;
}

/** File of the gateway of a provider. */
export interface GatewayFile {
  port?: number;
  tokens: Token[];
}

const isToken = shape<Token>({
  name: isText,
  digest: isText,
  created: isTime,
  expires: optional(isTime),
  budget: optional(isAmount),
  used: isAmount,
  requests: isAmount,
  refused: isAmount,
  lastAt: optional(isTime),
  lastAccount: optional(isText),
});

/** The stored gateway of a tool's provider. A damaged file lets no program in. */
export function readGateway(paths: Paths, cli: string): GatewayFile {
  try {
    const value: unknown = JSON.parse(readText(fileOf(paths, cli)) ?? '{}');
    if (!isRecord(value)) return { tokens: [] };
    const tokens = Array.isArray(value.tokens) ? value.tokens.filter(isToken) : [];
    return isNumber(value.port) ? { port: value.port, tokens } : { tokens };
  } catch {
    return { tokens: [] };
  }
}

/**
 * Changes the file while no other process does.
 * @param timeoutMs how long to wait for another process; see `withLock`
 * @returns what is stored now
 */
export function updateGateway(
  paths: Paths,
  cli: string,
  change: (gateway: GatewayFile) => void,
  timeoutMs?: number,
): GatewayFile {
  const file = fileOf(paths, cli);
  const work = () => {
    const gateway = readGateway(paths, cli);
    change(gateway);
    writeAtomic(file, `${JSON.stringify(gateway)}\n`);
    return gateway;
  };
  return withLock(file, work, timeoutMs);
}

/** A token for people and programs. Times are in ISO 8601. */
export interface ConsumerReport {
  name: string;
  ends: string | null;
  requests: number;
  /** Requests beyond its budget. */
  refused: number;
  used: number;
  budget: number | null;
  /** Time and account of the last request. */
  last: string | null;
  account: string | null;
}

/** Report about a token. */
export function describeToken(token: Token): ConsumerReport {
  const { name, expires, requests, refused, used, budget, lastAt, lastAccount } = token;
  const iso = (at: number | undefined) => (at === undefined ? null : new Date(at).toISOString());
  return {
    name,
    ends: iso(expires),
    requests,
    refused,
    used,
    budget: budget ?? null,
    last: iso(lastAt),
    account: lastAccount ?? null,
  };
}

/** Tools whose gateway has a file. */
export function gatewayClis(paths: Paths): string[] {
  try {
    const names = readdirSync(paths.gateways).filter(name => name.endsWith('.json') && !name.startsWith('.'));
    return names.map(name => name.slice(0, -'.json'.length)).sort();
  } catch {
    return [];
  }
}

/** Changes with each write to the file. */
export function gatewayStamp(paths: Paths, cli: string): string {
  const stat = statSync(fileOf(paths, cli), { throwIfNoEntry: false });
  return stat ? `${stat.mtimeMs}:${stat.size}:${stat.ino}` : '-';
}

/** Reports whether a token can be used at a time. */
export function isValid({ expires }: Pick<Token, 'expires'>, now: number): boolean {
  return expires === undefined || now < expires;
}

function fileOf(paths: Paths, cli: string): string {
  return join(paths.gateways, `${cli}.json`);
}
