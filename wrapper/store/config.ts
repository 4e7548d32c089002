// Reads and edits the user's configuration, which holds no secrets: accounts and their sources, and capacity control.
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'smol-toml';
import * as z from 'zod/mini';
import { reason } from '../../daemon/core/errors.ts';
import { readOptional } from '../../daemon/core/files.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { explainIssues, explainToml } from '../system/explain-issues.ts';
import { withLock, writeLinked } from '../system/files.ts';
import { DURATION, parseDuration } from '../system/notation.ts';
import {
  appendSection,
  appendTable,
  orderTables,
  removeSection,
  removeTable,
  setInTable,
} from '../system/toml-edit.ts';
import { hasLogins } from './logins.ts';

/**
 * Letters, digits, dots, underscores and dashes. A name can't start with a dash, which looks like an option; be only dots,
 * because it is part of a path; or be `__proto__`, because it is a key in JSON.
 */
export const ACCOUNT_NAME = /^(?!\.+$|__proto__$)[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$/;

/** The source of a credential. Literal secrets are rejected, because the file may end up in a backup or a repository. */
export const SOURCE = /^(?:env:[^=\0\s]+|keyring:\S*|pass:\S.*|command:\S.*|file:.+#[^#\s]+)$/s;

/** A directory, or the name of a profile. */
const LOGIN = /^(?:~?\/[^\0\n]*|[\w-]{1,64})$/;

const IDENTITY = /^[^\p{C}]{1,200}$/u;

export const Account = z.strictObject({
  cli: z.string(),
  name: z.string().check(z.regex(ACCOUNT_NAME, 'letters, digits, ".", "_", "-"; at most 64')),
  enabled: z._default(z.boolean(), true),
  /** Sources of credentials, by variable. */
  env: z._default(
    z.record(z.string(), z.string().check(z.regex(SOURCE, 'one of env:, keyring:, pass:, command:, file:path#KEY'))),
    {},
  ),
  /** The directory or profile in which the CLI keeps this account's login; `~/` is the home directory. */
  login: z.optional(z.string().check(z.regex(LOGIN, 'an absolute path, a path below ~/, or the name of a profile'))),
  /** Default account of a tool whose accounts are places. `false` on its other accounts says that a default was chosen. */
  default: z.optional(z.boolean()),
  /** With a pool: identifies the account on all machines, even if its name or credential differs there. */
  identity: z.optional(z.string().check(z.regex(IDENTITY, 'at most 200 characters, without control characters'))),
});
export type Account = z.infer<typeof Account>;

/** Returns a tool's accounts in order. With failover the default moves, so it is in the state, not the configuration. */
export function accountsOf({ accounts, tools }: Config, cli: string): Account[] {
  const own = accounts.filter(account => account.cli === cli);
  return tools[cli]?.failover && !hasLogins(own) ? own.map(({ default: _, ...account }) => account) : own;
}

export const Capacity = z
  .strictObject({
    /** Policy if nothing is left: run anyway, keep for later (exit 75), or refuse (exit 69). */
    policy: z._default(z.enum(['execute', 'queue', 'shed']), 'execute'),
    /** Units of every account that commands leave unused. */
    reserve: z._default(z.number().check(z.minimum(0)), 0),
    warn_below: z.optional(z.number()),
    /** Command that sh runs with CULVERT_WRAP_CLI and CULVERT_WRAP_REMAINING set, at most once an hour. */
    warn_command: z.optional(z.string()),
    costs: z._default(z.record(z.string(), z.number().check(z.minimum(0))), {}),
    /** Order of the accounts. All strategies except `in-order` and `round-robin` use the known remaining units. */
    strategy: z._default(
      z.enum(['in-order', 'most-remaining', 'soonest-reset', 'drain-first', 'round-robin']),
      'in-order',
    ),
    /** Accounts with less than this come last until they have `return_above` again (by default twice as much). */
    switch_below: z.optional(z.number().check(z.minimum(0))),
    return_above: z.optional(z.number().check(z.minimum(0))),
    /** With a pool: the number of commands that may use an account at a time. */
    max_leases: z.optional(z.int().check(z.minimum(1))),
    /** Longest wait for an available account before the command is queued, refused or run anyway. */
    wait: z.optional(z.string().check(z.regex(DURATION, 'a duration such as 30s, 10m or 2h'))),
    /** Percentages of an account's limit at which a desktop notification is shown. */
    notify_at: z._default(z.array(z.number().check(z.minimum(1), z.maximum(100))), []),
    /** `status --check` and `doctor` report when fewer accounts than this can be used. */
    min_usable: z._default(z.int().check(z.minimum(0)), 1),
  })
  .check(
    z.refine(({ switch_below: below, return_above: above }) => above === undefined || above >= (below ?? Infinity), {
      error: 'needs switch_below, and must not be less',
      path: ['return_above'],
    }),
    z.refine(({ warn_below, warn_command }) => warn_command === undefined || warn_below !== undefined, {
      error: 'needs warn_below, the number below which it is run',
      path: ['warn_command'],
    }),
  );
export type Capacity = z.infer<typeof Capacity>;

/** Checks a duration's range: timers treat too long a duration as none. */
function durationIn(least: string, most: string) {
  const fits = (text: string) =>
    DURATION.test(text) && parseDuration(text) >= parseDuration(least) && parseDuration(text) <= parseDuration(most);
  return z.string().check(z.refine(fits, { error: `a duration from ${least} to ${most}` }));
}

const PasswordSource = z.string().check(z.regex(SOURCE, 'one of env:, keyring:, pass:, command:, file:path#KEY'));

/** The settings of the store through which machines share accounts; see `pool/`. They contain no secret. */
export const Pool = z
  .strictObject({
    /** The store's address, without a password; see `pool/address.ts`. */
    url: z.string(),
    user: z.optional(z.string()),
    /** Source of the password. */
    password: z.optional(PasswordSource),
    /** The login at the Sentinels, which is separate from the store's login. */
    sentinel_user: z.optional(z.string()),
    sentinel_password: z.optional(PasswordSource),
    /** A PEM file with the certificate authorities that TLS trusts instead of Node's. */
    ca: z.optional(z.string()),
    /** This machine's name in `pool leases`. */
    machine: z.string().check(z.regex(ACCOUNT_NAME, 'letters, digits, ".", "_", "-"; at most 64')),
    /** Policy if the store can't be reached: refuse to run, or use this machine's share of the reserve. */
    offline: z._default(z.enum(['refuse', 'local']), 'refuse'),
    /** Number of machines that share each account; each machine has an equal part of the reserve. */
    machines: z.optional(z.int().check(z.minimum(1))),
    /** By CLI, the accounts that this machine may use while the store can't be reached. */
    accounts: z._default(z.record(z.string(), z.array(z.string())), {}),
    /** Lifetime of a lease that is not renewed. */
    ttl: z._default(durationIn('1s', '1d'), '90s'),
    /** Time limit for an answer from the store. */
    timeout: z._default(durationIn('10ms', '10m'), '2s'),
  })
  .check(
    z.refine(({ offline, machines }) => offline === 'refuse' || machines !== undefined, {
      error: '"local" needs machines = N, the number of machines that share the reserve',
      path: ['offline'],
    }),
    z.refine(({ url, sentinel_password: password }) => password === undefined || /^\w+\+sentinel:/.test(url), {
      error: 'is for addresses with +sentinel, such as valkey+sentinel://HOST/PRIMARY',
      path: ['sentinel_password'],
    }),
    z.refine(({ sentinel_user: user, sentinel_password: password }) => user === undefined || password !== undefined, {
      error: 'needs sentinel_password',
      path: ['sentinel_user'],
    }),
  );
export type Pool = z.infer<typeof Pool>;

/** A tool's choice of accounts; the catalog has the defaults. */
const Tool = z.strictObject({
  /** True if the next account takes over after a limit or a refused credential. */
  failover: z.optional(z.boolean()),
  /** The side that comes first: `own` (an exported credential, a profile and the like) or `accounts`. */
  prefer: z.optional(z.enum(['own', 'accounts'])),
});

export const Config = z.strictObject({
  accounts: z._default(z.array(Account), []),
  tools: z._default(z.record(z.string(), Tool), {}),
  pool: z.optional(Pool),
  capacity: z._default(z.record(z.string(), Capacity), {}),
  audit: z._default(z.boolean(), true),
  /** Time limit for getting a credential from a keyring, pass or a command. */
  secret_timeout: z._default(z.string().check(z.regex(DURATION)), '15s'),
});
export type Config = z.infer<typeof Config>;

/**
 * Reads the configuration in `file`, or returns an empty configuration if there is no file.
 * @throws WrapError `config-broken` naming the file and the place
 */
export function readConfig(file: string): Config {
  return parseConfig(textOf(file), file);
}

/** Reads a file's text; empty if there is no file. */
function textOf(file: string): string {
  try {
    return readOptional(file) ?? '';
  } catch (error) {
    throw broken(file, reason(error), error);
  }
}

/**
 * Checks the text of a configuration.
 * @param file the file's path, only for messages
 * @throws WrapError `config-broken`
 */
function parseConfig(text: string, file: string): Config {
  let raw: unknown;
  try {
    raw = parse(text);
  } catch (error) {
    throw broken(file, explainToml(error), error);
  }
  const parsed = Config.safeParse(raw);
  if (!parsed.success) throw broken(file, explainIssues(parsed.error, text), parsed.error);
  for (const [index, account] of parsed.data.accounts.entries()) {
    const { cli, name, identity } = account;
    const earlier = parsed.data.accounts.slice(0, index).filter(other => other.cli === cli);
    if (earlier.some(other => other.name === name)) throw broken(file, `${cli} has two accounts named ${name}`);
    if (identity !== undefined && earlier.some(other => other.identity === identity)) {
      throw broken(file, `${cli} has two accounts with the identity ${identity}`);
    }
  }
  return parsed.data;
}

export type Change =
  | { add: Account }
  | { remove: { cli: string; name: string } }
  /** `names`: all accounts of the CLI in their new order. */
  | { order: { cli: string; names: readonly string[] } }
  | { pool: z.input<typeof Pool> | undefined }
  | {
      set: { cli: string; name: string };
      key: 'enabled' | 'name' | 'env' | 'default' | 'login';
      value: boolean | string | Record<string, string>;
    };

/**
 * Applies changes to the file and keeps its comments and layout. Parses the result before it replaces the file, and leaves the
 * file alone if its layout can't be edited safely.
 * @throws WrapError `config-broken`, `config-layout`, `account-order`
 */
export function editConfig(file: string, changes: readonly Change[]): Config {
  return withLock(file, () => {
    const original = textOf(file);
    const expected = parseConfig(original, file);
    let text = original;
    for (const change of changes) {
      if ('add' in change) {
        expected.accounts.push(change.add);
        text = appendTable(text, 'accounts', { ...change.add });
        continue;
      }
      if ('pool' in change) {
        delete expected.pool;
        if (change.pool) expected.pool = Pool.parse(change.pool);
        text = removeSection(text, 'pool');
        if (change.pool) text = appendSection(text, 'pool', change.pool);
        continue;
      }
      if ('order' in change) {
        const order = orderOf(expected.accounts, change.order);
        expected.accounts = order.map(from => expected.accounts[from]!);
        text = orderTables(text, 'accounts', order);
        continue;
      }
      const index = expected.accounts.findIndex(same('remove' in change ? change.remove : change.set));
      if (index < 0) continue;
      if ('remove' in change) {
        expected.accounts.splice(index, 1);
        text = removeTable(text, 'accounts', index);
      } else {
        Object.assign(expected.accounts[index]!, { [change.key]: change.value });
        text = setInTable(text, 'accounts', index, { [change.key]: change.value });
      }
    }
    if (!sameConfig(text, expected, file)) {
      throw new WrapError('config-layout', EXIT.config, `${file} is laid out in a way that can't be edited safely`, {
        hint: 'write each account as its own [[accounts]] table, or make the change by hand',
      });
    }
    if (text !== original) writeLinked(file, text);
    return expected;
  });
}

/**
 * Returns the present index of each account in its new order; accounts of other CLIs keep their places.
 * @throws WrapError `account-order` unless `names` has each account of the CLI once
 */
function orderOf(accounts: readonly Account[], { cli, names }: { cli: string; names: readonly string[] }): number[] {
  const own = accounts.filter(account => account.cli === cli).map(({ name }) => name);
  if (!isDeepStrictEqual(own.toSorted(), names.toSorted())) {
    throw new WrapError('account-order', EXIT.usage, `an order names each account of ${cli} once`, {
      hint: own.length > 0 ? `accounts: ${own.join(', ')}` : `${cli} has no accounts`,
    });
  }
  const wanted = names.map(name => accounts.findIndex(same({ cli, name })));
  return accounts.map((account, index) => (account.cli === cli ? wanted.shift()! : index));
}

/** Returns a predicate for the account of `cli` with the name `name`. */
export function same(other: { cli: string; name: string }): (account: { cli: string; name: string }) => boolean {
  return account => account.cli === other.cli && account.name === other.name;
}

function sameConfig(text: string, expected: Config, file: string): boolean {
  try {
    const plain = (config: Config): unknown => JSON.parse(JSON.stringify(config));
    return isDeepStrictEqual(plain(parseConfig(text, file)), plain(Config.parse(expected)));
  } catch {
    return false;
  }
}

function broken(file: string, why: string, cause?: unknown): WrapError {
  return new WrapError('config-broken', EXIT.config, `${file} can't be used: ${why}`, {
    hint: 'correct the file; until then commands run without an account, and not at all where one is named',
    cause,
  });
}
