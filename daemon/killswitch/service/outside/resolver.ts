// Finds the resolver of a link as it would be without the tunnel: systemd-resolved and NetworkManager keep it for each link.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { isResolver } from '../../outside/rules.ts';
import { call, property } from '../authorization.ts';
import { readText } from '../files.ts';

const MS = 2_000;
/** Address families of systemd-resolved (AF_INET, AF_INET6). */
const FAMILIES = { 4: 2, 6: 10 } as const;
/** File of resolvers, where WARP has not replaced it. */
const RESOLV_CONF = '/etc/resolv.conf';

/** @param router asked without a known resolver, since most routers answer as one. @returns null without any */
export async function resolverOf(
  bus: Gio.DBusConnection,
  { device, router }: { device: string; router: string | null },
  family: 4 | 6,
): Promise<string | null> {
  const sources = [() => ofResolved(bus, device, family), () => ofNetworkManager(bus, device, family), ofFile];
  for (const source of sources) {
    const addresses = await source().catch(() => []);
    const address = addresses.find(other => isResolver(other, family));
    if (address) return address;
  }
  return router !== null && isResolver(router, family) ? router : null;
}

async function ofResolved(bus: Gio.DBusConnection, device: string, family: 4 | 6): Promise<string[]> {
  const name = 'org.freedesktop.resolve1';
  const index = Number(readText(`/sys/class/net/${device}/ifindex`));
  const [path] = (await call(bus, {
    name,
    path: '/org/freedesktop/resolve1',
    method: `${name}.Manager.GetLink`,
    body: new GLib.Variant('(i)', [index]),
    reply: '(o)',
    ms: MS,
    starts: false,
  })) as [string];
  const servers = (await property(bus, { name, ms: MS, path, of: `${name}.Link`, key: 'DNS' })) as [
    number,
    Uint8Array,
  ][];
  return servers.flatMap(([of, bytes]) =>
    of === FAMILIES[family] ? (Gio.InetAddress.new_from_bytes(bytes, of).to_string() ?? []) : [],
  );
}

async function ofNetworkManager(bus: Gio.DBusConnection, device: string, family: 4 | 6): Promise<string[]> {
  const name = 'org.freedesktop.NetworkManager';
  const [path] = (await call(bus, {
    name,
    path: '/org/freedesktop/NetworkManager',
    method: `${name}.GetDeviceByIpIface`,
    body: new GLib.Variant('(s)', [device]),
    reply: '(o)',
    ms: MS,
    starts: false,
  })) as [string];
  const config = (await property(bus, {
    name,
    ms: MS,
    path,
    of: `${name}.Device`,
    key: `Ip${family}Config`,
  })) as string;
  if (family === 4) {
    const of = `${name}.IP4Config`;
    const data = (await property(bus, { name, ms: MS, path: config, of, key: 'NameserverData' })) as {
      address?: string;
    }[];
    return data.flatMap(({ address }) => address ?? []);
  }
  const of = `${name}.IP6Config`;
  const servers = (await property(bus, { name, ms: MS, path: config, of, key: 'Nameservers' })) as Uint8Array[];
  return servers.flatMap(bytes => Gio.InetAddress.new_from_bytes(bytes, FAMILIES[6]).to_string() ?? []);
}

async function ofFile(): Promise<string[]> {
  const lines = (readText(RESOLV_CONF) ?? '').split('\n');
  return lines.flatMap(line => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? []);
}
