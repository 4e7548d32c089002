// `explain <cli> [args]`: what would happen, and why, without running anything.
import { orderCandidates } from '../accounts.ts';
import { costOf, decide } from '../capacity.ts';
import { chooseAccount } from '../choice.ts';
import { isCommandIn } from '../classify.ts';
import { findOnPath, readInstalls } from '../install.ts';
import { readInvocation } from '../invocation.ts';
import { loadPlan } from '../plan.ts';
import type { Context } from '../run.ts';
import { describeSource } from '../secrets.ts';
import { readState } from '../state.ts';
import { describeResting } from './auth.ts';
import { emit, restingText } from './print.ts';

/** Prints how a command line is understood, in which order accounts are tried, and which rules could end an attempt. */
export async function explain(
  cli: string,
  args: readonly string[],
  options: { json?: boolean },
  context: Context,
): Promise<void> {
  const plan = await loadPlan(cli, context);
  const { provider } = plan;
  const invocation = readInvocation(args, provider);
  const installed = readInstalls(context.paths)[cli];
  const state = readState(context.paths, cli);
  const { choice, notice } = await chooseAccount(plan, args, state, context);
  const cost = costOf(invocation.command, provider, plan.capacity);
  const all = orderCandidates(plan.accounts, state, choice, context.now(), {
    cost,
    reserve: plan.capacity.reserve,
  });
  const candidates = choice.by === 'job' ? all.slice(0, 1) : all;
  const enabled = candidates.length > 0;
  const how = !enabled
    ? 'no account: the original runs unchanged'
    : invocation.passthrough || args.length === 0
      ? 'passthrough: the original runs as it is, without an account'
      : invocation.ownCredential
        ? 'a credential is given on the command line: the original runs as it is, once'
        : decide(candidates, plan.capacity) !== 'execute'
          ? `nothing is left: ${plan.capacity.policy}`
          : invocation.once
            ? provider.job_id
              ? 'with failover until a job has been created'
              : 'with the first account only: the command must run once'
            : 'with failover';
  const accounts = candidates.map(({ account, why, resting, spent }) => ({
    name: account.name,
    why,
    resting: resting ? describeResting(state.resting[account.name], context.now()) : null,
    spent,
    sources: Object.fromEntries(Object.entries(account.env).map(([name, source]) => [name, describeSource(source)])),
  }));
  const rules = provider.rules.filter(rule => !rule.commands || isCommandIn(invocation.command, rule.commands));
  const report = {
    cli,
    command: invocation.command,
    how,
    shim: installed?.bin ?? null,
    original: installed?.original ?? findOnPath(provider.bin, context.env.PATH ?? '') ?? null,
    readsStdin: invocation.readsStdin,
    cost,
    accounts,
    rules,
    notice: notice ?? null,
    terms: provider.terms_note ?? null,
  };
  const lines = [
    `${cli} ${args.join(' ')}`.trim(),
    `  runs      ${how}`,
    `  shim      ${report.shim ?? 'not installed'}`,
    `  original  ${report.original ?? 'not found'}`,
    ...accounts.map((account, index) => {
      const rests = account.resting ? `, resting ${restingText(account.resting)}` : '';
      return `  ${String(index + 1).padStart(2)}. ${account.name}: ${account.why}${rests}${account.spent ? ', nothing left' : ''}`;
    }),
    ...rules.map(
      rule =>
        `  ${rule.class.padEnd(6)} exit ${rule.exit?.join('/') ?? 'not 0'}${rule.stderr ? `, stderr ${rule.stderr}` : ''}${rule.stdout ? `, stdout ${rule.stdout}` : ''}${rule.json ? `, ${rule.json.path} in JSON ${rule.json.matches}` : ''}`,
    ),
    ...(notice ? [`  note      ${notice}`] : []),
    ...(provider.terms_note ? [`  terms     ${provider.terms_note}`] : []),
  ];
  emit(options.json, report, lines.join('\n'));
}
