// Starts root's side of a repair from a terminal: sudo asks for the password there, or pkexec where there is no sudo.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { REPAIR_FAILED, repairProgram } from '../../../doctor/fix-journal.ts';
import type { Tools } from '../../../doctor/world/tools.ts';
import { quote } from '../../../view/fix.ts';
import { Failure } from '../../errors.ts';

/**
 * @param argv words for `culvert-repair`
 * @param program root's side
 * @returns a line that says what was run; the program prints its own @throws Failure
 */
export async function runAsRoot(
  argv: readonly string[],
  tools: Pick<Tools, 'has'>,
  program: string | null = repairProgram(),
): Promise<string[]> {
  if (!program) throw new Failure('Only an administrator can do this, and culvert-repair is not installed.');
  const asker = ['sudo', 'pkexec'].find(tools.has);
  if (!asker)
    throw new Failure('Neither sudo nor pkexec is installed.', { hint: `Run as root: ${quote([program, ...argv])}` });
  const command = [asker, program, ...argv] as const;
  const child = spawn(command[0], command.slice(1), { stdio: ['inherit', 2, 'inherit'] });
  const code = await once(child, 'exit').then(
    ([status]) => status as number | null,
    () => null,
  );
  if (code === REPAIR_FAILED) throw new Failure('The repair failed. The line above says why.');
  if (code !== 0)
    throw new Failure('Not allowed, so nothing was changed.', { hint: `It would have run: ${quote(command)}` });
  return [quote(command)];
}
