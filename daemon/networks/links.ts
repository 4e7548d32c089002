// Reads the links of this machine from NetworkManager, systemd-networkd and iwd, and their gateways from the kernel.
import { createSocket } from 'node:dgram';
import * as z from 'zod/mini';
import type { NetworkLink, NetworksState } from '../api/networks.ts';
import { readText } from '../core/files.ts';
import { parseJson } from '../core/shape.ts';
import { type Ask, IWD, NETWORKD, NM, type Objects, objectsOf, propertiesOf } from './bus.ts';

const MANAGED = ['org.freedesktop.DBus.ObjectManager', 'GetManagedObjects'] as const;

/**
 * Reads NetworkManager's links, and systemd-networkd's and iwd's links on devices that NetworkManager does not manage.
 * @throws Error if a running service does not answer
 */
export async function readLinks(ask: Ask, gateways = readGateways): Promise<Reading> {
  const [managed, described, stations] = await Promise.all([
    ask([NM, '/org/freedesktop', ...MANAGED]),
    ask([NETWORKD, '/org/freedesktop/network1', `${NETWORKD}.Manager`, 'Describe']),
    ask([IWD, '/', ...MANAGED]),
  ]);
  const [manager, stationObjects] = [objectsOf(managed), objectsOf(stations)];
  const links = manager ? linksOfNetworkManager(manager) : [];
  const taken = manager ? managedBy(manager) : new Set();
  const rest = (others: Link[]) => others.filter(({ device }) => !taken.has(device));
  const wired = typeof described === 'string' ? rest(linksOfNetworkd(described)) : null;
  const wifi = stationObjects ? rest(linksOfIwd(stationObjects)) : null;
  const services = [
    ['NetworkManager', manager && links],
    ['systemd-networkd', wired],
    ['iwd', wifi],
  ] as const;
  // the first service with a link, else the first running service
  const [service] = services.find(([, found]) => found?.length) ?? services.find(([, found]) => found) ?? [null];
  return { service, links: normalize([...links, ...withIwd(wired ?? [], wifi ?? [])], gateways()) };
}

/** A link as the network service reports it, without its gateway. */
type Link = Omit<NetworkLink, 'gateway' | 'gatewayHardware'>;

/** One reading of all links. */
export type Reading = Pick<NetworksState, 'service' | 'links'>;

/** Devices that are not networks, whatever type a service reports: the tunnel and the loopback device. */
const OWN = /^(CloudflareWARP|lo)$/;
const MAX_LINKS = 16;

/**
 * Returns the links in order of their devices, so that the same network always gives the same list.
 * @param gateways IPv4 default gateways by device
 */
export function normalize(links: readonly Link[], gateways: ReadonlyMap<string, Gateway>): NetworkLink[] {
  return links
    .filter(({ device }) => !OWN.test(device))
    .map(link => {
      const { address = null, hardware = null } = gateways.get(link.device) ?? {};
      return { ...link, gateway: address, gatewayHardware: hardware };
    })
    .sort((a, b) => (a.device < b.device ? -1 : 1))
    .slice(0, MAX_LINKS);
}

/** Returns the name of a Wi-Fi network, which may be any bytes; null for a hidden network. */
function ssidOf(bytes: readonly number[]): string | null {
  return bytes.length ? Buffer.from(bytes).toString('utf8') : null;
}

// a value of an unexpected type must not hide a link
const Text = z.catch(z.optional(z.string()), undefined);
const Int = z.catch(z.optional(z.number()), undefined);

const Device = z.object({
  Interface: z.string(),
  DeviceType: z.int(),
  State: z.int(),
  ActiveConnection: Text,
  Dhcp4Config: Text,
  Ip4Connectivity: Int,
  Metered: Int,
});
const Manager = z.object({ Connectivity: Int });
const Wireless = z.object({ ActiveAccessPoint: Text });
const Active = z.object({ Id: Text, Uuid: Text, SpecificObject: Text });
/** A lease with DHCP option 114, the address of a login page (RFC 8910). The key is from NetworkManager's nm-dhcp-options.c. */
const LoginLease = z.object({ Options: z.object({ default_url: z.object({ data: z.string() }) }) });
const AccessPoint = z.object({
  Ssid: z.catch(z.array(z.int()), []),
  HwAddress: Text,
  Flags: Int,
  WpaFlags: Int,
  RsnFlags: Int,
});

/** Kinds of the NMDeviceType values that are hardware. */
const KINDS: Readonly<Record<number, NetworkLink['kind']>> = {
  1: 'ethernet',
  2: 'wifi',
  5: 'other', // Bluetooth
  8: 'mobile',
};
/** NM_DEVICE_STATE_UNMANAGED and NM_DEVICE_STATE_ACTIVATED. */
const [UNMANAGED, ACTIVATED] = [10, 100];
/** NMConnectivityState; 0 is unknown. */
const CONNECTIVITY = [null, 'none', 'portal', 'limited', 'full'] as const;
/** NMMetered: yes, no, guessed yes, guessed no. */
const METERED: Readonly<Record<number, boolean>> = { 1: true, 2: false, 3: true, 4: false };
/** NM80211ApFlags and NM80211ApSecurityFlags. */
const PRIVACY = 0x1;
const [PSK, ENTERPRISE, SAE, SUITE_B] = [0x100, 0x200, 0x400, 0x2000];

/** Returns the interfaces that NetworkManager manages, whatever their state. @param objects reply of `GetManagedObjects` */
function managedBy(objects: Objects): ReadonlySet<string> {
  const devices = [...objects.keys()].map(path => propertiesOf(objects, path, `${NM}.Device`, Device));
  return new Set(devices.flatMap(device => (device && device.State > UNMANAGED ? [device.Interface] : [])));
}

/** @param objects reply of `GetManagedObjects` at /org/freedesktop */
export function linksOfNetworkManager(objects: Objects): Link[] {
  const manager = propertiesOf(objects, '/org/freedesktop/NetworkManager', NM, Manager);
  return [...objects.keys()].flatMap((path): Link[] => {
    const device = propertiesOf(objects, path, `${NM}.Device`, Device);
    const kind = device && KINDS[device.DeviceType];
    if (!device || !kind || device.State !== ACTIVATED) return [];
    const active = propertiesOf(objects, device.ActiveConnection, `${NM}.Connection.Active`, Active);
    const wireless = propertiesOf(objects, path, `${NM}.Device.Wireless`, Wireless);
    const pointPath = objects.has(wireless?.ActiveAccessPoint ?? '')
      ? wireless?.ActiveAccessPoint
      : active?.SpecificObject;
    // the lease names the login page even when the kill switch blocks NetworkManager's check, but also after the login
    const hasLogin = propertiesOf(objects, device.Dhcp4Config, `${NM}.DHCP4Config`, LoginLease) !== null;
    const checked = CONNECTIVITY[device.Ip4Connectivity || (manager?.Connectivity ?? 0)] ?? null;
    const point = wireless && propertiesOf(objects, pointPath, `${NM}.AccessPoint`, AccessPoint);
    return [
      {
        device: device.Interface,
        kind,
        name: kind === 'wifi' ? point && ssidOf(point.Ssid) : (active?.Id ?? null),
        uuid: active?.Uuid || null,
        bssid: point?.HwAddress?.toLowerCase() ?? null,
        security: point ? securityOf(point) : null,
        metered: METERED[device.Metered ?? 0] ?? null,
        connectivity: hasLogin && checked !== 'full' ? 'portal' : checked,
      },
    ];
  });
}

function securityOf({ Flags = 0, WpaFlags = 0, RsnFlags = 0 }: z.infer<typeof AccessPoint>): NetworkLink['security'] {
  const keys = WpaFlags | RsnFlags;
  if (keys & (PSK | SAE)) return 'psk'; // a network that also accepts enterprise is only as strong as its shared password
  if (keys & (ENTERPRISE | SUITE_B)) return 'enterprise';
  return keys === 0 && Flags & PRIVACY ? 'wep' : 'open';
}

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

const NETWORKD_KINDS: Readonly<Record<string, NetworkLink['kind']>> = {
  ether: 'ethernet',
  wlan: 'wifi',
  wwan: 'mobile',
};
const UP = ['degraded', 'routable'];

/** @param json reply of `Describe` */
function linksOfNetworkd(json: string): Link[] {
  return parsed(json).flatMap((each): Link[] => {
    const { success, data } = z.safeParse(Interface, each);
    const kind = success ? NETWORKD_KINDS[data.Type] : undefined;
    if (!data || !kind || data.Kind || !UP.includes(data.OperationalState ?? '')) return [];
    return [
      {
        ...unknownLink(data.Name),
        kind,
        name: kind === 'wifi' ? (data.SSID ?? null) : fileName(data.NetworkFile),
        bssid: data.BSSID?.toLowerCase() ?? null,
        connectivity: data.CaptivePortal ? 'portal' : null,
      },
    ];
  });
}

/** Returns a link with no known property but its device. */
export function unknownLink(device: string): NetworkLink {
  return {
    device,
    kind: 'other',
    name: null,
    uuid: null,
    gateway: null,
    gatewayHardware: null,
    bssid: null,
    security: null,
    metered: null,
    connectivity: null,
  };
}

function parsed(json: string): unknown[] {
  return z.safeParse(Described, parseJson(json)).data?.Interfaces ?? [];
}

/** `/etc/systemd/network/20-home.network` -> `20-home` */
function fileName(path: string | undefined): string | null {
  return /([^/]+)\.network$/.exec(path ?? '')?.[1] ?? null;
}

const IwdDevice = z.object({ Name: z.string() });
const Station = z.object({ State: z.string(), ConnectedNetwork: Text, ConnectedAccessPoint: Text });
const Network = z.object({ Name: z.string(), Type: Text });
const IwdAccessPoint = z.object({ Address: z.string() });
const SECURITY: Readonly<Record<string, NetworkLink['security']>> = {
  open: 'open',
  wep: 'wep',
  psk: 'psk',
  hotspot: 'enterprise',
  '8021x': 'enterprise',
};

/** @param objects reply of `GetManagedObjects` at / */
function linksOfIwd(objects: Objects): Link[] {
  return [...objects.keys()].flatMap((path): Link[] => {
    const device = propertiesOf(objects, path, `${IWD}.Device`, IwdDevice);
    const station = propertiesOf(objects, path, `${IWD}.Station`, Station);
    if (!device || !station || !/^(connected|roaming)$/.test(station.State)) return [];
    const network = propertiesOf(objects, station.ConnectedNetwork, `${IWD}.Network`, Network);
    const point = propertiesOf(objects, station.ConnectedAccessPoint, `${IWD}.BasicServiceSet`, IwdAccessPoint);
    return [
      {
        ...unknownLink(device.Name),
        kind: 'wifi',
        name: network?.Name ?? null,
        bssid: point?.Address.toLowerCase() ?? null,
        security: SECURITY[network?.Type ?? ''] ?? null,
      },
    ];
  });
}

/** Adds iwd's Wi-Fi properties to networkd's links, and iwd's links that networkd lacks. */
function withIwd(links: readonly Link[], wifi: readonly Link[]): Link[] {
  const rest = wifi.filter(({ device }) => !links.some(each => each.device === device));
  const joined = links.map(link => {
    const station = wifi.find(({ device }) => device === link.device);
    if (!station) return link;
    const { name, bssid, security } = station;
    return { ...link, kind: 'wifi' as const, name: name ?? link.name, bssid: bssid ?? link.bssid, security };
  });
  return [...joined, ...rest];
}

export interface Gateway {
  address: string;
  /** Null until a packet has been exchanged. */
  hardware: string | null;
}

/** Port of the discard service (RFC 863). */
const DISCARD = 9;

/** Sends an empty packet to a gateway, so that the kernel looks up its hardware address. Never throws. */
export function greetGateway(address: string): void {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  socket.on('error', () => {});
  socket.send('', DISCARD, address, () => socket.close());
}

const UP_AND_GATEWAY = 0x3;
const COMPLETE = 0x2;

/** @param root root directory, for tests */
function readGateways(root = ''): ReadonlyMap<string, Gateway> {
  return gatewaysOf(readText(`${root}/proc/net/route`) ?? '', readText(`${root}/proc/net/arp`) ?? '');
}

/**
 * Returns the gateway of each device with a default route; if there are several, the one with the lowest metric.
 * @param routes text of /proc/net/route, with hexadecimal addresses in the machine's byte order
 * @param neighbors text of /proc/net/arp
 */
export function gatewaysOf(routes: string, neighbors: string): ReadonlyMap<string, Gateway> {
  const hardwareOf = new Map(
    neighbors.split('\n').flatMap(line => {
      const [address, , flags, hardware, , device] = line.trim().split(/\s+/);
      return Number(flags) & COMPLETE ? [[`${device} ${address}`, hardware!.toLowerCase()] as const] : [];
    }),
  );
  const best = new Map<string, { metric: number; address: string }>();
  for (const line of routes.split('\n')) {
    const [device = '', destination, gateway = '', flags = '', , , metric, mask] = line.trim().split(/\s+/);
    const isDefault = destination === '00000000' && mask === '00000000';
    if (!isDefault || (Number.parseInt(flags, 16) & UP_AND_GATEWAY) !== UP_AND_GATEWAY) continue;
    const address = Buffer.from(gateway, 'hex').reverse().join('.');
    const before = best.get(device);
    if (!before || Number(metric) < before.metric) best.set(device, { metric: Number(metric), address });
  }
  return new Map(
    [...best].map(([device, { address }]) => [
      device,
      { address, hardware: hardwareOf.get(`${device} ${address}`) ?? null },
    ]),
  );
}
