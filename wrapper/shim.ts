// The script put in a command's place: POSIX sh with all paths written in, which starts nothing while no account exists.
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Installed } from './install.ts';
import type { Paths } from './paths.ts';
import { HERE_DOCUMENTS, WITH_PIPES } from './pipes.ts';
import { planFile } from './plan.ts';

/** The words under a CLI's auth command that are the wrapper's; every other use of it is the upstream's. */
export const AUTH_WORDS = ['list', 'default', 'use', 'add', 'enable', 'disable', 'remove', 'rename'] as const;

const MARKER = '# culvert-wrap shim for ';
const RECORD = '# was: ';

/** The programs a shim starts. */
export interface Programs {
  node: string;
  /** The file whose running this is. */
  bundle: string;
}

/**
 * The text of a shim. Its here-documents are empty pipes for `pipes.ts`. Its variables have names nobody exports,
 * because assigning to an exported one would change the upstream's environment. Node's helper threads, which a run this
 * short has no work for, are left out: that saves 3 % of its start.
 * @param entry what was there before; it also stands in the shim, for when the state directory is lost
 */
export function shimText(
  cli: string,
  entry: Installed,
  authCommand: string,
  paths: Paths,
  { node, bundle }: Programs,
): string {
  // Without the state directory, a symlink's target can still be run.
  const fallback = entry.link
    ? `\n[ -x "$__cw_o" ] || __cw_o=${quote(path.resolve(path.dirname(entry.bin), entry.link))}`
    : '';
  return `#!/bin/sh
${MARKER}${cli}; \`culvert-wrap uninstall ${cli}\` puts the original back.
${RECORD}${JSON.stringify(entry)}
__cw_o=${quote(entry.original)}${fallback}
__cw_p=${quote(planFile(paths, cli))}
__cw_m=
if [ -s "$__cw_p" ] || [ ${quote(paths.config)} -nt "$__cw_p" ]; then __cw_m=shim; fi
if [ "$1" = ${quote(authCommand)} ]; then
  case "$2" in ${AUTH_WORDS.join('|')}) __cw_m=auth ;; esac
fi
if [ "$__cw_m" ] && [ -z "$CULVERT_WRAP_BYPASS" ]; then
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
    export CULVERT_WRAP_SHIM=${WITH_PIPES}
    exec "$__cw_n" --v8-pool-size=0 "$__cw_b" $__cw_m ${quote(cli)} "$__cw_o" "$@" ${HERE_DOCUMENTS}  fi
  echo "culvert-wrap: $__cw_b or node is missing; install culvert again, then run \\\`culvert-wrap install\\\`" >&2
  [ $__cw_m = shim ] || exit 69
fi
if [ -x "$__cw_o" ]; then exec "$__cw_o" "$@"; fi
echo "culvert-wrap: the original of ${cli} is missing ($__cw_o); install ${cli} again, then run \\\`culvert-wrap install ${cli}\\\`" >&2
exit 127
`;
}

/** What a shim says about the command it replaced, or `undefined` for a file that is no shim. */
export function recordIn(file: string): Installed | undefined {
  if (shimOf(file) === undefined) return undefined;
  const line = fs.readFileSync(file, 'utf8').split('\n')[2] ?? '';
  try {
    return line.startsWith(RECORD) ? (JSON.parse(line.slice(RECORD.length)) as Installed) : undefined;
  } catch {
    return undefined;
  }
}

/** The CLI whose shim `file` is, or `undefined`. Follows symlinks. */
export function shimOf(file: string): string | undefined {
  let fd: number;
  try {
    fd = fs.openSync(file, 'r');
  } catch {
    return undefined;
  }
  try {
    const head = Buffer.alloc(256);
    const text = head.toString('latin1', 0, fs.readSync(fd, head, 0, head.length, 0));
    const line = text.split('\n')[1] ?? '';
    return text.startsWith('#!/bin/sh\n') && line.startsWith(MARKER)
      ? line.slice(MARKER.length).split(';')[0]
      : undefined;
  } catch {
    return undefined;
  } finally {
    fs.closeSync(fd);
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
