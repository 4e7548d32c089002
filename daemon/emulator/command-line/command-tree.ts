// Builds the command tree of one generation: flat names, grouped ones, or for two releases both.

import { GROUPED_COMMANDS } from '../commands/grouped-commands.ts';
import { LEGACY_COMMANDS } from '../commands/legacy-commands.ts';
import type { CliGeneration } from '../version.ts';
import type { Command } from './grammar.ts';

export function commandTreeOf(generation: CliGeneration): Command {
  if (!generation.has('groupedNames')) return { ...GROUPED_COMMANDS, subcommands: LEGACY_COMMANDS };
  if (!generation.has('flatNames')) return GROUPED_COMMANDS;
  const hidden = LEGACY_COMMANDS.map(command => ({ ...command, hidden: true as const }));
  return { ...GROUPED_COMMANDS, subcommands: [...(GROUPED_COMMANDS.subcommands ?? []), ...hidden] };
}
