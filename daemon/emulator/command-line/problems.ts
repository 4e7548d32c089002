// Words the errors of clap for a command line that it does not accept.

import type { CliGeneration } from '../version.ts';
import { type Argument, type Command, type Option, subcommandsOf } from './grammar.ts';
import { placeholder, usage } from './help.ts';

export type ParseProblem =
  | { kind: 'unexpected'; token: string; options: Option[] }
  | { kind: 'unrecognized'; token: string }
  | { kind: 'invalid'; argument: Argument; value: string; why: string | null }
  | { kind: 'missing'; missing: Argument[] }
  | { kind: 'no-value'; option: Option }
  | { kind: 'unwanted-value'; option: Option; value: string }
  | { kind: 'no-subcommand' };

/** @returns the text for stderr */
export function problemText(problem: ParseProblem, path: Command[], generation: CliGeneration): string {
  const parts = [...describe(problem, path, generation), "For more information, try '--help'.\n"];
  return `error: ${parts.join('\n\n')}`;
}

function describe(what: ParseProblem, path: Command[], generation: CliGeneration): string[] {
  const command = path.at(-1)!;
  const usageLine = `Usage: ${usage(path)}`;
  switch (what.kind) {
    case 'unrecognized': {
      const names = subcommandsOf(command, generation).map(each => each.name);
      const close = similar(what.token, [...names, 'help']).map(name => `'${name}'`);
      const tip =
        close.length === 1
          ? `a similar subcommand exists: ${close}`
          : `some similar subcommands exist: ${close.join(', ')}`;
      return [`unrecognized subcommand '${what.token}'`, ...(close.length ? [`  tip: ${tip}`] : []), usageLine];
    }
    case 'unexpected': {
      const close = what.token.startsWith('--')
        ? similar(
            what.token.slice(2),
            what.options.filter(option => !option.hidden).map(option => option.long),
          ).at(-1)
        : undefined;
      const asValue = what.token.startsWith('-') && command.args?.length;
      const tip = close
        ? [`  tip: a similar argument exists: '--${close}'`]
        : asValue
          ? [`  tip: to pass '${what.token}' as a value, use '-- ${what.token}'`]
          : [];
      return [`unexpected argument '${what.token}' found`, ...tip, usageLine];
    }
    case 'invalid': {
      const name = placeholder(what.argument);
      if (what.why !== null) return [`invalid value '${what.value}' for '${name}': ${what.why}`];
      const names = what.argument.values?.map(value => value.name) ?? [];
      const close = similar(what.value, names).at(-1);
      const first =
        what.value === ''
          ? `a value is required for '${name}' but none was supplied`
          : `invalid value '${what.value}' for '${name}'`;
      return [
        `${first}\n  [possible values: ${names.join(', ')}]`,
        ...(close ? [`  tip: a similar value exists: '${close}'`] : []),
      ];
    }
    case 'missing': {
      const name = path.map(each => each.name).join(' ');
      const needed = (command.args ?? []).filter(each => !each.optional).map(each => ` ${placeholder(each)}`);
      const lines = what.missing.map(each => `\n  ${placeholder(each)}`).join('');
      return [`the following required arguments were not provided:${lines}`, `Usage: ${name}${needed.join('')}`];
    }
    case 'no-value':
      return [`a value is required for '${flag(what.option)}' but none was supplied`];
    case 'unwanted-value':
      return [`unexpected value '${what.value}' for '${flag(what.option)}' found; no more were expected`, usageLine];
    case 'no-subcommand': {
      const subcommands = subcommandsOf(command, generation).filter(each => !each.hidden);
      const names = [...subcommands.map(each => each.name), 'help'].join(', ');
      return [`'${command.name}' requires a subcommand but one was not provided\n  [subcommands: ${names}]`, usageLine];
    }
  }
}

const flag = (option: Option) => `--${option.long}${option.value ? ` <${option.value}>` : ''}`;

/** Names alike enough for clap to suggest: Jaro similarity above 0.7, the closest last. */
function similar(word: string, names: string[]): string[] {
  return names
    .map(name => ({ name, score: jaro(word, name) }))
    .filter(({ score }) => score > 0.7)
    .sort((a, b) => a.score - b.score)
    .map(({ name }) => name);
}

function jaro(a: string, b: string): number {
  const reach = Math.max(Math.floor(Math.max(a.length, b.length) / 2) - 1, 0);
  const taken = new Set<number>();
  const matches = [...a].flatMap((letter, i) => {
    for (let j = Math.max(0, i - reach); j <= Math.min(b.length - 1, i + reach); j++) {
      if (b[j] !== letter || taken.has(j)) continue;
      taken.add(j);
      return [letter];
    }
    return [];
  });
  if (matches.length === 0) return 0;
  const ordered = [...taken].sort((x, y) => x - y).map(j => b[j]);
  const moved = matches.filter((letter, i) => letter !== ordered[i]).length / 2;
  return (matches.length / a.length + matches.length / b.length + (matches.length - moved) / matches.length) / 3;
}
