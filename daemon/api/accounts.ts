// Defines the accounts that culvert-wrap holds for command-line tools. WARP's own account is in tunnel.ts.
import * as z from 'zod/mini';
import type { EndpointTable } from './endpoint.ts';
import { Time } from './values.ts';

const Count = z.nullable(z.number());

/** One account of a tool. It never has a credential. */
export const ToolAccount = z.object({
  name: z.string(),
  enabled: z.boolean(),
  /** The next run begins with it. */
  default: z.boolean(),
  /** Kinds of places of the credential, without its name there. */
  sources: z.array(z.enum(['env', 'keyring', 'pass', 'command', 'file'])),
  /** Why and until when it is not tried; `until` is null: until its credential changes. */
  paused: z.nullable(z.object({ class: z.enum(['quota', 'rate', 'auth']), until: z.nullable(Time) })),
  /** In the provider's unit, as it was known at `at`; null if that is not known or there is no limit. */
  remaining: Count,
  limit: Count,
  used: Count,
  /** When the quota starts again, as the provider writes it. */
  resets: z.nullable(z.string()),
  at: z.nullable(Time),
  /** When nothing will be left at the present rate. */
  emptyAt: z.nullable(Time),
  /** Accounts that turned out to have the same quota. */
  sharedWith: z.array(z.string()),
  /** Why the provider could not be asked the last time. */
  problem: z.nullable(z.string()),
});
export type ToolAccount = z.infer<typeof ToolAccount>;

/** Result of one attempt, without arguments and output. */
export const ToolRun = z.object({
  at: Time,
  /** The leading words that are not options, such as `crawl`. */
  command: z.string(),
  /** null if the command ran without one. */
  account: z.nullable(z.string()),
  /**
   * `left`: the account was left for another one; `unobserved`: the only account, whose run was not watched; `original`: the
   * command needed or had no account.
   */
  outcome: z.enum(['ok', 'failed', 'left', 'skipped', 'queued', 'refused', 'unobserved', 'original']),
  /** The class of the failure; null for a success. */
  class: z.nullable(z.string()),
});
export type ToolRun = z.infer<typeof ToolRun>;

/** A program that uses the accounts through the gateway of `culvert-wrap serve`. */
export const ToolConsumer = z.object({
  name: z.string(),
  /** End of its token; null for a token without an end, and for a program with its own gateway. */
  ends: z.nullable(Time),
  requests: z.number(),
  /** Those of them that each account served last. */
  accounts: z.record(z.string(), z.number()),
  /** Requests that were not forwarded: for its budget, for a reserve, or because no account could be used. */
  refused: z.number(),
  /** Expected cost of its requests, in the provider's unit. */
  used: z.number(),
  budget: z.nullable(z.number()),
  /** Time and account of its last request. */
  last: z.nullable(Time),
  account: z.nullable(z.string()),
});

/** A command-line tool of the catalog that has accounts or a shim, or is on the daemon's PATH. */
export const Tool = z.object({
  cli: z.string(),
  /** `replaced`: an upgrade has put the command back, so that no account is used. */
  shim: z.enum(['none', 'installed', 'replaced']),
  /** Path of the shim, or of the command that would get one; null if there is no such command. */
  path: z.nullable(z.string()),
  /** Variables whose values `add` takes, in this order; empty if an account needs more than those. */
  variables: z.array(z.string()),
  /** Whose quota it is. */
  scope: z.enum(['key', 'project', 'team', 'ip']),
  terms: z.object({
    /** The provider's terms on several accounts. With `one-per-person`, no failure leads to another one. */
    accounts: z.enum(['allowed', 'per-team', 'one-per-person']),
    note: z.nullable(z.string()),
    url: z.nullable(z.string()),
    /** The date on which the terms were read, such as `2026-11-21`. */
    read: z.nullable(z.string()),
  }),
  accounts: z.array(ToolAccount),
  /** Over the enabled accounts; a quota that several share counts once. */
  total: z.object({ remaining: Count, limit: Count, used: Count }),
  /** Newest first, at most 5. */
  runs: z.array(ToolRun),
  /** Programs with a token for the gateway, and programs with their own gateway. */
  consumers: z.array(ToolConsumer),
  /** Requests to the gateway from web pages, from other users, and without a valid placeholder. */
  turnedAway: z.number(),
});
export type Tool = z.infer<typeof Tool>;

export const ToolAccounts = z.object({
  ok: z.literal(true),
  tools: z.array(Tool),
  /** The providers are being asked what is left. */
  refreshing: z.boolean(),
  /** Why accounts can't be shown, such as a broken configuration file. */
  problem: z.nullable(z.string()),
});
export type ToolAccounts = z.infer<typeof ToolAccounts>;

const Cli = z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/));
/** As culvert-wrap takes them: not starting with a dash, not dots alone. */
const Name = z.string().check(z.regex(/^(?!\.+$|__proto__$)[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$/));
const Credential = z.string().check(z.minLength(1), z.maxLength(8192), z.regex(/^[^\x00-\x1f\x7f]*$/));

/** `refresh` asks the providers what is left; `wake` ends a pause; `install` and `uninstall` are about the shim. */
export const ToolAccountsChange = z.discriminatedUnion('change', [
  z.strictObject({ change: z.literal('refresh') }),
  z.strictObject({ change: z.enum(['use', 'enable', 'disable', 'wake', 'remove']), cli: Cli, name: Name }),
  z.strictObject({
    change: z.literal('add'),
    cli: Cli,
    name: Name,
    /** One for each of the tool's `variables`, in their order. */
    credentials: z.array(Credential).check(z.maxLength(8)),
    /** A file that only this user can read serves where there is no keyring. */
    store: z.enum(['keyring', 'file']),
  }),
  z.strictObject({ change: z.enum(['install', 'uninstall']), cli: Cli }),
]);
export type ToolAccountsChange = z.infer<typeof ToolAccountsChange>;

export const accountsEndpoints = {
  'GET /api/accounts': {
    summary:
      'The accounts that culvert-wrap holds for command-line tools, without credentials. For two minutes after each request, changes come as `accounts` events; also while a stream with `only=accounts` is open',
    response: ToolAccounts,
  },
  'POST /api/accounts': {
    summary:
      'Have culvert-wrap change accounts or shims, or ask the providers what is left; the reply is the state afterwards',
    body: ToolAccountsChange,
    response: ToolAccounts,
    problems: ['wrapper-refused', 'wrapper-failed'],
  },
} as const satisfies EndpointTable;
