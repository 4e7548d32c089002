// `culvert run`: prepares the place of a program, which bin/culvert then becomes.
import { basename, resolve } from 'node:path';
import { ApiError } from '../../../api/client.ts';
import type { Context, Run } from '../../context.ts';
import { EXIT, Failure, usage } from '../../errors.ts';

const USAGE = 'Use: culvert run --tunnel-only -- COMMAND, or: culvert run --outside -- COMMAND';

export const run: Run = async (context, words, options) => {
  const { env } = context;
  const [command] = words;
  const isOutside = options.outside === true;
  if (isOutside === (options.tunnelOnly === true))
    throw usage(
      isOutside ? '--tunnel-only and --outside do not go together.' : 'How the program may use the network is missing.',
      USAGE,
    );
  if (!command) throw usage('The command is missing.', USAGE);
  // shells disagree on such a name
  if (command.startsWith('-'))
    throw usage(`"${command}" begins like an option.`, 'Write the path of the program: ./-name');
  await refuseEscape(words, isOutside, env.PATH ?? '');
  // without the script around it, this would move the caller's shell
  if (env.CULVERT_RUN !== String(process.ppid))
    throw new Failure('culvert run has to be started by the script "culvert".');
  const { Problem } = await import('../../../problem.ts');
  try {
    await (isOutside ? outside(context, command) : tunnelOnly(context));
  } catch (error) {
    throw error instanceof Problem ? new ApiError(error.toJSON()) : error;
  }
  return EXIT.ok;
};

/** @throws Failure where another process would do the command's work */
async function refuseEscape(words: readonly string[], isOutside: boolean, path: string): Promise<void> {
  const [command] = words as [string, ...string[]];
  const { handsOver, optionAgainstRunning } = await import('../../../apps/launch/escapes.ts');
  const why = handsOver(command, path);
  if (why && isOutside) throw new Failure(`${basename(command)} can't run outside the tunnel: ${why}.`);
  if (why)
    throw new Failure(`${basename(command)} can't be kept in the tunnel: ${why}.`, {
      hint: 'Start the program itself, or use: culvert killswitch on',
    });
  const option = optionAgainstRunning(words, isOutside ? 'outside' : 'tunnel-only');
  if (!option) return;
  const where = isOutside ? 'and not outside the tunnel' : "outside the tunnel's place";
  throw new Failure(`${basename(command)} runs already, and would open the window there, ${where}.`, {
    hint: `Close it first, or give this one a profile of its own: ${command} ${option}`,
  });
}

async function tunnelOnly({ say, stderr }: Context): Promise<void> {
  const { keepInTunnel, resolverElsewhere } = await import('../../../killswitch/client/tunnel-only.ts');
  await keepInTunnel();
  const resolver = stderr.isTTY ? resolverElsewhere() : null;
  if (resolver) say(`Names are looked up by ${resolver}, which is not kept in the tunnel.`);
}

async function outside({ env, say, stderr }: Context, command: string): Promise<void> {
  const { leadOutside } = await import('../../../killswitch/client/outside.ts');
  const { complete, waits } = await leadOutside(env.CULVERT_OUTER);
  if (waits) {
    const [{ requireAllowed }, { findProgram }] = await Promise.all([
      import('../../../killswitch/client/allowlist.ts'),
      import('../../../apps/inspect-binary.ts'),
    ]);
    requireAllowed(command.includes('/') ? resolve(command) : findProgram(command, env.PATH ?? ''));
  }
  if (!complete && stderr.isTTY)
    say('The program has no IPv6: before 6.17, Linux forwards it for all links or for none.');
}
