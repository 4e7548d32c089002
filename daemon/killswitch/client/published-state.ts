// Reads the published state of the root service, and checks whether the service still runs. Needs no privileges.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KillSwitch } from '../../api/schema.ts';
import { errno, reason } from '../../core/errors.ts';
import { isRunning, SYSTEMD } from '../../core/process.ts';
import { Problem } from '../../problem.ts';
import { programs } from '../../system/installation.ts';
import { quote } from '../../view/fix.ts';
import { BUS_NAME, type Published, parsePublished, RUN_DIRECTORY, STATE_FILE } from '../report.ts';
import { explained, type Message, message } from '../wording.ts';

/** The reason why the state can't be read. */
export interface Unreadable {
  unreadable: Message;
}

export interface ServicePaths {
  /** Directory of the state that the service publishes. */
  run: string;
  /** Files that let the bus start the service. At least one exists if the service is installed. */
  activation: readonly string[];
  /** Units of the service, each of which names the program that runs it. */
  units: readonly string[];
  busctl: string;
  /** Address of the bus; null for the system bus. */
  bus: string | null;
  /** Command that installs the service, ready to be copied. */
  install: string;
  /** Path that exists if systemd runs, which the service needs. */
  systemd: string;
}

/** Files in which dbus-daemon looks for the service on the system bus. */
const ACTIVATION = ['/usr/local/share', '/usr/share', '/lib'].map(
  directory => `${directory}/dbus-1/system-services/${BUS_NAME}.service`,
);

const UNITS = ['/etc', '/usr/local/lib', '/usr/lib', '/lib'].map(
  directory => `${directory}/systemd/system/culvert-killswitch.service`,
);

export const SERVICE_PATHS: ServicePaths = {
  run: RUN_DIRECTORY,
  activation: ACTIVATION,
  units: UNITS,
  busctl: 'busctl',
  bus: null,
  install: installCommand(programs.culvert),
  systemd: SYSTEMD,
};

/**
 * Returns the command that installs the service. The program prints a script for root: root can't read the files of an
 * AppImage, and must not run files in a home directory. Packages install the files; if they are missing, the same command
 * restores them.
 */
export function installCommand(culvert: string): string {
  return `${quote([culvert, 'killswitch', 'installer'])} | sudo sh`;
}

/** Returns advice for a machine without the service. */
function installHint({ install, systemd }: ServicePaths): string {
  return existsSync(systemd) ? `Install it with: ${install}` : 'It needs systemd, which does not run here.';
}

const NOT_INSTALLED = {
  'kill-switch': message('The kill switch is not installed on this machine.'),
  'tunnel-only': message('The root service of the kill switch, which keeps programs in the tunnel, is not installed.'),
  outside: message('The root service of the kill switch, which lets programs bypass the tunnel, is not installed.'),
};

/** @param use what the service is needed for. @throws Problem killswitch-not-installed */
export function requireService(service: ServicePaths, use: keyof typeof NOT_INSTALLED = 'kill-switch'): void {
  if (!isInstalled(service))
    throw new Problem('killswitch-not-installed', NOT_INSTALLED[use], { hint: installHint(service) });
}

/** Describes a missing kill switch: the command that installs it, or the reason why it can't be installed. */
export function absent({ install, systemd }: ServicePaths): Pick<KillSwitch, 'command' | 'detail' | 'wording'> {
  if (existsSync(systemd)) return { command: install, detail: null };
  return { command: null, ...explained([message('The kill switch needs systemd, which does not run here.')]) };
}

/**
 * True if the service can start. The package for servers lacks the program that runs the service, and a container may have
 * its files, but no systemd.
 */
export function isInstalled({ activation, units, systemd }: ServicePaths): boolean {
  if (!existsSync(systemd) || !activation.some(file => existsSync(file))) return false;
  const program = programOf({ units });
  return program === null || existsSync(program);
}

/** Returns the program that runs the service, as its unit names it; null if no unit names one that can be read. */
export function programOf({ units }: Pick<ServicePaths, 'units'>): string | null {
  const unit = units.find(file => existsSync(file));
  if (unit === undefined) return null;
  try {
    return /^ExecStart=(\/\S+)/m.exec(readFileSync(unit, 'utf8'))?.[1] ?? null;
  } catch {
    return null; // a package may have just removed the file, or this process may have too many open files
  }
}

/** Reads the published state, unless the service that wrote it has died. */
export function readPublished({ run }: ServicePaths): Published | Unreadable {
  let text: string;
  try {
    text = readFileSync(join(run, STATE_FILE), 'utf8');
  } catch (error) {
    return {
      unreadable:
        errno(error) === 'ENOENT'
          ? message('The root service is not running; whether its rules are in force is not known.')
          : message("The published state of the root service can't be read: %s", reason(error)),
    };
  }
  const published = parsePublished(text);
  if (!published) return { unreadable: message("The published state of the root service can't be read.") };
  if (published.pid !== null && !lives(published.pid, published.startTime))
    return {
      unreadable: message('The root service has died. Its rules stay, but whether they are in force is not known.'),
    };
  return published;
}

/** True if the process runs. A process that hidepid hides still refuses signals. */
function lives(pid: number, startTime: string | null): boolean {
  if (existsSync(`/proc/${pid}/stat`)) return startTime !== null && isRunning(pid, startTime);
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errno(error) === 'EPERM';
  }
}
