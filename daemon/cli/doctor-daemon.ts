// What `culvert doctor` looks at in the daemon, its directory, its port, the tunnel CLI and the configuration.

import { lstatSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { VERSION } from '../about.ts';
import type { ConfigResponse, Health, KillSwitch, Snapshot } from '../api/schema.ts';
import type { Paths } from '../paths.ts';
import type { Check } from './doctor.ts';
import { statusLine } from './statusline.ts';
import { BLOCKED, NEXT } from './vocabulary.ts';

export interface Found {
  health: Health;
  snapshot: Snapshot;
  config: ConfigResponse;
}

/** The runtime directory is what keeps other users out. */
export function directoryCheck({ runtime }: Paths): Check[] {
  try {
    const { uid, mode } = lstatSync(runtime);
    if (uid === process.getuid?.() && (mode & 0o077) === 0)
      return [ok('Socket directory', `${runtime} is open to you alone`)];
    const action = `Stop the daemon, remove ${runtime}, and start again.`;
    return [
      broken(
        'Socket directory',
        `${runtime} is open to others (owner ${uid}, mode ${(mode & 0o777).toString(8)})`,
        action,
      ),
    ];
  } catch {
    return []; // none before the first start
  }
}

/** With a daemon that runs: what it knows, and whether what it says of its port holds. */
export async function daemonChecks({ health, snapshot, config }: Found, paths: Paths): Promise<Check[]> {
  const { version, pid, port } = health;
  return [
    version === VERSION
      ? ok('Daemon', `version ${version}, pid ${pid}`)
      : warning('Daemon', `version ${version} runs, ${VERSION} is installed`, 'Restart it: culvert stop, then culvert'),
    await portCheck(port, pid),
    ...tunnelChecks(snapshot),
    ...killSwitchChecks(snapshot.killSwitch),
    ...configChecks(config, paths),
  ];
}

/** Without a daemon: whether it could start, and find a tunnel CLI. */
export async function offlineChecks(env: NodeJS.ProcessEnv, paths: Paths): Promise<Check[]> {
  const { loadConfig } = await import('../config.ts');
  const checks = [broken('Daemon', 'not running', 'Start it with: culvert')];
  try {
    const settings = await loadConfig({ system: paths.systemConfig, user: paths.userConfig }, env);
    const { port } = settings.config.server;
    const free = await isFree(port);
    checks.push(
      free
        ? ok('Port', `${port} is free`)
        : warning(
            'Port',
            `${port} is taken by another program`,
            'Culvert takes the next free one; or choose another with --port',
          ),
    );
    checks.push(await cliCheck(settings.config.warp.cli, env));
    checks.push(...configChecks(settings.response(), paths));
  } catch (error) {
    checks.push(broken('Configuration', (error as Error).message, 'The daemon does not start until then.'));
  }
  return checks;
}

async function portCheck(port: number | null, pid: number): Promise<Check> {
  if (port === null) return warning('Port', 'the daemon has no TCP port; the socket works', null);
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/api/health`, { signal: AbortSignal.timeout(5000) });
    const said = (await answer.json()) as { pid?: unknown };
    if (said.pid === pid) return ok('Port', `http://127.0.0.1:${port} answers`);
    return broken(
      'Port',
      `something else answers on 127.0.0.1:${port}`,
      'Restart the daemon: culvert stop, then culvert',
    );
  } catch (error) {
    const why = error instanceof Error ? ((error.cause as Error | undefined)?.message ?? error.message) : String(error);
    return broken(
      'Port',
      `127.0.0.1:${port} does not answer: ${why}`,
      'Restart the daemon: culvert stop, then culvert',
    );
  }
}

function tunnelChecks(snapshot: Snapshot): Check[] {
  const { tunnelCli, status, account } = snapshot;
  const { blocked } = status;
  const checks: Check[] = [];
  if (tunnelCli.emulated) {
    checks.push(
      warning(
        'Tunnel CLI',
        'the embedded emulator: nothing is tunnelled',
        'For a real tunnel install Cloudflare WARP and start without --demo.',
      ),
    );
  } else if (!tunnelCli.available || blocked === 'cli-missing') {
    return [broken('Tunnel CLI', BLOCKED['cli-missing'], NEXT['cli-missing'] ?? null)];
  } else {
    checks.push(ok('Tunnel CLI', [tunnelCli.path, tunnelCli.version].filter(Boolean).join(', version ')));
  }
  if (blocked === 'service-stopped')
    return [...checks, broken('Tunnel service', BLOCKED[blocked], NEXT[blocked] ?? null)];
  checks.push(ok('Tunnel service', 'answers'));
  if (blocked === 'terms-not-accepted')
    return [...checks, broken('Terms of service', 'not accepted', NEXT[blocked] ?? null)];
  if (blocked === 'not-authorized') {
    checks.push(
      broken(
        'Authorisation',
        BLOCKED[blocked],
        'Use the account that registered this device, or ask your administrator.',
      ),
    );
  }
  if (blocked === 'not-registered' || account.registered === false) {
    checks.push(broken('Registration', BLOCKED['not-registered'], NEXT['not-registered'] ?? null));
  } else if (account.registered) {
    checks.push(ok('Registration', [account.type, account.organization].filter(Boolean).join(', ') || 'present'));
  }
  if (!blocked) {
    const line = statusLine(snapshot);
    if (status.state === 'unable') checks.push(broken('Tunnel', line, 'See what was tried with: culvert logs'));
    else if (status.state === 'unknown')
      checks.push(warning('Tunnel', line, 'Please report this output of the tunnel CLI.'));
    else checks.push(ok('Tunnel', line));
  }
  return checks;
}

/** Nothing is said of a kill switch that nobody wants and nobody installed. */
function killSwitchChecks(state: KillSwitch): Check[] {
  const { enabled, active, installed, detail, command, backend, protection, bootGuard, pausedUntil } = state;
  const name = 'Kill switch';
  const reason = detail ?? 'why is not known';
  if (!installed) return enabled ? [broken(name, reason, command && `Install it with: ${command}`)] : [];
  if (!enabled) return [ok(name, 'off')];
  if (pausedUntil !== null) return [warning(name, 'paused', 'End the pause with: culvert killswitch resume')];
  if (active === null) return [warning(name, reason, 'See: systemctl status culvert-killswitch')];
  if (!active) return [broken(name, `on, but it does not block: ${reason}`, 'Try: culvert killswitch on')];
  if (!bootGuard)
    return [
      warning(name, 'blocks, but not while the machine starts', 'See: systemctl status culvert-killswitch-guard'),
    ];
  return [ok(name, `blocks, by ${backend ?? 'the kernel'} (${protection})`)];
}

function configChecks({ problems, restartRequired }: ConfigResponse, { userConfig }: Paths): Check[] {
  const checks = problems.map(({ file, line, key, message }) =>
    broken(
      'Configuration',
      `${file}${line === null ? '' : `, line ${line}`}: ${key ? `${key}: ` : ''}${message}`,
      `Correct ${file}.`,
    ),
  );
  if (restartRequired.length) {
    checks.push(
      warning(
        'Configuration',
        `${restartRequired.join(', ')} changed since the start`,
        'Restart the daemon: culvert stop, then culvert',
      ),
    );
  }
  return checks.length ? checks : [ok('Configuration', `no problem in ${userConfig}`)];
}

/** A name is looked for in PATH, as the daemon does. */
async function cliCheck(cli: string, env: NodeJS.ProcessEnv): Promise<Check> {
  const places = cli.includes('/')
    ? [cli]
    : (env.PATH ?? '')
        .split(':')
        .filter(Boolean)
        .map(directory => join(directory, cli));
  for (const place of places) {
    const found = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return ok('Tunnel CLI', place);
  }
  return broken('Tunnel CLI', `${cli} was not found`, NEXT['cli-missing'] ?? null);
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

function ok(name: string, detail: string): Check {
  return { name, level: 'ok', detail, action: null };
}
function warning(name: string, detail: string, action: string | null): Check {
  return { name, level: 'warning', detail, action };
}
function broken(name: string, detail: string, action: string | null): Check {
  return { name, level: 'broken', detail, action };
}
