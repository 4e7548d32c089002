// Names the place of a program: its cgroup if it uses the tunnel only, or its link if it bypasses WARP. Pure; this file imports
// nothing, because every start of such a program loads it.

/** The name of warp-svc's device. */
export const TUNNEL_INTERFACES: readonly string[] = ['CloudflareWARP'];

/**
 * A target on which no program listens. The rules refuse it only to programs in their place, so a program can test the rules
 * without a packet on any link.
 */
export const PROBE = { address: '127.99.117.108', port: 9 } as const;

/** All hosts on a link. The test inside the place sends there too, on each link; with a TTL of 0, the packet reaches no host. */
export const ALL_HOSTS = '224.0.0.1';
/** All nodes of this machine: a packet to this address leaves on no link. */
export const THIS_NODE = 'ff01::1';

/**
 * Returns the unit that holds a user's programs. As part of the user's slice, it has the user's limits, and the user can't move
 * out of it.
 */
export function sliceOf(uid: number): string {
  return `user-${checked(uid)}-culvert.slice`;
}

/** Returns the cgroup of the unit, below the root of the hierarchy. */
export function cgroupOf(uid: number): string {
  return `user.slice/user-${checked(uid)}.slice/${sliceOf(uid)}`;
}

function checked(uid: number): number {
  if (!Number.isSafeInteger(uid) || uid < 0) throw new TypeError(`no user: ${uid}`);
  return uid;
}

/** Maximum numbers of links, for all users together and for each user. */
export const MAX_LINKS = 64;
export const MAX_LINKS_OF_USER = 16;

/** Addresses of all links: a range that private networks rarely overlap, and a unique local range (RFC 4193). */
export const NETWORK = '10.99.117.0/24';
export const NETWORK_6 = 'fd63:756c:7665:7274::/64';
/** Device at the link's other end, in the program's namespace. */
export const INNER_DEVICE = 'eth0';
/** Pattern for the devices of all links, in the syntax of nftables. */
export const ANY_DEVICE = '"culv*"';

export interface Addresses {
  /** Device at this machine's end. */
  device: string;
  /** Addresses of the device and of the program. */
  gateway: string;
  address: string;
  gateway6: string;
  address6: string;
}

/** Lengths of the links' prefixes, for two addresses each. */
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

/** Returns the number in a device's name; null if no link has that name. */
export function numberOf(device: string): number | null {
  const [, digits] = /^culv(0|[1-9]\d?)$/.exec(device) ?? [];
  return digits !== undefined && Number(digits) < MAX_LINKS ? Number(digits) : null;
}

/** File with a path on each line, and comments that begin with #. */
export const ALLOWLIST = '/etc/culvert/outside-programs';

/** Returns absolute paths without detours: root can check each directory on the way. Other lines are left out. */
export function parseAllowlist(text: string): string[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => /^(?:\/[^/\0]+)+$/.test(line) && !/\/\.\.?(?:\/|$)/.test(line));
}
