// Implements `accounts list|export|purge` and `list` under an auth command.
import type { Context } from '../../context.ts';
import { type Account, readConfig } from '../../store/config.ts';
import { describeAccounts, describeAllAccounts } from '../../store/describe.ts';
import { orphanedSecrets, removeOrphan } from '../../store/secrets.ts';
import { readState } from '../../store/state.ts';
import { emit, pauseText, table } from '../print.ts';

interface Options {
  json?: boolean;
}

/** `list` of one CLI: which account is the default, and which are paused. */
export function listOf(cli: string, options: Options, { paths, now }: Context): void {
  const own = readConfig(paths.config).accounts.filter(account => account.cli === cli);
  const accounts = describeAccounts(own, readState(paths, cli), now());
  const rows = accounts.map(account => [
    account.default ? '*' : '',
    account.name,
    account.enabled ? 'enabled' : 'disabled',
    account.paused ? pauseText(account.paused) : '-',
    Object.entries(account.sources)
      .map(([variable, source]) => `${variable} from ${sourceText(source, paths)}`)
      .join(', '),
  ]);
  const heading = ['', 'ACCOUNT', 'STATE', 'PAUSED', 'CREDENTIAL'];
  emit(
    options.json,
    { cli, accounts },
    rows.length === 0
      ? `${cli} has no account. Add one: culvert-wrap accounts add ${cli} NAME`
      : table([heading, ...rows]),
  );
}

/** `accounts`: every account of every CLI. */
export function listAll(options: Options, { paths, now }: Context): void {
  const clis = describeAllAccounts(paths, now());
  const rows = clis.flatMap(({ cli, accounts }) =>
    accounts.map(account => [
      account.default ? '*' : '',
      cli,
      account.name,
      !account.enabled ? 'disabled' : account.paused ? `paused ${pauseText(account.paused)}` : 'enabled',
      Object.values(account.sources)
        .map(source => sourceText(source, paths))
        .join(', '),
    ]),
  );
  emit(
    options.json,
    { clis },
    rows.length > 0
      ? table([['', 'CLI', 'ACCOUNT', 'STATE', 'CREDENTIAL'], ...rows])
      : 'There is no account. Add one: culvert-wrap accounts add firecrawl NAME',
  );
}

/** A source for people: where `add` and `import` store credentials, the path only repeats the account's name. */
function sourceText(source: string, { secrets }: Context['paths']): string {
  if (source === 'keyring:') return 'the keyring';
  return source.startsWith(`file:${secrets}/`) ? 'its own file' : source;
}

/** `accounts export [cli]`: a file for `accounts import`, with references only. */
export function exportAccounts(cli: string | undefined, options: Options, { paths }: Context): void {
  const all = readConfig(paths.config).accounts.filter(account => cli === undefined || account.cli === cli);
  const accounts = all.map(({ enabled, ...account }) => ({ ...account, ...(!enabled && { enabled }) }));
  emit(options.json, { accounts }, accounts.map(toToml).join('\n\n'));
}

function toToml({ cli, name, enabled, env }: Omit<Account, 'enabled'> & { enabled?: boolean }): string {
  const text = (value: string) => JSON.stringify(value).replaceAll('\x7f', '\\u007f');
  const pairs = Object.entries(env).map(([variable, source]) => `${text(variable)} = ${text(source)}`);
  const state = enabled === undefined ? '' : `enabled = ${enabled}\n`;
  return `[[accounts]]\ncli = ${text(cli)}\nname = ${text(name)}\n${state}env = { ${pairs.join(', ')} }`;
}

/** `accounts purge`: removes stored secrets that no account refers to. */
export function purge(options: Options, { paths }: Context): void {
  const orphans = orphanedSecrets(readConfig(paths.config).accounts, paths);
  for (const orphan of orphans) removeOrphan(orphan);
  const lines = orphans.map(({ file, key }) => `removed ${key} from ${file}`);
  emit(
    options.json,
    { removed: orphans },
    lines.join('\n') || 'Nothing to remove: every stored credential belongs to an account.',
  );
}
