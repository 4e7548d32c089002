// Root's side on a directory in place of `/`, with programs that only note what they were asked.
import { runRepair } from '../../../daemon/doctor/repair/run.ts';
import type { Tools } from '../../../daemon/doctor/world/tools.ts';

/** @param failing the beginning of a command that fails */
export function noting(commands: string[], failing?: string): Tools {
  return {
    has: () => true,
    started: () => commands.length,
    async run(program, args) {
      const command = [program, ...args].join(' ');
      commands.push(command);
      const exitCode = failing !== undefined && command.startsWith(failing) ? 1 : 0;
      return { exitCode, stdout: '', stderr: exitCode === 0 ? '' : 'it was refused' };
    },
  };
}

/** Runs a request in a program that a test kills. */
export async function repairIn(root: string, ...argv: string[]): Promise<void> {
  await runRepair(argv, root, noting([]));
}
