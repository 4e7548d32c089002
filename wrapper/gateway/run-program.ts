// Runs `culvert-wrap serve TOOL -- COMMAND…`: a program that uses the accounts of a provider and holds a placeholder only.
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
 * Runs a program with its own gateway, which ends with it. Where the user names another host, the program runs without a gateway.
 * @throws WrapError `no-gateway`, `original-missing`, `original-unusable`, and those of `rulingFor`
 */
export async function runBehindGateway(cli: string, command: readonly string[], given: Context): Promise<End> {
  const plan = await loadPlan(cli, given);
  const http = httpOf(plan);
  const context = { ...given, env: withoutGateway(plan, given.env) };
  // a gateway is asked for by name, so that accounts count; options are those of another program
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
    // the program has started, and holds no key: its own core dumps stay as they are
    const [end] = await Promise.all([ended, preventCoreDumps()]);
    return end;
  } finally {
    await gateway.close();
    if (usable && http.in_code.length > 0 && requestsOf(name, cli, context) === before)
      say(`${cli}: no request came; the code gives the address: ${http.in_code.join(', or ')}`);
  }
}

/** Says so if every request is going to be refused. @returns whether an account can be used */
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

/** The environment of a program that uses a gateway: the address and the placeholder, and no variable that carries a key. */
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

/** A key may be in the variable that an account sets, and in the variable from which the account reads it. */
function variablesOf([name, source]: [string, string]): string[] {
  return source.startsWith('env:') ? [name, source.slice('env:'.length)] : [name];
}
