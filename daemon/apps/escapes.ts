// Finds out whether a command would escape to another process: a service that starts it, or a running instance.
import { readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { PlacedWay } from '../api/schema.ts';
import { realPath } from '../core/files.ts';
import { findProgram, runHelper } from '../core/run-helper.ts';
import { isElectron } from './inspect-binary.ts';

/** Programs that hand a command over to another process, with the reason. */
const HANDS_OVER: Readonly<Record<string, string>> = {
  flatpak: 'Flatpak puts an app into a scope of the user’s systemd',
  snap: 'snapd puts an app into a scope of the user’s systemd',
  'systemd-run': 'systemd starts the command',
  'xdg-open': 'the desktop starts the app, or hands over to one that runs',
  'gtk-launch': 'the desktop starts the app, or hands over to one that runs',
  gapplication: 'the desktop starts the app, or hands over to one that runs',
  gio: 'the desktop starts the app, or hands over to one that runs',
  at: 'another service starts the command later',
  batch: 'another service starts the command later',
  crontab: 'another service starts the command later',
  docker: 'containers run in the place of their own service',
  nerdctl: 'containers run in the place of their own service',
  machinectl: 'systemd starts the command',
  podman: 'containers run in a scope of the user’s systemd',
  toolbox: 'containers run in a scope of the user’s systemd',
  distrobox: 'containers run in a scope of the user’s systemd',
  'distrobox-enter': 'containers run in a scope of the user’s systemd',
  'gnome-terminal': 'a service that D-Bus starts opens its windows',
  emacsclient: 'the Emacs that runs does the work',
};

/** Programs that start a command from their own arguments. */
const STARTERS = /^(?:env|exec|command|nice|ionice|nohup|setsid|stdbuf|timeout|time|chrt|taskset|sudo|doas)$/;
const SHELLS = /^(?:ba|da|z|k|mk|a)?sh$/;

/** Returns the words of the command that `env` or a similar program starts, or of the first command in a shell's text. */
export function startedCommand([command = '', ...rest]: readonly string[]): readonly string[] {
  const name = basename(command);
  if (SHELLS.test(name)) {
    const at = rest.findIndex(word => /^-[a-z]*c$/.test(word));
    const words = at < 0 ? [] : (rest[at + 1] ?? '').split(/\s+/).filter(word => word !== '');
    const first = words.findIndex(word => !/^\w+=/.test(word));
    return first < 0 ? [command, ...rest] : startedCommand(words.slice(first));
  }
  if (!STARTERS.test(name)) return [command, ...rest];
  // options, variables, and numbers such as time limits
  const next = rest.findIndex(word => !/^-|^\w+=|^[\d.]+[smhd]?$/.test(word));
  return next < 0 ? [command, ...rest] : startedCommand(rest.slice(next));
}

/** Returns the reason why another process would start `command`, or null. @param path value of `$PATH` */
export function handoverReason(command: string, path: string): string | null {
  const file = findProgram(command, path);
  const names = file ? [command, file, realPath(file)] : [command];
  if (names.some(name => /\/flatpak\/exports\/bin\//.test(name))) return HANDS_OVER.flatpak!;
  if (names.some(name => /^\/(?:snap|var\/lib\/snapd)\//.test(name))) return HANDS_OVER.snap!;
  return names.flatMap(name => HANDS_OVER[basename(name)] ?? [])[0] ?? null;
}

/** Programs that hand over to a running instance, with the option that keeps a new instance separate. */
const SINGLE_INSTANCE = [
  {
    names: /^(firefox|librewolf|waterfox|thunderbird)/,
    apart: /^--?(profile|no-remote|new-instance)$/i,
    option: '-no-remote -profile DIRECTORY',
  },
  {
    names: /^(?:google-)?(chromium|chrome|brave|microsoft-edge|msedge|vivaldi|opera)/,
    apart: /^--?user-data-dir(=|$)/,
    option: '--user-data-dir=DIRECTORY',
  },
  {
    names: /^(code|code-insiders|codium|cursor)$/,
    apart: /^--user-data-dir(=|$)/,
    option: '--user-data-dir=DIRECTORY',
  },
  { names: /^(gedit|gnome-text-editor|ptyxis)$/, apart: /^(-s|--standalone)$/, option: '--standalone' },
  { names: /^(xfce4-terminal)$/, apart: /^--disable-server$/, option: '--disable-server' },
  { names: /^(mate-terminal)$/, apart: /^--disable-factory$/, option: '--disable-factory' },
  { names: /^(tmux)$/, apart: /^-[LS]/, option: '-L NAME' },
] as const;
/** Programs that hand over to a running instance by D-Bus, and have no such option. */
const SINGLE_BY_DBUS = /^(?:epiphany|evolution|gajim|geary|kgx|nautilus|terminator|transmission-gtk|virt-manager)$/;
/** Programs that the kernel starts for a `#!` file; their first argument that is not an option is the script. */
const INTERPRETERS = /^(?:python|perl|ruby|gjs|node|lua|php|guile|(?:ba|da|z|k|mk|a)?sh$)[-\w.]*$/;

/**
 * Returns the option that keeps a command out of a running instance; null if no running instance would open its window.
 * @param path value of `$PATH`
 * @returns `option` is null for a program without such an option
 */
export function takeoverOf(
  [command = '', ...words]: readonly string[],
  way: PlacedWay,
  { path, procfs = '/proc' }: { path: string; procfs?: string },
): { option: string | null } | null {
  for (const { names, apart, option } of SINGLE_INSTANCE) {
    const [, name] = names.exec(basename(command)) ?? [];
    if (!name || words.some(word => apart.test(word))) continue;
    const isSameProgram = (file: string) => names.exec(basename(file))?.[1] === name;
    if (filesElsewhere(way, procfs).some(isSameProgram)) return { option };
  }
  const file = findProgram(command, path);
  const isSingle = file !== null && (SINGLE_BY_DBUS.test(basename(file)) || isElectron(file));
  return isSingle && runsElsewhere(file, way, procfs) ? { option: null } : null;
}

/** True if a program already runs outside the place of this start. */
export function runsElsewhere(file: string, way: PlacedWay, procfs = '/proc'): boolean {
  const running = filesElsewhere(way, procfs);
  if (running.includes(realPath(file))) return true;
  if (!isElectron(file)) return false;
  // a launcher script is in `bin/` below the program's directory
  const own = dirname(realPath(file));
  return running.some(other => [own, dirname(own)].includes(dirname(other)));
}

/**
 * Returns executables and scripts of the user's processes that are not kept in the tunnel; for a start outside the tunnel,
 * of all the user's processes, because each program there has a separate network.
 */
function filesElsewhere(way: PlacedWay, procfs: string): string[] {
  return readdirSync(procfs).flatMap(pid => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const isInPlace = way === 'tunnel-only' && isKept(pid, procfs);
      return isInPlace ? [] : filesOf(`${procfs}/${pid}`);
    } catch {
      return []; // it has ended
    }
  });
}

/** Returns no files for another user's process. @throws NodeJS.ErrnoException if the process has ended */
function filesOf(directory: string): string[] {
  const [command = '', ...words] = readFileSync(`${directory}/cmdline`, 'utf8').split('\0');
  const script = INTERPRETERS.test(basename(command)) ? words.find(word => !word.startsWith('-')) : undefined;
  const scripts = script?.startsWith('/') ? [realPath(script)] : [];
  try {
    return [readlinkSync(`${directory}/exe`).replace(/ \(deleted\)$/, ''), ...scripts];
  } catch {
    // in a user namespace, the kernel shows only the command line of a process outside
    return statSync(directory).uid === process.getuid?.() ? [command, ...scripts] : [];
  }
}

/**
 * True once a process of `culvert run` has become the program. Until then, its cgroup is untested, or its network has no route.
 * @throws NodeJS.ErrnoException if there is no such process
 */
export function isStarted(pid: number, way: PlacedWay, launcher: string): boolean {
  const isInPlace =
    way === 'outside' ? readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync('/proc/self/ns/net') : isKept(pid);
  return isInPlace && !readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${launcher}\0run\0`);
}

/** True for a process kept in the tunnel. @throws NodeJS.ErrnoException if there is no such process */
export function isKept(pid: number | string, procfs = '/proc'): boolean {
  return /^0::.*-culvert\.slice\//m.test(readFileSync(`${procfs}/${pid}/cgroup`, 'utf8'));
}

/** True if an Electron app runs without our proxy switch. @param file its executable */
export function runsWithoutProxy(file: string): boolean {
  let resolved: string;
  try {
    resolved = realpathSync(file);
  } catch {
    return false;
  }
  return readdirSync('/proc').some(pid => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      // helpers (--type=renderer) do not inherit the switch of the first process
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      if (words.some(word => word.startsWith('--type=') || word.startsWith('--proxy-server='))) return false;
      return realpathSync(`/proc/${pid}/exe`) === resolved || words[0] === file || words[1] === file;
    } catch {
      return false; // ended, or of another user
    }
  });
}

/** Returns true if a name has an owner on the session bus; false without a bus or without gdbus. */
export async function ownsBusName(name: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const bus = ['--dest', 'org.freedesktop.DBus', '--object-path', '/org/freedesktop/DBus'];
  const call = ['--method', 'org.freedesktop.DBus.NameHasOwner', '--', name];
  const { exit, stdout } = await runHelper(['gdbus', 'call', '--session', ...bus, ...call], { env, timeoutMs: 3000 });
  return exit === 0 && stdout.includes('true');
}
