// Generates the script that takes a command's place: POSIX sh with all paths written in.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { parseJson } from '../../daemon/core/shape.ts';
import { HERE_DOCUMENTS, WITH_PIPES } from '../run/upstream/pipes.ts';
import { type Installed, isForeignShim, isInstalled, MARKER, pathsOf, shimOf } from '../store/installs.ts';
import type { Paths } from '../store/paths.ts';
import {
  appendAudit,
  FIND_DIRECTORY_FILE,
  findConfiguration,
  HAS_DIRECTORY_FILE,
  isElsewhere,
  isStale,
  planFile,
  quote,
  sourceStamps,
} from '../store/plan.ts';
import { EXIT, WrapError } from '../system/errors.ts';

/** The wrapper's subcommands of a CLI's auth command; the upstream gets all other subcommands. */
export const AUTH_WORDS = [
  'list',
  'default',
  'use',
  'add',
  'enable',
  'disable',
  'remove',
  'rename',
  'wake',
  'order',
] as const;

const RECORD = '# was: ';

/** The programs a shim starts. */
export interface Programs {
  node: string;
  /** The path of culvert-wrap's program. */
  bundle: string;
}

/**
 * Checks that a file may name the program, which must be built and must stay where it is.
 * @param what the file, such as "a shim"
 * @throws WrapError `not-built`, `not-installed`
 */
export function assertInstalled(bundle: string, what: string): void {
  if (bundle.endsWith('.ts'))
    throw new WrapError(
      'not-built',
      EXIT.config,
      `${what} starts the built program, and this one runs from its sources`,
      {
        hint: 'build it with ./culvert-tool build, and use build/prefix/bin/culvert-wrap',
      },
    );
  // the cache of `npx`, which npm empties
  if (bundle.includes('/_npx/'))
    throw new WrapError(
      'not-installed',
      EXIT.config,
      `${what} would start a program in npm's cache, which does not last`,
      {
        hint: 'install it: npm install -g culvert-wrap',
      },
    );
}

/**
 * Returns the text of a shim. Without an account, the shim only starts the original. With one account whose credential is in a
 * file or a variable, `shortcutFile` may do all the work; otherwise Node runs. The here-documents are empty pipes for
 * `pipes.ts`, omitted if the caller uses their descriptors. `--v8-pool-size=0` omits Node's helper threads. An option of V8
 * itself would cost 7 ms: Node's own modules are precompiled for V8's default options only. After `--`, Node ignores an
 * `--env-file` among the arguments; otherwise it would read that file before the program starts.
 *
 * Its variables have names that no caller exports: assigning to an exported variable would change the upstream's environment:
 * - `__cw_o`: the original
 * - `__cw_p`: the plan
 * - `__cw_m`: mode of the program, `shim` or `auth`; empty if the original runs alone
 * - `__cw_w`: `own` if an account is named for this tool, `any` if one is named for any tool
 * - `__cw_n`, `__cw_b`: Node and the program
 * - `__cw_c`, `__cw_d`: directories of stamps in `plan.ts`
 * @param entry the record of the original, which the shim also contains in case the state directory is lost
 */
export function shimText(
  cli: string,
  entry: Installed,
  authCommand: string,
  { paths, programs }: { paths: Paths; programs: Programs },
): string {
  const { node, bundle } = programs;
  // Without the state directory, the shim can still run a symlink's target.
  const fallback = entry.link
    ? `\n[ -x "$__cw_o" ] || __cw_o=${quote(path.resolve(path.dirname(entry.bin), entry.link))}`
    : '';
  const start = `exec "$__cw_n" --v8-pool-size=0 -- "$__cw_b" $__cw_m ${quote(cli)} "$__cw_o" "$@"`;
  return `#!/bin/sh
${MARKER}${cli}; \`culvert-wrap uninstall ${cli}\` puts the original back.
${RECORD}${JSON.stringify(entry)}
__cw_o=${quote(entry.original)}${fallback}
__cw_p=${quote(planFile(paths, cli))}
__cw_m=
__cw_w=
if [ -s "$__cw_p" ] || ${isStale(sourceStamps(cli, paths)[0])}; then __cw_m=shim; fi
case $CULVERT_WRAP_ACCOUNT in
  '') ;;
  ${cli}=*|*[[:space:],]${cli}[=[:space:]]*) __cw_m=shim __cw_w=own ;;
  *[[:space:],]*) __cw_m=shim __cw_w=any ;;
  *=*) ;;
  *) __cw_m=shim __cw_w=any ;;
esac
${FIND_DIRECTORY_FILE}
if ${HAS_DIRECTORY_FILE}; then __cw_m=shim __cw_w=\${__cw_w:-any}; fi
${findConfiguration(paths)}
if ${isElsewhere(paths)}; then
  if [ -e "$__cw_c/config.toml" ] || [ -z "$HOME" ]; then __cw_m=shim; fi
fi
if [ "$1" = ${quote(authCommand)} ]; then
  case "$2" in ${AUTH_WORDS.join('|')}) __cw_m=auth ;; esac
fi
case $CULVERT_WRAP_BYPASS in ''|0|no|off|false) ;; *)
  if [ "$__cw_m" ] && [ -s "$__cw_p" ]; then
    ${bypassAudit(cli, paths)}
  fi
  __cw_m= ;;
esac
if [ "$__cw_m" ]; then
  if [ $__cw_m = shim ] && [ -f "$__cw_p.sh" ]; then . "$__cw_p.sh"; fi
  __cw_n=${quote(node)}
  __cw_b=${quote(bundle)}
  [ -x "$__cw_n" ] || __cw_n=$(command -v node)
  if [ "$__cw_n" ] && [ -r "$__cw_b" ]; then
    if [ "$NODE_EXTRA_CA_CERTS" ]; then
      export CULVERT_WRAP_KEPT_NODE_EXTRA_CA_CERTS="$NODE_EXTRA_CA_CERTS"
      unset NODE_EXTRA_CA_CERTS
    fi
    if [ "$NODE_OPTIONS" ]; then
      export CULVERT_WRAP_KEPT_NODE_OPTIONS="$NODE_OPTIONS"
      unset NODE_OPTIONS
    fi
    if [ "$NODE_DEBUG" ]; then
      export CULVERT_WRAP_KEPT_NODE_DEBUG="$NODE_DEBUG"
      unset NODE_DEBUG
    fi
    export CULVERT_WRAP_CONFIG_DIR=${quote(paths.configDir)} CULVERT_WRAP_STATE_DIR=${quote(paths.state)}
    export CULVERT_WRAP_SHIM=${WITH_PIPES} CULVERT_WRAP_FDS=
    for __cw_f in 0 1 2 3 4 5 6 7 8 9; do
      if [ -e /proc/self/fd/$__cw_f ]; then CULVERT_WRAP_FDS=$CULVERT_WRAP_FDS$__cw_f; fi
    done
    case $CULVERT_WRAP_FDS in *[789]*) CULVERT_WRAP_SHIM=1; ${start} ;; esac
    ${start} ${HERE_DOCUMENTS}  fi
  echo "culvert-wrap: $__cw_b or node is missing; install culvert again, then run \\\`culvert-wrap install\\\`" >&2
  [ $__cw_m = shim ] || exit 69
  ${namesJob(cli, paths)}
  if [ "$__cw_w" = own ] || { [ "$__cw_w" ] && [ -s "$__cw_p" ]; }; then
    echo "culvert-wrap: ${cli} is not run, because the account that is named for it can't be used" >&2
    exit 69
  fi
fi
if [ -x "$__cw_o" ]; then exec "$__cw_o" "$@"; fi
echo "culvert-wrap: the original of ${cli} is missing ($__cw_o); install ${cli} again, then run \\\`culvert-wrap install ${cli}\\\`" >&2
exit 127
`;
}

/** Returns the commands that log a run that bypasses the wrapper, unless the log is disabled. */
function bypassAudit(cli: string, paths: Paths): string {
  const entry = { cli, command: "''", account: null, outcome: 'original', why: 'bypass' } as const;
  return `IFS= read -r __cw_l < "$__cw_p"
    case $__cw_l in *'"audit":true'*)
${appendAudit(entry, paths, ':')} ;;
    esac`;
}

/** Returns the commands that search the arguments for a job that has an account. */
function namesJob(cli: string, { accounts }: Paths): string {
  return `__cw_s=$(cat ${quote(path.join(accounts, `${cli}.json`))} 2>/dev/null)
  for __cw_a; do
    case $__cw_s in *"\\"\${__cw_a#*=}\\":{\\"account\\":"*) __cw_w=own ;; esac
  done`;
}

/** Reads a shim's record of the command that it replaced, or returns `undefined` for a file that is not a shim. */
export function recordIn(file: string): Installed | undefined {
  if (shimOf(file) === undefined) return undefined;
  const line = fs.readFileSync(file, 'utf8').split('\n')[2] ?? '';
  const record = line.startsWith(RECORD) ? parseJson(line.slice(RECORD.length)) : undefined;
  return isInstalled(record) ? record : undefined;
}

/** Returns the record in a shim on `PATH`, in case the state directory is lost. @param search the value of `PATH` */
export function recoverRecord(cli: string, bin: string, paths: Paths, search: string): Installed | undefined {
  return pathsOf(bin, search)
    .filter(file => shimOf(file) === cli && !isForeignShim(file, paths))
    .map(recordIn)
    .find(record => record !== undefined && shimOf(record.bin) === cli);
}
