// Finds the link to the internet outside the tunnel, the link's name servers and resolver, and the user at the screen.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { isResolver } from '../rules/outside.ts';
import { TUNNEL_INTERFACES } from '../rules/place.ts';
import { quoted } from '../rules/rules.ts';
import { defaultRoute, hardwareOf, hasIpv6Route, type Link, serversIn } from '../sign-in/link.ts';
import type { Presence } from '../sign-in/window.ts';
import { readText } from './files.ts';
import { call, property } from './system-bus.ts';

const NM = 'org.freedesktop.NetworkManager';
const RESOLVED = 'org.freedesktop.resolve1';
const LOGIN = 'org.freedesktop.login1';
/** ARPHRD_ETHER, which Wi-Fi devices have as well. */
const ETHERNET = '1';
/** Time limit for an answer. The window closes if logind fails to answer twice. */
const ANSWER_MS = 2_000;

/** @param bus the system bus */
export function createUplink(bus: Gio.DBusConnection) {
  const { ask, get } = askerOf(bus);

  /**
   * Returns the name servers in NetworkManager's lease. @throws GLib.Error without NetworkManager, or for a device that it does
   * not manage
   */
  async function serversOfManager(device: string): Promise<string[]> {
    const lease = await get(NM, await managedDevice(ask, device), `${NM}.Device`, 'Dhcp4Config');
    const options = await get(NM, String(lease), `${NM}.DHCP4Config`, 'Options');
    const { domain_name_servers: servers } = options as { domain_name_servers?: unknown };
    return serversIn(String(servers ?? '').split(/\s+/));
  }

  return {
    hasTunnel: () => TUNNEL_INTERFACES.some(name => exists(`/sys/class/net/${name}`)),
    link,
    isIpv6Only: () => link() === null && hasIpv6Route(text('/proc/net/ipv6_route'), isPhysical),
    async servers({ device, index, gateway }: Link): Promise<string[]> {
      const managed = await serversOfManager(device).catch(() => []);
      if (managed.length) return managed;
      // systemd-networkd's lease
      const lease = serversIn(
        (/^DNS=(.*)$/m.exec(text(`/run/systemd/netif/leases/${index}`)) ?? ['', ''])[1]!.split(/\s+/),
      );
      if (lease.length) return lease;
      // the resolv.conf of other DHCP clients, without resolvers on this machine
      const written = [...text('/etc/resolv.conf').matchAll(/^nameserver\s+(\S+)/gm)].map(([, server]) => server!);
      return serversIn([...written, gateway]);
    },
    /** Returns null if logind does not answer. */
    async presence(uid: number): Promise<Presence | null> {
      try {
        const [user] = await ask(
          LOGIN,
          '/org/freedesktop/login1',
          `${LOGIN}.Manager.GetUser`,
          new GLib.Variant('(u)', [uid]),
        );
        const ofUser = (key: string) => get(LOGIN, String(user), `${LOGIN}.User`, key);
        // the user's services may outlive all sessions
        if (!['online', 'active'].includes(String(await ofUser('State')))) return 'gone';
        const [, session] = (await ofUser('Display')) as [string, string];
        if (session === '/') return 'elsewhere';
        const isActive = await get(LOGIN, session, `${LOGIN}.Session`, 'Active');
        const isLocked = await get(LOGIN, session, `${LOGIN}.Session`, 'LockedHint');
        return isActive === true && isLocked === false ? 'active' : 'away';
      } catch (error) {
        return /NoSuchUser/.test(String(error)) ? 'gone' : null;
      }
    },
  };
}

function link(): Link | null {
  const route = defaultRoute(text('/proc/net/route'), isPhysical);
  const index = route && text(`/sys/class/net/${route.device}/ifindex`).trim();
  return route && index ? { ...route, index, hardware: hardwareOf(text('/proc/net/arp'), route) } : null;
}

function isPhysical(device: string): boolean {
  try {
    quoted(device);
  } catch {
    return false;
  }
  const directory = `/sys/class/net/${device}`;
  if (TUNNEL_INTERFACES.includes(device) || exists(`${directory}/bridge`) || exists(`${directory}/tun_flags`))
    return false;
  return text(`${directory}/type`).trim() === ETHERNET;
}

function exists(path: string): boolean {
  return GLib.file_test(path, GLib.FileTest.EXISTS);
}

/** Returns an empty text if the file can't be read. */
function text(path: string): string {
  try {
    return readText(path) ?? '';
  } catch {
    return '';
  }
}

/** Address families of systemd-resolved (AF_INET, AF_INET6). */
const FAMILIES = { 4: 2, 6: 10 } as const;
/** File of resolvers, unless WARP has replaced it. */
const RESOLV_CONF = '/etc/resolv.conf';

/** @param router router to ask if no resolver is known, since most routers answer as one. @returns null without a resolver */
export async function resolverOf(
  bus: Gio.DBusConnection,
  { device, router }: { device: string; router: string | null },
  family: 4 | 6,
): Promise<string | null> {
  const asker = askerOf(bus);
  const sources = [() => ofResolved(asker, device, family), () => ofNetworkManager(asker, device, family), ofFile];
  for (const source of sources) {
    const addresses = await source().catch(() => []);
    const address = addresses.find(other => isResolver(other, family));
    if (address) return address;
  }
  return router !== null && isResolver(router, family) ? router : null;
}

async function ofResolved({ ask, get }: Asker, device: string, family: 4 | 6): Promise<string[]> {
  const index = new GLib.Variant('(i)', [Number(readText(`/sys/class/net/${device}/ifindex`))]);
  const [path] = await ask(RESOLVED, '/org/freedesktop/resolve1', `${RESOLVED}.Manager.GetLink`, index);
  const servers = (await get(RESOLVED, String(path), `${RESOLVED}.Link`, 'DNS')) as [number, Uint8Array][];
  return servers.flatMap(([of, bytes]) =>
    of === FAMILIES[family] ? (Gio.InetAddress.new_from_bytes(bytes, of).to_string() ?? []) : [],
  );
}

async function ofNetworkManager({ ask, get }: Asker, device: string, family: 4 | 6): Promise<string[]> {
  const config = String(await get(NM, await managedDevice(ask, device), `${NM}.Device`, `Ip${family}Config`));
  if (family === 4) {
    const data = (await get(NM, config, `${NM}.IP4Config`, 'NameserverData')) as { address?: string }[];
    return data.flatMap(({ address }) => address ?? []);
  }
  const servers = (await get(NM, config, `${NM}.IP6Config`, 'Nameservers')) as Uint8Array[];
  return servers.flatMap(bytes => Gio.InetAddress.new_from_bytes(bytes, FAMILIES[6]).to_string() ?? []);
}

type Asker = ReturnType<typeof askerOf>;

/** Creates functions that ask services that already run. */
function askerOf(bus: Gio.DBusConnection) {
  return {
    ask: (name: string, path: string, method: string, body: GLib.Variant): Promise<unknown[]> =>
      call(bus, { name, path, method, body, reply: null, ms: ANSWER_MS, starts: false }) as Promise<unknown[]>,
    get: (name: string, path: string, of: string, key: string): Promise<unknown> =>
      property(bus, { name, path, of, key, ms: ANSWER_MS }),
  };
}

/** Returns the path of a device in NetworkManager. */
async function managedDevice(ask: Asker['ask'], device: string): Promise<string> {
  const name = new GLib.Variant('(s)', [device]);
  const [path] = await ask(NM, '/org/freedesktop/NetworkManager', `${NM}.GetDeviceByIpIface`, name);
  return String(path);
}

async function ofFile(): Promise<string[]> {
  const lines = (readText(RESOLV_CONF) ?? '').split('\n');
  return lines.flatMap(line => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? []);
}
