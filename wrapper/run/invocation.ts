// Parses a command line by the catalog's description of the CLI, and loads the CLI's plan.
import { existsSync } from 'node:fs';
import type { Provider } from '../catalog/provider.ts';
import type { Context, Invocation } from '../context.ts';
import { hiddenPaths } from '../store/paths.ts';
import { type Plan, readLastPlan, readPlan, stampOf } from '../store/plan.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { isCommandIn } from './rules/classify.ts';

type Rules = Pick<
  Provider,
  'passthrough' | 'once' | 'silent_jobs' | 'value_options' | 'stdin_args' | 'stdin_commands' | 'machine_args'
>;

/** Parses a command's arguments. Nothing after `--` counts as an option. */
export function readInvocation(args: readonly string[], provider: Rules): Invocation {
  const end = args.indexOf('--');
  const own = end < 0 ? [...args] : args.slice(0, end);
  const words: string[] = [];
  for (let i = 0; i < own.length && words.length < 3; i++) {
    const arg = own[i]!;
    if (!arg.startsWith('-')) words.push(arg);
    else if (provider.value_options.includes(arg)) i++;
    else if (words.length > 0) break;
  }
  const command = words.join(' ');
  const given = (option: string) => own.some(arg => isOption(arg, option));
  return {
    args: [...args],
    command,
    passthrough: provider.passthrough.some(name => {
      if (name === '') return args.length === 0;
      return name.startsWith('-')
        ? own.some(arg => arg === name || arg.startsWith(`${name}=`))
        : isCommandIn(command, [name]);
    }),
    once: isCommandIn(command, provider.once),
    silentJob: provider.silent_jobs
      .filter(
        job =>
          isCommandIn(command, [job.command]) &&
          (job.given.length === 0 || job.given.some(given)) &&
          !job.unless.some(given),
      )
      .flatMap(job => job.classes ?? ['quota', 'rate', 'auth']),
    readsStdin: provider.stdin_args.some(arg => args.includes(arg)) || isCommandIn(command, provider.stdin_commands),
    machineReadable: provider.machine_args.some(given),
  };
}

/** Returns the invocation for a request, which has a command but no arguments. */
export function invocationOfRequest(command: string): Invocation {
  return {
    args: [],
    command,
    passthrough: false,
    once: false,
    silentJob: [],
    readsStdin: false,
    machineReadable: false,
  };
}

/** Converts an option's name to kebab case, because programs with yargs accept `--apiHost` for `--api-host`. */
export function spelled(arg: string): string {
  return arg.replace(/^--[\w-]+/, name => name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`));
}

/** Reports whether an argument is an option: `--key`, `--key=value`, or `-kvalue` for a one-letter option. */
export function isOption(arg: string, option: string): boolean {
  const [given, name] = [spelled(arg), spelled(option)];
  if (given === name || given.startsWith(`${name}=`)) return true;
  return option.length === 2 && option[1] !== '-' && arg.startsWith(option);
}

/**
 * Returns the current plan of a CLI, and compiles it if the stored plan is outdated.
 * @throws WrapError as `readConfig`, `catalogOf` and `providerOf`; `config-missing` if the file is gone and contained
 *   accounts
 */
export async function loadPlan(
  cli: string,
  context: Pick<Context, 'paths' | 'catalog' | 'load' | 'env'>,
): Promise<Plan> {
  const { paths } = context;
  const stamp = stampOf(context);
  const stored = readPlan(cli, paths, stamp);
  if (stored) return stored;
  const { compile, writePlan } = await context.load();
  const plan = compile(cli, context, stamp);
  const configured = existsSync(paths.config);
  if (!configured && (readLastPlan(cli, paths)?.accounts.length ?? 0) > 0) {
    throw new WrapError('config-missing', EXIT.config, `${paths.config} is missing, which held accounts of ${cli}`, {
      hint: `restore it, or run \`culvert-wrap install ${cli}\` to go on without accounts`,
    });
  }
  // another home directory may be meant to stay empty
  if (configured || !hiddenPaths(context.env)) writePlan(plan, context);
  return plan;
}
