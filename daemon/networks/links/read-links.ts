// Reads all links once, from the network service that runs.
import { type Ask, objectsOf } from './bus.ts';
import { readGateways } from './gateways.ts';
import { type Link, normalize, type Reading } from './links.ts';
import { linksOfNetworkManager, NM } from './network-manager.ts';
import { IWD, linksOfIwd, linksOfNetworkd, NETWORKD, withIwd } from './networkd.ts';

const MANAGED = ['org.freedesktop.DBus.ObjectManager', 'GetManagedObjects'] as const;

/** NetworkManager's links where it has any; else those of systemd-networkd, of iwd, or of both. */
export async function readLinks(ask: Ask, gateways = readGateways): Promise<Reading> {
  const manager = objectsOf(await ask([NM, '/org/freedesktop', ...MANAGED]));
  const links = manager ? linksOfNetworkManager(manager) : [];
  if (links.length) return { service: 'NetworkManager', links: normalize(links, gateways()) };
  const [described, stations] = await Promise.all([
    ask([NETWORKD, '/org/freedesktop/network1', `${NETWORKD}.Manager`, 'Describe']),
    ask([IWD, '/', ...MANAGED]),
  ]);
  const wired = typeof described === 'string' ? linksOfNetworkd(described) : null;
  const stationObjects = objectsOf(stations);
  const wifi = stationObjects ? linksOfIwd(stationObjects) : null;
  const service = wired?.length ? 'systemd-networkd' : wifi?.length ? 'iwd' : serviceOf(manager, wired, wifi);
  return { service, links: normalize(withIwd(wired ?? [], wifi ?? []), gateways()) };
}

/** The service that runs and has no link. */
function serviceOf(manager: unknown, wired: Link[] | null, wifi: Link[] | null): Reading['service'] {
  return manager ? 'NetworkManager' : wired ? 'systemd-networkd' : wifi ? 'iwd' : null;
}
