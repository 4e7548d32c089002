// Pure: names the place of programs that use the tunnel only. It imports nothing, because each start of such a program loads it.

/** The name of warp-svc's device. */
export const TUNNEL_INTERFACES: readonly string[] = ['CloudflareWARP'];

/**
 * No program listens here. The rules refuse it to a program in its place and to no other, so the program can test the rules
 * without a packet on any link.
 */
export const PROBE = { address: '127.99.117.108', port: 9 } as const;

/** The test inside the place sends there too, by each link: all hosts on it, whom a packet with a TTL of 0 never reaches. */
export const ALL_HOSTS = '224.0.0.1';
/** All nodes of this machine: a packet for them leaves on no link. */
export const THIS_NODE = 'ff01::1';

/** The unit that holds a user's programs. As a part of the user's slice, it has the user's limits, and the user can't move out of it. */
export function sliceOf(uid: number): string {
  return `user-${checked(uid)}-culvert.slice`;
}

/** Its cgroup, below the root of the hierarchy. */
export function cgroupOf(uid: number): string {
  return `user.slice/user-${checked(uid)}.slice/${sliceOf(uid)}`;
}

function checked(uid: number): number {
  if (!Number.isSafeInteger(uid) || uid < 0) throw new TypeError(`no user: ${uid}`);
  return uid;
}
