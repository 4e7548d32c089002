// What a command line asks for, as far as the catalog lets one tell: subcommand, passthrough, a credential of its own.
import type { Provider } from './catalog.ts';
import { isCommandIn } from './classify.ts';

export interface Invocation {
  args: string[];
  /** The leading words that are no options: `crawl`, `r2 bucket list`. */
  command: string;
  /** Runs as it is, without an account. */
  passthrough: boolean;
  /** The user gave a credential on the command line: runs as it is, once. */
  ownCredential: boolean;
  /** Not replayed, or not once a job exists. */
  once: boolean;
  readsStdin: boolean;
}

type Rules = Pick<Provider, 'passthrough' | 'own_credential' | 'once' | 'value_options' | 'stdin_args'>;

/** Reads a command line the way the catalog describes the CLI. Nothing after `--` is taken for an option. */
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
    passthrough: provider.passthrough.some(name => (name.startsWith('-') ? given(name) : isCommandIn(command, [name]))),
    ownCredential: provider.own_credential.some(given),
    once: isCommandIn(command, provider.once),
    readsStdin: provider.stdin_args === undefined || provider.stdin_args.some(arg => args.includes(arg)),
  };
}

/** `--key value`, `--key=value`, and for one letter `-kvalue`. */
function isOption(arg: string, option: string): boolean {
  if (arg === option || arg.startsWith(`${option}=`)) return true;
  return option.length === 2 && option[1] !== '-' && arg.startsWith(option);
}
