// The shipped catalog, and for each of its tools every way in which a person chooses an account or a host without culvert-wrap.
import { fileURLToPath } from 'node:url';
import { loadCatalog } from '../../../wrapper/catalog/catalog.ts';
import type { Provider } from '../../../wrapper/catalog/provider.ts';
import { choosingVariables } from '../../../wrapper/run/accounts/own-choice.ts';
import { whoseAccount } from '../../../wrapper/store/plan.ts';

export const catalogFile = fileURLToPath(new URL('../../../wrapper/catalog/providers', import.meta.url));
export const catalog = loadCatalog(catalogFile, '');
export const { providers } = catalog;
/** Entries of commands, by name. */
export const tools = Object.entries(providers).filter(([, { programs_only: isForPrograms }]) => !isForPrograms);
/** Tools whose accounts are places. */
export const PLACES = tools.filter(([, { account_is: is }]) => is === 'place').map(([cli]) => cli);
/** A host that is in no entry. */
export const ELSEWHERE = 'https://else.example';

const ACCOUNT = { cli: 'x', name: 'a', enabled: true, env: {} };

/** A plan of a tool with one account. */
export function known(cli: string, provider: Provider, account: { env: Record<string, string> } = ACCOUNT) {
  return { cli, provider, accounts: [{ ...ACCOUNT, cli, ...account }], ...whoseAccount(provider, undefined) };
}

/** Everything by which the user of a tool may choose: the environment and the arguments that do. */
export function waysOf(cli: string, provider: Provider) {
  const { accounts, hosts } = choosingVariables(known(cli, provider));
  const words = (option: string, value: string) => {
    const [name, key] = option.split(' ');
    if (key === undefined) return [name!, value];
    if (!key.startsWith('{')) return [name!, `${key.replace('*', 'x')}="${value}"`];
    const path = key.slice(1, -1).split('.');
    return [name!, JSON.stringify(path.reduceRight<unknown>((inner, each) => ({ [each]: inner }), value))];
  };
  const option = (name: string, value: string, isHost: boolean, isFixed = isHost) => ({
    name: name.replace(/[{}]/g, ''),
    env: {} as Record<string, string>,
    args: words(name, value),
    isHost,
    isFixed,
  });
  const variable = (name: string, value: string, isHost: boolean) => ({
    name,
    env: { [name]: value } as Record<string, string>,
    args: [] as string[],
    isHost,
    isFixed: false,
  });
  return [
    ...accounts.map(name => variable(name, 'mine', false)),
    ...provider.choice.options.map(name => option(name, 'mine', false)),
    ...provider.own_credential.map(name => option(name, 'mine', false, true)),
    ...hosts.map(name => variable(name, ELSEWHERE, true)),
    ...provider.hosts.options.map(name => option(name, ELSEWHERE, true)),
  ];
}
