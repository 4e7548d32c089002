// Writes the shell script that runs a CLI with exactly one account without starting Node.
import type { OwnFile } from '../catalog/fields.ts';
import type { Provider } from '../catalog/provider.ts';
import { choosingVariables, notUsed } from '../run/accounts/own-choice.ts';
import { isOfProject, namesThatMove } from '../run/accounts/settings-files.ts';
import { spelled } from '../run/invocation.ts';
import type { Paths } from '../store/paths.ts';
import {
  appendAudit,
  FIND_DIRECTORY_FILE,
  findConfiguration,
  HAS_DIRECTORY_FILE,
  isElsewhere,
  isStale,
  type Plan,
  quote,
  type SourceStamp,
} from '../store/plan.ts';
import type { CliState } from '../store/state.ts';

const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Returns a script for the shim. It runs the original with the account's credential, or does nothing when the full program
 * must decide, for example about a choice of account or an option.
 * @param jobs known jobs by id; the full program handles jobs of other accounts
 * @returns `undefined` unless a plan has exactly one enabled account, with its credential in a file or a variable
 */
export function shortcutFor(
  plan: Plan,
  paths: Paths,
  stamps: readonly SourceStamp[],
  jobs: CliState['jobs'],
): string | undefined {
  const { provider, capacity, cli } = plan;
  const enabled = plan.accounts.filter(account => account.enabled);
  const account = enabled[0];
  if (!account || enabled.length > 1 || provider.prepare_command || provider.line_repl) return undefined;
  // the full program finds the login, and says whose it is
  if (account.login !== undefined) return undefined;
  const controlled =
    plan.pool !== undefined ||
    capacity.policy !== 'execute' ||
    capacity.reserve > 0 ||
    capacity.notify_at.length > 0 ||
    [capacity.warn_below, capacity.switch_below, capacity.wait].some(value => value !== undefined);
  const variables = Object.entries(account.env);
  const reads = variables.map(([, source]) => readSource(source));
  const unset = [
    ...provider.inject,
    ...provider.credentials,
    ...plan.accounts.flatMap(({ env }) => [
      ...Object.keys(env),
      ...Object.values(env).flatMap(source => (source.startsWith('env:') ? [source.slice(4)] : [])),
    ]),
  ];
  const homes = provider.login ? [] : provider.home;
  const names = [...new Set([...unset, ...homes])];
  if (controlled || variables.length === 0 || reads.includes(undefined)) return undefined;
  if (!names.every(name => SHELL_NAME.test(name)) || provider.inject.some(name => !(name in account.env)))
    return undefined;
  const home = quote(`${paths.state}/homes/${cli}/${account.name}`);
  const { accounts: choosing, hosts } = choosingVariables(plan);
  // the shell itself can report that the account takes precedence over a single variable
  const unused = plan.prefer === 'accounts' && choosing.length === 1 ? choosing[0] : undefined;
  const moving = namesThatMove(provider);
  const { repositories } = provider.hosts;
  const others = [...hosts, ...repositories.env, ...moving.filter(name => !name.startsWith('-'))];
  const decisive = [...(unused === undefined ? choosing : []), ...others];
  if (![...choosing, ...others].every(name => SHELL_NAME.test(name))) return undefined;
  const declared = [
    ...provider.passthrough,
    ...provider.own_credential,
    ...provider.choice.options,
    ...provider.hosts.options,
    ...repositories.options,
    ...provider.directory_options,
    ...moving.filter(name => name.startsWith('-')),
  ].filter(word => word !== '');
  const strangers = Object.keys(jobs).filter(id => jobs[id]!.account !== account.name);
  // the full program handles options that name another file, and addresses
  const addresses = repositories.commands.length > 0 ? ['*.*/*', '*:*/*'] : [];
  const patterns = [
    ...declared.map(optionPattern),
    ...addresses,
    ...strangers.map(id => `${quote(id)}|*=${quote(id)}`),
  ];
  const words = [...new Set(patterns)].join('|');
  const bare = provider.passthrough.includes('')
    ? `{ ${plan.audit ? `${auditLine(plan, null, paths)}; ` : ''}exec "$__cw_o"; }`
    : ':';
  const audited = (choice?: string) => (plan.audit ? auditLine(plan, account.name, paths, choice) : ':');
  return `# Runs ${cli} with its only account. Written by culvert-wrap, which writes it again when its sources change.
__cw_run() {
  [ -z "$CULVERT_WRAP_ACCOUNT$CULVERT_WRAP_ACTIVE$CULVERT_WRAP_QUEUE${decisive.map(name => `$${name}`).join('')}" ] || return
${stamps.map(stamp => `  if ${isStale(stamp)}; then return; fi`).join('\n')}
  if [ $# -gt 0 ]; then case $1 in ''|*[!A-Za-z0-9:._-]*|-*) return ;; esac; fi
  for __cw_a; do
    case $__cw_a in --) break ;; ${words || '--'}) return ;; esac
  done
  ${findConfiguration(paths)}
  if ${isElsewhere(paths)}; then return; fi
  ${FIND_DIRECTORY_FILE}
  if ${HAS_DIRECTORY_FILE}; then return; fi
${settingsConditions(provider)}  [ $# -gt 0 ] || ${bare}
${reads.map((read, index) => `${read}\n  case $__cw_v in ''|[\\"\\']*|' '*|*' '|*'#'*|*[[:cntrl:]]*) return ;; esac\n  __cw_v${index}=$__cw_v`).join('\n')}
${unused === undefined ? audited() : `  if [ "$${unused}" ]; then\n${audited(unused)}\n  echo ${quote(`culvert-wrap: ${notUsed(cli, unused)}`)} >&2\n  else\n${audited()}\n  fi`}
  unset ${[...new Set(unset)].join(' ')}
  export CULVERT_WRAP_ACTIVE=${quote(`${cli}=${account.name}`)}${homes.map(name => ` ${name}=${home}`).join('')}
${variables.map(([name], index) => `  export ${name}="$__cw_v${index}"`).join('\n')}
  exec "$__cw_o" ${provider.arguments.map(arg => `${quote(arg.replaceAll('{account}', account.name))} `).join('')}"$@"
}
__cw_run "$@"
`;
}

/** Returns commands that leave the script if a settings file exists, because only the full program reads such files. */
function settingsConditions({ hosts, choice }: Provider): string {
  const all = [...hosts.files, ...hosts.env_files, ...choice.files];
  // in a worktree, .git is a file and not a directory
  const filesIn = (up: OwnFile['up']) =>
    [
      ...new Set(
        all
          .filter(each => isOfProject(each.file) && each.up === up)
          .map(({ file }) => file.replace(/^\.git\/.*/, '.git')),
      ),
    ].filter(file => !isMoved(file));
  const conditions = (files: readonly string[]) => files.map(file => `[ -e $__cw_d/${quote(file)} ]`).join(' || ');
  const own = [...new Set(all.filter(({ file }) => !isOfProject(file)).map(({ file }) => `[ -e ${inShell(file)} ]`))];
  const here = filesIn('none');
  const walks = (['repository', 'root'] as const).filter(up => filesIn(up).length > 0);
  return [
    ...(own.length > 0 ? [`  if ${own.join(' || ')}; then return; fi\n`] : []),
    ...(here.length > 0 ? [`  __cw_d=.\n  if ${conditions(here)}; then return; fi\n`] : []),
    ...walks.map(
      up => `  __cw_d=.
  while [ -e $__cw_d ]; do
    if ${conditions(filesIn(up))}; then return; fi
    if ${up === 'repository' ? '[ -e $__cw_d/.git ] || ' : ''}[ $__cw_d -ef / ]; then break; fi
    __cw_d=$__cw_d/..
  done
`,
    ),
  ].join('');
}

/** Reports whether a path contains options or variables, which the full program handles. */
const isMoved = (file: string) => /\{[^:}]*\}/.test(file);

/** Converts a path of the catalog for a shell: `{NAME:~/.x}/y` to `"${NAME:-$HOME/.x}/y"`. */
function inShell(file: string): string {
  const [, name, fallback = '', rest = file] = /^\{(\w+):([^}]*)\}(.*)$/.exec(file) ?? [];
  const escaped = (text: string) => text.replace(/["$`\\]/g, '\\$&');
  // the path is in double quotes, where single quotes would be part of it
  const inHome = (path: string) => (path.startsWith('~') ? `$HOME${escaped(path.slice(1))}` : escaped(path));
  return name === undefined ? `"${inHome(rest)}"` : `"\${${name}:-${inHome(fallback)}}${escaped(rest)}"`;
}

/** Returns commands that read a source into `__cw_v`, or leave the script. */
function readSource(source: string): string | undefined {
  if (source.startsWith('env:')) {
    const name = source.slice(4);
    return SHELL_NAME.test(name) ? `  __cw_v=$${name}` : undefined;
  }
  if (!source.startsWith('file:')) return undefined;
  const hash = source.lastIndexOf('#');
  const file = source.slice('file:'.length, hash);
  const key = quote(source.slice(hash + 1));
  const path = file.startsWith('~/') ? `"$HOME"${quote(file.slice(1))}` : quote(file);
  return `  [ -r ${path} ] || return
  __cw_v=
  while IFS= read -r __cw_l || [ "$__cw_l" ]; do
    case $__cw_l in ${key}=*) __cw_v=\${__cw_l#*=} ;; *${key}*) return ;; esac
  done < ${path}`;
}

/**
 * Returns a pattern for `case` that matches a word, or an option with or without its value. It matches every spelling that
 * `spelled` accepts, and a few other words, which only cost a start of the full program.
 */
function optionPattern(word: string): string {
  const first = spelled(word.split(' ')[0]!);
  if (!first.startsWith('-')) return quote(first);
  if (!first.startsWith('--')) return `${quote(first)}*`;
  const name = quote(first).replace(/(?<=\w)-([a-z])/g, (_, letter) => `'*[${letter}${letter.toUpperCase()}]'`);
  return `${name}|${name}=*`;
}

/** Returns a command that logs a run without its outcome, because the original replaces the shell. @param account may be `null` */
function auditLine({ cli }: Plan, account: string | null, paths: Paths, choice?: string): string {
  const run =
    account === null ? ({ outcome: 'original', why: 'passthrough' } as const) : { outcome: 'unobserved' as const };
  return appendAudit({ cli, command: '"$1"', account, choice, ...run }, paths, 'return');
}
