// Defines the wire types of the networks that this machine is on.
import * as z from 'zod/mini';

/** One physical link that is up. Bridges, tunnels and other virtual devices have none. */
export const NetworkLink = z.object({
  device: z.string(),
  kind: z.enum(['wifi', 'ethernet', 'mobile', 'other']),
  /** The SSID of a Wi-Fi network; otherwise the name of the connection, where there is one. */
  name: z.nullable(z.string()),
  /** Identifies the connection in NetworkManager. */
  uuid: z.nullable(z.string()),
  /** Address of the IPv4 default gateway, and its hardware address. */
  gateway: z.nullable(z.string()),
  gatewayHardware: z.nullable(z.string()),
  /** Hardware address of the Wi-Fi access point. */
  bssid: z.nullable(z.string()),
  /** `psk` has a password that all users share, `enterprise` one for each user. Null where nothing reports it. */
  security: z.nullable(z.enum(['open', 'wep', 'psk', 'enterprise'])),
  metered: z.nullable(z.boolean()),
  /** As the network service sees it. */
  connectivity: z.nullable(z.enum(['none', 'portal', 'limited', 'full'])),
});
export type NetworkLink = z.infer<typeof NetworkLink>;

export const NetworkService = z.enum(['NetworkManager', 'systemd-networkd', 'iwd']);
export type NetworkService = z.infer<typeof NetworkService>;

/** The networks as they are followed now. */
export const NetworksState = z.object({
  /** The service that reported the links; null where none runs. */
  service: z.nullable(NetworkService),
  links: z.array(NetworkLink),
});
export type NetworksState = z.infer<typeof NetworksState>;

export const Networks = z.extend(NetworksState, { ok: z.literal(true) });
export type Networks = z.infer<typeof Networks>;
