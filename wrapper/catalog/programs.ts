// Defines the parts of a catalog entry about programs: access over HTTP through the gateway, and MCP servers.
import * as z from 'zod/mini';
import { Checked, duration, oneOrMore, pattern, variable } from './fields.ts';

const address = z.url().check(z.regex(/^https?:\/\/[^/]+$/, 'an address without a path'));
const addressWithPath = z
  .url()
  .check(z.regex(/^https?:\/\/[^/?#]+(?:\/[^/?#]+)*$/, 'an address without a slash at its end'));

/** Access of programs to the provider over HTTP, for the gateway. */
export const HttpProvider = z.strictObject({
  /** The provider's address, which may have a path: `https://openrouter.ai/api/v1`. */
  base: addressWithPath,
  /** Addresses for keys with certain endings, if the provider has several addresses. */
  bases: z._default(z.array(z.strictObject({ key_ends: z.string(), base: address })), []),
  /** Path at the end of the address for programs, such as `/v1`. It may be the end of the path of `base`. */
  base_path: z._default(z.string().check(z.regex(/^(?:\/[^/]+)*$/, 'a path without a slash at its end')), ''),
  /** Variables that contain the address and the key for the provider's programs. */
  base_variable: z.optional(variable),
  key_variable: variable,
  /** Lines of code that set the address, one for each library that does not read the variable. */
  in_code: z._default(z.array(z.string()), []),
  /** Header that carries the key. In `authorization`, the scheme precedes the key. */
  key_header: z._default(z.string().check(z.lowercase()), 'authorization'),
  key_scheme: z._default(z.string(), 'Bearer'),
  /** Top-level field in JSON bodies that may also carry the key. */
  key_field: z.optional(z.string()),
  /** Parameter in addresses that may also carry the key. */
  key_parameter: z.optional(z.string().check(z.regex(/^[\w.-]+$/, 'the name of a parameter'))),
  /** Prefix of every key. Programs refuse a placeholder without it. */
  key_prefix: z._default(z.string(), ''),
  /** Further headers that belong to an account. The gateway does not pass them on. */
  account_headers: z._default(z.array(z.string().check(z.lowercase())), []),
  /** Size above which the gateway checks the remaining quotas, and then sends a body once, with one account. */
  replay_bytes: z._default(z.int().check(z.nonnegative()), 1_048_576),
  /** Longest time from the last byte of a request to the start of its answer. */
  answer_within: z._default(duration, '15m'),
  /** Answers besides 401, 402 and 429 after which another account takes over. All conditions of a rule must hold. */
  retry: z._default(
    z.array(
      z.strictObject({
        class: z.enum(['quota', 'rate', 'auth', 'other']),
        /** See `note` in the rules of a tool. */
        note: z.optional(z.string()),
        status: z.int(),
        /** Pattern for the first 64 KiB of the body. Group `rest` contains seconds, and `reset` a date. */
        body: z.optional(pattern),
        rest: z.optional(z.union([z.literal('period'), z.literal('credential'), duration])),
      }),
    ),
    [],
  ),
  /** Path of a value in an error's body that marks a billed request. The gateway does not repeat such a request. */
  billed: z.optional(z.string()),
  /**
   * Requests that create a job (`POST /v2/crawl`; `*` is any part of a path), and the path of its id in the answer. Requests
   * with the id in their path use the same account. A `brief` job matters for minutes, and most requests create one: the
   * gateway keeps it for 20 minutes, and removes no other job for it. `wants` is for providers that silently do less than
   * requested when an account has too little left.
   */
  creators: z._default(
    z.array(
      z.strictObject({
        request: z.string(),
        id: z.string(),
        brief: z._default(z.boolean(), false),
        /** Path of a number or a list in the request that gives the size of the job. */
        wants: z.optional(z.string()),
        /** Size that the provider assumes for a request without `wants`. */
        wants_default: z.optional(z.int().check(z.positive())),
      }),
    ),
    [],
  ),
  /** Requests that name a job in a field of their body or query instead of their path. */
  followers: z._default(z.array(z.strictObject({ request: z.string(), id: z.string() })), []),
  /**
   * The provider's MCP server over HTTP. Clients get its address at the gateway, such as `/{key}/v2/mcp`, with a placeholder
   * instead of the key. Without `{key}`, the key is in the header only.
   */
  mcp: z.optional(
    z.strictObject({
      base: address,
      address: z
        .string()
        .check(z.regex(/^\/[^?]*\{key\}|^\/.*\?.*\{key\}|^\/[^?{}]*$/, 'a path, with or without {key}')),
      /** Tools that create jobs; group 1 of `id` is the job's id in an answer. Calls with the id use the same account. */
      jobs: z.optional(z.strictObject({ tools: z.array(z.string()), id: pattern })),
      /**
       * Cost of tool calls: the cost of a command, or a number. `wants` names an argument, as in `creators`. With a budget or a
       * reserve, the gateway calls no tools but these.
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
  /** Top-level values in JSON answers that are addresses of the provider, which become addresses of the gateway. */
  rewrite: z._default(z.array(z.string()), []),
  /** Errors and their classes, for `catalog test`. Rules without `body` need no probe. */
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
  /** The npm package that identifies the server in a command line. */
  package: z.string(),
  /** Versions with errors as in the rules; `below` is the first untested version. Without it, the rules cover every version. */
  versions: z.optional(z.strictObject({ from: z.string(), below: z.string() })),
  checked: z.optional(Checked),
  /** True if the server uses the gateway, because its address can be set. Another account then needs no restart. */
  gateway: z._default(z.boolean(), false),
  /** True if the usual words and codes of limits and refused keys count as well, because the server's own are not known. */
  usual_errors: z._default(z.boolean(), false),
  /** Tools whose failed calls are never repeated, because a call may have created a job or been billed. */
  once: z._default(z.array(z.string()), []),
  rules: z._default(
    z.array(
      z
        .strictObject({
          class: z.enum(['quota', 'rate', 'auth']),
          /** A value in an error's structured fields, or in its text if that is JSON. Rules with `json` come first. */
          json: z.optional(z.strictObject({ path: oneOrMore, matches: pattern })),
          /** Pattern for the start of an error's text. Group `rest` contains seconds, and `reset` a date. */
          text: z.optional(pattern.check(z.startsWith('^'))),
          /** True if the server sends this error without `isError`. */
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
