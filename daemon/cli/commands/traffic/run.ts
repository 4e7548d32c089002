// Runs `culvert run`, which prepares a program's place; bin/culvert then becomes the program.
import { basename, resolve } from 'node:path';
import type { Message } from '../../../api/values.ts';
import { wordMessage } from '../../../view/message.ts';
import { english } from '../../../view/translator.ts';
import type { Context, Run } from '../../context.ts';
import { EXIT, Failure, usage, withoutDaemon } from '../../errors.ts';

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
  // shells treat a leading hyphen differently
  if (command.startsWith('-'))
    throw usage(`"${command}" begins like an option.`, 'Write the path of the program: ./-name');
  await refuseEscape(words, isOutside, env.PATH ?? '');
  // without the script, this would move the caller's shell
  if (env.CULVERT_RUN !== String(process.ppid))
    throw new Failure('culvert run has to be started by the script "culvert".');
  const limits = await withoutDaemon(() => (isOutside ? outside(env, command) : tunnelOnly()));
  if (options.json && limits.length) context.stderr.write(`${JSON.stringify({ limits })}\n`);
  // without a terminal, it would look like the command's output
  if (!options.json && context.stderr.isTTY)
    for (const limit of limits) context.say(`culvert: ${wordMessage(limit, english)}`);
  return EXIT.ok;
};

/** @throws Failure if another process would do the command's work */
async function refuseEscape(words: readonly string[], isOutside: boolean, path: string): Promise<void> {
  const { handoverReason, startedCommand, takeoverOf } = await import('../../../apps/escapes.ts');
  const started = startedCommand(words);
  const command = started[0]!;
  const why = handoverReason(command, path);
  if (why && isOutside) throw new Failure(`${basename(command)} can't run outside the tunnel: ${why}.`);
  if (why)
    throw new Failure(`${basename(command)} can't be kept in the tunnel: ${why}.`, {
      hint: 'Start the program itself, or use: culvert killswitch on',
    });
  const way = isOutside ? 'outside' : 'tunnel-only';
  const taken = takeoverOf(started, way, { path });
  if (!taken) return;
  const where = isOutside ? 'and not outside the tunnel' : "outside the tunnel's place";
  throw new Failure(`${basename(command)} runs already, and would open the window there, ${where}.`, {
    hint: taken.option ? `Close it first, or start one apart from it: ${command} ${taken.option}` : 'Close it first.',
  });
}

/** @returns sentences about traffic that is not kept in the tunnel */
async function tunnelOnly(): Promise<Message[]> {
  const { keepInTunnel, limitsOfNames } = await import('../../../killswitch/client/tunnel-only.ts');
  await keepInTunnel();
  return limitsOfNames();
}

/** @returns sentences about the limits of the command */
async function outside(env: Context['env'], command: string): Promise<Message[]> {
  const { leadOutside, requireAllowed } = await import('../../../killswitch/client/outside.ts');
  const { limits, waits } = await leadOutside(env.CULVERT_OUTER);
  if (waits) {
    const { findProgram } = await import('../../../core/run-helper.ts');
    requireAllowed(command.includes('/') ? resolve(command) : findProgram(command, env.PATH ?? ''));
  }
  return limits;
}
