// Stores a gateway's port, its tokens and the usage of its programs. Stores only digests of placeholders.
import { join } from 'node:path';
import { stampAt } from '../../daemon/core/file-version.ts';
import { namesIn, readText } from '../../daemon/core/files.ts';
import {
  type Checked,
  isAmount,
  isNumber,
  isRecord,
  isText,
  isTime,
  optional,
  parseJson,
  recordOf,
  shape,
} from '../../daemon/core/shape.ts';
import { withLock, writeAtomic } from '../system/files.ts';
import type { Paths } from './paths.ts';

/** Form of a placeholder, after the prefix of the provider's keys. */
export const PLACEHOLDER_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

const PROGRAM = {
  name: isText,
  /** Cost of the program's requests. */
  used: isAmount,
  requests: isAmount,
  /** Requests by the account that served them last. */
  accounts: optional(recordOf(isAmount)),
  /** Number of failed requests, by class of error: `quota`, `rate`, `auth`, `other`. */
  failures: optional(recordOf(isAmount)),
  /** Requests not forwarded because of the budget, a reserve, or the lack of a usable account. */
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
  /** SHA-256 of the placeholder, in hexadecimal. Placeholders are random and can't be guessed from it. */
  digest: isText,
  created: isTime,
  expires: optional(isTime),
  /** Maximum cost of the requests, in the provider's unit. */
  budget: optional(isAmount),
});
/** Permission of one program to use a gateway. */
export type Token = Checked<typeof isToken>;

/** Stored state of a provider's gateway. */
export interface GatewayFile {
  port?: number;
  tokens: Token[];
  /** Programs that need no token for their private gateway: MCP servers and `serve -- COMMAND`. */
  programs: Program[];
  /** Requests from web pages, from other users, and without a valid placeholder. */
  turnedAway: number;
}

/** Reads the state of a gateway. A damaged file admits no program. */
export function readGateway(paths: Paths, cli: string): GatewayFile {
  const value = parseJson(readText(fileOf(paths, cli)));
  const { port, tokens, programs, turnedAway } = isRecord(value) ? value : ({} as Record<string, unknown>);
  return {
    ...(isNumber(port) && { port }),
    tokens: Array.isArray(tokens) ? tokens.filter(isToken) : [],
    programs: Array.isArray(programs) ? programs.filter(isProgram) : [],
    turnedAway: isAmount(turnedAway) ? turnedAway : 0,
  };
}

/**
 * Changes a gateway's file under a lock.
 * @param timeoutMs time to wait for another process; see `withLock`
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

/** Report about a program that uses a gateway. Times are in ISO 8601. */
export interface ConsumerReport {
  name: string;
  ends: string | null;
  requests: number;
  /** Requests by the account that served them last. */
  accounts: Record<string, number>;
  /** Number of failed requests, by class of error. */
  failures: Record<string, number>;
  /** Requests that were not forwarded. */
  refused: number;
  used: number;
  budget: number | null;
  /** Time and account of the last request. */
  last: string | null;
  account: string | null;
}

/** Describes a gateway's programs; programs with a token come first. */
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

/** Returns the CLIs that have a gateway file. */
export function gatewayClis(paths: Paths): string[] {
  const names = namesIn(paths.gateways).filter(name => name.endsWith('.json') && !name.startsWith('.'));
  return names.map(name => name.slice(0, -'.json'.length)).sort();
}

/** Returns a stamp that changes with each write; see `stampAt`. */
export function gatewayStamp(paths: Paths, cli: string): string {
  return stampAt(fileOf(paths, cli));
}

/** Reports whether a token has not expired. */
export function isValid({ expires }: Pick<Token, 'expires'>, now: number): boolean {
  return expires === undefined || now < expires;
}

function fileOf(paths: Paths, cli: string): string {
  return join(paths.gateways, `${cli}.json`);
}
