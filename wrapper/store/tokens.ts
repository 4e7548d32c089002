// Stores the tokens for the gateway of a provider, its port and what programs have used. Of a placeholder, only the digest is kept.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { stampAt } from '../../daemon/core/file-version.ts';
import { readOptional } from '../../daemon/core/files.ts';
import {
  type Checked,
  isAmount,
  isNumber,
  isRecord,
  isText,
  isTime,
  optional,
  recordOf,
  shape,
} from '../../daemon/core/shape.ts';
import { withLock, writeAtomic } from '../system/files.ts';
import type { Paths } from './paths.ts';

/** The form of a placeholder, after the prefix of the provider's keys. */
export const PLACEHOLDER_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

const PROGRAM = {
  name: isText,
  /** Cost of its requests so far. */
  used: isAmount,
  requests: isAmount,
  /** Those of them that each account served last. */
  accounts: optional(recordOf(isAmount)),
  /** Those of them that ended with an error, by its class: `quota`, `rate`, `auth`, `other`. */
  failures: optional(recordOf(isAmount)),
  /** Requests that were not forwarded: for its budget, for a reserve, or because no account could be used. */
  refused: isAmount,
  /** Time and account of the last request. */
  lastAt: optional(isTime),
  lastAccount: optional(isText),
};
const isProgram = shape(PROGRAM);
/** A program that uses a gateway. Times are in milliseconds since the epoch. */
export type Program = Checked<typeof isProgram>;

const isToken = shape({
  ...PROGRAM,
  /** SHA-256 of the placeholder, in hexadecimal. A placeholder is random, so it can't be guessed from that. */
  digest: isText,
  created: isTime,
  expires: optional(isTime),
  /** Most that its requests may cost, in the provider's unit. */
  budget: optional(isAmount),
});
/** The right of one program to use a gateway. */
export type Token = Checked<typeof isToken>;

/** File of the gateway of a provider. */
export interface GatewayFile {
  port?: number;
  tokens: Token[];
  /** Programs with a private gateway, which need no token: those of `serve -- COMMAND`, and MCP servers. */
  programs: Program[];
  /** Requests from web pages, from other users, and without a valid placeholder. */
  turnedAway: number;
}

/** The stored gateway of a tool's provider. A damaged file lets no program in. */
export function readGateway(paths: Paths, cli: string): GatewayFile {
  let value: unknown;
  try {
    value = JSON.parse(readOptional(fileOf(paths, cli)) ?? '{}');
  } catch {
    // as if there were none
  }
  const { port, tokens, programs, turnedAway } = isRecord(value) ? value : ({} as Record<string, unknown>);
  return {
    ...(isNumber(port) && { port }),
    tokens: Array.isArray(tokens) ? tokens.filter(isToken) : [],
    programs: Array.isArray(programs) ? programs.filter(isProgram) : [],
    turnedAway: isAmount(turnedAway) ? turnedAway : 0,
  };
}

/**
 * Changes the file while no other process does.
 * @param timeoutMs how long to wait for another process; see `withLock`
 * @returns the new content
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

/** A program that uses a gateway, for people and programs. Times are in ISO 8601. */
export interface ConsumerReport {
  name: string;
  ends: string | null;
  requests: number;
  /** Those of them that each account served last. */
  accounts: Record<string, number>;
  /** Those of them that ended with an error, by its class. */
  failures: Record<string, number>;
  /** Requests that were not forwarded. */
  refused: number;
  used: number;
  budget: number | null;
  /** Time and account of the last request. */
  last: string | null;
  account: string | null;
}

/** Reports about the programs that use a gateway: those with a token first. */
export function describeConsumers({ tokens, programs }: GatewayFile): ConsumerReport[] {
  return [...tokens, ...programs].map(describeConsumer);
}

function describeConsumer(consumer: Program & Partial<Token>): ConsumerReport {
  const {
    name,
    expires,
    requests,
    accounts = {},
    failures = {},
    refused,
    used,
    budget,
    lastAt,
    lastAccount,
  } = consumer;
  const iso = (at: number | undefined) => (at === undefined ? null : new Date(at).toISOString());
  return {
    name,
    ends: iso(expires),
    requests,
    accounts,
    failures,
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

/** Changes with each write to the file; see `stampAt`. */
export function gatewayStamp(paths: Paths, cli: string): string {
  return stampAt(fileOf(paths, cli));
}

/** Reports whether a token can be used at a time. */
export function isValid({ expires }: Pick<Token, 'expires'>, now: number): boolean {
  return expires === undefined || now < expires;
}

function fileOf(paths: Paths, cli: string): string {
  return join(paths.gateways, `${cli}.json`);
}
