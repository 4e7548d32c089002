// Decides which parts are worth reading, and which show older values than the tunnel CLI may have now.
import type { StalePart } from '../../api/schema.ts';
import type { State } from '../../state/store.ts';
import { EXTRAS, isExtra, LISTS, type Read } from '../cli/version.ts';
import type { Form } from '../listen/watch.ts';
import type { TunnelStore } from '../tunnel-store.ts';
import { createFreshness, type Freshness } from './freshness.ts';

export const SNAPSHOT_READS = [
  'settings',
  'registration',
  'tunnelStats',
  ...LISTS,
  ...EXTRAS,
] as const satisfies Read[];

/** The part of an answer that each read fills. */
const PART_OF: Record<Read, StalePart['part']> = {
  status: 'status',
  settings: 'settings',
  registration: 'account',
  devices: 'account',
  tunnelStats: 'tunnel',
  splitTunnelIps: 'splitTunnel',
  splitTunnelHosts: 'splitTunnel',
  splitTunnelDump: 'commands',
  settingsText: 'options',
  trustedSsids: 'options',
  virtualNetworks: 'options',
  localNetworkAccess: 'options',
};

/** For reads whose changes no event announces. */
const TTL_MS = { status: 2000, unannounced: 60_000, registration: 300_000, tunnelStats: 5000 };

interface Parts {
  fresh: Freshness<Read>;
  /** The part is outdated, and a read could succeed in the present state. */
  isDue(part: Read): boolean;
  /** The parts of these reads that show older values than the tunnel CLI may have now; default: of a snapshot. */
  stale(reads?: readonly Read[]): StalePart[];
  /** Marks parts that an action changed as outdated, and as worth waiting for. */
  expireChanged(changed: readonly Read[]): void;
  /** True while a part that an action changed has not been read since. */
  hasUnreadChanges(): boolean;
  /** A read of the part ended. */
  settle(part: Read): void;
}

/** @param listening how status changes arrive at present; null while they don't */
export function createParts(state: State, store: TunnelStore, listening: () => Form | null): Parts {
  const fresh = createFreshness<Read>();
  const unread = new Set<Read>();

  /** True if a read of the part can succeed in the present state. */
  function isReadable(part: Read): boolean {
    const { status, settings, account } = state.snapshot();
    switch (status.blocked) {
      case 'cli-missing':
      case 'cli-too-old':
      case 'service-stopped':
      case 'service-hangs':
      case 'terms-not-accepted':
        return false;
      case 'not-registered':
        if (part !== 'settings' && part !== 'status') return false;
    }
    if (part === 'status' && store.hasStatus() && listening() !== 'poll') return false;
    // trusted networks are for consumers, the others for organizations (help text of 2026.4)
    if (part === 'trustedSsids' && account.organization !== null) return false;
    if ((part === 'virtualNetworks' || part === 'localNetworkAccess') && account.organization === null) return false;
    // without a tunnel (also in the modes that only resolve names) there are no figures
    const tunneled = status.state === 'connected' && settings.Mode !== 'doh' && settings.Mode !== 'dot';
    return part !== 'tunnelStats' || tunneled;
  }

  const isDue = (part: Read) => fresh.isDue(part) && isReadable(part);

  function isStale(part: Read): boolean {
    if (!fresh.isOutdated(part)) return false;
    if (isDue(part) || unread.has(part)) return true;
    // a value that was never read is not old but unknown; figures of a tunnel that is down are not shown
    return fresh.age(part) !== null && (!(part === 'tunnelStats' || isExtra(part)) || isReadable(part));
  }

  return {
    fresh,
    isDue,
    stale(reads = SNAPSHOT_READS) {
      const oldest = new Map<StalePart['part'], number | null>();
      for (const read of reads.filter(isStale)) {
        const [age, before] = [fresh.age(read), oldest.get(PART_OF[read])];
        oldest.set(PART_OF[read], before === null || age === null ? null : Math.max(age, before ?? 0));
      }
      return [...oldest].map(([part, age]) => ({ part, ageSeconds: age === null ? null : Math.round(age / 100) / 10 }));
    },
    expireChanged(changed) {
      fresh.expire(...changed);
      for (const part of changed) if (isReadable(part)) unread.add(part);
    },
    hasUnreadChanges: () => [...unread].some(isDue),
    settle(part) {
      if (!fresh.isDue(part)) unread.delete(part);
    },
  };
}

/** Time in milliseconds for which a value that was read stays current. */
export function ttlOf(part: Read, listening: Form | null): number {
  if (part === 'status') return TTL_MS.status;
  if (part === 'tunnelStats') return TTL_MS.tunnelStats;
  if (part === 'registration' || part === 'devices') return TTL_MS.registration;
  if (isExtra(part)) return TTL_MS.unannounced;
  // a listener in JSON announces every change of the settings
  return listening === 'json' ? Number.POSITIVE_INFINITY : TTL_MS.unannounced;
}
