// Recognizes a CLI that calls itself by name within one of its runs, so that it is not wrapped a second time.
import type { Context } from '../../context.ts';
import { innermostRun } from '../../store/active-runs.ts';
import { readState } from '../../store/state.ts';
import { directoryFile } from '../find-up.ts';
import { jobIn, pinnedAccount } from './select-account.ts';

/** Reports whether this CLI was started within one of its own runs, with no other account named since. */
export async function isNested(
  cli: string,
  args: readonly string[],
  { env, cwd, paths, load }: Pick<Context, 'env' | 'cwd' | 'paths' | 'load'>,
): Promise<boolean> {
  const run = innermostRun(env, cli);
  if (!run) return false;
  const { account } = run;
  const pinned = pinnedAccount(cli, env.CULVERT_WRAP_ACCOUNT);
  if (pinned !== undefined) return pinned === account;
  const job = jobIn(args, readState(paths, cli));
  if (job) return job.account === account;
  const file = directoryFile(cwd);
  // After a failure another account than the one of the directory is in use.
  if (file === undefined || encodeURIComponent(file) === run.file) return true;
  const directory = (await load()).chooseByDirectory(cli, cwd, paths);
  return directory.kind === 'chosen' ? directory.account === account : directory.kind !== 'broken';
}
