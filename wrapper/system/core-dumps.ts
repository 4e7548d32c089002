// Keeps the memory of a process that holds keys out of core dumps.
import { runHelper } from './run-helper.ts';

const PRLIMIT_MS = 5_000;

/**
 * Has the kernel write no core dump of this process, nor of programs that it starts later. Node can't set a limit, so `prlimit` of
 * util-linux does, where it is installed. Zero would not count where dumps go to a program; one byte does (`do_coredump` of Linux).
 */
export async function preventCoreDumps(): Promise<void> {
  await runHelper(['prlimit', `--pid=${process.pid}`, '--core=1:1'], { timeoutMs: PRLIMIT_MS });
}
