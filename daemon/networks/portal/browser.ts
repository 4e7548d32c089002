// Opens a page in a browser with a profile of its own, which is removed when the browser ends.
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const FIREFOX = ['firefox', 'firefox-esr'];
const CHROMIUM = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'brave-browser'];

/** The network's own name servers and plain HTTP lead to its login page; a proxy and encrypted DNS do not. */
const PREFERENCES = `user_pref("network.proxy.type", 0);
user_pref("network.trr.mode", 5);
user_pref("network.captive-portal-service.enabled", false);
user_pref("dom.security.https_only_mode", false);
user_pref("dom.security.https_first", false);
user_pref("browser.aboutwelcome.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
`;

/** @returns the words that start a browser with a profile in a directory; null where none is installed */
export function browserWords(path: string, profile: string, url: string): string[] | null {
  const firefox = FIREFOX.find(name => isOn(path, name));
  if (firefox) return [firefox, '--no-remote', '--new-instance', '--profile', profile, url];
  const chromium = CHROMIUM.find(name => isOn(path, name));
  const plain = ['--no-first-run', '--no-default-browser-check', '--no-proxy-server', '--incognito'];
  return chromium ? [chromium, `--user-data-dir=${profile}`, ...plain, url] : null;
}

function isOn(path: string, name: string): boolean {
  return path.split(delimiter).some(directory => {
    try {
      accessSync(join(directory, name), constants.X_OK);
      return directory.startsWith('/');
    } catch {
      return false;
    }
  });
}

export interface Browser {
  /** Resolves when the browser ended. */
  ended: Promise<void>;
  /** Ends it, if it still runs, and removes its profile. */
  close(): Promise<void>;
}

/** @param parent directory for the profile @returns null where there is no browser, or no display for one */
export function openBrowser(url: string, parent: string, env: NodeJS.ProcessEnv): Browser | null {
  if (!env.DISPLAY && !env.WAYLAND_DISPLAY) return null;
  const profile = mkdtempSync(join(parent, 'login-page-'));
  const remove = () => rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  const words = browserWords(env.PATH ?? '', profile, url);
  if (!words) {
    remove();
    return null;
  }
  writeFileSync(join(profile, 'user.js'), PREFERENCES);
  const child: ChildProcess = spawn(words[0]!, words.slice(1), { env, stdio: 'ignore', detached: true });
  const ended = new Promise<void>(resolve => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
  return {
    ended,
    async close() {
      try {
        if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
          process.kill(-child.pid, 'SIGTERM');
      } catch {
        // it has already ended
      }
      await ended;
      remove();
    },
  };
}
