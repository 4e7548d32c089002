// Checks reachability: ports to Cloudflare, login pages of networks, and a tunnel that carries nothing.
import type { Fix } from '../../api/doctor.ts';
import type { Snapshot } from '../../api/schema.ts';
import type { Message } from '../../api/values.ts';
import { programs } from '../../system/installation.ts';
import { networkFailure } from '../../view/message.ts';
import {
  HTTP2_SINCE,
  isHttp2Only,
  isOrganizations,
  knowsHttp2,
  offersHttp2,
  usesHttp2,
  versionsIn,
} from '../../view/states/http2.ts';
import { N_ } from '../../view/translator.ts';
import { type Check, type Finding, labeled, message, notApplicable, notice, ok, problem, quoted } from '../check.ts';
import {
  connectivity,
  isConnected,
  linkWithLogin,
  modeOf,
  modeWord,
  protocolOf,
  RECONNECT,
  routesTraffic,
  tunnelOf,
  vendorPage,
} from '../world/facts.ts';
import { TUNNEL_LINK, uplink } from '../world/ip.ts';
import { quicProbe, type Reached } from '../world/network.ts';
import type { World } from '../world/world.ts';

const PROBE_MS = 2_500;
/** A second server: the first server's silence alone must not look like a blocked port. */
const CONTROL = '1.1.1.1';

export const reachability: Check = {
  id: 'reachability',
  title: N_('Ports to Cloudflare'),
  group: 'network',
  source: vendorPage('deployment/firewall/'),
  async probe(world, signal) {
    if (!world.online) return withoutAsking(world);
    const { tunnel } = world.targets;
    const datagram = (host: string, port: number) =>
      world.network.datagram({ host, port }, quicProbe(), PROBE_MS, signal);
    const [quic, control, tcp, wireguard, fallback] = await Promise.all([
      datagram(tunnel, 443),
      datagram(CONTROL, 443),
      world.network.connection({ host: tunnel, port: 443 }, PROBE_MS, signal),
      datagram(tunnel, 2408),
      datagram(tunnel, 500),
    ]);
    const udp = quic === 'answered' || control === 'answered';
    const evidence = [
      word('UDP 443', udp ? 'answered' : quic),
      word('TCP 443', tcp),
      wordOfWireGuard('UDP 2408', wireguard),
      wordOfWireGuard('UDP 500', fallback),
    ];
    // a tunnel that is connected has another server, which answers
    if (udp && tcp !== 'answered' && world.tunnel && !isConnected(world) && usesHttp2(world.tunnel))
      return problem(
        evidence,
        message('The tunnel uses TCP 443, over which %s does not answer.', tunnel),
        allowHttp3(world.tunnel),
      );
    if (udp) return ok(...evidence);
    if (tcp === 'answered') return blockedUdp(world, evidence);
    return problem(
      evidence,
      message(
        'Cloudflare cannot be reached at %s, neither over UDP nor over TCP. Check the network itself, its firewall and its login page.',
        tunnel,
      ),
    );
  },
};

/** Says how the tunnel gets through where only TCP does. */
function blockedUdp(world: World, evidence: Message[]): Finding {
  const { tunnel } = world;
  if (tunnel && usesHttp2(tunnel))
    return ok(...evidence, message('UDP is blocked, but MASQUE uses HTTP/2 over TCP, which needs no UDP'));
  const blocked = message('This network blocks UDP, which the tunnel uses.');
  const fix = tunnel && useTcp(tunnel);
  if (fix) return problem(evidence, [blocked, message('MASQUE can use HTTP/2 over TCP instead.')], fix);
  if (tunnel && !knowsHttp2(tunnel))
    return problem(evidence, [
      blocked,
      message('Update WARP: from version %s on it can use HTTP/2 over TCP instead.', HTTP2_SINCE),
    ]);
  return problem(evidence, [
    blocked,
    message('MASQUE can use HTTP/2 over TCP instead. In an organization, its administrator decides that.'),
  ]);
}

/** Returns the fix that makes MASQUE use HTTP/2 alone, also from WireGuard; null where this user or release can't. */
function useTcp(tunnel: Snapshot): Fix | null {
  const isWireGuard = protocolOf(tunnel) === 'WireGuard';
  const asMasque = { ...tunnel, settings: { ...tunnel.settings, 'WARP tunnel protocol': 'MASQUE' } };
  if (!offersHttp2(isWireGuard ? asMasque : tunnel)) return null;
  const isHttp3Only = versionsIn(tunnel.options.masque) === 'HTTP/3';
  return {
    kind: 'action',
    ...labeled(message('Use HTTP/2 over TCP')),
    actions: [
      { action: 'setMasqueOptions', value: 'h2-only' },
      ...(isWireGuard ? [{ action: 'setProtocol', value: 'MASQUE' } as const] : []),
    ],
    undo: [
      isHttp3Only ? { action: 'setMasqueOptions', value: 'h3-only' } : { action: 'resetMasqueOptions' },
      ...(isWireGuard ? [{ action: 'setProtocol', value: 'WireGuard' } as const] : []),
    ],
  };
}

/** Returns the fix that lets MASQUE use HTTP/3 as well; null where HTTP/2 is not the user's choice. */
function allowHttp3(tunnel: Snapshot): Fix | null {
  if (!isHttp2Only(tunnel) || isOrganizations(tunnel)) return null;
  return {
    kind: 'action',
    ...labeled(message('Allow HTTP/3 again')),
    actions: [{ action: 'resetMasqueOptions' }],
    undo: [{ action: 'setMasqueOptions', value: 'h2-only' }],
  };
}

const LOOKING = /happy ?eyeballs|establishing/i;
const LOOKING_MS = 30_000;

/** Judges a tunnel that finds no server by its state alone. */
function withoutAsking(world: World): Finding {
  const asks = message('This check contacts Cloudflare, so it runs with --online only.');
  const { tunnel } = world;
  if (!tunnel || tunnel.tunnelCli.emulated) return notApplicable(asks);
  const { state, reason, since } = tunnel.status;
  const isLooking = LOOKING.test(`${reason?.code ?? ''} ${reason?.text ?? ''}`);
  const seconds = Math.round((world.now() - Date.parse(since)) / 1000);
  const isLong = state === 'unable' || (state === 'connecting' && seconds * 1000 >= LOOKING_MS);
  if (!isLooking || !isLong) return notApplicable(asks);
  return notice(
    [message('%s, for %d s', reason?.text ?? '?', seconds)],
    [
      usesHttp2(tunnel)
        ? message('WARP finds no way to Cloudflare. A network that blocks TCP 443 has this effect.')
        : message('WARP finds no way to Cloudflare. A network that blocks UDP has this effect.'),
      message('To ask the ports, run: %s', 'culvert doctor --online'),
    ],
    usesHttp2(tunnel) ? allowHttp3(tunnel) : useTcp(tunnel),
  );
}

const WORDS = {
  answered: N_('%s: open'),
  refused: N_('%s: rejected'),
  silent: N_('%s: no answer'),
  unreachable: N_('%s: no route'),
};

function word(port: string, reached: Reached): Message {
  return message(WORDS[reached], port);
}

/** Describes silence as no proof: a WireGuard server answers only known peers. */
function wordOfWireGuard(port: string, reached: Reached): Message {
  return reached === 'silent'
    ? message('%s: not rejected (WireGuard does not answer strangers)', port)
    : word(port, reached);
}

export const captivePortal: Check = {
  id: 'captive-portal',
  title: N_('Login page of this network'),
  group: 'network',
  source: vendorPage('configure/settings/captive-portals/'),
  cheap: true,
  limitMs: 30_000,
  async probe(world, signal) {
    // a request for a page replaces NetworkManager's answer
    const state = await connectivity(world).catch(error => {
      if (world.online) return null;
      throw error;
    });
    if (state === 'portal') return portal(world, message('NetworkManager reports a login page.'));
    const isOpen = isConnected(world) || (state === 'full' && !isBlocking(world));
    // without a blocking kill switch, the answer of a page says more than a name from DHCP
    const link = isOpen || (world.online && !isBlocking(world)) ? null : await linkWithLogin(world);
    if (link) return notice([quoted(`${link.service}: ${link.device} portal`)], explanation(world), SIGN_IN);
    if (world.online) return askPage(world, signal);
    if (state === 'none')
      return problem([message('NetworkManager reports no connection.')], message('This machine has no network.'));
    if (state === null)
      return notApplicable(message('NetworkManager does not run; with --online a page is asked instead.'));
    // distrust even a full connection: NetworkManager may have seen it before the kill switch was on
    if (isBlocking(world) && (!isConnected(world) || state !== 'full'))
      return unseen(message('NetworkManager reports: %s', state));
    return ok(message('NetworkManager reports: %s', state));
  },
};

async function askPage(world: World, signal: AbortSignal) {
  const link = await uplink(world).catch(() => undefined);
  const localAddress = link?.addr_info.find(({ family, scope }) => family === 'inet' && scope === 'global')?.local;
  const url = world.targets.portal;
  const page = await world.network
    .page(url, { signal, ...(localAddress ? { localAddress } : {}) })
    .catch((error: Error) => error);
  const failure = page instanceof Error ? (networkFailure(page, url) ?? quoted(`${url}: ${page.message}`)) : null;
  if (failure && isBlocking(world)) return unseen(failure);
  if (page instanceof Error) return notice([failure!], message('The page that detects login pages cannot be read.'));
  if (page.status === 204) return ok(message('%s answered as expected', url));
  return portal(
    world,
    page.location
      ? message('%s answered %s and redirects to %s', url, String(page.status), page.location)
      : message('%s answered %s', url, String(page.status)),
  );
}

const isBlocking = ({ tunnel }: World) => tunnel?.killSwitch.active === true;

/** Reports that the kill switch blocks requests for the login page, including NetworkManager's. */
function unseen(evidence: Message) {
  return notice(
    [evidence],
    message(
      'The kill switch blocks the test for a login page. If WARP does not connect here, sign in with a browser that the kill switch lets out.',
    ),
    SIGN_IN,
  );
}

/** Fix that the user's systemd runs, because a sign-in takes minutes. */
const SIGN_IN: Fix = {
  kind: 'commands',
  ...labeled(message('Sign in to this network')),
  commands: [['systemd-run', '--user', '--collect', '--quiet', programs.culvert, 'portal']],
  undo: [],
  privileged: false,
};

function portal(world: World, evidence: Message) {
  return problem([evidence], explanation(world), SIGN_IN);
}

function explanation(world: World): Message {
  return isBlocking(world)
    ? message(
        'This network asks for a login before it lets you through. Sign in with a browser that the kill switch lets out.',
      )
    : message(
        'This network asks for a login before it lets you through. Disconnect, log in with a browser, and connect again.',
      );
}

const STATISTICS = `/sys/class/net/${TUNNEL_LINK}/statistics`;
const APART_MS = 1_000;
/** Bytes that prove a failure; a handshake and a few lost packets don't. */
const ENOUGH_BYTES = 2_000;

export const noTraffic: Check = {
  id: 'no-traffic',
  title: N_('Traffic through the connected tunnel'),
  group: 'tunnel',
  source: vendorPage('troubleshooting/client-errors/'),
  cheap: true,
  limitMs: 15_000,
  async probe(world, signal) {
    if (!isConnected(world)) return notApplicable(message('The tunnel is not connected.'));
    const mode = modeOf(world);
    const { tunnel, status } = tunnelOf(world);
    if (world.online && (routesTraffic(mode) || mode === 'proxy')) return proveOnline(world, tunnel.proxyPort);
    if (!routesTraffic(mode)) return notApplicable(message('The mode is “%s”.', modeWord(mode)));
    const first = await counters(world);
    if (!first)
      return problem(
        [message('There is no interface %s.', TUNNEL_LINK)],
        message('WARP says that it is connected, but its interface is missing.'),
        RECONNECT,
      );
    await pause(APART_MS, signal);
    const second = (await counters(world)) ?? first;
    const [sent, received] = [second.sent - first.sent, second.received - first.received];
    const evidence = [
      message(
        'in total %d bytes sent and %d received; within 1 s %d and %d',
        second.sent,
        second.received,
        sent,
        received,
      ),
    ];
    const never = second.received === 0 && second.sent > ENOUGH_BYTES;
    const stalled = received === 0 && sent > ENOUGH_BYTES;
    if (never || stalled)
      return problem(
        evidence,
        message('WARP says that it is connected, but nothing comes back through the tunnel.'),
        RECONNECT,
      );
    if (status.network === 'unstable')
      return notice(
        [...evidence, message('WARP reports an unstable network')],
        message('Packets are lost on the way to Cloudflare.'),
      );
    return ok(...evidence);
  },
};

async function proveOnline(world: World, proxyPort: number | null) {
  const { through, seen } = await world.network.trace(world.targets.trace, proxyPort, 8_000);
  if (through) return ok(seen);
  return problem(
    [seen],
    message('WARP says that it is connected, but a request did not come through the tunnel.'),
    RECONNECT,
  );
}

async function counters({ files }: World): Promise<{ sent: number; received: number } | null> {
  const [sent, received] = await Promise.all(
    ['tx_bytes', 'rx_bytes'].map(name => files.readText(`${STATISTICS}/${name}`)),
  );
  return sent == null || received == null ? null : { sent: Number(sent), received: Number(received) };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}

export const proxyDead: Check = {
  id: 'proxy-dead',
  title: N_('Local proxy'),
  group: 'tunnel',
  source: vendorPage('configure/modes/#local-proxy-mode'),
  cheap: true,
  async probe(world) {
    const { tunnel, settings } = tunnelOf(world);
    if (settings.Mode !== 'proxy' || tunnel.proxyPort === null)
      return notApplicable(message('The local proxy is not in use.'));
    if (!isConnected(world)) return notApplicable(message('The tunnel is not connected.'));
    const [port, address] = [tunnel.proxyPort, `127.0.0.1:${tunnel.proxyPort}`];
    const { open, socks5, http } = await world.network.proxy(port, 1_500);
    if (socks5) return ok(http ? message('%s speaks SOCKS5 and HTTP', address) : message('%s speaks SOCKS5', address));
    const seen = open
      ? http
        ? message('%s speaks HTTP, but not SOCKS5', address)
        : message('%s accepts connections, but does not answer', address)
      : message('nothing listens on %s', address);
    return problem(
      [seen],
      message(
        'WARP says that it is connected, but its local proxy does not answer. A registration older than MASQUE can cause this as well: delete it and register again.',
      ),
      RECONNECT,
    );
  },
};
