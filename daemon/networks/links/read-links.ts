// Reads all links once, from the network services that run.
import { type Ask, objectsOf } from './bus.ts';
import { readGateways } from './gateways.ts';
import { type Link, normalize, type Reading } from './links.ts';
import { linksOfNetworkManager, managedBy, NM } from './network-manager.ts';
import { IWD, linksOfIwd, linksOfNetworkd, NETWORKD, withIwd } from './networkd.ts';

const MANAGED = ['org.freedesktop.DBus.ObjectManager', 'GetManagedObjects'] as const;

/**
 * NetworkManager's links, and those of systemd-networkd and iwd on devices that it does not manage.
 * @throws Error where a service that runs does not answer
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
  // the first one with a link, else the first one that runs
  const [service] = services.find(([, found]) => found?.length) ?? services.find(([, found]) => found) ?? [null];
  return { service, links: normalize([...links, ...withIwd(wired ?? [], wifi ?? [])], gateways()) };
}
