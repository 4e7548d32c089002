// Whether a program that is to be used from now on runs here, and is the version that it should be.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Refused } from './refused.ts';

const run = promisify(execFile);
const PATIENCE_MS = 60_000;

/**
 * Runs `culvert --version`, which tells the version, and `culvert help`, which needs Node and the bundles.
 * @throws Refused program-broken, stopped
 */
export async function tryProgram(program: string, version: string, env: NodeJS.ProcessEnv, signal: AbortSignal) {
  const options = { env, signal, timeout: PATIENCE_MS };
  try {
    const { stdout } = await run(program, ['--version'], options);
    if (stdout.trim() !== `culvert ${version}`)
      throw new Refused('program-broken', `Culvert ${version} calls itself "${stdout.trim().slice(0, 100)}".`);
    await run(program, ['help'], options);
  } catch (error) {
    if (error instanceof Refused) throw error;
    if (signal.aborted) throw new Refused('stopped', 'The daemon is stopping.', error);
    const { stderr, message } = error as Error & { stderr?: string };
    const why = (stderr || message).trim().split('\n').at(-1)!.slice(0, 300);
    throw new Refused('program-broken', `Culvert ${version} does not run here: ${why}`, error);
  }
}
