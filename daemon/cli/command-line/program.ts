// Holds the command table, and turns it into a commander program that parses, suggests, and prints help. Each group's table is
// next to its commands, whose code loads when they run.
import { Argument, Command, CommanderError, Option } from 'commander';
import { capitalized, type Style, wantsColor } from '../../core/terminal.ts';
import { CONNECTION_COMMANDS, DEVICE_COMMANDS } from '../commands/connection/table.ts';
import { CULVERT_COMMANDS } from '../commands/culvert/table.ts';
import { DOCTOR_COMMANDS } from '../commands/doctor/table.ts';
import { TRAFFIC_COMMANDS } from '../commands/traffic/table.ts';
import type { CommandSpec, Group, OptionSpec, Options, Run } from '../context.ts';
import { columns, widthOf, wrapped } from '../layout.ts';

/** Options of `culvert` without a command; the launcher (daemon/launcher.ts) reads them. */
export const LAUNCHER_OPTIONS: readonly OptionSpec[] = [
  { flags: '--no-open', summary: 'do not open the browser page' },
  { flags: '--no-tray', summary: 'do not show the tray icon' },
  { flags: '--no-panel', summary: 'do not open the window' },
  { flags: '--port <n>', summary: 'TCP port of the API, instead of the configured one' },
  { flags: '--demo', summary: 'use the embedded emulator instead of warp-cli; nothing is tunneled' },
  { flags: '--status', summary: 'print the state and the port in use' },
  { flags: '--version', summary: 'print the version' },
  { flags: '--help', summary: 'print the tasks and their commands' },
  { flags: '--all', summary: 'with --help: print every command and option' },
];

/** An option of every command. */
export const JSON_OPTION: OptionSpec = { flags: '--json', summary: 'print JSON instead of text' };

const SPECS: readonly CommandSpec[] = [
  ...CONNECTION_COMMANDS,
  ...TRAFFIC_COMMANDS,
  ...DEVICE_COMMANDS,
  ...DOCTOR_COMMANDS,
  ...CULVERT_COMMANDS,
];

/** User tasks with their commands; each command belongs to one task. */
const TASKS: readonly (readonly [title: string, names: string])[] = [
  ['Connect', 'connect disconnect toggle status wait on off'],
  ['Keep or undo a change', 'extend keep revert'],
  ['Choose what uses WARP', 'mode protocol routes split why network portal apps run proxy'],
  ['Block leaks', 'killswitch'],
  ['Set up this device', 'account'],
  ['Find and repair a problem', 'doctor diagnose trust explain logs history'],
  ['Change Culvert', 'config settings shell update web'],
  ['Write scripts', 'actions action metrics token'],
  ['Run Culvert', 'stop restart version'],
];

export const TABLE: readonly Group[] = TASKS.map(([title, names]) => ({
  title,
  commands: names.split(' ').map(name => SPECS.find(spec => spec.name === name)!),
}));

/** Exit codes for help and manual. */
export const EXIT_CODES: readonly [number, string][] = [
  [0, 'success'],
  [1, 'failure'],
  [2, 'wrong usage'],
  [3, 'not connected (status --check, wait)'],
  [4, 'not authorized'],
  [5, 'the daemon is not running'],
  [6, 'warp-cli is missing'],
  [7, 'a check could not be completed (doctor)'],
  [8, 'no proof of the tunnel (wait --proof)'],
];

export const COMMANDS: readonly CommandSpec[] = TABLE.flatMap(group => group.commands);

/** Returns the command that an alias stands for, or the command itself. */
export function resolved(spec: CommandSpec): CommandSpec {
  return SPECS.find(({ name }) => name === spec.aliasOf) ?? spec;
}

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
  command.description(description(spec));
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

/** Returns the sentences about a command in its help and in the manual. */
export function description({ summary, details }: CommandSpec): string {
  return [`${capitalized(summary)}.`, details].filter(Boolean).join(' ');
}
