// Reads the accounts that culvert-wrap has stored, and runs culvert-wrap to change them. It passes credentials on standard
// input, never on the command line.
import * as z from 'zod/mini';
import { type Catalog, catalogOf } from '../../wrapper/catalog/catalog.ts';
import type { Provider } from '../../wrapper/catalog/provider.ts';
import { isBound, orderCandidates } from '../../wrapper/run/candidates.ts';
import { type AuditEntry, readAudit } from '../../wrapper/store/audit.ts';
import { type Account, accountsOf, type Config, readConfig } from '../../wrapper/store/config.ts';
import { type AccountReport, describeAccounts, sharedWith, totalOf } from '../../wrapper/store/describe.ts';
import { findOnPath, type Installs, readInstalls, shimOf } from '../../wrapper/store/installs.ts';
import type { Paths } from '../../wrapper/store/paths.ts';
import { type Sources, stampOf, whoseAccount } from '../../wrapper/store/plan.ts';
import { isStored } from '../../wrapper/store/secrets.ts';
import { type CliState, hasLostDefault, isOld, readState } from '../../wrapper/store/state.ts';
import { describeConsumers, readGateway } from '../../wrapper/store/tokens.ts';
import type { Tool, ToolAccount, ToolAccountsChange, ToolRun } from '../api/accounts.ts';
import { TOOL_CHANGE_MS } from '../api/requests.ts';
import { reason } from '../core/errors.ts';
import { runHelper } from '../core/run-helper.ts';
import { parseJson } from '../core/shape.ts';
import { Problem } from '../problem.ts';

/** Maximum number of entries to read from the log of runs. */
const LOGGED = 500;
const RUNS = 5;
type SourceKind = ToolAccount['sources'][number];
const SOURCE_KINDS: readonly string[] = ['env', 'keyring', 'pass', 'command', 'file'] satisfies SourceKind[];

interface Files {
  config: Config;
  catalog: Catalog;
  stamp: string;
}

/**
 * @param sources the wrapper's files, and the shipped catalog
 * @param search the `PATH` to search for commands
 * @returns a function that reads the tools, given the time in ms since the epoch; `problem` explains an empty list
 */
export function createReader(
  sources: Sources,
  search: string,
): (now: number) => { tools: Tool[]; problem: string | null } {
  const { paths } = sources;
  let cache: Files | undefined;

  /** Reads and caches the files: the catalog has a thousand lines, and they seldom change. */
  function files(): Files {
    const stamp = stampOf(sources);
    if (cache?.stamp === stamp) return cache;
    cache = { config: readConfig(paths.config), catalog: catalogOf(sources), stamp };
    return cache;
  }

  return now => {
    try {
      const { config, catalog } = files();
      const installs = readInstalls(paths);
      const log = readAudit(paths, LOGGED);
      const clis = [
        ...new Set([
          ...config.accounts.map(({ cli }) => cli),
          ...Object.keys(installs),
          ...Object.keys(catalog.providers),
        ]),
      ];
      const tools = clis.flatMap(cli => {
        const provider = Object.hasOwn(catalog.providers, cli) ? catalog.providers[cli] : undefined;
        const own = accountsOf(config, cli);
        const command = commandOf(cli, installs, provider, search);
        if (own.length === 0 && command.path === null) return [];
        const state = readState(paths, cli);
        const reports = describeAccounts(own, state, now);
        const gateway = readGateway(paths, cli);
        return [
          {
            cli,
            ...command,
            ...describeProvider(provider),
            accounts: reports.map(report => ({
              ...describeAccount(report, reports),
              stored: isOwnStore(own.find(({ name }) => name === report.name)!, paths),
            })),
            order: orderOf(cli, provider, config),
            next: command.shim === 'installed' ? nextOf({ cli, provider, config, state }, now) : null,
            total: totalOf(describeAccounts(own, withoutOld(state, now), now)),
            runs: runsOf(cli, log),
            consumers: describeConsumers(gateway),
            turnedAway: gateway.turnedAway,
          },
        ];
      });
      return { tools, problem: null };
    } catch (error) {
      return { tools: [], problem: `${reason(error)}${hintOf(error)}` };
    }
  };
}

function commandOf(
  cli: string,
  installs: Installs,
  provider: Provider | undefined,
  search: string,
): Pick<Tool, 'shim' | 'path'> {
  const installed = Object.hasOwn(installs, cli) ? installs[cli] : undefined;
  if (installed) return { shim: shimOf(installed.bin) === cli ? 'installed' : 'replaced', path: installed.bin };
  return { shim: 'none', path: findOnPath(provider?.bin ?? cli, search) ?? null };
}

function orderOf(cli: string, provider: Provider | undefined, { accounts, tools, capacity }: Config): Tool['order'] {
  const own = accounts.filter(account => account.cli === cli);
  const failover =
    !provider || (provider.accounts !== 'one-per-person' && whoseAccount(provider, tools[cli], own).failover);
  if (!failover) return 'default';
  const strategy = capacity[cli]?.strategy ?? 'in-order';
  return strategy === 'in-order' ? 'list' : strategy;
}

/** Returns the account that a run of a tool uses now, by the wrapper's own order. */
function nextOf({ cli, provider, config, state }: Order, now: number): string | null {
  const accounts = accountsOf(config, cli);
  const { failover, prefer } = provider ? whoseAccount(provider, config.tools[cli], accounts) : NO_PROVIDER;
  if (prefer === 'own' || config.pool) return null;
  const choice = { by: 'default' } as const;
  const onlyChosen = isBound(choice, { provider: provider ?? { accounts: 'allowed' }, failover });
  if (onlyChosen && hasLostDefault(accounts, state)) return null;
  const { [cli]: capacity = {} } = config.capacity;
  const sharedQuota = provider !== undefined && provider.scope !== 'key';
  const [first] = orderCandidates(accounts, state, choice, { now, capacity, sharedQuota, onlyChosen });
  return first && !first.paused && !first.spent ? first.account.name : null;
}

interface Order {
  cli: string;
  provider: Provider | undefined;
  config: Config;
  state: CliState;
}

const NO_PROVIDER = { failover: true, prefer: 'accounts' };

/** Omits figures from before a reset. */
function withoutOld(state: CliState, now: number): CliState {
  const remaining = Object.entries(state.remaining).filter(([, figures]) => !isOld(figures, now));
  return { ...state, remaining: Object.fromEntries(remaining) };
}

/** True if culvert-wrap itself stores every credential of an account. */
function isOwnStore({ cli, name, env }: Account, paths: Paths): boolean {
  const sources = Object.entries(env);
  return (
    sources.length > 0 &&
    sources.every(([variable, source]) => isStored(source, { cli, account: name, variable }, paths))
  );
}

function describeProvider(provider: Provider | undefined): Pick<Tool, 'variables' | 'scope' | 'terms'> {
  return {
    variables: provider?.inject ?? [],
    scope: provider?.scope ?? 'key',
    terms: {
      accounts: provider?.accounts ?? 'allowed',
      note: provider?.terms_note ?? null,
      url: provider?.terms_url ?? null,
      read: provider?.terms_read ?? null,
    },
  };
}

function describeAccount(report: AccountReport, all: readonly AccountReport[]): Omit<ToolAccount, 'stored'> {
  const { sources, identity: _, ...rest } = report;
  const kinds = Object.values(sources).map(source => source.slice(0, source.indexOf(':')));
  return {
    ...rest,
    sources: [...new Set(kinds)].filter((kind): kind is SourceKind => SOURCE_KINDS.includes(kind)),
    sharedWith: sharedWith(report, all),
    problem: null,
  };
}

function runsOf(cli: string, log: readonly AuditEntry[]): ToolRun[] {
  return log
    .filter(entry => entry.cli === cli && entry.count === undefined)
    .slice(-RUNS)
    .reverse()
    .map(({ at, command, account, outcome, class: failure }) => ({
      at: new Date(at).toISOString(),
      command,
      account,
      outcome,
      class: failure ?? null,
    }));
}

/** Returns the hint of a wrapper's error. */
function hintOf(error: unknown): string {
  return error instanceof Error && 'hint' in error && typeof error.hint === 'string' ? `; ${error.hint}` : '';
}

const Refused = z.object({
  ok: z.literal(false),
  error: z.object({ code: z.string(), message: z.string(), hint: z.optional(z.string()) }),
});
const Refreshed = z.object({
  clis: z.array(
    z.object({
      cli: z.string(),
      accounts: z.array(z.object({ name: z.string(), problem: z.nullable(z.string()) })),
    }),
  ),
});

/**
 * Runs culvert-wrap and waits for its end.
 * @param program absolute path of culvert-wrap
 * @returns the JSON document that it printed
 * @throws Problem wrapper-refused with culvert-wrap's message, or wrapper-failed if it did not start, end or succeed
 */
export async function runWrapper(
  program: string,
  change: ToolAccountsChange,
  env: NodeJS.ProcessEnv,
): Promise<unknown> {
  const input = change.change === 'add' ? change.credentials.map(line => `${line}\n`).join('') : '';
  const argv: [string, ...string[]] = [program, ...wordsFor(change)];
  const { exit, stdout, timedOut, error } = await runHelper(argv, {
    env: childEnv(env),
    input,
    timeoutMs: TOOL_CHANGE_MS,
  });
  if (error)
    throw new Problem('wrapper-failed', `culvert-wrap could not be started: ${reason(error)}.`, {
      hint: 'Install Culvert again.',
    });
  if (timedOut)
    throw new Problem('wrapper-failed', `culvert-wrap did not end within ${TOOL_CHANGE_MS / 1000} s, and was ended.`, {
      hint: 'Try it in a terminal: culvert-wrap doctor',
    });
  const printed = parseJson(stdout);
  const refused = Refused.safeParse(printed);
  if (refused.success) {
    const { code, message, hint } = refused.data.error;
    throw new Problem('wrapper-refused', `${message}.`, { reason: code, ...(hint ? { hint: `${hint}.` } : {}) });
  }
  if (exit !== 0)
    throw new Problem('wrapper-failed', `culvert-wrap failed with exit status ${exit ?? 'unknown'}.`, {
      hint: 'Try it in a terminal: culvert-wrap doctor',
    });
  return printed;
}

/** Returns the arguments of culvert-wrap for a change. Pure. */
export function wordsFor(change: ToolAccountsChange): string[] {
  switch (change.change) {
    case 'refresh':
      return ['status', '--json'];
    case 'add':
      return [
        'accounts',
        'add',
        change.cli,
        change.name,
        '--json',
        ...(change.store === 'file' ? ['--file'] : []),
        ...(change.replace ? ['--replace'] : []),
      ];
    case 'order':
      return ['accounts', 'order', change.cli, ...change.names, '--json'];
    case 'install':
    case 'uninstall':
      return [change.change, change.cli, '--json'];
    default:
      return ['accounts', change.change, change.cli, change.name, '--json'];
  }
}

/** Returns the providers' errors from a refresh, by CLI and account with a space between them. */
export function parseRefresh(printed: unknown): Map<string, string> {
  const parsed = Refreshed.safeParse(printed);
  const clis = parsed.success ? parsed.data.clis : [];
  return new Map(
    clis.flatMap(({ cli, accounts }) =>
      accounts.flatMap(({ name, problem }) =>
        problem === null ? [] : [[`${cli} ${name}`, problem] as [string, string]],
      ),
    ),
  );
}

/** Returns the daemon's environment without variables for the daemon's Node or for a wrapped command. */
function childEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => name !== 'NODE_OPTIONS' && !name.startsWith('CULVERT_WRAP_')),
  );
}
