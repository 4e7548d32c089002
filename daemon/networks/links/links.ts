// Puts the links that a network service reported into one form and order. Pure.
import type { NetworkLink, NetworksState } from '../../api/networks.ts';
import type { Gateway } from './gateways.ts';

/** A link as the network service reports it, without its gateway. */
export type Link = Omit<NetworkLink, 'gateway' | 'gatewayHardware'>;

/** One reading of all links. */
export type Reading = Pick<NetworksState, 'service' | 'links'>;

/** The tunnel's own device, whatever a service takes it for. */
const OWN = /^(CloudflareWARP|lo)$/;
const MAX_LINKS = 16;

/**
 * The links in order of their devices, so that the same network always gives the same list.
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

/** The name of a Wi-Fi network, which is any bytes; null for a hidden one. */
export function ssidOf(bytes: readonly number[]): string | null {
  return bytes.length ? Buffer.from(bytes).toString('utf8') : null;
}
