// Implements `completion`, and finds the words that its scripts offer on a command line.
import type { Command } from 'commander';
import { catalogOf } from '../catalog/catalog.ts';
import type { Context } from '../context.ts';
import { readQueue } from '../manage/queue.ts';
import { readConfig } from '../store/config.ts';
import { readInstalls } from '../store/installs.ts';
import { EXIT, WrapError } from '../system/errors.ts';

/**
 * Returns the words that can complete the last element of `words`.
 */
export function complete(program: Command, words: readonly string[], context: Context): string[] {
  let command = program;
  const given: string[] = [];
  for (const word of words.slice(0, -1)) {
    const next = command.commands.find(each => each.name() === word);
    if (next && given.length === 0) command = next;
    else if (!word.startsWith('-')) given.push(word);
  }
  const typed = words.at(-1) ?? '';
  const options = command.options.map(option => option.long ?? option.short ?? '');
  const names = command.commands.map(each => each.name()).filter(name => !name.startsWith('__'));
  const argument =
    command.registeredArguments[given.length] ?? command.registeredArguments.findLast(each => each.variadic);
  const values = argument ? valuesOf(argument.name(), given[0], context) : [];
  const all = typed.startsWith('-') ? options : given.length === 0 ? [...names, ...values] : values;
  return all.filter(word => word.startsWith(typed));
}

function valuesOf(argument: string, cli: string | undefined, context: Context): string[] {
  const { paths } = context;
  switch (argument) {
    case 'cli':
      return Object.keys(catalogOf(context).providers);
    case 'name':
      return readConfig(paths.config)
        .accounts.filter(account => account.cli === cli)
        .map(account => account.name);
    case 'id':
      return readQueue(paths).entries.map(entry => entry.id);
    case 'shell':
      return [...SHELLS];
    default:
      return [];
  }
}

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/**
 * `completion <shell>`: returns a script for the shell's start file. The script also completes the account commands of the CLIs
 * that are wrapped when `completion` runs; for their other words, the shell completes file names. In a file `_culvert-wrap` in
 * zsh's `fpath`, the script is the completion function.
 * @throws WrapError `unknown-shell`
 */
export function completionScript(shell: string, context: Pick<Context, 'paths'>): string {
  const commands = ['culvert-wrap', ...Object.keys(readInstalls(context.paths))];
  switch (shell) {
    case 'bash':
      return `_culvert_wrap() {
  local IFS=$'\\n'
  COMPREPLY=($(culvert-wrap __complete "\${COMP_WORDS[0]##*/}" "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _culvert_wrap ${commands.join(' ')}
`;
    case 'zsh':
      return `#compdef ${commands.join(' ')}
_culvert_wrap() {
  local -a found
  found=("\${(@f)$(culvert-wrap __complete "\${words[1]:t}" "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
compdef _culvert_wrap ${commands.join(' ')}
[[ "\${funcstack[1]}" != _culvert-wrap ]] || _culvert_wrap
`;
    case 'fish':
      // The condition finds the words, so fish adds no file names and leaves other completions alone when there are none.
      return `function __culvert_wrap_find
  set -g __culvert_wrap_found (culvert-wrap __complete $argv[1] (commandline -opc)[2..] "$(commandline -ct)" 2>/dev/null)
  test (count $__culvert_wrap_found) -gt 0
end
${commands.map(name => `complete -c ${name} -n '__culvert_wrap_find ${name}' -f -a '$__culvert_wrap_found'\n`).join('')}`;
    default:
      throw new WrapError('unknown-shell', EXIT.usage, `there is no completion for ${shell}`, {
        hint: `give one of ${SHELLS.join(', ')}`,
      });
  }
}
