// Pure: names and addresses of the links of programs that bypass the tunnel. Each program has one, with a number.

/** Limits: of all users, and of each. */
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
  /** That of the device, and that of the program. */
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
