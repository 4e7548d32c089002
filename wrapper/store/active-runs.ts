// Marks the environment of what runs for an account of a CLI: its upstream, and the programs that provide its credentials.

/** `firecrawl=team-a` for each run, joined by colons; after a further `=` the file by which its directory may choose an account. */
const ACTIVE = 'CULVERT_WRAP_ACTIVE';

interface ActiveRun {
  cli: string;
  account: string;
  /** By which the directory of the run may choose an account; escaped by `encodeURIComponent`. */
  file?: string | undefined;
}

/** Adds a run to an environment. */
export function addRun(env: NodeJS.ProcessEnv, { cli, account, file }: ActiveRun): void {
  const run = `${cli}=${account}${file === undefined ? '' : `=${file}`}`;
  env[ACTIVE] = env[ACTIVE] ? `${env[ACTIVE]}:${run}` : run;
}

/** The innermost run of a CLI around this process; undefined outside of a run. */
export function innermostRun(env: NodeJS.ProcessEnv, cli: string): ActiveRun | undefined {
  const runs = (env[ACTIVE] ?? '').split(':').map(entry => entry.split('='));
  const run = runs.findLast(([name]) => name === cli);
  return run && { cli, account: run[1] ?? '', file: run[2] };
}
