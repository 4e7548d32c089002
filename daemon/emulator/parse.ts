// Parses argv by the table of commands, and refuses everything else in the form that the real tool prints.
import { isIP } from 'node:net';
import { parseArgs } from 'node:util';
import type { Operation, Output } from './answer.ts';
import type { CliGeneration } from './version.ts';

export interface Command {
  run: Operation;
  /** Changes nothing, so it needs no lock. */
  reads?: true;
  argument?: Argument;
  /** The first release that has it. */
  since?: string;
}

export interface Argument {
  /** As in `<MODE>`. */
  name: string;
  optional?: true;
  /** Without values and a format, any text. */
  values?: string[];
  format?: 'ip' | 'range' | 'port' | 'endpoint';
}

/** Commands by their words: `tunnel ip add`. */
export type Commands = Readonly<Record<string, Command>>;

interface Globals {
  listen: boolean;
  json: boolean;
  acceptTos: boolean;
}

export interface Parsed {
  words: string;
  args: string[];
  globals: Globals;
}

/** Options before the words of a command. Behind them only `no-paginate` and `help` count. */
const OPTIONS = {
  'accept-tos': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  json: { type: 'boolean', short: 'j' },
  listen: { type: 'boolean', short: 'l' },
  'no-ansi': { type: 'boolean' },
  'no-paginate': { type: 'boolean' },
  timeout: { type: 'string', short: 't' },
  verbose: { type: 'boolean', short: 'v' },
  version: { type: 'boolean', short: 'V' },
} as const;

/**
 * @param argv without the program
 * @returns the command, or what is printed instead: the list of words, the version, or what is wrong
 */
export function parse(commands: Commands, argv: string[], generation: CliGeneration): Parsed | Output {
  const { tokens } = parseArgs({ args: argv, options: OPTIONS, strict: false, tokens: true });
  const globals: Globals = { listen: false, json: false, acceptTos: false };
  const known = Object.entries(commands).filter(([, { since }]) => generation.since(since));
  const begins = (words: string) => known.some(([name]) => name === words || name.startsWith(`${words} `));
  const args: string[] = [];
  let words = '';

  for (const token of tokens) {
    if (token.kind === 'option') {
      const { name, rawName, value } = token;
      if (name === 'help') return printed(list(known, words));
      const may = words === '' && Object.hasOwn(OPTIONS, name) && (value === undefined || name === 'timeout');
      if (!may && name !== 'no-paginate') return refused(`unexpected argument '${rawName}' found`, usage());
      if (name === 'version') return printed(`warp-cli ${generation.version}\n`);
      if (name === 'listen') globals.listen = true;
      if (name === 'json') globals.json = true;
      if (name === 'accept-tos') globals.acceptTos = true;
    } else if (token.kind === 'positional') {
      const { value } = token;
      const next = words === '' ? value : `${words} ${value}`;
      const argument = present()?.argument;
      if (value === 'help' && hasSubcommands()) return printed(list(known, words));
      if (args.length === 0 && !value.includes(' ') && begins(next)) words = next;
      else if (argument && args.length === 0) {
        const problem = problemOf(argument, value);
        if (problem !== null) return refused(`invalid value '${value}' for '${placeholder(argument)}'${problem}`);
        args.push(value);
      } else if (hasSubcommands()) return refused(`unrecognized subcommand '${value}'`, usage());
      else return refused(`unexpected argument '${value}' found`, usage());
    }
  }

  const command = present();
  if (!command && words === '' && argv.length > 0)
    return refused("'warp-cli' requires a subcommand but one was not provided", usage());
  if (!command) return { stdout: '', stderr: list(known, words), exitCode: 2 };
  const { argument } = command;
  if (argument && !argument.optional && args.length === 0)
    return refused(
      `the following required arguments were not provided:\n  ${placeholder(argument)}`,
      `Usage: warp-cli ${words} ${placeholder(argument)}`,
    );
  return { words, args, globals };

  function present(): Command | undefined {
    return known.find(([name]) => name === words)?.[1];
  }
  function hasSubcommands(): boolean {
    return words === '' || known.some(([name]) => name.startsWith(`${words} `));
  }
  function usage(): string {
    const argument = present()?.argument;
    const rest = hasSubcommands() ? ' <COMMAND>' : argument ? ` ${placeholder(argument)}` : '';
    return `Usage: warp-cli ${words && `${words} `}[OPTIONS]${rest}`;
  }
}

function list(known: [name: string, Command][], words: string): string {
  const shown = known.filter(([name]) => `${name} `.startsWith(words && `${words} `));
  const lines = shown.map(([name, { argument }]) => `  ${name}${argument ? ` ${placeholder(argument)}` : ''}\n`);
  return `Commands of warp-cli that the emulator knows. Its own: --emulate help\n\n${lines.join('')}`;
}

const placeholder = ({ name, optional }: Argument) => (optional ? `[${name}]` : `<${name}>`);

const printed = (stdout: string): Output => ({ stdout, stderr: '', exitCode: 0 });

function refused(...parts: string[]): Output {
  return {
    stdout: '',
    stderr: `error: ${[...parts, "For more information, try '--help'.\n"].join('\n\n')}`,
    exitCode: 2,
  };
}

/** @returns why a value is refused, to follow the name of the argument; null for one that is fine */
function problemOf({ values, format }: Argument, value: string): string | null {
  if (values) return values.includes(value) ? null : `\n  [possible values: ${values.join(', ')}]`;
  switch (format) {
    case 'ip':
      return isIP(value) ? null : ': invalid IP address syntax';
    case 'range':
      return isRange(value) ? null : ': invalid IP address syntax';
    case 'endpoint':
      return isEndpoint(value) ? null : ': invalid socket address syntax';
    case 'port':
      if (!/^\+?\d+$/.test(value)) return ': invalid digit found in string';
      return Number(value) <= 65535 ? null : `: ${value} is not in 0..=65535`;
    default:
      return null;
  }
}

function isRange(value: string): boolean {
  const [address = '', length, ...more] = value.split('/');
  const bits = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1;
  return more.length === 0 && length !== undefined && /^\d{1,3}$/.test(length) && Number(length) <= bits;
}

function isEndpoint(value: string): boolean {
  const [, v6, v4, port] = value.match(/^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/) ?? [];
  return (isIP(v6 ?? '') === 6 || isIP(v4 ?? '') === 4) && Number(port) <= 65535;
}
