// Pure: names the place of a program: its cgroup if it uses the tunnel only, or its link if it bypasses WARP. This file imports nothing,
// because every start of one loads it.

/** The name of warp-svc's device. */
export const TUNNEL_INTERFACES: readonly string[] = ['CloudflareWARP'];

/**
 * No program listens here. The rules refuse it only to programs in their place, so a program can test the rules
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

/** Limits for all users together, and for each. */
export const MAX_LINKS = 64;
export const MAX_LINKS_OF_USER = 16;

/** All links: a range of which private networks rarely have any part, and a unique local one (RFC 4193). */
export const NETWORK = '10.99.117.0/24';
export const NETWORK_6 = 'fd63:756c:7665:7274::/64';
/** The other end, in the program's namespace. */
export const INNER_DEVICE = 'eth0';
/** All devices of links, as nftables takes them. */
export const ANY_DEVICE = '"culv*"';

export interface Addresses {
  /** The end on this machine. */
  device: string;
  /** The device's address, and the program's. */
  gateway: string;
  address: string;
  gateway6: string;
  address6: string;
}

/** Lengths of their prefixes: two addresses each. */
export const PREFIX = 30;
export const PREFIX_6 = 126;

/** @param number from 0. @throws TypeError */
export function addressesOf(number: number): Addresses {
  if (!Number.isInteger(number) || number < 0 || number >= MAX_LINKS) throw new TypeError(`no link: ${number}`);
  const first = 4 * number;
  const six = (last: number) => `fd63:756c:7665:7274::${(first + last).toString(16)}`;
  return {
    device: `culv${number}`,
    gateway: `10.99.117.${first + 1}`,
    address: `10.99.117.${first + 2}`,
    gateway6: six(1),
    address6: six(2),
  };
}

/** The number in a device's name; null: no link has that name. */
export function numberOf(device: string): number | null {
  const [, digits] = /^culv(0|[1-9]\d?)$/.exec(device) ?? [];
  return digits !== undefined && Number(digits) < MAX_LINKS ? Number(digits) : null;
}

/** A path on each line, and comments that begin with #. */
export const ALLOWLIST = '/etc/culvert/outside-programs';

/** Absolute paths without detours: root can check each directory on the way. Others are left out. */
export function parseAllowlist(text: string): string[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => /^(?:\/[^/\0]+)+$/.test(line) && !/\/\.\.?(?:\/|$)/.test(line));
}
