// Checks packet sizes: bridges with larger packets than the tunnel's, and paths with smaller packets than it needs.
import type { Message } from '../../api/values.ts';
import { N_ } from '../../view/translator.ts';
import { type Check, type Finding, labeled, message, notApplicable, notice, ok, problem, quoted } from '../check.ts';
import { fileFix } from '../file-fix.ts';
import { modeOf, modeWord, protocolOf, routesTraffic, tunnelOf, vendorPage } from '../world/facts.ts';
import { bridges, ingress, type Link, learnedMtu, tunnelLink, uplink } from '../world/ip.ts';
import { quicProbe } from '../world/network.ts';
import type { World } from '../world/world.ts';

const DOCKER_CONFIG = '/etc/docker/daemon.json';
/** Names of the bridges that Docker makes. */
const DOCKER = /^(docker|br-)/;

export const bridgeMtu: Check = {
  id: 'bridge-mtu',
  title: N_('Packet size of container and VM bridges'),
  group: 'network',
  source: vendorPage('troubleshooting/known-limitations/#docker-on-linux'),
  async probe(world) {
    const all = await bridges(world);
    if (all.length === 0) return notApplicable(message('There is no bridge of containers or virtual machines.'));
    const tunnel = await tunnelLink(world);
    if (!tunnel) return notApplicable(message('The tunnel has no interface now.'));
    const large = all.filter(({ mtu }) => mtu > tunnel.mtu);
    const evidence = all.map(({ ifname, mtu }) =>
      message('%s: MTU %s; the tunnel has %s', ifname, String(mtu), String(tunnel.mtu)),
    );
    if (large.length === 0) return ok(...evidence);
    const docker = large.some(({ ifname }) => DOCKER.test(ifname));
    const fix = docker ? await dockerFix(world, tunnel.mtu) : null;
    return problem(
      evidence,
      [
        message('Large transfers from containers can hang, because their packets do not fit into the tunnel.'),
        ...(docker && !fix ? [message('For Docker: %s.', `"mtu": ${tunnel.mtu} in ${DOCKER_CONFIG}`)] : []),
        ...adviceFor(large),
      ],
      fix,
    );
  },
};

function adviceFor(large: readonly Link[]): Message[] {
  const names = large.map(({ ifname }) => ifname).join(' ');
  const advice = [
    /docker|br-/.test(names) && message('Existing Docker networks keep their size until you recreate them.'),
    /podman|cni/.test(names) && message('For Podman: %s.', 'podman network create --opt mtu=1280 NAME'),
    /virbr/.test(names) && message('For libvirt: virsh net-edit NETWORK, and add <mtu size="1280"/>.'),
    /lxc|lxd|incus/.test(names) && message('For LXD and Incus: set bridge.mtu of the network.'),
  ];
  return advice.filter(each => each !== false);
}

/** Returns a fix that sets the size for Docker's default bridge and new networks. */
async function dockerFix(world: World, mtu: number) {
  const before = await world.files.readText(DOCKER_CONFIG).catch(() => undefined);
  // other settings of the file may be secret, and a fix shows the whole text that it writes
  if (before === undefined || !/^\s*(?:\{\s*\})?\s*$/.test(before ?? '')) return null;
  const networks = { bridge: { 'com.docker.network.driver.mtu': String(mtu) } };
  const content = `${JSON.stringify({ mtu, 'default-network-opts': networks }, null, 2)}\n`;
  return fileFix(message('Set the packet size of Docker to %s', String(mtu)), DOCKER_CONFIG, { before, content });
}

/** Smallest path MTU for full function over IPv4 (documented: "MTU requirements"). */
const NEEDED = { MASQUE: 1361, WireGuard: 1340 } as const;
/** Smallest path MTU that the client can adapt to. */
const MIN_MTU = 1281;
const MAX_MTU = 1500;
const HEADERS = 28;
const PROBES = 6;
const PROBE_MS = 900;

export const pathMtu: Check = {
  id: 'path-mtu',
  title: N_('Packet size of the path to Cloudflare'),
  group: 'network',
  source: vendorPage('deployment/mdm-deployment/path-mtu-discovery/'),
  limitMs: 12_000,
  async probe(world, signal) {
    if (!routesTraffic(modeOf(world))) return notApplicable(message('The mode is “%s”.', modeWord(modeOf(world))));
    const target = ingress(world);
    const [link, cachedMtu] = await Promise.all([uplink(world), learnedMtu(world, 'once')]);
    if (!link) return notApplicable(message('There is no default route.'));
    const evidence = [quoted(`${link.ifname}: MTU ${link.mtu}`)];
    if (cachedMtu) evidence.push(message('the kernel has learned a path MTU of %s to %s', String(cachedMtu), target));
    let path = Math.min(link.mtu, cachedMtu ?? link.mtu);
    if (world.online) {
      const measured = await measure(world, { host: target, largest: Math.min(path, MAX_MTU) }, signal);
      evidence.push(
        measured === null
          ? message('%s answered no probe', target)
          : message('packets of %s bytes reach %s', String(measured), target),
      );
      if (measured !== null) path = Math.min(path, measured);
    }
    return judge(world, path, evidence);
  },
};

function judge(world: World, path: number, evidence: Message[]): Finding {
  const protocol = protocolOf(tunnelOf(world)) ?? 'MASQUE';
  const needed = NEEDED[protocol];
  if (path >= needed) return ok(...evidence);
  const explanation = [
    message('%s needs packets of %s bytes to work fully.', protocol, String(needed)),
    message(
      'Larger packets are lost on the way, so pages hang while small requests work. This is common with PPPoE, mobile networks and WSL2.',
    ),
  ];
  if (path < MIN_MTU)
    return problem(evidence, [
      ...explanation,
      message('Below %s bytes the client cannot adapt automatically.', String(MIN_MTU)),
    ]);
  const { managed, registered } = tunnelOf(world).account;
  const wireGuardFits = protocol === 'MASQUE' && path >= NEEDED.WireGuard && managed === false && registered === true;
  return notice(
    evidence,
    explanation,
    wireGuardFits
      ? {
          kind: 'action',
          ...labeled(message('Use WireGuard, which needs less')),
          actions: [{ action: 'setProtocol', value: 'WireGuard' }],
          undo: [{ action: 'setProtocol', value: 'MASQUE' }],
        }
      : null,
  );
}

/**
 * Finds the largest packet that gets an answer, by binary search; null if even a small packet gets no answer. Linux sends
 * datagrams that fit the known path with "don't fragment", so a larger packet is lost, or the kernel learns the path MTU.
 */
async function measure(
  world: World,
  { host, largest }: { host: string; largest: number },
  signal: AbortSignal,
): Promise<number | null> {
  const fits = async (bytes: number) =>
    (await world.network.datagram({ host, port: 443 }, quicProbe(bytes - HEADERS), PROBE_MS, signal)) === 'answered';
  let [low, high] = [MIN_MTU - 1, largest];
  if (!(await fits(low))) return null;
  if (await fits(high)) return (await learnedMtu(world, 'again')) ?? high;
  for (let probe = 2; probe < PROBES + 2 && high - low > 4; probe++) {
    const middle = (low + high) >> 1;
    if (await fits(middle)) low = middle;
    else high = middle;
  }
  return (await learnedMtu(world, 'again')) ?? low;
}
