// `status [cli]`: what each account has left, and the total.
import { readConfig } from '../config.ts';
import { EXIT, WrapError } from '../errors.ts';
import { readInstalls } from '../install.ts';
import { loadPlan } from '../plan.ts';
import { refreshUsage } from '../refresh.ts';
import { type Context, say } from '../run.ts';
import { shimOf } from '../shim.ts';
import { readState } from '../state.ts';
import { describeAccounts } from './auth.ts';
import { emit, number, restingText, table, time } from './print.ts';

/** Asks the providers (within their limits) and prints a table per CLI. */
export async function status(cli: string | undefined, options: { json?: boolean }, context: Context): Promise<void> {
  const config = readConfig(context.paths.config);
  const installs = readInstalls(context.paths);
  const clis = cli ? [cli] : [...new Set([...config.accounts.map(account => account.cli), ...Object.keys(installs)])];
  const reports = [];
  for (const name of clis) reports.push(await reportOf(name, context));
  if (cli && reports[0]?.accounts.length === 0 && !installs[cli]) {
    throw new WrapError('not-installed', EXIT.usage, `${cli} has neither a shim nor an account`, {
      hint: `run \`culvert-wrap install ${cli}\``,
    });
  }
  for (const name of clis) {
    const bin = installs[name]?.bin;
    if (bin && shimOf(bin) !== name) {
      say(`${name}: ${bin} is not the shim any more, so no account is used; run \`culvert-wrap install ${name}\``);
    }
  }
  const text = reports.map(report => describe(report, reports.length > 1)).join('\n\n') || 'nothing is installed';
  emit(options.json, cli ? reports[0]! : { clis: reports }, text);
}

async function reportOf(cli: string, context: Context) {
  const plan = await loadPlan(cli, context);
  const state = readState(context.paths, cli);
  const problems = await refreshUsage(plan, state, context);
  const accounts = describeAccounts(cli, context).map(({ sources: _, ...account }) => {
    const { remaining = null, limit = null, used = null, resets = null } = state.remaining[account.name] ?? {};
    return { ...account, remaining, limit, used, resets, problem: problems[account.name] ?? null };
  });
  const sum = (key: 'remaining' | 'limit' | 'used') => {
    const numbers = accounts
      .filter(row => row.enabled)
      .map(row => row[key])
      .filter(value => value !== null);
    return numbers.length === 0 ? null : numbers.reduce((total, value) => total + value, 0);
  };
  return { cli, accounts, total: { remaining: sum('remaining'), limit: sum('limit'), used: sum('used') } };
}

function describe(report: Awaited<ReturnType<typeof reportOf>>, named: boolean): string {
  const heading = named ? `${report.cli}\n` : '';
  if (report.accounts.length === 0) return `${heading}${report.cli} has no accounts; the original runs unchanged`;
  const rows = report.accounts.map(row => [
    row.default ? '*' : '',
    row.name,
    number(row.remaining),
    number(row.limit),
    time(row.resets),
    row.enabled ? (row.problem ?? (row.resting ? `resting ${restingText(row.resting)}` : 'ready')) : 'disabled',
  ]);
  const total = ['', 'total', number(report.total.remaining), number(report.total.limit), '', ''];
  return heading + table([['', 'ACCOUNT', 'REMAINING', 'LIMIT', 'RESETS', 'STATE'], ...rows, total]);
}
