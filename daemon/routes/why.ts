// Forecasts whether a target uses the tunnel, from the mode, connection, split tunnel and kill switch. Pure.
import { isIP } from 'node:net';
import type { Snapshot, StalePart, Why, WhyAddress } from '../api/schema.ts';
import type { Message } from '../api/values.ts';
import { LAN } from '../killswitch/rules/rules.ts';
import { message, wordMessage } from '../view/message.ts';
import { isBlocking, isOld } from '../view/states/summary.ts';
import { english } from '../view/translator.ts';
import { canonical, type Entry, parseLine } from './document.ts';
import { contains, parseRange } from './ranges.ts';

interface Target {
  kind: 'ip' | 'host';
  value: string;
}

/** Reads an address, a host name, or the host of a URL. @returns null for any other text. */
export function parseTarget(text: string): Target | null {
  const host = hostOf(text.trim());
  const { entries } = parseLine(addressIn(host));
  const [entry] = entries;
  if (entries.length !== 1 || !entry || entry.kind === 'range' || entry.value.startsWith('*')) return null;
  return { kind: entry.kind, value: entry.value };
}

/** Removes the zone of an IPv6 address, and turns an IPv4-mapped address into IPv4 (RFC 4291, 2.5.5.2). */
function addressIn(host: string): string {
  if (isIP(host) !== 6) return host;
  const address = host.replace(/%.*$/, '');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return mapped ?? address;
}

const BRACKETED = /^\[([^\]]+)\](?::\d+)?$/;
/** Matches `host:port`, but no IPv6 address. */
const NAME_AND_PORT = /^([^:/]+):\d+$/;

function hostOf(text: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text))
    return new URL(text).hostname.replace(/^\[(.*)\]$/, '$1');
  return BRACKETED.exec(text)?.[1] ?? NAME_AND_PORT.exec(text)?.[1] ?? text;
}

/** The kernel's route for an address, or the reason why there is no route. */
export type KernelAnswer = { route: NonNullable<WhyAddress['kernel']> } | { problem: Message };

type Known = Pick<Snapshot, 'status' | 'settings' | 'splitTunnel' | 'tunnel' | 'killSwitch' | 'tunnelCli' | 'stale'>;

/** The demo has no tunnel, so it changes no routes. */
const NOT_ROUTED: KernelAnswer = { problem: message('The demo routes nothing, so the kernel is not asked.') };

/** Modes without a tunnel, which encrypt only DNS. */
const DNS_ONLY = new Set(['doh', 'dot']);

/** An address with the kernel's answer. */
export interface Asked {
  address: string;
  kernel: KernelAnswer;
  /** True if the address is this machine's. */
  own?: boolean;
}

/** @param addresses the target's addresses, each with the kernel's answer. */
export function forecast(
  target: Target,
  addresses: readonly Asked[],
  snapshot: Known,
): Omit<Why, 'ok' | 'resolveProblem'> {
  const { settings, splitTunnel, tunnel, tunnelCli } = snapshot;
  const mode = settings.Mode ?? null;
  const entries = [...splitTunnel.ips, ...splitTunnel.hosts].map(({ value }) => canonical(value));
  return {
    target,
    mode,
    list: splitTunnel.mode,
    fallback: target.kind === 'host' ? fallbackOf(target.value, settings['Fallback domains']) : null,
    proxy: mode === 'proxy' && tunnel.proxyPort !== null ? `127.0.0.1:${tunnel.proxyPort}` : null,
    ...(target.kind === 'host' ? nameOf(target.value, entries, snapshot) : {}),
    ...(tunnelCli.emulated ? { demo: true } : {}),
    addresses: addresses.map(({ address, kernel: answer, own }) => {
      const kernel = tunnelCli.emulated ? NOT_ROUTED : answer;
      const decision = own
        ? OWN
        : decide({ address, host: target.kind === 'host' ? target.value : null }, entries, snapshot);
      const route = 'route' in kernel ? kernel.route : null;
      const { forecast, reason, entry } = decision;
      const isNowhere = route?.refusal !== undefined;
      // the client keeps its endpoints out of the tunnel, whatever the list says
      const isEndpoint = tunnel.endpoints.map(hostOf).includes(address);
      const bypasses = !isNowhere && (route ? route.tunnel : forecast) === false;
      return {
        address,
        tunnel: route?.tunnel ?? null,
        forecast,
        reason,
        entry,
        blocked: bypasses && !own && isBlocked(address, snapshot.killSwitch),
        kernel: route,
        ...('problem' in kernel
          ? { kernelProblem: wordMessage(kernel.problem, english), wording: [kernel.problem] }
          : { kernelProblem: null }),
        disagrees: route !== null && !isNowhere && !isEndpoint && forecast !== null && route.tunnel !== forecast,
      };
    }),
  };
}

/** Returns the entry of a host, and its forecast where the entry decides; neither for an old list. The demo routes nothing. */
function nameOf(
  host: string,
  entries: readonly Entry[],
  snapshot: Known,
): Pick<Why, 'nameEntry' | 'nameForecast' | 'nameBlocked'> {
  const { splitTunnel, stale = [] } = snapshot;
  if (splitTunnel.mode === null || stale.some(({ part }) => part === 'settings' || part === 'splitTunnel')) return {};
  const nameEntry = hostEntry(host, entries);
  const { reason, forecast } = decide({ address: '', host }, entries, snapshot);
  const isDecided = nameEntry !== null && reason === 'entry' && !snapshot.tunnelCli.emulated;
  const isCut = isDecided && forecast === false && isBlocking(snapshot.killSwitch);
  // an address in the local network may be allowed
  if (isCut && snapshot.killSwitch.allowLan) return { nameEntry, nameForecast: null };
  return { nameEntry, nameForecast: isDecided ? forecast : null, ...(isDecided && { nameBlocked: isCut }) };
}

type Decision = Pick<WhyAddress, 'reason' | 'entry'> & { forecast: boolean | null };

/** The split tunnel does not apply to the machine's own addresses. */
const OWN: Decision = { forecast: false, reason: 'own', entry: null };

/** True if the kill switch blocks an address: any traffic outside the tunnel, except an allowed local network. */
function isBlocked(address: string, killSwitch: Snapshot['killSwitch']): boolean {
  return isBlocking(killSwitch) && !(killSwitch.allowLan && narrowest(address, LAN_ENTRIES) !== null);
}
const LAN_ENTRIES = [...LAN.ip, ...LAN.ip6].map(canonical);

function decide(
  { address, host }: { address: string; host: string | null },
  entries: readonly Entry[],
  { status, settings, splitTunnel, stale = [] }: Known,
): Decision {
  const none = (reason: WhyAddress['reason'], forecast: boolean | null = false): Decision => ({
    forecast,
    reason,
    entry: null,
  });
  if (status.blocked || status.state === 'unknown' || isOld(status)) return none('unknown', null);
  if (status.state !== 'connected') return none('disconnected');
  const isOldPart = (name: StalePart['part']) => stale.some(({ part }) => part === name);
  if (isOldPart('settings')) return none('unknown', null);
  if (DNS_ONLY.has(settings.Mode ?? '')) return none('dns-only');
  if (settings.Mode === 'proxy') return none('proxy-only');
  if (splitTunnel.mode === null || isOldPart('splitTunnel')) return none('unknown', null);
  const entry = (host === null ? null : hostEntry(host, entries)) ?? narrowest(address, entries);
  const listed = entry !== null;
  const forecast = splitTunnel.mode === 'include' ? listed : !listed;
  return { forecast, reason: listed ? 'entry' : 'default', entry };
}

/** Returns the entry of a host. `*.example.com` matches only names below `example.com` (vendor documentation, split tunnels). */
function hostEntry(host: string, entries: readonly Entry[]): string | null {
  const entry = entries.find(
    ({ kind, value }) => kind === 'host' && (value.startsWith('*.') ? host.endsWith(value.slice(1)) : value === host),
  );
  return entry?.value ?? null;
}

/** Returns the narrowest entry that contains the address. All such entries decide alike; the narrowest explains best. */
function narrowest(address: string, entries: readonly Entry[]): string | null {
  const range = parseRange(address);
  if (typeof range === 'string') return null;
  let best: Entry | null = null;
  for (const entry of entries)
    if (entry.range && contains(entry.range, range) && (!best?.range || contains(best.range, entry.range)))
      best = entry;
  return best?.value ?? null;
}

/** Returns a host's fallback domain, which settings print as `corp` or `corp -> [10.0.0.1, 10.0.0.2]` (resolvers). */
function fallbackOf(host: string, setting: unknown): Why['fallback'] {
  if (!Array.isArray(setting)) return null;
  const matches = setting.flatMap(line => {
    const [, domain, resolvers = ''] = /^(\S+?)\.?(?:\s*->\s*\[(.*)\])?(?:\s|$)/.exec(String(line)) ?? [];
    if (!domain || (host !== domain && !host.endsWith(`.${domain}`))) return [];
    return [
      {
        domain,
        resolvers: resolvers
          .split(',')
          .map(each => each.trim())
          .filter(Boolean),
      },
    ];
  });
  return matches.sort((a, b) => b.domain.length - a.domain.length)[0] ?? null;
}
