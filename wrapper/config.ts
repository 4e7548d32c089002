// The user's configuration: accounts by name and source, capacity control. Secrets are referred to, never written here.
import { parse } from 'smol-toml';
import * as z from 'zod/mini';
import { DURATION } from './duration.ts';
import { EXIT, reason, WrapError } from './errors.ts';
import { readText, withLock, writeAtomic } from './store.ts';
import { appendTable, removeTable, setInTable } from './toml-edit.ts';

export { type Paths, pathsFor } from './paths.ts';

/** Letters, digits, dot, underscore, dash; not starting with a dash, so that it can't be taken for an option. */
export const ACCOUNT_NAME = /^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$/;

/** Where a credential comes from. A bare value is refused: the file may end up in a backup or a repository. */
export const SOURCE = /^(?:env:[^=\0\s]+|keyring:\S*|pass:\S.*|command:\S.*|file:.+#[^#\s]+)$/s;

export const Account = z.strictObject({
  cli: z.string(),
  name: z.string().check(z.regex(ACCOUNT_NAME, 'letters, digits, ".", "_", "-"; at most 64')),
  enabled: z._default(z.boolean(), true),
  /** Variable to source. */
  env: z._default(
    z.record(z.string(), z.string().check(z.regex(SOURCE, 'one of env:, keyring:, pass:, command:, file:path#KEY'))),
    {},
  ),
});
export type Account = z.infer<typeof Account>;

export const Capacity = z.strictObject({
  /** What to do when nothing is left: run anyway, keep for later (exit 75), or refuse (exit 69). */
  policy: z._default(z.enum(['execute', 'queue', 'shed']), 'execute'),
  /** This much of every account is left alone. */
  reserve: z._default(z.number().check(z.minimum(0)), 0),
  warn_below: z.optional(z.number()),
  /** Run by sh with CULVERT_WRAP_CLI and CULVERT_WRAP_REMAINING set, at most once an hour. */
  warn_command: z.optional(z.string()),
  costs: z._default(z.record(z.string(), z.number().check(z.minimum(0))), {}),
});
export type Capacity = z.infer<typeof Capacity>;

export const Config = z.strictObject({
  accounts: z._default(z.array(Account), []),
  capacity: z._default(z.record(z.string(), Capacity), {}),
  audit: z._default(z.boolean(), true),
  /** How long a keyring, pass or command may take to give a credential. */
  secret_timeout: z._default(z.string().check(z.regex(DURATION)), '15s'),
});
export type Config = z.infer<typeof Config>;

/**
 * The configuration in `file`; the empty one when there is no file.
 * @throws WrapError `config-broken` naming the file and the place
 */
export function readConfig(file: string): Config {
  return parseConfig(readText(file) ?? '', file);
}

/**
 * Checks the text of a configuration.
 * @param file only for messages
 * @throws WrapError `config-broken`
 */
export function parseConfig(text: string, file: string): Config {
  let raw: unknown;
  try {
    raw = parse(text);
  } catch (error) {
    throw broken(file, reason(error).split('\n')[0]!, error);
  }
  const parsed = Config.safeParse(raw);
  // prettifyError names paths and rules, never values, so a key pasted into the file is not repeated.
  if (!parsed.success) throw broken(file, z.prettifyError(parsed.error).replaceAll('\n', ' '), parsed.error);
  const seen = new Set<string>();
  for (const { cli, name } of parsed.data.accounts) {
    if (seen.has(`${cli} ${name}`)) throw broken(file, `${cli} has two accounts named ${name}`);
    seen.add(`${cli} ${name}`);
  }
  return parsed.data;
}

export type Change =
  | { add: Account }
  | { remove: { cli: string; name: string } }
  | {
      set: { cli: string; name: string };
      key: 'enabled' | 'name' | 'env';
      value: boolean | string | Record<string, string>;
    };

/**
 * Applies changes to the file and keeps its comments and layout. The result is parsed before it replaces the file; a
 * layout that can't be edited safely is left alone.
 * @throws WrapError `config-broken`, `config-layout`
 */
export function editConfig(file: string, changes: readonly Change[]): Config {
  return withLock(file, () => {
    const before = readText(file) ?? '';
    const expected = parseConfig(before, file);
    let text = before;
    for (const change of changes) {
      if ('add' in change) {
        expected.accounts.push(change.add);
        text = appendTable(text, 'accounts', { ...change.add });
        continue;
      }
      const at = expected.accounts.findIndex(same('remove' in change ? change.remove : change.set));
      if (at < 0) continue;
      if ('remove' in change) {
        expected.accounts.splice(at, 1);
        text = removeTable(text, 'accounts', at);
      } else {
        Object.assign(expected.accounts[at]!, { [change.key]: change.value });
        text = setInTable(text, 'accounts', at, change.key, change.value);
      }
    }
    if (!sameConfig(text, expected, file)) {
      throw new WrapError('config-layout', EXIT.config, `${file} is laid out in a way that can't be edited safely`, {
        hint: 'write each account as its own [[accounts]] table, or make the change by hand',
      });
    }
    if (text !== before) writeAtomic(file, text);
    return expected;
  });
}

/** Whether an account is the one of `cli` called `name`. */
export function same(wanted: { cli: string; name: string }): (account: { cli: string; name: string }) => boolean {
  return account => account.cli === wanted.cli && account.name === wanted.name;
}

function sameConfig(text: string, expected: Config, file: string): boolean {
  try {
    return JSON.stringify(parseConfig(text, file)) === JSON.stringify(Config.parse(expected));
  } catch {
    return false;
  }
}

function broken(file: string, why: string, cause?: unknown): WrapError {
  return new WrapError('config-broken', EXIT.config, `${file} can't be used: ${why}`, {
    hint: 'correct the file; until then the original commands run without an account',
    cause,
  });
}
