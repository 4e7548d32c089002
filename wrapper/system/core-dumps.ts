// Keeps the memory of a process that holds keys out of core dumps.
import { errno } from '../../daemon/core/errors.ts';
import { failureOf, runHelper } from '../../daemon/core/process.ts';
import { say } from './errors.ts';

const PRLIMIT_MS = 5_000;

/**
 * Has the kernel write no core dump of this process, nor of programs that it starts later. Node can't set a limit, so `prlimit` of
 * util-linux does, where it is installed. Zero would not count where dumps go to a program; one byte does (`do_coredump` of Linux).
 * @returns why that failed
 */
export async function limitCoreDumps(): Promise<string | undefined> {
  const result = await runHelper(['prlimit', `--pid=${process.pid}`, '--core=1:1'], { timeoutMs: PRLIMIT_MS });
  if (result.error) return errno(result.error) === 'ENOENT' ? 'prlimit is not installed' : result.error.message;
  return result.exit === 0 ? undefined : `prlimit ${failureOf(result)}`;
}

/** The same, for a process that says so when it fails. */
export async function preventCoreDumps(): Promise<void> {
  const problem = await limitCoreDumps();
  if (problem !== undefined) say(`a core dump of this process would hold keys: ${problem}`);
}
