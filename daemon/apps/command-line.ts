// Adapts an app's command line to the way it is started: its arguments, environment, and configuration files.
import { join } from 'node:path';
import type { PlacedWay, ShortcutWay } from '../api/schema.ts';
import type { Launchable } from './catalog.ts';
import type { Described } from './describe.ts';
import { expandFields, type Located, locateProgram, splitExec, text } from './desktop-entry.ts';
import { gioResolver } from './inspect-binary.ts';

export interface LocalProxy {
  host: '127.0.0.1';
  port: number;
  /** True if the proxy speaks HTTP as well as SOCKS5. */
  http: boolean;
}

interface Recipe {
  argv: string[];
  env: Record<string, string>;
  /** Files to write before the start. */
  files: { path: string; text: string }[];
}

/** Directories of app data. */
interface DataDirectories {
  home: string;
  /** Parent of native apps' profiles and proxychains4's configuration. */
  state: string;
}

/** The command line of a desktop entry, with the position of its program. */
export interface CommandLine {
  args: readonly string[];
  located: Located;
}

/** Returns an app's command line; null for an entry without Exec. @throws WordedError */
export function commandLineOf({ app, entry, path }: Launchable): CommandLine | null {
  const line = text(entry, 'Exec');
  if (!line) return null;
  const args = expandFields(splitExec(line), { name: app.name, icon: app.icon, file: path });
  return { args, located: locateProgram(args) };
}

/** Returns the recipe for an app whose `method` is not `none`. Pure, except that it looks up Gio's modules. */
export function recipeFor(
  app: Described,
  { args, located }: CommandLine,
  proxy: LocalProxy,
  directories: DataDirectories,
): Recipe {
  const [before, after] = [args.slice(0, located.at + 1), args.slice(located.at + 1)];
  const profile = profileOf(app, located, directories);
  switch (app.method) {
    case 'arguments': {
      const argv = [...before, ...chromiumSwitches(proxy, profile), ...after.filter(arg => !OVERRIDING.test(arg))];
      return app.kind === 'electron'
        ? withVariables({ argv, env: {}, files: [] }, app, located, proxy)
        : { argv, env: {}, files: [] };
    }
    case 'profile': {
      return {
        argv: [...before, '-profile', profile, ...otherThanProfile(after)],
        // a running instance with this variable opens no further windows
        env: { MOZ_NO_REMOTE: '' },
        files: [{ path: join(profile, 'user.js'), text: firefoxPreferences(proxy) }],
      };
    }
    case 'environment':
      return withVariables({ argv: [...args], env: {}, files: [] }, app, located, proxy);
    case 'proxychains': {
      const path = join(directories.state, `proxychains-${proxy.port}.conf`);
      return {
        argv: [...args.slice(0, located.at), 'proxychains4', '-q', '-f', path, ...args.slice(located.at)],
        env: {},
        files: [{ path, text: chainsConfiguration(proxy) }],
      };
    }
    case 'none':
      throw new TypeError('no way is known');
  }
}

/** Directories of browser profiles, relative to the state directory. */
const PROFILES: Readonly<Record<ShortcutWay, string>> = {
  proxy: 'profiles',
  'tunnel-only': 'profiles-tunnel',
  outside: 'profiles-outside',
};

/**
 * Returns the command line of an app that uses no proxy. A browser gets a separate profile for each way, because otherwise a
 * running instance would open the window.
 * @returns `profile` is null for an app that keeps its usual profile
 */
export function placedCommand(
  app: Described,
  { args, located }: CommandLine,
  { way, state }: { way: PlacedWay } & Pick<DataDirectories, 'state'>,
): { argv: string[]; env: Record<string, string>; profile: string | null } {
  const [before, after] = [args.slice(0, located.at + 1), args.slice(located.at + 1)];
  const profile = join(state, PROFILES[way], fileNameOf(app.id));
  if (app.kind === 'firefox')
    return { argv: [...before, '-profile', profile, ...otherThanProfile(after)], env: { MOZ_NO_REMOTE: '' }, profile };
  if (app.kind === 'chromium') {
    const others = after.filter(arg => !/^--?(user-data-dir|profile-directory)(=|$)/.test(arg));
    return { argv: [...before, `--user-data-dir=${profile}`, '--no-first-run', ...others], env: {}, profile };
  }
  return { argv: [...args], env: {}, profile: null };
}

/** Returns a safe file name for an id, different for different ids. */
export function fileNameOf(id: string): string {
  const plain = id.replace(/\.desktop$/, '');
  const safe = plain.replace(/[^A-Za-z0-9._-]/g, '_').replace(/^\.+/, '_');
  if (safe === plain && safe.length <= 150) return safe;
  let hash = 2166136261; // FNV-1a: keeps names different, and is not meant to be secure
  for (const byte of Buffer.from(id)) hash = Math.imul(hash ^ byte, 16777619);
  return `${safe.slice(0, 150)}-${(hash >>> 0).toString(16).padStart(8, '0')}`;
}

/** Returns the profile directory; for a sandboxed app, inside the directories that it can read. */
function profileOf({ id }: Described, { packaging, program }: Located, { home, state }: DataDirectories): string {
  if (packaging === 'flatpak') return join(home, '.var/app', fileNameOf(program!), 'data/culvert-proxy');
  if (packaging === 'snap') return join(home, 'snap', fileNameOf(program!.split('.')[0]!), 'common/culvert-proxy');
  return join(state, PROFILES.proxy, fileNameOf(id));
}

// ── Chromium and Electron ────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Uses a separate profile, because a running browser with the same profile would open the window and bypass the proxy.
 * Uses SOCKS5, so that the proxy resolves names; the rule stops the rest of the browser from resolving names (Chromium's
 * network settings document, "Preventing DNS leaks"). Loopback stays direct, Chromium's default.
 */
function chromiumSwitches({ host, port }: LocalProxy, profile: string): string[] {
  return [
    `--user-data-dir=${profile}`,
    `--proxy-server=socks5://${host}:${port}`,
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost , EXCLUDE *.localhost',
    '--disable-quic',
    // the switch's name since 2024, and its former name
    '--webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--no-first-run',
    '--no-default-browser-check',
  ];
}

/** The entry's own switches that would override ours: Chromium uses the last occurrence. */
const OVERRIDING =
  /^--?(user-data-dir|profile-directory|proxy-server|proxy-pac-url|proxy-auto-detect|proxy-bypass-list|no-proxy-server|host-resolver-rules|host-rules|enable-quic|(force-)?webrtc-ip-handling-policy)(=|$)/;

// ── Firefox ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const otherThanProfile = (args: readonly string[]) =>
  args.filter((arg, at) => !PROFILE_CHOICE.test(arg) && !/^--?(P|profile)$/.test(args[at - 1] ?? ''));

const PROFILE_CHOICE = /^--?(P|profile|no-remote|new-instance|ProfileManager|allow-downgrade)$/i;

/** Returns preferences for each start. Without them, Firefox looks up names of Mozilla's services outside the proxy. */
function firefoxPreferences({ host, port }: LocalProxy): string {
  const preferences: Record<string, string | number | boolean> = {
    'network.proxy.type': 1,
    'network.proxy.socks': host,
    'network.proxy.socks_port': port,
    'network.proxy.socks_version': 5,
    'network.proxy.socks_remote_dns': true,
    'network.proxy.socks5_remote_dns': true,
    'network.proxy.http': '',
    'network.proxy.http_port': 0,
    'network.proxy.ssl': '',
    'network.proxy.ssl_port': 0,
    'network.proxy.no_proxies_on': '',
    'network.proxy.autoconfig_url': '',
    // without it, Firefox bypasses a proxy that does not answer
    'network.proxy.failover_direct': false,
    // without it, Mozilla's own services bypass it (ServiceRequest.sys.mjs)
    'network.proxy.allow_bypass': false,
    'network.dns.disablePrefetch': true,
    'network.dns.disablePrefetchFromHTTPS': true,
    // 5: off by choice, because the proxy resolves names
    'network.trr.mode': 5,
    'network.connectivity-service.enabled': false,
    'network.captive-portal-service.enabled': false,
    'network.http.http3.enable': false,
    'media.peerconnection.ice.proxy_only': true,
    'browser.shell.checkDefaultBrowser': false,
  };
  const lines = Object.entries(preferences).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`,
  );
  return `// Written by Culvert at every start of this profile: it uses the local proxy alone.\n${lines.join('\n')}\n`;
}

// ── variables ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Adds the proxy variables: to Flatpak's options, because Flatpak clears the environment, or to the environment. */
function withVariables(recipe: Recipe, { family }: Described, { packaging, at }: Located, proxy: LocalProxy): Recipe {
  const variables = proxyVariables(proxy, family?.gio ?? false);
  if (packaging !== 'flatpak') return { ...recipe, env: { ...recipe.env, ...variables } };
  const options = Object.entries(variables).map(([name, value]) => `--env=${name}=${value}`);
  return { ...recipe, argv: [...recipe.argv.slice(0, at), ...options, ...recipe.argv.slice(at)] };
}

function proxyVariables({ host, port, http }: LocalProxy, gio: boolean): Record<string, string> {
  // libproxy does not support socks5h, and with socks5 the proxy resolves names, too
  const address = http ? `http://${host}:${port}` : `${gio ? 'socks5' : 'socks5h'}://${host}:${port}`;
  const direct = 'localhost,127.0.0.1,::1';
  const names = ['http_proxy', 'https_proxy', 'ftp_proxy', 'all_proxy'];
  return {
    ...Object.fromEntries(names.flatMap(name => [name, name.toUpperCase()]).map(name => [name, address])),
    no_proxy: direct,
    NO_PROXY: direct,
    // otherwise Gio reads the desktop's settings, as does libproxy, through plug-ins (0.4) or directly (0.5)
    ...(gio
      ? {
          GIO_USE_PROXY_RESOLVER: gioResolver() ?? 'libproxy',
          PX_MODULE_PATH: '/var/empty',
          PX_FORCE_CONFIG: 'config-env',
        }
      : {}),
  };
}

function chainsConfiguration({ host, port }: LocalProxy): string {
  return `# Written by Culvert.
strict_chain
proxy_dns
tcp_read_time_out 15000
tcp_connect_time_out 10000
localnet 127.0.0.0/255.0.0.0
[ProxyList]
socks5 ${host} ${port}
`;
}
