// Pure: shell completions from the command table. They offer words and call nothing.
import {
  type ArgumentSpec,
  COMMANDS,
  type CommandSpec,
  JSON_OPTION,
  LAUNCHER_OPTIONS,
  type OptionSpec,
} from './table.ts';

/** A place on the command line: the words that lead there, and what may follow. */
interface Place {
  /** `split add`, or empty before any command. */
  path: string;
  options: readonly OptionSpec[];
  /** Subcommands, or the words of the next argument. */
  words: readonly (readonly [word: string, summary: string])[];
  files: boolean;
}

export function bash(): string {
  const cases = places().map(({ path, options, words, files }) => {
    const flags = options.flatMap(o => flagsOf(o));
    return `    ${quote(path)}) words=${quote(words.map(([w]) => w).join(' '))} flags=${quote(flags.join(' '))} files=${files ? 1 : 0} ;;`;
  });
  return `# bash completion for culvert, generated from its command table
_culvert() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path='' word words='' flags='' files=0 i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "\${path:+$path }$word" in
      ${paths().map(quote).join(' | ')}) path="\${path:+$path }$word" ;;
      *) [[ $word == -* ]] || break ;;
    esac
  done
  case $path in
${cases.join('\n')}
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    ((files)) && compopt -o default
  fi
}
complete -F _culvert culvert
`;
}

export function zsh(): string {
  const describe = (pairs: readonly (readonly [string, string])[]) =>
    pairs.map(([word, summary]) => quote(`${word.replace(/:/g, '\\:')}:${summary}`)).join(' ');
  const cases = places().map(({ path, options, words, files }) => {
    const flags = options.flatMap(o => flagsOf(o).map(flag => [flag, o.summary] as const));
    return `    ${quote(path)}) words=(${describe(words)}) flags=(${describe(flags)}) files=${files ? 1 : 0} ;;`;
  });
  return `#compdef culvert
# zsh completion for culvert, generated from its command table
_culvert() {
  local -a given offered flags
  local place='' word files=0 i
  given=("\${(@)words[2,CURRENT-1]}")
  for word in $given; do
    case "\${place:+$place }$word" in
      (${paths().map(quote).join('|')}) place="\${place:+$place }$word" ;;
      (*) [[ $word == -* ]] || break ;;
    esac
  done
  case $place in
${cases.map(line => line.replace(/^ {4}/, '    (').replace(' words=(', ' offered=(')).join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe option flags
  else
    (( $#offered )) && _describe word offered
    (( files )) && _files
  fi
}
if [[ $funcstack[1] == _culvert ]]; then _culvert "$@"; else compdef _culvert culvert; fi
`;
}

export function fish(): string {
  const lines = places().flatMap(({ path, options, words, files }) => {
    const when = path ? `-n ${quote(condition(path))}` : "-n '__fish_use_subcommand'";
    const flags = options.map(({ flags, summary }) => {
      const names = flagsOf({ flags, summary }).map(f =>
        f.startsWith('--') ? `-l ${f.slice(2)}` : `-s ${f.slice(1)}`,
      );
      return `complete -c culvert ${when} ${names.join(' ')}${flags.includes('<') ? ' -x' : ''} -d ${quote(summary)}`;
    });
    const offers = words.map(([word, summary]) => `complete -c culvert ${when} -a ${quote(word)} -d ${quote(summary)}`);
    return [...offers, ...flags, ...(files ? [`complete -c culvert ${when} -F`] : [])];
  });
  return [
    '# fish completion for culvert, generated from its command table',
    'complete -c culvert -f',
    ...lines,
    '',
  ].join('\n');

  function condition(path: string): string {
    const [first, second] = path.split(' ');
    if (second) return `__fish_seen_subcommand_from ${first}; and __fish_seen_subcommand_from ${second}`;
    const children = COMMANDS.find(c => c.name === first)?.commands?.map(c => c.name);
    const none = children ? `; and not __fish_seen_subcommand_from ${children.join(' ')}` : '';
    return `__fish_seen_subcommand_from ${first}${none}`;
  }
}

function places(): Place[] {
  const place = (path: string, spec: CommandSpec): Place => ({
    path,
    options: spec.commands ? [JSON_OPTION] : [...(spec.options ?? []), JSON_OPTION],
    words: spec.commands ? named(spec.commands) : offeredBy(spec.arguments?.[0]),
    files: spec.arguments?.some(({ files }) => files) ?? false,
  });
  return [
    {
      path: '',
      options: LAUNCHER_OPTIONS,
      words: [...named(COMMANDS), ['help', 'print the help of a command']],
      files: false,
    },
    ...COMMANDS.flatMap(spec => [
      place(spec.name, spec),
      ...(spec.commands ?? []).map(child => place(`${spec.name} ${child.name}`, child)),
    ]),
  ];
}

function paths(): string[] {
  return places().flatMap(({ path }) => path || []);
}

function named(specs: readonly CommandSpec[]): [string, string][] {
  return specs.map(({ name, summary }) => [name, summary]);
}

function offeredBy(argument: ArgumentSpec | undefined): [string, string][] {
  return Object.entries(argument?.words ?? {});
}

/** `-w, --wait` as its flags; an option's value is not completed. */
function flagsOf({ flags }: OptionSpec): string[] {
  return flags.split(', ').map(flag => flag.split(' ')[0]!);
}

/** In single quotes, for each of the three shells. */
function quote(text: string): string {
  return `'${text.replace(/'/g, "'\\''")}'`;
}
