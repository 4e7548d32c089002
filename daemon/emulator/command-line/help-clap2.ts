// Help pages of the releases before 2023, in the layout of clap 2 (0.2.0 of 2021 is the one that was recorded).

import type { CliGeneration } from '../version.ts';
import { aboutOf, type Command, HELP_COMMAND, subcommandsOf } from './grammar.ts';

const WIDTH = 120;
const OWN_FLAGS: [string, string][] = [
  ['-h, --help', 'Prints help information'],
  ['-V, --version', 'Prints version information'],
];
const ROOT_FLAGS: [string, string][] = [
  ['    --accept-tos', 'Accept the Terms of Service agreement'],
  OWN_FLAGS[0]!,
  ['-l', 'Stay connected to the daemon and listen for status changes and DNS logs (if enabled)'],
  OWN_FLAGS[1]!,
];

export function oldHelp(path: Command[], generation: CliGeneration): string {
  const command = path.at(-1)!;
  if (path.length === 1) return rootPage(command, generation);
  const name = path.map(each => each.name).join('-');
  const args = command.args ?? [];
  const about = aboutOf(command, generation);
  return [
    about ? `${name}\n${about}` : name,
    `USAGE:\n    ${path.map(each => each.name).join(' ')}${args.map(each => ` [${each.name.toLowerCase()}]`).join('')}`,
    `FLAGS:\n${table(OWN_FLAGS, 7)}`,
    args.length > 0 &&
      `ARGS:\n${args
        .map(each => {
          const values = each.values ? `[possible values: ${oldValues(each.values.map(value => value.name))}]` : '';
          return `    <${each.name.toLowerCase()}>     ${values}`;
        })
        .join('\n')}`,
  ]
    .filter(Boolean)
    .join('\n\n')
    .concat('\n');
}

/** `tunnel_only` came with 2023. */
const oldValues = (names: string[]) => names.filter(name => name !== 'tunnel_only').join(', ');

function rootPage(root: Command, generation: CliGeneration): string {
  const help: Command = { ...HELP_COMMAND, about: HELP_COMMAND.about.toString().replace('Print ', 'Prints ') };
  const commands = [...subcommandsOf(root, generation).filter(each => !each.hidden), help];
  return [
    `WARP ${generation.version}\nCloudflare\nCLI to the WARP service daemon`,
    'USAGE:\n    warp-cli [FLAGS] [SUBCOMMAND]',
    `FLAGS:\n${table(ROOT_FLAGS, 4)}`,
    `SUBCOMMANDS:\n${table(
      commands.map(each => [each.name, aboutOf(each, generation)]),
      4,
    )}\n`,
  ].join('\n\n');
}

function table(rows: [string, string][], gap: number): string {
  const left = Math.max(...rows.map(([name]) => name.length)) + gap;
  return rows.map(([name, about]) => `    ${name.padEnd(left)}${wrapped(about, left + 4)}`).join('\n');
}

function wrapped(text: string, indent: number): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!;
    if (line !== '' && indent + line.length + 1 + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.join(`\n${' '.repeat(indent)}`);
}
