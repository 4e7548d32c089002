// Talks to the user's session: reports to systemd, opens the browser, and starts the tray with the desktop.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectory, readText, replaceFile } from '../core/files.ts';
import type { Paths } from './paths.ts';

interface Notifier {
  ready(status: string): void;
  stopping(): void;
}

/**
 * A notifier for the environment that systemd gives (sd_notify(3)); outside of systemd it does nothing.
 * Node can't open the datagram socket that the protocol wants, so `systemd-notify` speaks: hence the unit's
 * NotifyAccess=all, and a watchdog period that is long against the cost of a process.
 */
export function createNotifier(env: NodeJS.ProcessEnv): Notifier {
  if (!env.NOTIFY_SOCKET) return { ready() {}, stopping() {} };
  const notify = (...words: string[]) => {
    const child = spawn('systemd-notify', words, { stdio: 'ignore', env: { NOTIFY_SOCKET: env.NOTIFY_SOCKET } });
    child.on('error', error => console.error(`culvert: systemd-notify failed: ${error.message}`));
  };
  const periodMs = Number(env.WATCHDOG_USEC ?? 0) / 1000;
  let watchdog: NodeJS.Timeout | undefined;
  return {
    ready(status) {
      notify('--ready', `--status=${status}`);
      if (periodMs > 0) watchdog = setInterval(() => notify('WATCHDOG=1'), periodMs / 2);
    },
    stopping() {
      clearInterval(watchdog);
      notify('STOPPING=1');
    },
  };
}

/**
 * Hands an address to xdg-open, which outlives this process.
 * @returns why it could not be opened, or null once it was handed over.
 */
export function openInBrowser(address: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  if (!env.DISPLAY && !env.WAYLAND_DISPLAY) return Promise.resolve('there is no display');
  return new Promise(resolve => {
    const child = spawn('xdg-open', [address], { env, detached: true, stdio: 'ignore' });
    child.once('error', error => resolve(`xdg-open can't be started: ${error.message}`));
    child.once('spawn', () => resolve(null));
    child.unref();
  });
}

/** Ours: a file of the same name that the user wrote is left alone. */
const MARK = 'X-Culvert-Autostart=true';

/**
 * Makes the entry, or takes it away.
 * @param program absolute path of `culvert`.
 * @param hidden start without the window.
 * @throws NodeJS.ErrnoException when the directory can't be written.
 */
export function setAutostart(
  { autostart }: Pick<Paths, 'autostart'>,
  program: string,
  wanted: boolean,
  hidden = true,
): void {
  const present = readText(autostart);
  if (present !== null && !present.includes(MARK)) return;
  if (!wanted) {
    if (present !== null) rmSync(autostart, { force: true });
    return;
  }
  const text = `[Desktop Entry]
Type=Application
Name=Culvert
Comment=Starts the daemon and its tray icon
Exec=${quote(program)}${hidden ? ' --no-panel' : ''}
Icon=org.culvert.Culvert
${MARK}
`;
  if (present === text) return;
  makeDirectory(dirname(autostart), 0o777);
  replaceFile(autostart, text);
}

/** An argument of Exec: quoted, with its own escapes, and a per cent sign doubled. */
function quote(argument: string): string {
  return `"${argument.replace(/[\\"`$]/g, '\\\\$&').replaceAll('%', '%%')}"`;
}
