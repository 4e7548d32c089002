// Parses argv the way clap does: options where they belong, help and errors from the same table.

import type { CliGeneration } from '../version.ts';
import { type Argument, type Command, find, HELP_COMMAND, type Option, optionsOf } from './grammar.ts';
import type { ParseProblem } from './problems.ts';
import { formatProblem } from './values.ts';

export interface Globals {
  listen: boolean;
  json: boolean;
  acceptTos: boolean;
}

export type Parsed =
  | {
      kind: 'run';
      words: string[];
      args: string[];
      globals: Globals;
      /** Long names of the command's own options that were given. */
      options: string[];
    }
  | { kind: 'help'; path: Command[]; long: boolean }
  | { kind: 'bare'; path: Command[] }
  | { kind: 'version' }
  | { kind: 'problem'; path: Command[]; problem: ParseProblem };

/**
 * @param argv without the program
 * @returns for `run`: the command's words (`['tunnel', 'ip', 'add']`) and its argument values
 */
export function parse(root: Command, argv: string[], generation: CliGeneration): Parsed {
  const path = [root];
  const globals: Globals = { listen: false, json: false, acceptTos: false };
  const args: string[] = [];
  const here = () => path.at(-1)!;
  const fail = (what: ParseProblem): Parsed => ({ kind: 'problem', path, problem: what });
  let optionsEnded = false;
  const given: string[] = [];

  for (let i = 0; i < argv.length; i++) {
    const token = argv[i]!;
    if (!optionsEnded && token === '--') {
      optionsEnded = true;
      continue;
    }
    if (!optionsEnded && token.startsWith('-') && token !== '-') {
      const options = optionsOf(path);
      for (const flag of flagsIn(token, options)) {
        const option = options.find(each => each.long === flag.long || (flag.short && each.short === flag.short));
        if (!option) return fail({ kind: 'unexpected', token: flag.text, options });
        if (option.long === 'help') return { kind: 'help', path, long: flag.long === 'help' };
        if (option.long === 'version') return { kind: 'version' };
        if (option.value) {
          if (flag.value === undefined && argv[i + 1] === undefined) return fail({ kind: 'no-value', option });
          if (flag.value === undefined) i++;
        } else if (flag.value !== undefined) return fail({ kind: 'unwanted-value', option, value: flag.value });
        note(globals, option);
        given.push(option.long);
      }
      continue;
    }
    if (args.length === 0 && here().subcommands) {
      if (token === 'help') return help(argv.slice(i + 1), path, generation);
      const next = find(here(), token, generation);
      if (next) {
        path.push(next);
        continue;
      }
      if (!here().args) return fail({ kind: 'unrecognized', token });
    }
    const argument = here().args?.[args.length];
    if (!argument) return fail({ kind: 'unexpected', token, options: [] });
    const wrong = valueProblem(argument, token);
    if (wrong) return fail(wrong);
    args.push(token);
  }

  const command = here();
  if (command.subcommands && args.length === 0 && !command.optionalSubcommand && !command.argsOrSubcommand) {
    return given.length > 0 && path.length === 1 ? fail({ kind: 'no-subcommand' }) : { kind: 'bare', path };
  }
  const missing = (command.args ?? []).slice(args.length).filter(argument => !argument.optional);
  if (missing.length > 0) return fail({ kind: 'missing', missing });
  const own = (command.options ?? []).map(option => option.long);
  const options = path.length > 1 ? given.filter(name => own.includes(name)) : [];
  return { kind: 'run', words: path.slice(1).map(each => each.name), args, globals, options };
}

function help(rest: string[], path: Command[], generation: CliGeneration): Parsed {
  const target = [...path];
  for (const token of rest) {
    if (token === '--help' || token === '-h') return { kind: 'help', path: [...path, HELP_COMMAND], long: true };
    if (token === 'help') return { kind: 'help', path: [...target, HELP_COMMAND], long: true };
    const next = find(target.at(-1)!, token, generation);
    if (!next) return { kind: 'problem', path: target, problem: { kind: 'unrecognized', token } };
    target.push(next);
  }
  return { kind: 'help', path: target, long: true };
}

function valueProblem(argument: Argument, value: string): ParseProblem | null {
  if (argument.values) {
    const isValid = argument.values.some(each => each.name === value);
    return isValid ? null : { kind: 'invalid', argument, value, why: null };
  }
  const why = formatProblem(argument.format, value);
  return why === null ? null : { kind: 'invalid', argument, value, why };
}

interface Flag {
  text: string;
  long?: string;
  short?: string;
  value?: string;
}

/** `-jl` are two flags; `-pSSH` is one with its value. */
function flagsIn(token: string, options: Option[]): Flag[] {
  if (token.startsWith('--')) {
    const [name = '', ...value] = token.slice(2).split('=');
    return [{ text: `--${name}`, long: name, ...(value.length > 0 && { value: value.join('=') }) }];
  }
  const flags: Flag[] = [];
  for (const [at, short] of [...token.slice(1)].entries()) {
    const rest = token.slice(at + 2);
    const takesValue = options.find(option => option.short === short)?.value !== undefined;
    flags.push({ text: `-${short}`, short, ...(takesValue && rest && { value: rest.replace(/^=/, '') }) });
    if (takesValue) break;
  }
  return flags;
}

function note(globals: Globals, option: Option): void {
  if (option.long === 'listen') globals.listen = true;
  if (option.long === 'json') globals.json = true;
  if (option.long === 'accept-tos') globals.acceptTos = true;
}
