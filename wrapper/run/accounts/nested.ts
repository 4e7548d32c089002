// Recognizes a CLI that calls itself by name within one of its runs, so that it is not wrapped a second time.
import type { Context } from '../../context.ts';
import { readState } from '../../store/state.ts';
import { directoryFile } from '../find-up.ts';
import { jobIn, pinnedAccount } from './select-account.ts';

/**
 * Set for an upstream: `firecrawl=team-a`, and after a further `=` the file by which the directory of that run may choose
 * an account, with its special characters escaped.
 */
const ACTIVE = 'CULVERT_WRAP_ACTIVE';

/** Adds the run of a CLI to the environment of its upstream. */
export function markRun(env: NodeJS.ProcessEnv, cli: string, account: string, cwd?: string): void {
  const file = cwd === undefined ? undefined : directoryFile(cwd);
  const run = `${cli}=${account}${file === undefined ? '' : `=${encodeURIComponent(file)}`}`;
  env[ACTIVE] = env[ACTIVE] ? `${env[ACTIVE]}:${run}` : run;
}

/** Reports whether this CLI was started within one of its own runs, with no other account named since. */
export async function isNested(
  cli: string,
  args: readonly string[],
  { env, cwd, paths, load }: Pick<Context, 'env' | 'cwd' | 'paths' | 'load'>,
): Promise<boolean> {
  const runs = (env[ACTIVE] ?? '').split(':').map(entry => entry.split('='));
  const run = runs.findLast(([name]) => name === cli);
  if (!run) return false;
  const [, account, fileOfRun] = run;
  const pinned = pinnedAccount(cli, env.CULVERT_WRAP_ACCOUNT);
  if (pinned !== undefined) return pinned === account;
  const job = jobIn(args, readState(paths, cli));
  if (job) return job.account === account;
  const file = directoryFile(cwd);
  // After a failure another account than the one of the directory is in use.
  if (file === undefined || encodeURIComponent(file) === fileOfRun) return true;
  const directory = (await load()).chooseByDirectory(cli, cwd, paths);
  return directory.kind === 'chosen' ? directory.account === account : directory.kind !== 'broken';
}
