// Help pages, written from the argument table as clap's default template does.

import type { CliGeneration } from '../version.ts';
import {
  type Argument,
  aboutOf,
  type Command,
  HELP_COMMAND,
  hasLongHelp,
  type Option,
  optionsOf,
  subcommandsOf,
} from './grammar.ts';

/**
 * @param path the command and its ancestors, the root first
 * @param long `--help` rather than `-h`; pages without more to say are the same
 */
export function helpPage(path: Command[], long: boolean, generation: CliGeneration): string {
  const command = path.at(-1)!;
  if (command === HELP_COMMAND) return helpOfHelp(path);
  const spacious = long && hasLongHelp(path);
  return [
    aboutOf(command, generation),
    `Usage: ${usage(path)}`,
    commandSection(command, generation),
    argumentSection(command, spacious),
    optionSection(path, spacious),
  ]
    .filter(Boolean)
    .join('\n\n')
    .concat('\n');
}

/** `warp-cli mode [OPTIONS] <MODE>`; two lines where a subcommand excludes the arguments. */
export function usage(path: Command[]): string {
  const command = path.at(-1)!;
  const name = path.map(each => each.name).join(' ');
  const options = optionsOf(path).some(option => !['help', 'version'].includes(option.long)) ? ' [OPTIONS]' : '';
  const args = (command.args ?? []).map(argument => ` ${placeholder(argument)}`).join('');
  if (!command.subcommands) return `${name}${options}${args}`;
  if (command.argsOrSubcommand) return `${name}${options}${args}\n       ${name} <COMMAND>`;
  return `${name}${options} ${command.optionalSubcommand ? '[COMMAND]' : '<COMMAND>'}`;
}

export const placeholder = (argument: Argument) => (argument.optional ? `[${argument.name}]` : `<${argument.name}>`);

function commandSection(command: Command, generation: CliGeneration): string | false {
  if (!command.subcommands) return false;
  const subcommands = [...subcommandsOf(command, generation).filter(each => !each.hidden), HELP_COMMAND];
  const rows = subcommands.map(each => [each.name, aboutOf(each, generation)] as const);
  return `Commands:\n${table(rows)}`;
}

function argumentSection(command: Command, spacious: boolean): string | false {
  if (!command.args?.length) return false;
  if (!spacious) {
    const rows = command.args.map(argument => {
      const values = argument.values && `[possible values: ${argument.values.map(value => value.name).join(', ')}]`;
      return [placeholder(argument), [argument.about, values].filter(Boolean).join(' ')] as const;
    });
    return `Arguments:\n${table(rows)}`;
  }
  const blocks = command.args.map(argument => {
    const about = argument.about ? `          ${argument.about}\n\n` : '';
    return `  ${placeholder(argument)}\n${about}${valueList(argument)}`;
  });
  return `Arguments:\n${blocks.join('\n\n')}`;
}

function valueList(argument: Argument): string {
  const values = argument.values ?? [];
  const width = Math.max(...values.map(value => value.name.length)) + 1;
  const lines = values.map(value => `          - ${`${value.name}:`.padEnd(width)} ${value.about ?? ''}`);
  return `          Possible values:\n${lines.join('\n')}`;
}

function optionSection(path: Command[], spacious: boolean): string {
  const more = hasLongHelp(path) ? (spacious ? " (see a summary with '-h')" : " (see more with '--help')") : '';
  const rows = optionsOf(path)
    .filter(option => !option.hidden)
    .map(option => [flags(option), option.about + (option.long === 'help' ? more : '')] as const);
  if (!spacious) return `Options:\n${table(rows)}`;
  return `Options:\n${rows.map(([flag, about]) => `  ${flag}\n          ${about}`).join('\n\n')}`;
}

function flags(option: Option): string {
  const value = option.value ? ` <${option.value}>` : '';
  return `${option.short ? `-${option.short}, ` : '    '}--${option.long}${option.repeats ? '...' : ''}${value}`;
}

function table(rows: (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}

function helpOfHelp(path: Command[]): string {
  const name = path.map(each => each.name).join(' ');
  return [
    HELP_COMMAND.about,
    `Usage: ${name} [COMMAND]...`,
    'Arguments:\n  [COMMAND]...  Print help for the subcommand(s)\n',
  ].join('\n\n');
}
