// Defines what a catalog entry says about programs that use the provider: over HTTP, for the gateway, and MCP servers.
import * as z from 'zod/mini';
import { duration, oneOrMore, pattern, variable } from './fields.ts';

const address = z.url().check(z.regex(/^https?:\/\/[^/]+$/, 'an address without a path'));

/** Access of programs to the provider over HTTP, for the gateway. */
export const HttpProvider = z.strictObject({
  /** The provider's address, without a path. */
  base: address,
  /** Addresses for keys with a certain end, where the provider has several. */
  bases: z._default(z.array(z.strictObject({ key_ends: z.string(), base: address })), []),
  /** Path at the end of the address that programs are given, such as `/v1`. */
  base_path: z._default(z.string().check(z.regex(/^(?:\/[^/]+)*$/, 'a path without a slash at its end')), ''),
  /** Variables from which the provider's programs take the address and the key. */
  base_variable: z.optional(variable),
  key_variable: variable,
  /** Code that reads the address from that variable, a line for each library that does not. */
  in_code: z._default(z.array(z.string()), []),
  /** A key is sent in this header; in `authorization` behind the scheme. */
  key_header: z._default(z.string().check(z.lowercase()), 'authorization'),
  key_scheme: z._default(z.string(), 'Bearer'),
  /** Field at the top of a body in JSON in which some programs send the key as well. */
  key_field: z.optional(z.string()),
  /** Start of every key: programs refuse a placeholder of another form. */
  key_prefix: z._default(z.string(), ''),
  /** Further headers that belong to an account; they are not passed on. */
  account_headers: z._default(z.array(z.string().check(z.lowercase())), []),
  /** A larger body is sent once, to one account, after the gateway has asked what the accounts have left. */
  replay_bytes: z._default(z.int().check(z.nonnegative()), 1_048_576),
  /** Time for the start of an answer, from the last byte of the request on. */
  answer_within: z._default(duration, '15m'),
  /** Answers after which another account takes over, besides 401, 402 and 429. Every condition that is given must hold. */
  retry: z._default(
    z.array(
      z.strictObject({
        class: z.enum(['quota', 'rate', 'auth', 'other']),
        /** As for the rules of a tool. */
        note: z.optional(z.string()),
        status: z.int(),
        /** Matched in the first 64 KiB of the body; group `rest` holds seconds, `reset` a date. */
        body: z.optional(pattern),
        rest: z.optional(z.union([z.literal('period'), z.literal('credential'), duration])),
      }),
    ),
    [],
  ),
  /** Path of a value in an error's body that says that the request was billed: it is not made again. */
  billed: z.optional(z.string()),
  /**
   * Requests that create a job (`POST /v2/crawl`; `*` is any part of a path), and where the answer has its id. Requests whose path
   * names it go to the same account. A `brief` job matters for minutes and comes with most requests: it is kept for 20 minutes, and
   * pushes no other job out. `wants` is for providers that do less than a job wants when an account has too little left, and answer
   * as if nothing were wrong.
   */
  creators: z._default(
    z.array(
      z.strictObject({
        request: z.string(),
        id: z.string(),
        brief: z._default(z.boolean(), false),
        /** A number or a list in the request: how much the job wants. */
        wants: z.optional(z.string()),
        /** Amount that the provider assumes for a request without one. */
        wants_default: z.optional(z.int().check(z.positive())),
      }),
    ),
    [],
  ),
  /** Requests that name a job not in their path but in a field of their body or query. */
  followers: z._default(z.array(z.strictObject({ request: z.string(), id: z.string() })), []),
  /**
   * The provider's MCP server over HTTP. Clients are given its address at the gateway, such as `/{key}/v2/mcp`, with a placeholder
   * where the key is.
   */
  mcp: z.optional(
    z.strictObject({
      base: address,
      address: z.string().check(z.regex(/^\/[^?]*\{key\}|^\/.*\?.*\{key\}/, 'a path with {key}')),
      /** Tools that create jobs, and the id of one in their answer, group 1. Calls with that id go to the same account. */
      jobs: z.optional(z.strictObject({ tools: z.array(z.string()), id: pattern })),
      /**
       * Cost of calls of tools: that of a command, or a number. `wants` is an argument, as for `creators`. With a budget or a reserve,
       * other tools are not called.
       */
      tools: z._default(
        z.array(
          z.strictObject({
            names: z.array(z.string()),
            command: z._default(z.string(), 'http'),
            cost: z.optional(z.number()),
            wants: z.optional(z.string()),
            wants_default: z.optional(z.int().check(z.positive())),
          }),
        ),
        [],
      ),
    }),
  ),
  /** Values at the top of JSON answers that are addresses of the provider; they are turned to the gateway. */
  rewrite: z._default(z.array(z.string()), []),
  /** Errors and their meaning, for `catalog test`; those of rules without `body` need none. */
  probes: z._default(
    z.array(
      z.strictObject({
        status: z.int(),
        body: z.optional(z.string()),
        expect: z.enum(['quota', 'rate', 'auth', 'other']),
      }),
    ),
    [],
  ),
});
export type HttpProvider = z.infer<typeof HttpProvider>;

/** An MCP server that uses an account of the provider. */
export const McpServer = z.strictObject({
  /** The npm package, by which a command line is recognized. */
  package: z.string(),
  /** Versions whose errors are as the rules say; `below` is the first that was not tried. */
  versions: z.strictObject({ from: z.string(), below: z.string() }),
  /** It uses the gateway, because its address can be set, and is not started again for another account. */
  gateway: z._default(z.boolean(), false),
  /** Tools whose failed call may have created a job or been billed, so that it is never repeated. */
  once: z._default(z.array(z.string()), []),
  rules: z._default(
    z.array(
      z
        .strictObject({
          class: z.enum(['quota', 'rate', 'auth']),
          /** A value in the structured fields of an error, or in its text where that is a JSON document. These rules come first. */
          json: z.optional(z.strictObject({ path: oneOrMore, matches: pattern })),
          /** Matched at the start of the text of an error; group `rest` holds seconds, `reset` a date. */
          text: z.optional(pattern.check(z.startsWith('^'))),
          /** For a server that sends this error without `isError`. */
          unflagged: z.optional(z.boolean()),
          rest: z.optional(z.union([z.literal('period'), z.literal('credential'), duration])),
          scope: z.optional(z.enum(['key', 'project', 'team', 'ip'])),
        })
        .check(z.refine(({ json, text }) => json !== undefined || text !== undefined, 'json, text or both')),
    ),
    [],
  ),
});
export type McpServer = z.infer<typeof McpServer>;
