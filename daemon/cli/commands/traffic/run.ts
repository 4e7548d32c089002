// `culvert run`: prepares the place of a program, which bin/culvert then becomes.
import { basename } from 'node:path';
import { ApiError } from '../../../api/client.ts';
import type { Run } from '../../context.ts';
import { EXIT, Failure, usage } from '../../errors.ts';

export const run: Run = async ({ env, say, stderr }, words, options) => {
  const [command] = words;
  if (options.tunnelOnly !== true)
    throw usage('How the program may use the network is missing.', 'Use: culvert run --tunnel-only -- COMMAND');
  if (!command) throw usage('The command is missing.', 'Use: culvert run --tunnel-only -- COMMAND');
  // shells disagree on such a name
  if (command.startsWith('-'))
    throw usage(`"${command}" begins like an option.`, 'Write the path of the program: ./-name');
  const { handsOver, optionAgainstRunning } = await import('../../../apps/launch/escapes.ts');
  const why = handsOver(command, env.PATH ?? '');
  if (why)
    throw new Failure(`${basename(command)} can't be kept in the tunnel: ${why}.`, {
      hint: 'Start the program itself, or use: culvert killswitch on',
    });
  const option = optionAgainstRunning(words);
  if (option)
    throw new Failure(
      `${basename(command)} runs already, and would open the window there, outside the tunnel's place.`,
      {
        hint: `Close it first, or give this one a profile of its own: ${command} ${option}`,
      },
    );
  // without the script around it, this would move the caller's shell
  if (env.CULVERT_RUN !== String(process.ppid))
    throw new Failure('culvert run has to be started by the script "culvert".');
  const { keepInTunnel, resolverElsewhere } = await import('../../../killswitch/client/tunnel-only.ts');
  const { Problem } = await import('../../../problem.ts');
  try {
    await keepInTunnel();
  } catch (error) {
    throw error instanceof Problem ? new ApiError(error.toJSON()) : error;
  }
  const resolver = stderr.isTTY ? resolverElsewhere() : null;
  if (resolver) say(`Names are looked up by ${resolver}, which is not kept in the tunnel.`);
  return EXIT.ok;
};
