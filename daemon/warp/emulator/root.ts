// The command tree of one era: flat names, grouped ones, or for two releases both.

import { FLAT } from './commands/flat.ts';
import { ROOT } from './commands/root.ts';
import type { Command } from './grammar.ts';
import type { Era } from './version.ts';

export function rootOf(era: Era): Command {
  if (!era.has('groupedNames')) return { ...ROOT, subcommands: FLAT };
  if (!era.has('flatNames')) return ROOT;
  const hidden = FLAT.map(command => ({ ...command, hidden: true as const }));
  return { ...ROOT, subcommands: [...(ROOT.subcommands ?? []), ...hidden] };
}
