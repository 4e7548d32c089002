// Finds the link to the internet outside the tunnel, the name servers that its network named, and the user at the screen.
import type Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { TUNNEL_INTERFACES } from '../../rules/place.ts';
import { quoted } from '../../rules/rules.ts';
import { defaultRoute, hardwareOf, hasIpv6Route, type Link, serversIn } from '../../sign-in/link.ts';
import type { Presence } from '../../sign-in/window-edges.ts';
import { call, property } from '../authorization.ts';
import { readText } from '../files.ts';

const NM = 'org.freedesktop.NetworkManager';
const LOGIN = 'org.freedesktop.login1';
/** ARPHRD_ETHER, which Wi-Fi has as well. */
const ETHERNET = '1';
/** A logind that twice does not answer closes the window. */
const ANSWER_MS = 2_000;

export function createUplink(bus: Gio.DBusConnection) {
  const ask = (name: string, path: string, method: string, body: GLib.Variant): Promise<unknown[]> =>
    call(bus, { name, path, method, body, reply: null, ms: ANSWER_MS, starts: false }) as Promise<unknown[]>;

  const get = (name: string, path: string, of: string, key: string) =>
    property(bus, { name, path, of, key, ms: ANSWER_MS });

  /** Name servers in the lease of NetworkManager. @throws GLib.Error without NetworkManager, or where it has another one */
  async function serversOfManager(device: string): Promise<string[]> {
    const [path] = await ask(
      NM,
      '/org/freedesktop/NetworkManager',
      `${NM}.GetDeviceByIpIface`,
      new GLib.Variant('(s)', [device]),
    );
    const lease = await get(NM, String(path), `${NM}.Device`, 'Dhcp4Config');
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
      // the file of other DHCP clients; a resolver of this machine's own is not among them
      const written = [...text('/etc/resolv.conf').matchAll(/^nameserver\s+(\S+)/gm)].map(([, server]) => server!);
      return serversIn([...written, gateway]);
    },
    /** Null if logind does not answer. */
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
  const place = `/sys/class/net/${device}`;
  if (TUNNEL_INTERFACES.includes(device) || exists(`${place}/bridge`) || exists(`${place}/tun_flags`)) return false;
  return text(`${place}/type`).trim() === ETHERNET;
}

function exists(path: string): boolean {
  return GLib.file_test(path, GLib.FileTest.EXISTS);
}

/** Empty if it can't be read. */
function text(path: string): string {
  try {
    return readText(path) ?? '';
  } catch {
    return '';
  }
}
