// Opens a page in a browser with a separate profile, and removes the profile when the browser ends.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findProgram, signalGroup } from '../../core/run-helper.ts';

/** Time limit for a browser to end when asked. */
const PATIENCE_MS = 2_000;
const FIREFOX = ['firefox', 'firefox-esr'];
const CHROMIUM = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'brave-browser'];

/** Preferences that lead to the login page: they use the network's own name servers and plain HTTP, and no encrypted DNS. */
const PREFERENCES = `user_pref("network.trr.mode", 5);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("dom.security.https_only_mode", false);
user_pref("dom.security.https_first", false);
user_pref("browser.aboutwelcome.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
`;

/** Returns proxy preferences. With the kill switch on, the root service's helper is the proxy, and only it looks names up. */
const proxyPreferences = (port: number | null) =>
  port === null
    ? 'user_pref("network.proxy.type", 0);\n'
    : `user_pref("network.proxy.type", 1);
user_pref("network.proxy.socks", "127.0.0.1");
user_pref("network.proxy.socks_port", ${port});
user_pref("network.proxy.socks_version", 5);
user_pref("network.proxy.socks_remote_dns", true);
user_pref("network.proxy.socks5_remote_dns", true);
user_pref("network.proxy.no_proxies_on", "");
user_pref("network.proxy.failover_direct", false);
user_pref("network.proxy.allow_bypass", false);
user_pref("network.dns.disablePrefetch", true);
user_pref("network.http.http3.enable", false);
user_pref("media.peerconnection.enabled", false);
`;

const proxyWords = (port: number | null) =>
  port === null
    ? ['--no-proxy-server']
    : [
        `--proxy-server=socks5://127.0.0.1:${port}`,
        '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
        '--proxy-bypass-list=<-loopback>',
        '--disable-quic',
        '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
        '--disable-background-networking',
      ];

/**
 * @param port port of a SOCKS5 proxy
 * @returns the words that start a browser with a profile directory; null if none is installed
 */
export function browserWords(path: string, profile: string, url: string, port: number | null = null): string[] | null {
  const firefox = FIREFOX.find(name => findProgram(name, path));
  if (firefox) return [firefox, '--no-remote', '--new-instance', '--profile', profile, url];
  const chromium = CHROMIUM.find(name => findProgram(name, path));
  const plain = ['--no-first-run', '--no-default-browser-check', ...proxyWords(port), '--incognito'];
  return chromium ? [chromium, `--user-data-dir=${profile}`, ...plain, url] : null;
}

export interface Browser {
  /** Resolves when the browser has ended. */
  ended: Promise<void>;
  /** Ends the browser, if it still runs, and removes its profile. */
  close(): Promise<void>;
}

/**
 * @param parent directory for the profile
 * @param port port of a SOCKS5 proxy
 * @returns null if there is no browser, or no display for it
 */
export function openBrowser(
  url: string,
  parent: string,
  env: NodeJS.ProcessEnv,
  port: number | null = null,
): Browser | null {
  if (!env.DISPLAY && !env.WAYLAND_DISPLAY) return null;
  const profile = mkdtempSync(join(parent, 'login-page-'));
  const remove = () => rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  const words = browserWords(env.PATH ?? '', profile, url, port);
  if (!words) {
    remove();
    return null;
  }
  writeFileSync(join(profile, 'user.js'), PREFERENCES + proxyPreferences(port));
  const child: ChildProcess = spawn(words[0]!, words.slice(1), { env, stdio: 'ignore', detached: true });
  const ended = new Promise<void>(resolve => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
  const signal = (name: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) signalGroup(child, name);
  };
  return {
    ended,
    async close() {
      signal('SIGTERM');
      await Promise.race([ended, delay(PATIENCE_MS, undefined, { ref: false })]);
      signal('SIGKILL');
      await ended;
      remove();
    },
  };
}
