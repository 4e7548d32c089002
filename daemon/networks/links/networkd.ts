// Reads the physical links of systemd-networkd and iwd. Pure.
import * as z from 'zod/mini';
import type { NetworkLink } from '../../api/networks.ts';
import { type Objects, propertiesOf } from './bus.ts';
import type { Link } from './links.ts';

export const NETWORKD = 'org.freedesktop.network1';
export const IWD = 'net.connman.iwd';

const Text = z.catch(z.optional(z.string()), undefined);

/** One interface in the JSON of the manager's `Describe` (systemd 250). */
const Interface = z.object({
  Name: z.string(),
  /** `ether`, `wlan`, `wwan` … */
  Type: z.string(),
  /** Name of a virtual type: `bridge`, `veth`, `tun` … Absent for hardware. */
  Kind: Text,
  OperationalState: Text,
  SSID: Text,
  BSSID: Text,
  NetworkFile: Text,
  /** DHCP option 114: the address of a login page (RFC 8910). */
  CaptivePortal: Text,
});
const Described = z.object({ Interfaces: z.array(z.unknown()) });

const KINDS: Readonly<Record<string, NetworkLink['kind']>> = { ether: 'ethernet', wlan: 'wifi', wwan: 'mobile' };
const UP = ['degraded', 'routable'];

/** @param json the text that `Describe` returned */
export function linksOfNetworkd(json: string): Link[] {
  const described = parsed(json);
  return described.flatMap((each): Link[] => {
    const { success, data } = z.safeParse(Interface, each);
    const kind = success ? KINDS[data.Type] : undefined;
    if (!data || !kind || data.Kind || !UP.includes(data.OperationalState ?? '')) return [];
    return [
      {
        ...NOTHING,
        device: data.Name,
        kind,
        name: kind === 'wifi' ? (data.SSID ?? null) : fileName(data.NetworkFile),
        bssid: data.BSSID?.toLowerCase() ?? null,
        connectivity: data.CaptivePortal ? 'portal' : null,
      },
    ];
  });
}

const NOTHING = { uuid: null, bssid: null, security: null, metered: null, connectivity: null };

function parsed(json: string): unknown[] {
  try {
    return z.parse(Described, JSON.parse(json)).Interfaces;
  } catch {
    return [];
  }
}

/** `/etc/systemd/network/20-home.network` -> `20-home` */
function fileName(path: string | undefined): string | null {
  return /([^/]+)\.network$/.exec(path ?? '')?.[1] ?? null;
}

const Device = z.object({ Name: z.string() });
const Station = z.object({ State: z.string(), ConnectedNetwork: Text, ConnectedAccessPoint: Text });
const Network = z.object({ Name: z.string(), Type: Text });
const AccessPoint = z.object({ Address: z.string() });
const SECURITY: Readonly<Record<string, NetworkLink['security']>> = {
  open: 'open',
  wep: 'wep',
  psk: 'psk',
  hotspot: 'enterprise',
  '8021x': 'enterprise',
};

/** @param objects of `GetManagedObjects` at / */
export function linksOfIwd(objects: Objects): Link[] {
  return [...objects.keys()].flatMap((path): Link[] => {
    const device = propertiesOf(objects, path, `${IWD}.Device`, Device);
    const station = propertiesOf(objects, path, `${IWD}.Station`, Station);
    if (!device || !station || !/^(connected|roaming)$/.test(station.State)) return [];
    const network = propertiesOf(objects, station.ConnectedNetwork, `${IWD}.Network`, Network);
    const point = propertiesOf(objects, station.ConnectedAccessPoint, `${IWD}.BasicServiceSet`, AccessPoint);
    return [
      {
        ...NOTHING,
        device: device.Name,
        kind: 'wifi',
        name: network?.Name ?? null,
        bssid: point?.Address.toLowerCase() ?? null,
        security: SECURITY[network?.Type ?? ''] ?? null,
      },
    ];
  });
}

/** Completes the links of networkd with what iwd reports about Wi-Fi. */
export function withIwd(links: readonly Link[], wifi: readonly Link[]): Link[] {
  const rest = wifi.filter(({ device }) => !links.some(each => each.device === device));
  const joined = links.map(link => {
    const station = wifi.find(({ device }) => device === link.device);
    if (!station) return link;
    const { name, bssid, security } = station;
    return { ...link, kind: 'wifi' as const, name: name ?? link.name, bssid: bssid ?? link.bssid, security };
  });
  return [...joined, ...rest];
}
