// Runs a new version before it is put to use, to see whether it starts on this machine.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { UpdateRefused } from './errors.ts';

const run = promisify(execFile);
const TIMEOUT_MS = 60_000;

/**
 * Runs `culvert --version`, which prints the version, and `culvert help`, which needs Node and the bundles.
 * @throws UpdateRefused `program-broken`, `stopped`
 */
export async function smokeTest(program: string, version: string, env: NodeJS.ProcessEnv, signal: AbortSignal) {
  const options = { env, signal, timeout: TIMEOUT_MS };
  try {
    const { stdout } = await run(program, ['--version'], options);
    if (stdout.trim() !== `culvert ${version}`)
      throw new UpdateRefused('program-broken', `Culvert ${version} calls itself "${stdout.trim().slice(0, 100)}".`);
    await run(program, ['help'], options);
  } catch (error) {
    if (error instanceof UpdateRefused) throw error;
    if (signal.aborted) throw new UpdateRefused('stopped', 'The daemon is stopping.', error);
    const { stderr, message } = error as Error & { stderr?: string };
    const why = (stderr || message).trim().split('\n').at(-1)!.slice(0, 300);
    throw new UpdateRefused('program-broken', `Culvert ${version} does not run here: ${why}`, error);
  }
}
