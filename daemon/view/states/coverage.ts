// Words which traffic the connection covers, as far as the mode and the split tunnel are known.
import type { Snapshot } from '../../api/schema.ts';
import type { Mode } from '../../api/tunnel.ts';
import type { Tone } from '../form.ts';
import { fill, type Translator } from '../translator.ts';

type Coverage =
  /** The mode or the split tunnel was never read, or is not known to Culvert. */
  | { kind: 'unread' | 'unknown' }
  | { kind: 'all' | 'dns-only' | 'no-dns' }
  /** The split tunnel is a list of what alone uses WARP. */
  | { kind: 'listed-only' }
  /** The list of what bypasses WARP holds a whole address family, named by `entry`. */
  | { kind: 'excluded'; entry: string }
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
      return listedCoverage(splitTunnel) ?? { kind: 'all' };
    case 'tunnel_only':
      return listedCoverage(splitTunnel) ?? { kind: 'no-dns' };
    default:
      return { kind: 'unknown' };
  }
}

/** Returns the coverage if the list of the split tunnel determines it; else null. */
function listedCoverage({ mode, ips }: Snapshot['splitTunnel']): Coverage | null {
  if (mode === null) return { kind: 'unread' };
  if (mode === 'include') return { kind: 'listed-only' };
  const entry = ips.find(({ value }) => value.endsWith('/0'))?.value;
  return entry === undefined ? null : { kind: 'excluded', entry };
}

/** Returns the tone of a connection; only one that covers what its mode promises is a success. */
export function coverageTone({ kind }: Coverage): Tone {
  if (kind === 'unread') return 'neutral';
  return kind === 'unknown' || kind === 'excluded' ? 'warning' : 'success';
}

/** True if the name of the mode alone says what the connection covers. */
export function isAsNamed({ kind }: Coverage): boolean {
  return kind === 'all' || kind === 'dns-only' || kind === 'no-dns' || kind === 'proxy';
}

/** Words the traffic that the connection covers. */
export function coverageText(coverage: Coverage, { _ }: Translator): string {
  switch (coverage.kind) {
    case 'unread':
    case 'unknown':
      return _('It is not known which traffic goes through WARP.');
    case 'all':
      return _('Your traffic goes through Cloudflare.');
    case 'dns-only':
      return _('DNS queries are encrypted; other traffic is not tunneled.');
    case 'no-dns':
      return _('Your traffic is tunneled; DNS is not.');
    case 'listed-only':
      return _('Only the sites and networks on your list use WARP.');
    case 'excluded':
      // Translators: %s is a range of addresses that means all of them, such as 0.0.0.0/0
      return fill(_('Most of your traffic bypasses WARP: %s is on your list.'), coverage.entry);
    case 'proxy':
      return coverage.port === null
        ? _('Apps that use the local proxy are tunneled.')
        : // Translators: %s is an address such as 127.0.0.1:40000
          fill(_('Apps that use the proxy at %s are tunneled.'), `127.0.0.1:${coverage.port}`);
  }
}
