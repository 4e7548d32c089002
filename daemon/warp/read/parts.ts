// Decides which parts are worth reading, and which parts may show outdated values.
import type { StalePart } from '../../api/schema.ts';
import type { State } from '../../state/store.ts';
import { EXTRAS, isExtra, LISTS, type Read, SHOWN_LISTS } from '../cli/version.ts';
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

/** The part of a snapshot that each read fills. */
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

/** Time for which values without change events stay current, in ms. */
const TTL_MS = { status: 2000, unannounced: 60_000, registration: 300_000, tunnelStats: 5000 };

export interface Parts {
  fresh: Freshness<Read>;
  /** True if the part is outdated and a read could succeed in the present state. */
  isDue(part: Read): boolean;
  /** Returns the parts of these reads that may show outdated values; by default, of all reads of a snapshot. */
  stale(reads?: readonly Read[]): StalePart[];
  /** Marks parts that an action changed as outdated and as unread. */
  expireChanged(changed: readonly Read[]): void;
  /** True while a part that an action changed has not been read since. */
  hasUnreadChanges(): boolean;
  /** True if an action changed the part, it has not been read since, and a read could succeed in the present state. */
  isUnread(part: Read): boolean;
  /** True if the value is outdated, was not read again although it could be, and was read before. */
  isOld(part: Read): boolean;
  /** True if the published settings or split tunnel are old. */
  hasOldParts(): boolean;
  /**
   * Call when a read of the part has ended.
   * @returns false if an action changed the part, and its new value could not be read
   */
  settle(part: Read, understood: boolean): boolean;
}

/** @param listening returns how status changes arrive now; null while they don't arrive */
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
    // trusted networks are for consumers, the next two parts for organizations (help text of 2026.4)
    if (part === 'trustedSsids' && account.organization !== null) return false;
    if ((part === 'virtualNetworks' || part === 'localNetworkAccess') && account.organization === null) return false;
    // there are no statistics without a tunnel, which includes the modes that only resolve names
    const tunneled = status.state === 'connected' && settings.Mode !== 'doh' && settings.Mode !== 'dot';
    return part !== 'tunnelStats' || tunneled;
  }

  const isOld = (part: Read) =>
    fresh.isOutdated(part) && fresh.isFailing(part) && fresh.age(part) !== null && isReadable(part);
  const isList = (part: Read) => PART_OF[part] === 'splitTunnel';
  const isDue = (part: Read) => fresh.isDue(part) && isReadable(part);

  function isStale(part: Read): boolean {
    if (!fresh.isOutdated(part)) return false;
    if (isDue(part) || unread.has(part)) return true;
    // an unread value is unknown, not old; clients don't show the statistics of a tunnel that is down
    return fresh.age(part) !== null && (!(part === 'tunnelStats' || isExtra(part)) || isReadable(part));
  }

  return {
    fresh,
    isDue,
    stale(reads = SNAPSHOT_READS) {
      const oldest = new Map<StalePart['part'], number | null>();
      // the settings announce changes of the split tunnel
      const isDoubtful = (read: Read) => isList(read) && isStale('settings') && fresh.age(read) !== null;
      for (const read of reads.filter(each => isStale(each) || isDoubtful(each))) {
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
    isUnread: part => unread.has(part) && isReadable(part),
    isOld,
    hasOldParts: () => (['settings', ...SHOWN_LISTS] as const).some(isOld),
    settle(part, understood) {
      if (understood && !fresh.isDue(part)) unread.delete(part);
      return understood || !unread.has(part);
    },
  };
}

/** Returns the time in milliseconds for which a read value stays current. */
export function ttlOf(part: Read, listening: Form | null): number {
  if (part === 'status') return TTL_MS.status;
  if (part === 'tunnelStats') return TTL_MS.tunnelStats;
  if (part === 'registration' || part === 'devices') return TTL_MS.registration;
  if (isExtra(part)) return TTL_MS.unannounced;
  // a JSON listener announces every change of the settings
  return listening === 'json' ? Number.POSITIVE_INFINITY : TTL_MS.unannounced;
}
