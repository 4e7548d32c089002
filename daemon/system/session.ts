// Integrates with the user's session: reports to systemd, opens the browser, and starts the tray with the desktop.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { reason } from '../core/errors.ts';
import { makeDirectory, readText, replaceFile } from '../core/files.ts';
import type { Paths } from './paths.ts';

interface Notifier {
  ready(status: string): void;
  stopping(): void;
}

/**
 * Creates a notifier for systemd (sd_notify(3)), which does nothing outside of systemd.
 * Node can't open datagram sockets of this protocol, so `systemd-notify` sends the messages. The unit therefore needs
 * NotifyAccess=all, and a watchdog period that is long compared with the cost of a process.
 */
export function createNotifier(env: NodeJS.ProcessEnv): Notifier {
  if (!env.NOTIFY_SOCKET) return { ready() {}, stopping() {} };
  const notify = (...words: string[]) => {
    const child = spawn('systemd-notify', words, { stdio: 'ignore', env: { NOTIFY_SOCKET: env.NOTIFY_SOCKET } });
    child.on('error', error => console.error(`culvert: systemd-notify failed: ${reason(error)}`));
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
 * Opens an address with xdg-open, which outlives this process.
 * @returns the reason why xdg-open did not start, or null.
 */
export function openInBrowser(address: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  if (!env.DISPLAY && !env.WAYLAND_DISPLAY) return Promise.resolve('there is no display');
  return new Promise(resolve => {
    const child = spawn('xdg-open', [address], { env, detached: true, stdio: 'ignore' });
    child.once('error', error => resolve(`xdg-open can't be started: ${reason(error)}`));
    child.once('spawn', () => resolve(null));
    child.unref();
  });
}

/** Marks Culvert's entry. A user's file of the same name is left unchanged. */
const MARK = 'X-Culvert-Autostart=true';

/**
 * Writes or removes the autostart entry.
 * @param program absolute path of `culvert`.
 * @param hidden true to start without the window.
 * @throws NodeJS.ErrnoException if the directory can't be written.
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

/** Quotes and escapes an argument of Exec, and doubles percent signs. */
function quote(argument: string): string {
  return `"${argument.replace(/[\\"`$]/g, '\\\\$&').replaceAll('%', '%%')}"`;
}
