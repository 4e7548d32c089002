// Where a user installation lies (XDG base directories), and how it is told from the path of a running file.
import { realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';

export interface Places {
  /** `$XDG_DATA_HOME/culvert`. */
  root: string;
  /** A whole tree per version. */
  versions: string;
  /** Link to the tree in use, relative: `versions/1.2.3`. All that stands outside names this one. */
  current: string;
  /** Link to the tree before, or missing. */
  previous: string;
  /** What was written outside of `root`. */
  record: string;
  /** `$XDG_DATA_HOME`: desktop entries, icons, completions, manual and units go below it. */
  data: string;
  /** `~/.local/bin`. */
  bin: string;
  /** Configuration and state, which the programs make themselves. */
  own: string[];
}

/**
 * The places for an environment.
 * @throws Error when HOME is not set, or a path has a line break, which no desktop entry could hold.
 */
export function placesOf(env: NodeJS.ProcessEnv): Places {
  if (!env.HOME || !isAbsolute(env.HOME)) throw new Error('HOME is not set, so there is no place to install to.');
  const base = (variable: string | undefined, below: string) =>
    variable && isAbsolute(variable) ? variable : join(env.HOME!, below);
  const data = base(env.XDG_DATA_HOME, '.local/share');
  if (/[\x00-\x1f\x7f]/.test(env.HOME + data))
    throw new Error('The path of the home directory has control characters, which no desktop entry can hold.');
  const root = join(data, 'culvert');
  const config = base(env.XDG_CONFIG_HOME, '.config');
  const state = base(env.XDG_STATE_HOME, '.local/state');
  return {
    root,
    versions: join(root, 'versions'),
    current: join(root, 'current'),
    previous: join(root, 'previous'),
    record: join(root, 'install.json'),
    data,
    bin: join(env.HOME, '.local/bin'),
    own: [config, state].flatMap(directory => [join(directory, 'culvert'), join(directory, 'culvert-wrap')]),
  };
}

/**
 * Whether a text names something of an installation: by the path of the root, or by the one that links in it lead to
 * (`/home` is a link to `/var/home` on some systems, and programs find themselves by the resolved path).
 */
export function names({ root }: Pick<Places, 'root'>, text: string): boolean {
  if (text.includes(`${root}/`)) return true;
  try {
    return text.includes(`${realpathSync(root)}/`);
  } catch {
    return false;
  }
}

/**
 * The version of a tree's directory. A version that was installed again has a directory of its own, `1.2.3~2`, because
 * the tree in use is never written to.
 */
export function versionOf(directory: string): string {
  return basename(directory).split('~')[0]!;
}

/**
 * The path that stays the same from version to version: of a prefix `…/versions/1.2.3`, `…/current`. Any other prefix
 * is returned as it is. Pure, and on the daemon's way to its start.
 */
export function stable(prefix: string): string {
  const versions = dirname(prefix);
  return basename(versions) === 'versions' && basename(dirname(versions)) === 'culvert'
    ? join(dirname(versions), 'current')
    : prefix;
}
