// Checks name lookup in containers of Docker, whose default network leaves the tunnel client's DNS proxy out.
import { isIP } from 'node:net';
import { type ParseError, parse } from 'jsonc-parser';
import * as z from 'zod/mini';
import { N_ } from '../../../view/translator.ts';
import { type Check, message, notApplicable, notice, ok, Unknown } from '../../check.ts';
import { handlesDns, isConnected, modeOf, modeWord, vendorPage } from '../../world/facts.ts';
import { bridges } from '../../world/ip.ts';
import { LOCAL_PROXY, parseResolvConf } from '../../world/resolv-conf.ts';
import type { World } from '../../world/world.ts';
import { RESOLV_CONF_BYTES, readResolvConf } from '../dns/dns.ts';

const DEFAULT_NETWORK = /^docker\d+$/;
const CONFIG = '/etc/docker/daemon.json';
const Config = z.object({ dns: z.optional(z.array(z.string())) });
/** systemd-resolved for local programs; Docker then reads the other file (moby's libnetwork, resolvconf.Path). */
const STUB = '127.0.0.53';
const BEHIND_STUB = '/run/systemd/resolve/resolv.conf';
/** Docker's resolvers on a host with only loopback resolvers (docs.docker.com, "Networking overview"). */
const FALLBACK = ['8.8.8.8', '8.8.4.4'];

export const containerDns: Check = {
  id: 'dns-containers',
  title: N_('Name lookup in containers'),
  group: 'dns',
  source: vendorPage('troubleshooting/known-limitations/'),
  async probe(world) {
    const mode = modeOf(world);
    if (!handlesDns(mode)) return notApplicable(message('The mode is “%s”.', modeWord(mode)));
    if (!isConnected(world)) return notApplicable(message('The tunnel is not connected.'));
    const bridge = (await bridges(world)).find(({ ifname }) => DEFAULT_NETWORK.test(ifname));
    if (!bridge) return notApplicable(message('There is no default network of Docker.'));
    const configured = await configuredServers(world);
    if (configured.length > 0)
      return ok(message('%s gives containers these servers: %s', CONFIG, configured.join(', ')));
    const { file, servers } = await serversOfHost(world);
    const reachable = servers.filter(server => !isLoopback(server) && !LOCAL_PROXY.has(server));
    if (reachable.length > 0) return ok(message('%s gives containers these servers: %s', file, reachable.join(', ')));
    return notice(
      [
        message('%s names loopback addresses only: %s', file, servers.join(', ') || '–'),
        message('Containers in the network of %s ask %s instead.', bridge.ifname, FALLBACK.join(', ')),
      ],
      [
        message('Docker leaves the DNS server of WARP out of its default network.'),
        message(
          'Names of your organization or of the local network fail there. In a separate network, a container asks WARP: %s',
          'docker network create NAME',
        ),
      ],
    );
  },
};

/** Servers that an administrator has set for all containers. @throws Unknown */
async function configuredServers({ files }: World): Promise<string[]> {
  const text = await files.readText(CONFIG);
  if (text === null) return [];
  const errors: ParseError[] = [];
  const { data } = z.safeParse(Config, parse(text, errors, { allowTrailingComma: true }));
  if (errors.length > 0 || !data) throw new Unknown(message('%s is not understood.', CONFIG));
  // the file may hold secrets, so no other text of it is shown
  return (data.dns ?? []).filter(server => isIP(server) !== 0);
}

/** The file that Docker takes the servers from, and what it names. @throws Unknown */
async function serversOfHost(world: World): Promise<{ file: string; servers: string[] }> {
  const own = (await readResolvConf(world))?.nameservers ?? [];
  if (own.join() !== STUB) return { file: '/etc/resolv.conf', servers: own };
  const behind = await world.files.readText(BEHIND_STUB, RESOLV_CONF_BYTES);
  if (behind === null) return { file: '/etc/resolv.conf', servers: own };
  return { file: BEHIND_STUB, servers: parseResolvConf(behind, null).nameservers };
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}
