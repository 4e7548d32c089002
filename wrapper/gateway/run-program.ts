// Implements `culvert-wrap serve TOOL -- COMMAND…`, which runs a program with a private gateway and a placeholder.
import { spawn } from 'node:child_process';
import { basename } from 'node:path';
import type { Context, End } from '../context.ts';
import { isOtherHost } from '../run/accounts/own-choice.ts';
import { callerEnvironment } from '../run/accounts/ready.ts';
import { rulingFor } from '../run/accounts/select-account.ts';
import { loadPlan } from '../run/invocation.ts';
import { cannotStart, passThrough } from '../run/original.ts';
import { writeAudit } from '../store/audit.ts';
import type { Plan } from '../store/plan.ts';
import { readGateway } from '../store/tokens.ts';
import { say } from '../system/errors.ts';
import { preventCoreDumps } from '../system/redact.ts';
import { variablesFor, withoutGateway } from './address.ts';
import { httpOf, newPlaceholder, startGateway } from './gateway.ts';

/**
 * Runs a program with a private gateway, which ends with the program. If the user has chosen another host, there is no gateway.
 * @throws WrapError `no-gateway`, `original-missing`, `original-unusable`, and those of `rulingFor`
 */
export async function runBehindGateway(cli: string, command: readonly string[], given: Context): Promise<End> {
  const plan = await loadPlan(cli, given);
  const http = httpOf(plan);
  const context = { ...given, env: withoutGateway(plan, given.env) };
  // the user asked for a gateway, so accounts take precedence; options in the command belong to another program
  const ruling = await rulingFor({ ...plan, prefer: 'accounts' }, { args: [], command: '' }, context);
  if (ruling) say(ruling.line);
  if (ruling?.runs === 'original') {
    const { why, choice } = ruling;
    const entry = { cli, command: 'serve', account: null, outcome: 'original', why, choice } as const;
    if (plan.audit) writeAudit(context.paths, [{ at: context.now(), ...entry }]);
    return passThrough(command[0]!, command.slice(1), context, plan);
  }
  const usable = reportNoAccount(plan);
  const placeholder = newPlaceholder(http);
  const name = `serve -- ${basename(command[0]!)}`;
  const gateway = await startGateway(cli, context, { placeholder, name });
  const env = environmentBehind(plan, { url: gateway.url, placeholder }, context);
  const [program, ...args] = command;
  const before = requestsOf(name, cli, context);
  try {
    const child = context.signals.forwardTo(() => spawn(program!, args, { stdio: 'inherit', env }));
    const ended = new Promise<End>((resolve, reject) => {
      child.on('exit', (exit, signal) => resolve({ exit, signal }));
      child.on('error', error => {
        if (child.pid === undefined) reject(cannotStart(program!, error));
      });
    });
    // only after the start, because the program has no key and keeps its own setting for core dumps
    const [end] = await Promise.all([ended, preventCoreDumps()]);
    return end;
  } finally {
    await gateway.close();
    if (usable && http.in_code.length > 0 && requestsOf(name, cli, context) === before)
      say(`${cli}: no request came; the code gives the address: ${http.in_code.join(', or ')}`);
  }
}

/** Warns if no account is enabled. @returns true if an account is enabled */
export function reportNoAccount({ cli, accounts }: Pick<Plan, 'cli' | 'accounts'>): boolean {
  const usable = accounts.some(({ enabled }) => enabled);
  if (!usable)
    say(
      `${cli} has no enabled account, so every request is refused; \`culvert-wrap accounts add ${cli} NAME\` adds one`,
    );
  return usable;
}

function requestsOf(name: string, cli: string, { paths }: Pick<Context, 'paths'>): number {
  return readGateway(paths, cli).programs.find(program => program.name === name)?.requests ?? 0;
}

/** Returns a program's environment with the gateway's address and placeholder, and without variables that carry a key. */
export function environmentBehind(
  plan: Plan,
  gateway: { url: string; placeholder: string },
  context: Pick<Context, 'env'>,
): NodeJS.ProcessEnv {
  const { provider, accounts } = plan;
  const env = callerEnvironment(context.env);
  const ofAccounts = accounts.flatMap(account => Object.entries(account.env).flatMap(variablesOf));
  for (const name of [...provider.inject, ...provider.credentials, ...ofAccounts]) delete env[name];
  for (const name of provider.hosts.env) if (env[name] && isOtherHost(env[name], provider.hosts)) delete env[name];
  return Object.assign(env, variablesFor(httpOf(plan), gateway, env));
}

/** Returns the variables that may contain a key: the account's variable, and the variable that its source reads. */
function variablesOf([name, source]: [string, string]): string[] {
  return source.startsWith('env:') ? [name, source.slice('env:'.length)] : [name];
}
