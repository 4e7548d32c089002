// Checks name lookup: the writer of the configuration, leftovers of other programs, and names sent to the wrong server.
import * as z from 'zod/mini';
import type { Fix } from '../../api/doctor.ts';
import type { Message } from '../../api/values.ts';
import { N_ } from '../../view/translator.ts';
import { type Check, labeled, message, NoVerdict, notApplicable, notice, ok, problem, quoted } from '../check.ts';
import { fileFix, RESOLVED_STUB } from '../file-fix.ts';
import { limitValues } from '../knowledge.ts';
import { as } from '../world/bus.ts';
import {
  adminCommands,
  covers,
  excludeFix,
  fallbackDomains,
  handlesDns,
  isConnected,
  isOutsideTunnel,
  modeOf,
  modeWord,
  RECONNECT,
  RESTART_WARP,
  releaseNotes,
  routesTraffic,
  tunnelOf,
  vendorPage,
} from '../world/facts.ts';
import { LOCAL_PROXY, parseResolvConf, type ResolvConf, withoutInvalidWords } from '../world/resolv-conf.ts';
import type { World } from '../world/world.ts';

const RESOLV_CONF = '/etc/resolv.conf';
const MISSING = message('There is no %s.', RESOLV_CONF);
/** Maximum size; a longer file is damaged or hostile. */
export const RESOLV_CONF_BYTES = 64 * 1024;

interface ResolvConfFile extends ResolvConf {
  text: string;
  link: string | null;
}

/** Returns /etc/resolv.conf, or null if it does not exist. @throws NoVerdict when the file can't be read */
export function readResolvConf(world: World): Promise<ResolvConfFile | null> {
  return world.once('resolv.conf', async () => {
    const [text, link] = await Promise.all([
      world.files.readText(RESOLV_CONF, RESOLV_CONF_BYTES),
      world.files.readLink(RESOLV_CONF),
    ]);
    return text === null ? null : { ...parseResolvConf(text, link), text, link };
  });
}

/** Servers of systemd-resolved: interface, family, address. */
const ServerList = z.array(z.tuple([z.int(), z.int(), z.array(z.int().check(z.gte(0), z.lte(255)))]));

/** Returns the DNS servers of systemd-resolved as text, or null if it does not run. @throws NoVerdict */
export function resolvedServers(world: World): Promise<string[] | null> {
  return world.once('resolve1', async () => {
    const target = {
      service: 'org.freedesktop.resolve1',
      path: '/org/freedesktop/resolve1',
      interface: 'org.freedesktop.resolve1.Manager',
    };
    const values = await world.bus.properties(target, ['DNS']);
    if (values === null) return null;
    const servers = as(ServerList, values[0]);
    if (!servers) throw new NoVerdict(message('The output of %s was not understood.', 'systemd-resolved'));
    return servers.map(([, , bytes]) => addressText(bytes));
  });
}

function addressText(bytes: readonly number[]): string {
  if (bytes.length === 4) return bytes.join('.');
  const hex = Buffer.from(bytes).toString('hex');
  const groups = (hex.match(/.{4}/g) ?? []).map(group => group.replace(/^0{1,3}/, ''));
  return groups.join(':').replace(/(^|:)0(:0)+(:|$)/, '::');
}

export const resolvConf: Check = {
  id: 'dns-resolv-conf',
  title: N_('DNS configuration of this machine'),
  group: 'dns',
  source: vendorPage('troubleshooting/common-issues/'),
  cheap: true,
  async probe(world) {
    const file = await readResolvConf(world);
    const servers = await resolvedServers(world).catch(() => null);
    if (!file) return problem([MISSING], message('Programs cannot look up names without it.'));
    const evidence = describeFile(file, servers);
    const inFile = file.nameservers.some(server => LOCAL_PROXY.has(server));
    const inResolved = servers?.some(server => LOCAL_PROXY.has(server)) ?? false;
    const { state } = tunnelOf(world).status;
    if (state === 'disconnected' && (inFile || inResolved))
      return problem(
        evidence,
        message(
          'The tunnel is disconnected, but its DNS server is still configured. Names cannot be looked up until the entry is removed.',
        ),
        leftoverFix(file, { inFile, resolved: servers !== null }),
      );
    if (isConnected(world) && handlesDns(modeOf(world)) && !inFile && !inResolved)
      return problem(
        evidence,
        file.writer === null
          ? message('The tunnel is connected, but another program has replaced its DNS server. Lookups bypass WARP.')
          : message('The tunnel is connected, but %s has replaced its DNS server. Lookups bypass WARP.', file.writer),
        RECONNECT,
      );
    return ok(...evidence);
  },
};

function describeFile({ writer, link, nameservers }: ResolvConfFile, servers: string[] | null): Message[] {
  const file = `${RESOLV_CONF}${link ? ` → ${link}` : ''}`;
  return [
    writer === null
      ? message('%s, written by an unknown program, or by hand', file)
      : message('%s, written by %s', file, writer),
    nameservers.length > 0 ? quoted(`nameserver ${nameservers.join(', ')}`) : message('It names no server.'),
    ...(servers ? [describeResolved(servers)] : []),
  ];
}

/** Describes the servers of systemd-resolved. */
export function describeResolved(servers: readonly string[]): Message {
  return servers.length > 0
    ? quoted(`systemd-resolved: ${servers.join(', ')}`)
    : message('systemd-resolved uses no server');
}

function leftoverFix({ link }: ResolvConfFile, { inFile, resolved }: { inFile: boolean; resolved: boolean }): Fix {
  const label = message('Remove the leftover DNS server');
  if (!inFile) return adminCommands(label, [['resolvectl', 'revert', 'CloudflareWARP']], { repair: ['dns-link'] });
  const backup = `${RESOLV_CONF}.before-culvert`;
  const undo = [['mv', '-T', backup, RESOLV_CONF]];
  if (resolved && !link)
    return adminCommands(
      label,
      [
        ['mv', '-T', RESOLV_CONF, backup],
        ['ln', '-s', RESOLVED_STUB, RESOLV_CONF],
      ],
      { undo, repair: ['resolv-conf-link'] },
    );
  // the service restores its saved file when it starts
  return { ...RESTART_WARP, ...labeled(label) };
}

export const search: Check = {
  id: 'dns-search',
  title: N_('Lines of /etc/resolv.conf'),
  group: 'dns',
  source: releaseNotes,
  cheap: true,
  async probe(world) {
    const file = await readResolvConf(world);
    if (!file) return notApplicable(MISSING);
    const { length } = file.nameservers;
    if (file.invalid.length === 0)
      return ok(
        length === 1
          ? message('%s: 1 server, no errors', RESOLV_CONF)
          : message('%s: %d servers, no errors', RESOLV_CONF, length),
      );
    const evidence = file.invalid.map(({ line, word, why }) => message(why, String(line), word));
    const version = world.tunnel?.tunnelCli.version ?? null;
    const fixed = version !== null && !(await import('../engine.ts')).inRange(version, { before: '2026.7.1343.0' });
    const explanation = [message('WARP before version 2026.7.1343.0 does not connect with such a line.')];
    const fix = file.link ? null : removeWords(file);
    const owner = file.writer ?? file.link;
    if (owner) explanation.push(message('Correct it in the settings of %s.', owner));
    return (fixed ? notice : problem)(evidence, explanation, fix);
  },
};

function removeWords({ text }: ResolvConfFile): Fix | null {
  const fix = fileFix(message('Remove the invalid words'), RESOLV_CONF, {
    before: text,
    content: withoutInvalidWords(text),
  });
  return fix && { ...fix, repair: ['resolv-conf-words'] };
}

export const fallbackOnly: Check = {
  id: 'dns-fallback-only',
  title: N_('Local names in DNS-only mode'),
  group: 'dns',
  source: releaseNotes,
  appliesTo: { versions: { since: '2026.7.1343.0' } },
  cheap: true,
  async probe(world) {
    const mode = modeOf(world);
    if (mode !== 'doh' && mode !== 'dot') return notApplicable(message('The mode is “%s”.', modeWord(mode)));
    const domains = fallbackDomains(tunnelOf(world));
    if (domains.length === 0) return ok(message('The list of fallback domains is empty.'));
    return problem(
      [message('mode “%s”, %d fallback domains: %s', modeWord(mode), domains.length, domains.slice(0, 8).join(', '))],
      message(
        'In this mode, names of your own network may be sent to the encrypted DNS server. Those lookups fail, and the names leave your network. Other modes are not affected.',
      ),
      {
        kind: 'action',
        ...labeled(
          mode === 'doh' ? message('Use the tunnel with DNS over HTTPS') : message('Use the tunnel with DNS over TLS'),
        ),
        actions: [{ action: 'setMode', value: `warp+${mode}` }],
        undo: [{ action: 'setMode', value: mode }],
      },
    );
  },
};

/** Documented resolvers that refuse queries from other networks. */
const PROVIDERS: readonly [topic: string, name: string][] = [
  ['azure-dns', 'Azure'],
  ['comcast-dns', 'Comcast'],
  ['cox-dns', 'Cox'],
];
/** Files with the network's own resolvers, even while the tunnel's resolvers are in use. */
const RESOLVER_FILES = ['/run/systemd/resolve/resolv.conf', '/run/NetworkManager/resolv.conf'];

export const providerResolvers: Check = {
  id: 'dns-provider-resolvers',
  title: N_('DNS servers that must not go through the tunnel'),
  group: 'dns',
  source: vendorPage('troubleshooting/known-limitations/'),
  cheap: true,
  async probe(world) {
    const mode = modeOf(world);
    if (!routesTraffic(mode))
      return notApplicable(message('The mode “%s” routes no traffic of the machine.', modeWord(mode)));
    const servers = await networkResolvers(world);
    const wrong = servers.flatMap(server => {
      const why = providerOf(world, server) ?? (mode === 'tunnel_only' && isGlobalIpv6(server) ? 'IPv6' : null);
      return why && !isOutsideTunnel(world, server) ? [{ server, why }] : [];
    });
    if (wrong.length === 0)
      return ok(
        servers.length > 0
          ? message('DNS servers of the network: %s', servers.join(', '))
          : message('The network names no DNS server.'),
      );
    return problem(
      wrong.map(({ server, why }) =>
        why === 'IPv6'
          ? message('%s has an IPv6 address, and the mode is “%s”', server, modeWord(mode))
          : message('%s belongs to %s, and its queries go through the tunnel', server, why),
      ),
      message('These servers do not answer queries that come through the tunnel. Exclude them from it.'),
      excludeFix(
        world,
        wrong.map(({ server }) => server),
        message('Exclude these DNS servers'),
      ),
    );
  },
};

async function networkResolvers(world: World): Promise<string[]> {
  const files = await Promise.all(
    RESOLVER_FILES.map(path => world.files.readText(path, RESOLV_CONF_BYTES).catch(() => null)),
  );
  const own = await readResolvConf(world);
  const all = [
    ...files.flatMap(text => (text ? parseResolvConf(text, null).nameservers : [])),
    ...(own?.nameservers ?? []),
  ];
  const addresses = all.map(server => server.replace(/%.*/, ''));
  return [...new Set(addresses)].filter(server => !LOCAL_PROXY.has(server) && !/^(127\.|::1$)/.test(server));
}

function providerOf({ knowledge }: World, server: string): string | null {
  return PROVIDERS.find(([topic]) => covers(limitValues(knowledge, topic), server))?.[1] ?? null;
}

function isGlobalIpv6(address: string): boolean {
  return /^[23][0-9a-f]{3}:/i.test(address);
}
