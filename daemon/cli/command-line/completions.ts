// Generates shell completions from the command table; they call culvert only for lists that the daemon has. Pure.
import { inQuotes } from '../../view/fix.ts';
import type { ArgumentSpec, CommandSpec, OptionSpec } from '../context.ts';
import { COMMANDS, JSON_OPTION, LAUNCHER_OPTIONS, resolved } from './program.ts';

/** A place on the command line: its path, and the words that may follow. */
interface Place {
  /** Preceding words, such as `routes add`; empty before any command. */
  path: string;
  options: readonly OptionSpec[];
  /** Subcommands, or the words of the next argument. */
  words: readonly (readonly [word: string, summary: string])[];
  /** A shell command that prints further words, one per line. */
  listing?: string;
  /** True if the words are offered again after another argument. */
  repeats: boolean;
  files: boolean;
}

/** Shell commands that list entries known only to the daemon. */
const LISTINGS: Record<NonNullable<ArgumentSpec['lists']>, string> = {
  routes: "culvert routes show 2>/dev/null | sed -e '/^mode /d' -e '/^#/d' -e 's/[[:space:]].*//'",
  // the apps are indented below the sentences
  apps: "culvert apps list 2>/dev/null | sed -n 's/^ *\\([^ ]*[.]desktop\\)\\( .*\\)*$/\\1/p'",
};

export function bash(): string {
  const cases = places().map(({ path, options, words, listing, repeats, files }) => {
    const flags = options.flatMap(o => flagsOf(o));
    const offered = `words=${inQuotes(words.map(([w]) => w).join(' '))} listing=${inQuotes(listing ?? '')}`;
    return `    ${inQuotes(path)}) ${offered} flags=${inQuotes(flags.join(' '))} repeats=${repeats ? 1 : 0} files=${files ? 1 : 0} ;;`;
  });
  return `# bash completion for culvert, generated from its command table
_culvert() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path='' word words='' listing='' flags='' repeats=0 files=0 given=0 i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "\${path:+$path }$word" in
      ${paths().map(inQuotes).join(' | ')}) path="\${path:+$path }$word" ;;
      *) [[ $word == -* ]] || { given=1; break; } ;;
    esac
  done
  case $path in
${cases.join('\n')}
  esac
  if ((given && !repeats)); then
    words=''
  elif [[ $listing && $cur != -* ]]; then
    words=$(eval "$listing")
  fi
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
    pairs.map(([word, summary]) => inQuotes(`${word.replace(/:/g, '\\:')}:${summary}`)).join(' ');
  const cases = places().map(({ path, options, words, listing, repeats, files }) => {
    const flags = options.flatMap(o => flagsOf(o).map(flag => [flag, o.summary] as const));
    const offered = `offered=(${describe(words)}) listing=${inQuotes(listing ?? '')}`;
    return `    (${inQuotes(path)}) ${offered} flags=(${describe(flags)}) repeats=${repeats ? 1 : 0} files=${files ? 1 : 0} ;;`;
  });
  return `#compdef culvert
# zsh completion for culvert, generated from its command table
_culvert() {
  local -a given offered flags
  local place='' word listing='' repeats=0 files=0 extra=0 i
  given=("\${(@)words[2,CURRENT-1]}")
  for word in $given; do
    case "\${place:+$place }$word" in
      (${paths().map(inQuotes).join('|')}) place="\${place:+$place }$word" ;;
      (*) [[ $word == -* ]] || { extra=1; break } ;;
    esac
  done
  case $place in
${cases.join('\n')}
  esac
  (( extra && ! repeats )) && offered=() listing=''
  if [[ $PREFIX == -* ]]; then
    _describe option flags
  else
    (( $#offered )) && _describe word offered
    [[ -n $listing ]] && compadd -- \${(f)"$(eval $listing)"}
    (( files )) && _files
  fi
}
if [[ $funcstack[1] == _culvert ]]; then _culvert "$@"; else compdef _culvert culvert; fi
`;
}

export function fish(): string {
  const lines = places().flatMap(place => {
    const { path, options, words, listing, files } = place;
    const when = path ? `-n ${inQuotes(seen(path))}` : "-n '__fish_use_subcommand'";
    const next = path ? `-n ${inQuotes([seen(path), ...notYet(place)].join('; and '))}` : when;
    const flags = options.map(({ flags, summary }) => {
      const names = flagsOf({ flags, summary }).map(f =>
        f.startsWith('--') ? `-l ${f.slice(2)}` : `-s ${f.slice(1)}`,
      );
      return `complete -c culvert ${when} ${names.join(' ')}${flags.includes('<') ? ' -x' : ''} -d ${inQuotes(summary)}`;
    });
    const offers = words.map(
      ([word, summary]) => `complete -c culvert ${next} -a ${inQuotes(word)} -d ${inQuotes(summary)}`,
    );
    const listed = listing ? [`complete -c culvert ${next} -a ${inQuotes(`(${listing})`)}`] : [];
    return [...offers, ...listed, ...flags, ...(files ? [`complete -c culvert ${when} -F`] : [])];
  });
  return [
    '# fish completion for culvert, generated from its command table',
    // in fish 4.0, __fish_seen_subcommand_from also matches parts of words
    'function __culvert_seen',
    '    set -l words (commandline -opc)[2..]',
    '    for word in $argv',
    '        contains -- $word $words; and return 0',
    '    end',
    '    return 1',
    'end',
    'complete -c culvert -f',
    ...lines,
    '',
  ].join('\n');

  function seen(path: string): string {
    return path
      .split(' ')
      .map(word => `__culvert_seen ${word}`)
      .join('; and ');
  }

  /** Returns the condition that none of the words is given yet. */
  function notYet({ words, repeats }: Place): string[] {
    return words.length === 0 || repeats ? [] : [`not __culvert_seen ${words.map(([w]) => w).join(' ')}`];
  }
}

/** All commands; an alias has its command's words. */
const ENTRIES = COMMANDS.map(spec => ({ ...resolved(spec), name: spec.name }));

function places(): Place[] {
  const topics = [...named(COMMANDS), ['help', 'print the help of a command']] as const;
  return [
    { path: '', options: LAUNCHER_OPTIONS, words: topics as Place['words'], repeats: false, files: false },
    { path: 'help', options: [], words: named(COMMANDS), repeats: false, files: false },
    ...ENTRIES.flatMap(({ name, commands }) =>
      commands ? [{ path: `help ${name}`, options: [], words: named(commands), repeats: false, files: false }] : [],
    ),
    ...ENTRIES.flatMap(spec => [
      ...placesOf(spec.name, spec),
      ...(spec.commands ?? []).flatMap(child => placesOf(`${spec.name} ${child.name}`, child)),
    ]),
  ];
}

/** Returns a command's place, and a place for each first argument that determines the second. */
function placesOf(path: string, spec: CommandSpec): Place[] {
  const [first, second] = spec.arguments ?? [];
  const options = spec.commands ? [JSON_OPTION] : [...(spec.options ?? []), JSON_OPTION];
  const lists = first?.lists;
  return [
    {
      path,
      options,
      words: spec.commands ? named(spec.commands) : offeredBy(first),
      ...(lists ? { listing: LISTINGS[lists] } : {}),
      repeats: first?.name.includes('...') ?? false,
      files: spec.arguments?.some(({ files }) => files) ?? false,
    },
    ...Object.entries(second?.wordsAfter ?? {}).map(
      ([word, values]): Place => ({
        path: `${path} ${word}`,
        options,
        words: values.map(value => [value, '']),
        repeats: false,
        files: false,
      }),
    ),
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

/** Splits `-w, --wait` into flags, without the option's value. */
function flagsOf({ flags }: OptionSpec): string[] {
  return flags.split(', ').map(flag => flag.split(' ')[0]!);
}
