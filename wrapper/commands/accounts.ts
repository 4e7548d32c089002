// `accounts` and `accounts import`: all accounts at once, and adding them from a declarative file.
import { statSync } from 'node:fs';
import { parse } from 'smol-toml';
import * as z from 'zod/mini';
import { loadCatalog, providerOf } from '../catalog.ts';
import { refreshPlans } from '../compile.ts';
import { Account, type Change, editConfig, readConfig, same } from '../config.ts';
import { EXIT, reason, WrapError } from '../errors.ts';
import type { Context } from '../run.ts';
import { assertCredential, storeSecret } from '../secrets.ts';
import { readText } from '../store.ts';
import { describeAccounts } from './auth.ts';
import { emit, table } from './print.ts';

/** The accounts of a configuration, where `secrets` may hold credentials themselves; they are stored, not copied. */
const ImportFile = z.strictObject({
  accounts: z
    .array(z.extend(Account, { secrets: z._default(z.record(z.string(), z.string()), {}) }))
    .check(z.minLength(1, 'at least one [[accounts]] table')),
});

/** `accounts`: every account of every CLI. */
export function listAccounts(options: { json?: boolean }, context: Context): void {
  const clis = [...new Set(readConfig(context.paths.config).accounts.map(account => account.cli))];
  const all = clis.map(cli => ({ cli, accounts: describeAccounts(cli, context) }));
  const rows = all.flatMap(({ cli, accounts }) =>
    accounts.map(account => [
      account.default ? '*' : '',
      cli,
      account.name,
      account.enabled ? 'enabled' : 'disabled',
      Object.values(account.sources).join(', '),
    ]),
  );
  emit(
    options.json,
    { clis: all },
    rows.length > 0 ? table([['', 'CLI', 'ACCOUNT', 'STATE', 'CREDENTIAL'], ...rows]) : 'there are no accounts',
  );
}

/**
 * `accounts import FILE`: all or nothing. The file is checked as a whole before anything is stored, and no message
 * repeats a value from it.
 * @throws WrapError `import-unreadable`, `import-invalid`
 */
export async function importAccounts(
  file: string,
  options: { json?: boolean; file?: boolean; check?: boolean },
  context: Context,
): Promise<void> {
  const { paths } = context;
  const wanted = readImport(file);
  const catalog = loadCatalog(context.catalog, paths.userCatalog);
  const existing = readConfig(paths.config).accounts;
  const problems: string[] = [];
  for (const account of wanted) {
    const where = `${account.cli} "${account.name}"`;
    try {
      const missing = providerOf(catalog, account.cli).inject.filter(
        name => !(name in account.env) && !(name in account.secrets),
      );
      if (missing.length > 0) problems.push(`${where} provides no ${missing.join(', ')}`);
      for (const [name, value] of Object.entries(account.secrets)) {
        if (name in account.env) problems.push(`${where} gives ${name} twice`);
        assertCredential(value);
      }
    } catch (error) {
      problems.push(`${where}: ${reason(error)}`);
    }
    if (existing.some(same(account))) problems.push(`${where} exists already`);
    if (wanted.filter(same(account)).length > 1) problems.push(`${where} stands there twice`);
  }
  if (problems.length > 0) {
    throw new WrapError(
      'import-invalid',
      EXIT.data,
      `nothing was imported from ${file}: ${[...new Set(problems)].join('; ')}`,
      {
        hint: 'correct the file and import it again',
      },
    );
  }
  if (!options.check) {
    const changes: Change[] = [];
    for (const { secrets, ...account } of wanted) {
      const env = { ...account.env };
      for (const [variable, value] of Object.entries(secrets)) {
        const slot = { cli: account.cli, account: account.name, variable };
        env[variable] = await storeSecret(slot, value, options.file ? 'file' : 'keyring', paths);
      }
      changes.push({ add: { ...account, env } });
    }
    editConfig(paths.config, changes);
    refreshPlans(new Set(wanted.map(account => account.cli)), context);
  }
  if (wanted.some(account => Object.keys(account.secrets).length > 0) && (statSync(file).mode & 0o077) !== 0) {
    process.stderr.write(`culvert-wrap: others can read ${file}, which holds credentials; remove it\n`);
  }
  const names = wanted.map(({ cli, name }) => ({ cli, name }));
  const verb = options.check ? 'would import' : 'imported';
  emit(
    options.json,
    { imported: options.check ? [] : names, checked: names },
    names.map(({ cli, name }) => `${verb} "${name}" of ${cli}`).join('\n'),
  );
}

function readImport(file: string): z.infer<typeof ImportFile>['accounts'] {
  const unreadable = (why: string, cause?: unknown) =>
    new WrapError('import-unreadable', EXIT.noInput, `${file} can't be imported: ${why}`, {
      hint: 'give a TOML or JSON file with [[accounts]]',
      cause,
    });
  let raw: unknown;
  try {
    const text = readText(file);
    if (text === undefined) throw new Error('there is no such file');
    raw = text.trimStart().startsWith('{') ? JSON.parse(text) : parse(text);
  } catch (error) {
    // A parser's message quotes the place, which may be a key.
    const known = reason(error) === 'there is no such file' ? reason(error) : 'it is neither TOML nor JSON';
    throw unreadable(known);
  }
  const parsed = ImportFile.safeParse(raw);
  if (!parsed.success) throw unreadable(z.prettifyError(parsed.error).replaceAll('\n', ' '));
  return parsed.data.accounts;
}
