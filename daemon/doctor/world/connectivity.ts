// Reads from the network services whether a network gets through to the Internet, or has a login page.
import * as z from 'zod/mini';
import { as } from './bus.ts';
import type { World } from './world.ts';

/** NMConnectivityState. */
const Connectivity = z.int().check(z.gte(0), z.lte(4));
const CONNECTIVITY = ['unknown', 'none', 'portal', 'limited', 'full'] as const;

/** NetworkManager's view of the network, or null if it does not run. @throws Unknown */
export function connectivity(world: World): Promise<(typeof CONNECTIVITY)[number] | null> {
  return world.once('connectivity', async () => {
    const target = {
      service: 'org.freedesktop.NetworkManager',
      path: '/org/freedesktop/NetworkManager',
      interface: 'org.freedesktop.NetworkManager',
    };
    const [value] = (await world.bus.properties(target, ['Connectivity'])) ?? [];
    const state = as(Connectivity, value);
    return state === null ? null : (CONNECTIVITY[state] ?? null);
  });
}

/**
 * The service and the device of a link with a login page, which the network may have named itself (DHCP option 114); null
 * without one. A network names its page also after the login.
 */
export async function linkWithLogin(world: World): Promise<{ service: string; device: string } | null> {
  const links = await world.networkLinks().catch(() => []); // the state of NetworkManager counts all the same
  const link = links.find(each => each.connectivity === 'portal');
  // only connections of NetworkManager have a UUID
  return link ? { service: link.uuid === null ? 'systemd-networkd' : 'NetworkManager', device: link.device } : null;
}
