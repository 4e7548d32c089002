// `culvert run`: prepares the place of a program, which bin/culvert then becomes.
import { basename } from 'node:path';
import { ApiError } from '../../../api/client.ts';
import type { Run } from '../../context.ts';
import { EXIT, Failure, usage } from '../../errors.ts';

/** Programs that hand a command over to another process, outside the place of the one that asks. */
const HANDS_OVER: Readonly<Record<string, string>> = {
  flatpak: 'Flatpak puts an app into a scope of the user’s systemd',
  snap: 'snapd puts an app into a scope of the user’s systemd',
  'systemd-run': 'systemd starts the command',
  'xdg-open': 'the desktop starts the app, or hands over to one that runs',
  'gtk-launch': 'the desktop starts the app, or hands over to one that runs',
  gio: 'the desktop starts the app, or hands over to one that runs',
  at: 'another service starts the command later',
  batch: 'another service starts the command later',
  docker: 'containers run in the place of their own service',
  podman: 'containers run in a scope of the user’s systemd',
};

export const run: Run = async ({ env, say, stderr }, [command], options) => {
  if (options.tunnelOnly !== true)
    throw usage('How the program may use the network is missing.', 'Use: culvert run --tunnel-only -- COMMAND');
  if (!command) throw usage('The command is missing.', 'Use: culvert run --tunnel-only -- COMMAND');
  // shells disagree on such a name
  if (command.startsWith('-'))
    throw usage(`"${command}" begins like an option.`, 'Write the path of the program: ./-name');
  const why = /^\/(?:snap|var\/lib\/snapd)\//.test(command) ? HANDS_OVER.snap : HANDS_OVER[basename(command)];
  if (why)
    throw new Failure(`${basename(command)} can't be kept in the tunnel: ${why}.`, {
      hint: 'Start the program itself, or use: culvert killswitch on',
    });
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
