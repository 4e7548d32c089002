// Defines the accounts that culvert-wrap holds for command-line tools. WARP's own account is in tunnel.ts.
import * as z from 'zod/mini';
import type { EndpointTable } from './endpoint.ts';
import { Time } from './values.ts';

const Count = z.nullable(z.number());

/** An account of a tool, without its credential. */
export const ToolAccount = z.object({
  name: z.string(),
  enabled: z.boolean(),
  /** True if the next run starts with this account. */
  default: z.boolean(),
  /** Kinds of stores that hold the credential, without its name. */
  sources: z.array(z.enum(['env', 'keyring', 'pass', 'command', 'file'])),
  /** True if culvert-wrap itself stores every credential, so that it can replace it. Absent in older versions. */
  stored: z.optional(z.boolean()),
  /** Reason and end of a pause; `until` is null if the pause lasts until the credential changes. */
  paused: z.nullable(z.object({ class: z.enum(['quota', 'rate', 'auth']), until: z.nullable(Time) })),
  /** Quota left at the time `at`, in the provider's unit; null if unknown or unlimited. */
  remaining: Count,
  limit: Count,
  used: Count,
  /** Time at which the quota resets, as the provider writes it. */
  resets: z.nullable(z.string()),
  at: z.nullable(Time),
  /** Time at which the quota runs out at the present rate. */
  emptyAt: z.nullable(Time),
  /** Accounts found to share this quota. */
  sharedWith: z.array(z.string()),
  /** Reason why the last request to the provider failed. */
  problem: z.nullable(z.string()),
});
export type ToolAccount = z.infer<typeof ToolAccount>;

/** Result of one attempt, without arguments and output. */
export const ToolRun = z.object({
  at: Time,
  /** The leading words that are not options, such as `crawl`. */
  command: z.string(),
  /** null if the command ran without an account. */
  account: z.nullable(z.string()),
  /**
   * `left`: the run moved on to another account; `unobserved`: the only account ran without being watched; `original`: the
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
  /** Time at which its token expires; null if it never does, and for a program with its own gateway. */
  ends: z.nullable(Time),
  requests: z.number(),
  /** Number of these requests by the account that served them last. */
  accounts: z.record(z.string(), z.number()),
  /** Requests not forwarded because of the budget, a reserve, or a lack of usable accounts. */
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
  /** `replaced`: an upgrade overwrote the shim with the command, so no account is used. */
  shim: z.enum(['none', 'installed', 'replaced']),
  /** Path of the shim, or of the command that a shim would replace; null without such a command. */
  path: z.nullable(z.string()),
  /** Variables whose values `add` takes, in this order; empty if an account needs more than variables. */
  variables: z.array(z.string()),
  /** Holder of the quota. */
  scope: z.enum(['key', 'project', 'team', 'ip']),
  terms: z.object({
    /** The provider's terms on several accounts. With `one-per-person`, no failure switches accounts. */
    accounts: z.enum(['allowed', 'per-team', 'one-per-person']),
    note: z.nullable(z.string()),
    url: z.nullable(z.string()),
    /** The date on which the terms were read, such as `2026-11-21`. */
    read: z.nullable(z.string()),
  }),
  accounts: z.array(ToolAccount),
  /**
   * Choice of the next account: `list`, in the order of `accounts` from the default account on, then from the start;
   * `default`, only the default account; otherwise by quota, by reset time, or in turn, as the strategies of culvert-wrap.
   */
  order: z.enum(['list', 'default', 'most-remaining', 'soonest-reset', 'drain-first', 'round-robin']),
  /**
   * The account that the next run uses; null if none is ready, or if something else decides: no shim, the tool's own login, or
   * a pool. Absent in older versions.
   */
  next: z.optional(z.nullable(z.string())),
  /** Sum over the enabled accounts; a shared quota counts once, and a figure from before a reset not at all. */
  total: z.object({ remaining: Count, limit: Count, used: Count }),
  /** Newest first, at most 5. */
  runs: z.array(ToolRun),
  /** Programs with a token for the gateway, and programs with their own gateway. */
  consumers: z.array(ToolConsumer),
  /** Number of gateway requests from web pages, other users, or without a valid placeholder. */
  turnedAway: z.number(),
});
export type Tool = z.infer<typeof Tool>;

export const ToolAccounts = z.object({
  ok: z.literal(true),
  tools: z.array(Tool),
  /** True while the providers are asked for the remaining quota. */
  refreshing: z.boolean(),
  /** Reason why accounts can't be shown, such as a broken configuration file. */
  problem: z.nullable(z.string()),
});
export type ToolAccounts = z.infer<typeof ToolAccounts>;

const Cli = z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/));
/** Account name that culvert-wrap accepts: no leading dash, not only dots. */
const Name = z.string().check(z.regex(/^(?!\.+$|__proto__$)[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$/));
const Credential = z.string().check(z.minLength(1), z.maxLength(8192), z.regex(/^[^\x00-\x1f\x7f]*$/));

/**
 * `refresh` asks the providers for the quota left; `wake` ends a pause; `order` gives all accounts of a tool in their new
 * order, and makes the first enabled account the default; `install` and `uninstall` affect the shim.
 */
export const ToolAccountsChange = z.discriminatedUnion('change', [
  z.strictObject({ change: z.literal('refresh') }),
  z.strictObject({ change: z.enum(['use', 'enable', 'disable', 'wake', 'remove']), cli: Cli, name: Name }),
  z.strictObject({
    change: z.literal('add'),
    cli: Cli,
    name: Name,
    /** A credential for each of the tool's `variables`, in order. */
    credentials: z.array(Credential).check(z.maxLength(8)),
    /** `file`, readable by this user only, is for systems without a keyring. */
    store: z.enum(['keyring', 'file']),
    /** True to replace the credential of an account with this name. */
    replace: z.optional(z.boolean()),
  }),
  z.strictObject({
    change: z.literal('order'),
    cli: Cli,
    names: z.array(Name).check(z.minLength(1), z.maxLength(1000)),
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
