// Lets systemd start a gateway with the first connection to its port: no process runs before that.
import { existsSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Context } from '../context.ts';
import type { Programs } from '../shims/shim.ts';
import { configDirectory, NAME } from '../store/paths.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { writeAtomic } from '../system/files.ts';
import { runHelper } from '../system/run-helper.ts';

const SYSTEMCTL_MS = 30_000;
/** The first descriptor that systemd passes on (sd_listen_fds(3)). */
const FIRST_FD = 3;

interface Units {
  socket: string;
  service: string;
}

/** Paths of the units of a tool's gateway. */
function unitsOf(cli: string, { env }: Pick<Context, 'env'>): Units {
  const base = join(configDirectory(env), '../systemd/user', `${NAME}-serve-${cli}`);
  return { socket: `${base}.socket`, service: `${base}.service` };
}

/**
 * Writes the units of a gateway, and has systemd listen on its port.
 * @throws WrapError `no-systemd`, `not-built`
 */
export async function installUnits(
  cli: string,
  port: number,
  { programs, context }: { programs: Programs; context: Context },
): Promise<Units> {
  const { node, bundle } = programs;
  if (bundle.endsWith('.ts') || bundle === node) {
    throw new WrapError(
      'not-built',
      EXIT.config,
      'a unit starts an installed program, and this one runs from elsewhere',
      {
        hint: `install Culvert from a package or with \`./culvert-tool install\`, or run \`culvert-wrap serve ${cli}\``,
      },
    );
  }
  const units = unitsOf(cli, context);
  const isNew = !existsSync(units.socket);
  writeAtomic(units.socket, socketText(cli, port), 0o644);
  writeAtomic(units.service, serviceText(cli, programs), 0o644);
  try {
    await systemctl(['daemon-reload'], context);
    // for another port; systemd refuses to start the socket of a service that runs
    if (!isNew) await systemctl(['stop', ...Object.values(units).map(file => basename(file))], context);
    await systemctl(['enable', '--now', basename(units.socket)], context);
  } catch (error) {
    if (isNew) for (const file of Object.values(units)) rmSync(file, { force: true });
    throw error;
  }
  return units;
}

/**
 * Ends a gateway that systemd starts, and removes its units.
 * @returns false if no unit is installed
 * @throws WrapError `no-systemd`
 */
export async function removeUnits(cli: string, context: Context): Promise<boolean> {
  const units = unitsOf(cli, context);
  if (!existsSync(units.socket)) return false;
  await systemctl(['disable', '--now', ...Object.values(units).map(file => basename(file))], context);
  for (const file of Object.values(units)) rmSync(file, { force: true });
  await systemctl(['daemon-reload'], context);
  return true;
}

/** The listening socket that systemd has passed on, if this process was started for one. */
export function passedSocket({ LISTEN_PID: pid, LISTEN_FDS: count }: NodeJS.ProcessEnv): number | undefined {
  return pid === String(process.pid) && Number(count) >= 1 ? FIRST_FD : undefined;
}

function socketText(cli: string, port: number): string {
  return `# Written by culvert-wrap serve ${cli} --install; --uninstall removes it.
[Unit]
Description=Gateway of culvert-wrap for ${cli}

[Socket]
ListenStream=127.0.0.1:${port}
NoDelay=true

[Install]
WantedBy=sockets.target
`;
}

function serviceText(cli: string, { node, bundle }: Programs): string {
  return `# Written by culvert-wrap serve ${cli} --install; --uninstall removes it.
[Unit]
Description=Gateway of culvert-wrap for ${cli}

[Service]
ExecStart=${[node, bundle, 'serve', cli].map(word).join(' ')}
# no core dump, which would hold keys, also where dumps go to a program; no debugger, and no requests in the journal
LimitCORE=1
UnsetEnvironment=NODE_OPTIONS NODE_DEBUG
`;
}

/** A word of a command line in a unit (systemd.service(5)). */
function word(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`;
}

async function systemctl(words: string[], { env }: Pick<Context, 'env'>): Promise<void> {
  const result = await runHelper(['systemctl', '--user', ...words], { env, timeoutMs: SYSTEMCTL_MS });
  if (result.exit === 0) return;
  const why = result.error?.message ?? result.stderr.trim().split('\n')[0] ?? '';
  throw new WrapError('no-systemd', EXIT.unavailable, `systemctl --user ${words[0]} failed: ${why}`, {
    hint: 'without a user manager of systemd, run `culvert-wrap serve TOOL` where it can stay',
  });
}
