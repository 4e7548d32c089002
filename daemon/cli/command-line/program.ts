// Turns the command table into a commander program that parses, suggests, and prints help.
import { Argument, Command, CommanderError, Option } from 'commander';
import { type Style, wantsColor } from '../../core/terminal.ts';
import type { CommandSpec, Options, Run } from '../context.ts';
import { columns, widthOf, wrapped } from '../layout.ts';
import { COMMANDS, EXIT_CODES, JSON_OPTION, LAUNCHER_OPTIONS, resolved, TABLE } from './command-table.ts';

/** Result of parsing: the command to run, with its arguments and options. */
export type Chosen = { spec: CommandSpec; run: Run; args: string[]; options: Options };

/**
 * Parses `argv` (without node and script).
 * @throws CommanderError for wrong usage, and after printing help (`exitCode` 0)
 */
export async function parse(argv: readonly string[], style: Style): Promise<Chosen> {
  let chosen: { spec: CommandSpec; args: string[]; options: Options } | undefined;
  if (asksForTasks(argv)) {
    process.stdout.write(wrapped(`${tasks(style, widthOf(process.stdout))}\n`, widthOf(process.stdout)));
    throw new CommanderError(0, 'commander.helpDisplayed', '');
  }
  const program = createProgram(style, (spec, args, options) => {
    chosen = { spec, args, options };
  });
  program.parse(expand(argv), { from: 'user' });
  const { spec, args, options } = chosen!;
  return { spec, run: await spec.load!(), args, options };
}

/** True for `--help` and `help` alone; commander handles `--help --all` and the help of a command. */
function asksForTasks(argv: readonly string[]): boolean {
  return argv.length === 1 && ['-h', '--help', 'help'].includes(argv[0]!);
}

/** Returns the short help: user tasks with their commands. */
function tasks(style: Style, width: number): string {
  const rows = TABLE.map(({ title, commands }) => [
    '',
    title,
    commands.flatMap(({ name, aliasOf }) => (aliasOf ? [] : name)).join(', '),
  ]);
  return [
    'Usage: culvert [options]   start Culvert: tray and window',
    '       culvert <command> [options]',
    '',
    columns(rows, (text, column) => (column === 2 ? style.cyan(text) : text), width),
    '',
    'Pause WARP: culvert off --for 15m',
    'More: culvert help <command>, culvert --help --all',
  ].join('\n');
}

/**
 * Expands a command line: a group alone, or before options, becomes its fallback (`split --json` is
 * `split list --json`), and `help split add` becomes `split add --help`.
 */
export function expand(argv: readonly string[]): string[] {
  const [first, second, ...rest] = argv;
  if (first === 'help' && second === '--all') return ['--help'];
  if (first === 'help' && second !== undefined) {
    const group = COMMANDS.find(({ name }) => name === second);
    const isTopic = group && (rest[0] === undefined || resolved(group).commands?.some(({ name }) => name === rest[0]));
    // an unknown topic is reported as an unknown command, with its suggestion
    return expand(isTopic ? [second, ...rest, '--help'] : [second, ...rest]);
  }
  const spec = COMMANDS.find(({ name }) => name === first);
  if (spec?.aliasOf) return expand(withoutAlias(spec.aliasOf, argv));
  const fallback = spec?.fallback;
  if (!fallback || second === '-h' || second === '--help') return [...argv];
  if (second === undefined) return [first!, fallback];
  return second.startsWith('-') ? [first!, fallback, second, ...rest] : [...argv];
}

/** Replaces an alias by its command. `split import` and `split` alone differ from the same words after `routes`. */
function withoutAlias(name: string, [alias, ...rest]: readonly string[]): string[] {
  if (alias !== 'split') return [name, ...rest];
  const [word, ...more] = rest;
  if (word === 'import') return [name, 'import', '--add', ...more];
  const isAlone = word === undefined || (word.startsWith('-') && word !== '-h' && word !== '--help');
  return isAlone ? [name, 'list', ...rest] : [name, ...rest];
}

type Choose = (spec: CommandSpec, args: string[], options: Options) => void;

function createProgram(style: Style, choose: Choose): Command {
  const program = new Command('culvert');
  program
    .usage('[options]\n       culvert <command> [options]')
    .description(
      'Unofficial client for Cloudflare WARP. Without a command, starts the daemon, the tray and the window.',
    )
    .exitOverride()
    .enablePositionalOptions() // options of the launcher are not options of a command
    .configureOutput({
      writeOut: text => process.stdout.write(wrapped(text, widthOf(process.stdout))),
      outputError: () => {}, // the caller prints errors in its own format
      // commander's default checks the variables in a different order from the rest of this program
      getOutHasColors: () => wantsColor(process.stdout, process.env),
      getErrHasColors: () => wantsColor(process.stderr, process.env),
    })
    .configureHelp({
      minWidthToWrap: 20,
      styleTitle: style.bold,
      styleSubcommandTerm: style.cyan,
      styleOptionTerm: style.cyan,
      subcommandTerm: command => [command.name(), ...placeholders(command)].join(' '),
    })
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', `\n${exitCodes(style)}`)
    .optionsGroup('Options without a command:');
  for (const { flags, summary } of LAUNCHER_OPTIONS.filter(o => o.flags !== '--help')) {
    program.addOption(new Option(flags, summary)); // the launcher reads them; here for help only
  }
  for (const { title, commands } of TABLE) {
    program.commandsGroup(`${title}:`);
    for (const spec of commands) program.addCommand(build(spec, program, choose));
  }
  program.commandsGroup(`${TABLE.at(-1)!.title}:`);
  return program;
}

function build(spec: CommandSpec, parent: Command, choose: Choose): Command {
  const command = new Command(spec.name).copyInheritedSettings(parent).summary(spec.summary);
  if (spec.aliasOf) return command; // listed; `expand` replaces it
  command.description([sentence(spec.summary), spec.details].filter(Boolean).join(' '));
  if (spec.commands) {
    command.helpCommand(false).usage('<command> [options]');
    for (const child of spec.commands) {
      const note = child.name === spec.fallback ? ' (when no command is named)' : '';
      command.addCommand(build(child, command, choose).summary(child.summary + note));
    }
    return command;
  }
  for (const { name, summary, words } of spec.arguments ?? []) {
    const list = words && Object.keys(words).length <= 12 ? `: ${Object.keys(words).join(', ')}` : '';
    command.addArgument(new Argument(name, summary + list));
  }
  if (spec.wrapsCommand) command.passThroughOptions();
  for (const { flags, summary } of [...(spec.options ?? []), JSON_OPTION])
    command.addOption(new Option(flags, summary));
  return command.action((...given: unknown[]) => {
    const options = given.at(-2) as Options;
    choose(
      spec,
      given
        .slice(0, -2)
        .flat()
        .filter(word => word !== undefined) as string[],
      options,
    );
  });
}

function placeholders(command: Command): string[] {
  if (command.commands.length) return ['…'];
  return command.registeredArguments.map(a => {
    const name = a.variadic ? `${a.name()}...` : a.name();
    return a.required ? `<${name}>` : `[${name}]`;
  });
}

function exitCodes(style: Style): string {
  const rows = EXIT_CODES.map(([code, meaning]) => `  ${code}  ${meaning}`);
  return [style.bold('Exit codes:'), ...rows, '', 'More: culvert help <command>, man culvert'].join('\n');
}

function sentence(summary: string): string {
  return `${summary[0]!.toUpperCase()}${summary.slice(1)}.`;
}
