// Installs units that make systemd start a gateway with the first connection to its port.
import { existsSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readOptional } from '../../daemon/core/files.ts';
import { runHelper } from '../../daemon/core/run-helper.ts';
import type { Context } from '../context.ts';
import { callerEnvironment } from '../run/accounts/ready.ts';
import { assertInstalled, type Programs } from '../shims/shim.ts';
import { configDirectory, NAME } from '../store/paths.ts';
import { WAY_VARIABLES } from '../system/connections.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { writeAtomic } from '../system/files.ts';

const SYSTEMCTL_MS = 30_000;
/** First file descriptor that systemd passes on (sd_listen_fds(3)). */
const FIRST_FD = 3;

interface Units {
  socket: string;
  service: string;
}

/** Returns the paths of the units for a tool's gateway. */
function unitsOf(cli: string, { env }: Pick<Context, 'env'>): Units {
  const base = join(configDirectory(env), '../systemd/user', `${NAME}-serve-${cli}`);
  return { socket: `${base}.socket`, service: `${base}.service` };
}

/**
 * Writes the units of a gateway, and has systemd listen on its port.
 * @throws WrapError `no-systemd`, `not-built`, `not-installed`
 */
export async function installUnits(
  cli: string,
  port: number,
  { programs, context }: { programs: Programs; context: Context },
): Promise<Units> {
  const { node, bundle } = programs;
  assertInstalled(bundle, 'a unit');
  if (bundle === node)
    throw new WrapError('not-built', EXIT.config, 'a unit can’t start an AppImage', {
      hint: `install Culvert from a package or with \`./culvert-tool install\`, or run \`culvert-wrap serve ${cli}\``,
    });
  const units = unitsOf(cli, context);
  const isNew = !existsSync(units.socket);
  writeAtomic(units.socket, socketText(cli, port), 0o644);
  // a proxy's address may contain a login
  writeAtomic(units.service, serviceText(cli, programs, wayIn(context)), 0o600);
  try {
    await systemctl(['daemon-reload'], context);
    // the port may be another, and systemd refuses to start the socket of a running service
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

/** Returns the listening socket's file descriptor if systemd passed a socket to this process. */
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

/** Returns this shell's variables for proxies and certificates, few of which the user manager has. */
function wayIn({ env }: Pick<Context, 'env'>): [name: string, value: string][] {
  const caller = callerEnvironment(env);
  const isLine = (value: string | undefined): value is string => value !== undefined && /^[^\r\n]+$/.test(value);
  return WAY_VARIABLES.flatMap((name): [string, string][] => (isLine(caller[name]) ? [[name, caller[name]]] : []));
}

/** Returns this shell's variables for proxies and certificates that a gateway's unit lacks or sets differently. */
export function missingInUnit(cli: string, context: Pick<Context, 'env'>): string[] {
  const text = readOptional(unitsOf(cli, context).service);
  if (text === undefined) return [];
  return wayIn(context).flatMap(pair => (text.includes(environmentLine(pair)) ? [] : [pair[0]]));
}

/** Formats a variable for a unit. `NODE_EXTRA_CA_CERTS` is renamed, because Node would read the certificates at its start. */
function environmentLine([name, value]: [name: string, value: string]): string {
  const kept = name === 'NODE_EXTRA_CA_CERTS' ? `CULVERT_WRAP_KEPT_${name}` : name;
  return `Environment=${word(`${kept}=${value}`).replaceAll('$$', '$')}\n`;
}

function serviceText(cli: string, { node, bundle }: Programs, way: readonly [string, string][]): string {
  return `# Written by culvert-wrap serve ${cli} --install; --uninstall removes it.
[Unit]
Description=Gateway of culvert-wrap for ${cli}

[Service]
ExecStart=${[node, bundle, 'serve', cli].map(word).join(' ')}
# no core dump, which would hold keys, also where dumps go to a program; no debugger, and no requests in the journal
LimitCORE=1
UnsetEnvironment=NODE_OPTIONS NODE_DEBUG
${way.map(environmentLine).join('')}`;
}

/** Quotes a word for a command line in a unit (systemd.service(5)). */
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
