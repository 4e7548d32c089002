// Words which traffic the connection covers, as far as the mode and the split tunnel are known.
import type { Snapshot } from '../../api/schema.ts';
import type { Mode } from '../../api/tunnel.ts';
import { bytesOf } from '../../core/address.ts';
import { DEFAULT_ROUTES } from '../default-routes.ts';
import type { Tone } from '../form.ts';
import { formatList } from '../format.ts';
import { fill, type Translator } from '../translator.ts';

type Family = 'IPv4' | 'IPv6';

type Coverage =
  /** The mode or the split tunnel was never read, or is not known to Culvert. */
  | { kind: 'unread' | 'unknown' }
  | { kind: 'dns-only' }
  /** `excepts`: how much the list excludes beyond WARP's defaults; `much` is a range larger than a /8. */
  | { kind: 'all' | 'no-dns'; excepts: 'nothing' | 'little' | 'much' }
  /** The split tunnel is a list of what alone uses WARP. */
  | { kind: 'listed-only' }
  /** Because of the list, no public address of these families uses WARP. */
  | { kind: 'excluded'; families: readonly Family[] }
  | { kind: 'proxy'; port: number | null };

type Known = Pick<Snapshot, 'settings' | 'splitTunnel' | 'tunnel'>;

/** Returns the traffic that a connection with these settings covers. */
export function coverageOf({ settings, splitTunnel, tunnel }: Known): Coverage {
  if (settings.Mode === undefined) return { kind: 'unread' };
  switch (settings.Mode as Mode) {
    case 'doh':
    case 'dot':
      return { kind: 'dns-only' };
    case 'proxy':
      return { kind: 'proxy', port: tunnel.proxyPort };
    case 'warp':
    case 'warp+doh':
    case 'warp+dot':
      return listedCoverage(splitTunnel) ?? { kind: 'all', excepts: exceptionsIn(splitTunnel) };
    case 'tunnel_only':
      return listedCoverage(splitTunnel) ?? { kind: 'no-dns', excepts: exceptionsIn(splitTunnel) };
    default:
      return { kind: 'unknown' };
  }
}

/** Returns the coverage if the list of the split tunnel determines it; else null. */
function listedCoverage({ mode, ips, hosts }: Snapshot['splitTunnel']): Coverage | null {
  if (mode === null) return { kind: 'unread' };
  const values = ips.map(({ value }) => value);
  const whole = wholeFamilies(values);
  if (mode === 'exclude') return whole.length > 0 ? { kind: 'excluded', families: whole } : null;
  const left = FAMILIES.filter(family => !whole.includes(family));
  if (left.length === 0) return null;
  const isBare = hosts.length === 0 && !values.some(value => left.includes(familyOf(value)));
  return isBare ? { kind: 'excluded', families: left } : { kind: 'listed-only' };
}

/** Returns whether a list excludes hosts or public addresses other than WARP's defaults. */
function exceptionsIn({ mode, ips, hosts }: Snapshot['splitTunnel']): 'nothing' | 'little' | 'much' {
  if (mode !== 'exclude') return 'nothing';
  const isOwn = (value: string) => !isCovered(bitsOf(value) ?? '', EXPECTED[familyOf(value)]);
  if (ips.some(({ value }) => lengthOf(value) < 8 && isOwn(value))) return 'much';
  return hosts.length > 0 || ips.some(({ value }) => isOwn(value)) ? 'little' : 'nothing';
}

const FAMILIES: readonly Family[] = ['IPv4', 'IPv6'];

/**
 * Prefixes, as bits, without which a list still holds all public addresses: private, local and reserved addresses (IANA IPv4
 * Special-Purpose Address Registry, 2026-11), and what is not global unicast (RFC 4291, section 2.4: 2000::/3).
 */
const NOT_PUBLIC: Record<Family, readonly string[]> = {
  IPv4: [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.168.0.0/16',
    '224.0.0.0/3',
  ].map(prefix => bitsOf(prefix)!),
  IPv6: ['000', '010', '011', '100', '101', '110', '111'],
};

/** Prefixes, as bits, that a list may exclude without a word: what is not public, and WARP's defaults. */
const EXPECTED: Record<Family, readonly string[]> = {
  IPv4: [...NOT_PUBLIC.IPv4, ...defaultBits('IPv4')],
  IPv6: [...NOT_PUBLIC.IPv6, ...defaultBits('IPv6')],
};

function defaultBits(family: Family): string[] {
  return DEFAULT_ROUTES.filter(value => familyOf(value) === family).flatMap(value => bitsOf(value) ?? []);
}

/**
 * Returns the families of which a list holds all public addresses, in one prefix or in several.
 * @param values addresses and prefixes as WARP reports them; what is neither is skipped
 */
export function wholeFamilies(values: readonly string[]): Family[] {
  return FAMILIES.filter(family => {
    const listed = values.filter(value => familyOf(value) === family);
    const others = NOT_PUBLIC[family];
    // a list of thousands of small prefixes is passed over without reading them
    const share = listed.reduce((sum, value) => sum + 2 ** -lengthOf(value), 0);
    const otherShare = others.reduce((sum, bits) => sum + 2 ** -bits.length, 0);
    if (!(share + otherShare >= 1)) return false;
    return isCovered('', [...listed.flatMap(value => bitsOf(value) ?? []), ...others]);
  });
}

/** True if the prefixes together hold all addresses that begin with `bits`. */
function isCovered(bits: string, prefixes: readonly string[]): boolean {
  if (prefixes.some(prefix => bits.startsWith(prefix))) return true;
  const inside = prefixes.filter(prefix => prefix.startsWith(bits));
  return inside.length > 0 && isCovered(`${bits}0`, inside) && isCovered(`${bits}1`, inside);
}

function familyOf(value: string): Family {
  return value.includes(':') ? 'IPv6' : 'IPv4';
}

/** Returns the length of a prefix, or of an address, in bits; infinity for others. */
function lengthOf(value: string): number {
  const slash = value.indexOf('/');
  if (slash < 0) return familyOf(value) === 'IPv6' ? 128 : 32;
  const length = value.slice(slash + 1);
  return /^\d{1,3}$/.test(length) ? Number(length) : Number.POSITIVE_INFINITY;
}

/** Returns the leading bits of a prefix or an address; null for others. */
function bitsOf(value: string): string | null {
  const bytes = bytesOf(value.split('/')[0]!);
  const length = lengthOf(value);
  if (!bytes || length > 8 * bytes.length) return null;
  const bits = bytes.map(byte => byte.toString(2).padStart(8, '0'));
  return bits.join('').slice(0, length);
}

/** Returns the tone of a connection; only a connection that covers what its mode promises is a success. */
export function coverageTone({ kind }: Coverage): Tone {
  if (kind === 'unread') return 'neutral';
  return kind === 'unknown' || kind === 'excluded' ? 'warning' : 'success';
}

/** True if the name of the mode alone says what the connection covers. */
export function isAsNamed(coverage: Coverage): boolean {
  const { kind } = coverage;
  return kind === 'all' || kind === 'no-dns' ? coverage.excepts !== 'much' : kind === 'dns-only' || kind === 'proxy';
}

/** True if a connection leaves much public traffic outside the tunnel: more than a few exceptions on a list. */
export function leavesTraffic(coverage: Coverage): boolean {
  if ('excepts' in coverage) return coverage.excepts === 'much';
  return coverage.kind !== 'unread' && coverage.kind !== 'unknown';
}

/** Words which traffic a connection tunnels; in the demo, none. */
export function tunneledText(snapshot: Snapshot, tr: Translator): string {
  if (snapshot.tunnelCli.emulated) return tr._('Demo: your real traffic is not protected.');
  return coverageText(coverageOf(snapshot), tr);
}

/** Words the traffic that the connection covers. */
export function coverageText(coverage: Coverage, tr: Translator): string {
  const { _ } = tr;
  switch (coverage.kind) {
    case 'unread':
    case 'unknown':
      return _('It is not known which traffic goes through WARP.');
    case 'all':
      return coverage.excepts !== 'nothing'
        ? _('Your traffic goes through Cloudflare, except what is on your list.')
        : _('Your traffic goes through Cloudflare.');
    case 'dns-only':
      return _('DNS queries are encrypted; other traffic is not tunneled.');
    case 'no-dns':
      return coverage.excepts !== 'nothing'
        ? _('Your traffic is tunneled, except what is on your list; DNS is not.')
        : _('Your traffic is tunneled; DNS is not.');
    case 'listed-only':
      return _('Only the sites and networks on your list use WARP.');
    case 'excluded':
      // Translators: %s is IPv4 or IPv6, or both
      return fill(_('%s traffic bypasses WARP, because of your list.'), formatList(coverage.families, tr));
    case 'proxy':
      return coverage.port === null
        ? _('Apps that use the local proxy are tunneled.')
        : // Translators: %s is an address such as 127.0.0.1:40000
          fill(_('Apps that use the proxy at %s are tunneled.'), `127.0.0.1:${coverage.port}`);
  }
}
