// Finds the credentials that upstream CLIs keep for themselves, for `accounts import --stored`.
import type { Catalog } from '../../catalog/catalog.ts';
import type { Provider } from '../../catalog/provider.ts';
import type { Context } from '../../context.ts';
import { callerEnvironment } from '../../run/accounts/environment.ts';
import { readConfig } from '../../store/config.ts';
import { referenceIn } from '../../store/key-texts.ts';
import { resolveAccount, SOURCE_TIMEOUT_MS } from '../../store/secrets.ts';
import { EXIT, say, WrapError } from '../../system/errors.ts';
import { expandHome, expandVariables, readText } from '../../system/files.ts';

/** An account with the credential that its CLI has stored. */
export interface StoredAccount {
  cli: string;
  name: string;
  enabled: true;
  env: Record<string, string>;
  secrets: Record<string, string>;
}

/**
 * Credentials that upstream CLIs have stored, under the name of the account that has the same credential already, or under `name`.
 * @param only this CLI; all of the catalog without it
 * @throws WrapError `nothing-stored` naming the files that were looked for
 */
export async function findStored(
  { only, name }: { only: string | undefined; name: string },
  catalog: Catalog,
  context: Context,
): Promise<StoredAccount[]> {
  const looked: string[] = [];
  const accounts: StoredAccount[] = [];
  for (const [cli, provider] of Object.entries(catalog.providers)) {
    const variable = provider.inject[0];
    if ((only !== undefined && only !== cli) || variable === undefined) continue;
    const { value, files } = storedCredential(provider, context.env);
    looked.push(...files);
    if (value === undefined) continue;
    const reference = referenceIn(value);
    if (reference !== undefined) {
      say(`what ${cli} has stored is left out: ${reference}`);
      continue;
    }
    const secrets = { [variable]: value };
    const [known = name] = await namesOf(cli, secrets, context);
    accounts.push({ cli, name: known, enabled: true, env: {}, secrets });
  }
  if (accounts.length > 0) return accounts;
  const where = looked.length > 0 ? `there is no key in ${looked.join(', ')}` : `the catalog names no file of ${only}`;
  throw new WrapError('nothing-stored', EXIT.noInput, `nothing can be imported: ${where}`, {
    hint: 'log in with the CLI itself first, or add the key with `culvert-wrap accounts add`; a session of a browser is not a key',
  });
}

/** The credential that a CLI keeps for itself, and the files that were looked into. */
function storedCredential(
  { stored }: Pick<Provider, 'stored'>,
  env: NodeJS.ProcessEnv,
): { value: string | undefined; files: string[] } {
  const files: string[] = [];
  for (const { file, pattern } of stored) {
    const path = expandHome(expandVariables(file, env), env);
    files.push(path);
    const value = new RegExp(pattern).exec(read(path))?.[1];
    if (value !== undefined) return { value, files };
  }
  return { value: undefined, files };
}

/** The accounts that have these credentials already. */
export async function namesOf(
  cli: string,
  credentials: Record<string, string>,
  { paths, env }: Pick<Context, 'paths' | 'env'>,
): Promise<string[]> {
  const names: string[] = [];
  for (const account of readConfig(paths.config).accounts.filter(each => each.cli === cli)) {
    const resolved = await resolveAccount(account, callerEnvironment(env), SOURCE_TIMEOUT_MS);
    if (resolved.ok && Object.entries(credentials).every(([variable, value]) => resolved.env[variable] === value)) {
      names.push(account.name);
    }
  }
  return names;
}

/** A file that can't be read holds nothing for us. */
function read(file: string): string {
  try {
    return readText(file) ?? '';
  } catch {
    return '';
  }
}
