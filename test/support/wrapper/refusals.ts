// Refusals as providers write them, and what each means. Names of organizations, keys and requests are left out or replaced.
import { readFileSync } from 'node:fs';

/** A refusal, where it comes in, and what it means for the account. */
export interface RefusalCase {
  /** Source of the text: a thread, a page of documentation, or a recording of this project. */
  source: string;
  cli: string;
  /** An answer to the gateway, the end of a wrapped command, or the error of an MCP server. */
  door: 'gateway' | 'shim' | 'mcp';
  status?: number;
  headers?: Record<string, string>;
  /** A document is sent as JSON. */
  body?: string | object;
  exit?: number;
  stdout?: string;
  stderr?: string;
  /** Result of a tool, or error of JSON-RPC. */
  answer?: { result: Record<string, unknown> } | { error: Record<string, unknown> };
  /** `none`: nothing about the account. `other`: no other account is tried, with these words. `check`: the provider is asked. */
  means: 'quota' | 'rate' | 'auth' | 'other' | 'none' | 'check';
  /** Milliseconds of the pause from `REFUSED_AT` on; missing until the credential changes. */
  pause?: number;
  /** Units that the account has left. */
  left?: number;
  /** A pattern of the note for the user. */
  words?: string;
}

export const REFUSED_AT = Date.parse('2026-11-28T12:00:00Z');

/** A row a line: of the catalog's providers, of services that it does not name, and of programs in front of them. */
export const REFUSALS: readonly RefusalCase[] = readFileSync('test/fixtures/refusals.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map(line => JSON.parse(line));
