// Reads the physical links of NetworkManager from its objects. Pure.
import * as z from 'zod/mini';
import type { NetworkLink } from '../../api/networks.ts';
import { type Objects, propertiesOf } from './bus.ts';
import { type Link, ssidOf } from './links.ts';

export const NM = 'org.freedesktop.NetworkManager';

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
/** A lease with DHCP option 114, the address of a login page (RFC 8910), which NetworkManager names as nm-dhcp-options.c does. */
const LoginLease = z.object({ Options: z.object({ default_url: z.object({ data: z.string() }) }) });
const AccessPoint = z.object({
  Ssid: z.catch(z.array(z.int()), []),
  HwAddress: Text,
  Flags: Int,
  WpaFlags: Int,
  RsnFlags: Int,
});

/** NMDeviceType: those that are hardware. */
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

/** Interfaces that NetworkManager manages, whatever their state. @param objects of `GetManagedObjects` */
export function managedBy(objects: Objects): ReadonlySet<string> {
  const devices = [...objects.keys()].map(path => propertiesOf(objects, path, `${NM}.Device`, Device));
  return new Set(devices.flatMap(device => (device && device.State > UNMANAGED ? [device.Interface] : [])));
}

/** @param objects of `GetManagedObjects` at /org/freedesktop */
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
    // a network names its page also after the login, and the kill switch blocks NetworkManager's own check
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
  if (keys & (PSK | SAE)) return 'psk'; // one that takes both is as strong as the shared password
  if (keys & (ENTERPRISE | SUITE_B)) return 'enterprise';
  return keys === 0 && Flags & PRIVACY ? 'wep' : 'open';
}
