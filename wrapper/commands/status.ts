// Implements `status [cli]`, which shows the remaining quota of each account, the total, and the queue.
import type { Context } from '../context.ts';
import { readQueue } from '../manage/queue.ts';
import { refreshUsage, refreshWindows } from '../manage/refresh.ts';
import { loadPlan } from '../run/invocation.ts';
import { readConfig } from '../store/config.ts';
import {
  type AccountReport,
  describeAccounts,
  isUsable,
  reserveOf,
  sharedWith,
  type Total,
  totalOf,
} from '../store/describe.ts';
import { readInstalls, shimOf } from '../store/installs.ts';
import { hasLogins } from '../store/logins.ts';
import { isPaused, type Pause } from '../store/pause.ts';
import { readLocal } from '../store/pool-file.ts';
import { type LimitWindow, readState } from '../store/state.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { DURATION, formatDuration, parseDuration } from '../system/notation.ts';
import { emit, number, pauseText, resetText, table, time } from './print.ts';
import { toolOf } from './run.ts';

export interface StatusOptions {
  json?: boolean;
  /** Interval at which the output repeats until the program is interrupted. */
  watch?: string | true;
  /** Exit 3 when a CLI has too few usable accounts, too little left, or damaged queue entries. */
  check?: boolean;
}

interface Row extends Omit<AccountReport, 'sources'> {
  usable: boolean;
  /** Names of the accounts with the same quota. */
  shared: string[];
  problem: string | null;
  /** For an account that is a login: its directory or profile, and the windows of its limits. */
  login: { place: string; windows: LimitWindow[] | null; unknown: string | null; limit: string | null } | null;
}

interface Report {
  cli: string;
  accounts: Row[];
  total: Total;
  usable: number;
  /** Reasons for `--check` to fail. */
  problems: string[];
}

const WATCH_MS = 30_000;

/** Exit status of `--check` when something is low. */
const LOW = 3;

/** Queries the providers, within their limits, and prints a table for each CLI. */
export async function status(cli: string | undefined, options: StatusOptions, context: Context): Promise<void> {
  if (options.watch === undefined) return printStatus(cli, options, context);
  // In `--watch firecrawl`, the word is a CLI and not an interval.
  if (options.watch !== true && cli === undefined && !DURATION.test(options.watch)) {
    return status(options.watch, { ...options, watch: true }, context);
  }
  const every = intervalOf(options.watch);
  for (;;) {
    if (process.stdout.isTTY && !options.json) process.stdout.write('\x1b[H\x1b[2J');
    await printStatus(cli, options, context, true);
    await new Promise(resolve => setTimeout(resolve, Math.max(1_000, every)));
  }
}

/** @throws WrapError `bad-interval` */
function intervalOf(watch: string | true): number {
  if (watch === true) return WATCH_MS;
  if (DURATION.test(watch)) return parseDuration(watch);
  throw new WrapError('bad-interval', EXIT.usage, `${JSON.stringify(watch)} is not an interval`, {
    hint: 'write for example --watch=30s or --watch=5m',
  });
}

async function printStatus(
  cli: string | undefined,
  options: StatusOptions,
  context: Context,
  oneLine = false,
): Promise<void> {
  const config = readConfig(context.paths.config);
  const installs = readInstalls(context.paths);
  const clis = cli ? [cli] : [...new Set([...config.accounts.map(account => account.cli), ...Object.keys(installs)])];
  const reports: Report[] = [];
  for (const name of clis) reports.push(await reportOf(name, context));
  if (cli && reports[0]?.accounts.length === 0 && !installs[cli]) {
    throw new WrapError('not-installed', EXIT.usage, `${cli} has neither a shim nor an account`, {
      hint: `run \`culvert-wrap install ${cli}\``,
    });
  }
  for (const name of clis) {
    const bin = installs[name]?.bin;
    if (bin && shimOf(bin) !== name) {
      say(`${name}: ${bin} is not the shim anymore, so no account is used; run \`culvert-wrap install ${name}\``);
    }
  }
  const { entries, damaged } = readQueue(context.paths);
  const queue = { waiting: entries.length, damaged: damaged.length };
  const problems = [
    ...reports.flatMap(report => report.problems),
    ...(queue.damaged > 0 ? [`${queue.damaged} queued commands are damaged`] : []),
  ];
  const pool = config.pool ? degradation(context) : null;
  const text = [
    reports.map(report => describe(report, reports.length > 1)).join('\n\n') ||
      'No tool is installed.\nStart with: culvert-wrap install firecrawl',
    ...(queue.waiting + queue.damaged > 0 ? [`queue: ${queue.waiting} waiting, ${queue.damaged} damaged`] : []),
    ...(pool?.degradedSince
      ? [`pool: degraded since ${time(pool.degradedSince)}; see \`culvert-wrap pool status\``]
      : []),
    ...(options.check ? problems.map(problem => `LOW: ${problem}`) : []),
  ].join('\n');
  const healthy = problems.length === 0;
  const data = cli ? { ...reports[0]!, queue, pool, healthy } : { clis: reports, queue, pool, healthy, problems };
  if (options.json && oneLine) process.stdout.write(`${JSON.stringify({ ok: true, ...data })}\n`);
  else emit(options.json, data, text);
  if (options.check && !healthy) process.exitCode = LOW;
}

/** Returns the locally stored state of the pool. */
function degradation({ paths }: Context): { degradedSince: string | null; degradedRuns: number } {
  const { degradedSince, degradedRuns } = readLocal(paths);
  return { degradedSince: degradedSince === undefined ? null : new Date(degradedSince).toISOString(), degradedRuns };
}

async function reportOf(cli: string, context: Context): Promise<Report> {
  const { paths, now } = context;
  const plan = await loadPlan(cli, context);
  const state = readState(paths, cli);
  const problems = await refreshUsage(plan, state, context);
  const program = hasLogins(plan.accounts) ? toolOf(plan, context) : undefined;
  const unknown = await refreshWindows(plan, state, context, program);
  const loginOf = (name: string): Row['login'] => {
    const { login } = plan.accounts.find(account => account.name === name)!;
    if (login === undefined) return null;
    const windows = name in unknown ? null : (state.windows[name]?.list ?? null);
    return { place: login, windows, unknown: unknown[name] || null, limit: limitText(state.paused[name], now()) };
  };
  const reserve = reserveOf(plan.pool, plan.capacity);
  const described = describeAccounts(plan.accounts, state, now());
  const accounts = described.map(({ sources: _, ...account }): Row => {
    const login = loginOf(account.name);
    const isUsedUp = (login?.windows ?? []).some(window => isFull(window, now()));
    return {
      ...account,
      usable: isUsable(account, reserve) && !isUsedUp && !problems[account.name]?.unusable,
      shared: sharedWith(account, described),
      problem: problems[account.name]?.problem ?? null,
      login,
    };
  });
  const total = totalOf(accounts);
  const usable = accounts.filter(account => account.usable).length;
  const { min_usable: least, warn_below: below } = plan.capacity;
  return {
    cli,
    accounts,
    total,
    usable,
    problems: [
      ...(accounts.length > 0 && usable < least
        ? [`${cli}: ${usable} of ${accounts.length} accounts can be used`]
        : []),
      ...(below !== undefined && total.remaining !== null && total.remaining < below
        ? [`${cli}: ${total.remaining} left, below ${below}`]
        : []),
    ],
  };
}

function describe(report: Report, named: boolean): string {
  const heading = named ? `${report.cli}\n` : '';
  if (report.accounts.length === 0)
    return `${heading}${report.cli} has no account, so the original runs unchanged.\nAdd one: culvert-wrap accounts add ${report.cli} NAME`;
  const rows = report.accounts.map(row => [
    row.default ? '*' : '',
    row.name,
    number(row.remaining),
    number(row.limit),
    resetText(row.resets, Date.now()),
    stateText(row),
  ]);
  const total = ['', 'total', number(report.total.remaining), number(report.total.limit), '', ''];
  const headings = ['', 'ACCOUNT', 'REMAINING', 'LIMIT', 'RESETS', 'STATE'];
  return heading + table([headings, ...rows, total], process.stdout.columns);
}

/** Reports whether nothing is left in a window that has not ended. */
function isFull({ percent, resets }: LimitWindow, now: number): boolean {
  return percent >= 100 && !(resets !== null && Date.parse(resets) <= now);
}

/** Describes a limit that a login has met. Its end is left out unless the provider stated it. */
function limitText(pause: Pause | undefined, now: number): string | null {
  if (!pause || !isPaused(pause, now)) return null;
  const end = pause.stated && pause.until !== null ? ` until ${time(pause.until)}` : '';
  return `met a limit at ${time(pause.since)} (${pause.class})${end}`;
}

/** Describes the windows of a login: `5 h: 37 % used until 2031-01-31 23:59`. */
function windowsText({ windows, unknown }: NonNullable<Row['login']>): string {
  if (windows === null) return `limits not reported${unknown === null ? '' : `: ${unknown}`}`;
  const texts = windows.map(({ name, percent, resets }) => {
    const end = resets === null ? '' : ` until ${resetText(resets, Date.now())}`;
    return `${name}: ${percent} % used${end}`;
  });
  return texts.join(', ');
}

function stateText(row: Row): string {
  if (row.login && row.enabled && !row.problem) {
    const windows = row.login.windows ?? [];
    const state = windows.some(window => isFull(window, Date.now())) ? 'nothing left' : 'ready';
    return `${row.login.limit ?? state}; ${windowsText(row.login)}`;
  }
  const shared = row.shared.length > 0 ? `, same quota as ${row.shared.join(', ')}` : '';
  if (!row.enabled) return `disabled${shared}`;
  const paused = row.paused ? `paused ${pauseText(row.paused)}` : '';
  // a pause and a problem can both apply, for example offline
  if (paused || row.problem) return [paused, row.problem].filter(Boolean).join('; ') + shared;
  const left = row.emptyAt === null ? 0 : Date.parse(row.emptyAt) - Date.now();
  const forecast = left > 0 ? `, lasts about ${formatDuration(left)}` : '';
  if (row.remaining !== null && row.remaining <= 0) return `nothing left${shared}`;
  return (row.usable ? 'ready' : 'only the reserve left') + forecast + shared;
}
