// Finds out whether a program would leave its place in the tunnel, because another process does its work.
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import { findProgram } from '../inspect-binary.ts';

/** Programs that hand a command over to another process, each with how. */
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
  docker: 'containers run in the place of their own service',
  podman: 'containers run in a scope of the user’s systemd',
};

/** Why another process would start what `command` names, or null. @param path as `$PATH` */
export function handsOver(command: string, path: string): string | null {
  const file = findProgram(command, path);
  const names = file ? [command, file, real(file)] : [command];
  if (names.some(name => /\/flatpak\/exports\/bin\//.test(name))) return HANDS_OVER.flatpak!;
  if (names.some(name => /^\/(?:snap|var\/lib\/snapd)\//.test(name))) return HANDS_OVER.snap!;
  return names.flatMap(name => HANDS_OVER[basename(name)] ?? [])[0] ?? null;
}

/** Families of browsers, each with the option that keeps a new instance apart from a running one. */
const BROWSERS = [
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
] as const;

/** The option that keeps a browser apart from the instance that runs outside the place, and would open its window; or null. */
export function optionAgainstRunning([command = '', ...words]: readonly string[], procfs = '/proc'): string | null {
  for (const { names, apart, option } of BROWSERS) {
    const [, name] = names.exec(basename(command)) ?? [];
    if (!name || words.some(word => apart.test(word))) continue;
    const isOf = (file: string) => names.exec(basename(file))?.[1] === name;
    if (outside(procfs).some(isOf)) return option;
  }
  return null;
}

/** True if a program runs outside the place. */
export function runsOutside(file: string, procfs = '/proc'): boolean {
  return outside(procfs).includes(real(file));
}

/** Executables of the user's processes that are not kept in the tunnel. */
function outside(procfs: string): string[] {
  return readdirSync(procfs).flatMap(pid => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      return isKept(pid, procfs) ? [] : [readlinkSync(`${procfs}/${pid}/exe`).replace(/ \(deleted\)$/, '')];
    } catch {
      return []; // gone, or somebody else's
    }
  });
}

/** @throws NodeJS.ErrnoException where there is no such process */
export function isKept(pid: number | string, procfs = '/proc'): boolean {
  return /^0::.*-culvert\.slice\//m.test(readFileSync(`${procfs}/${pid}/cgroup`, 'utf8'));
}

function real(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
