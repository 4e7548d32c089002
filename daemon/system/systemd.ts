// Notifies systemd under Type=notify: ready, stopping, and that the event loop still runs.
import { spawn } from 'node:child_process';

export interface Notifier {
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
  const tell = (...words: string[]) => {
    const child = spawn('systemd-notify', words, { stdio: 'ignore', env: { NOTIFY_SOCKET: env.NOTIFY_SOCKET } });
    child.on('error', error => console.error(`culvert: systemd-notify failed: ${error.message}`));
  };
  const periodMs = Number(env.WATCHDOG_USEC ?? 0) / 1000;
  let watchdog: NodeJS.Timeout | undefined;
  return {
    ready(status) {
      tell('--ready', `--status=${status}`);
      if (periodMs > 0) watchdog = setInterval(() => tell('WATCHDOG=1'), periodMs / 2);
    },
    stopping() {
      clearInterval(watchdog);
      tell('STOPPING=1');
    },
  };
}
