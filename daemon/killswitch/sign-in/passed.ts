// Pure: the bytes that a sign-in let through, counted by its helper and kept by the root service.
import type { PassedHost } from '../../api/killswitch.ts';

/** Hosts of one sign-in that are named; the bytes of further ones are counted together. */
export const MAX_HOSTS = 64;
/** In the place of a name. */
const OTHERS = '*';

/** The running totals of the helper. */
export function createPassed() {
  const hosts = new Map<string, PassedHost>();
  const changed = new Set<PassedHost>();
  return {
    /** A connection to a host begins. @returns adds its bytes */
    begin(name: string): (way: 'sent' | 'received', bytes: number) => void {
      const host = hosts.has(name) || hosts.size < MAX_HOSTS - 1 ? name : OTHERS;
      const total = hosts.get(host) ?? { host, sent: 0, received: 0 };
      hosts.set(host, total);
      changed.add(total);
      return (way, bytes) => {
        total[way] += bytes;
        changed.add(total);
      };
    },
    /** Totals that changed since the last call. */
    news(): PassedHost[] {
      const news = [...changed];
      changed.clear();
      return news;
    },
  };
}

/** A total as the helper gave it, which is not trusted. @returns null for anything else */
export function passedIn(value: unknown): PassedHost | null {
  const { host, sent, received } = (value ?? {}) as { [K in keyof PassedHost]?: unknown };
  const isHost = typeof host === 'string' && /^[\w.:*-]{1,253}$/.test(host);
  return isHost && isCount(sent) && isCount(received) ? { host, sent, received } : null;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
