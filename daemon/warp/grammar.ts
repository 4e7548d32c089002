// The grammar of each argument that reaches the tunnel CLI: what is not exactly one of these is refused.
import { isIP } from 'node:net';

/** null when `value` is well-formed, else what is expected instead, to follow "expected". */
export type Grammar = (value: string) => string | null;

export const mode = oneOf('warp', 'doh', 'warp+doh', 'dot', 'warp+dot', 'proxy', 'tunnel_only');
/** Case matters to the tunnel CLI. */
export const protocol = oneOf('MASQUE', 'WireGuard');
export const masqueOption = oneOf('h3-only', 'h2-only', 'h3-with-h2-fallback');
export const families = oneOf('off', 'malware', 'full');
export const onOff = oneOf('enable', 'disable');

export const address: Grammar = value => check(isAddress(value), 'an IP address such as 192.0.2.1 or 2001:db8::1');

export const range: Grammar = value => {
  const [, base = '', bits = ''] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(value) ?? [];
  const most = isIP(base) === 4 ? 32 : 128;
  return check(isAddress(base) && Number(bits) <= most, 'an address range such as 192.0.2.0/24 or 2001:db8::/32');
};

export const endpoint: Grammar = value => {
  const [, v6, v4, number = ''] = /^(?:\[([^\]]+)\]|([^[\]:]+)):(\d+)$/.exec(value) ?? [];
  const known = v6 === undefined ? isIP(v4 ?? '') === 4 : isIP(v6) === 6 && isAddress(v6);
  return check(known && isPort(number), 'an address and port such as 162.159.198.2:443 or [2606:4700:103::2]:443');
};

export const port: Grammar = value => check(isPort(value), 'a port from 1 to 65535');

/** A DNS name; `corp` is one as well. */
export const domain: Grammar = value => check(isDomain(value), 'a domain name such as corp or example.com');

/** A split-tunnel host: a name, or every name below one. */
export const host: Grammar = value =>
  check(isDomain(value.replace(/^\*\./, '')), 'a host name such as www.example.com or *.example.com');

/** The first label of `<team>.cloudflareaccess.com`. */
export const team: Grammar = value => check(LABEL.test(value), 'a team name of letters, digits and hyphens');

export const license: Grammar = value =>
  check(/^[0-9A-Za-z]{8}(-[0-9A-Za-z]{8}){2}$/.test(value), 'a licence key of three groups of eight characters');

/** The address that a browser is sent to after signing in to a team; it carries the token. */
export const tokenUrl: Grammar = value =>
  check(
    value.length <= 8192 && TOKEN_URL.test(value),
    'the address com.cloudflare.warp://<team>.cloudflareaccess.com/auth?token=… from the sign-in page',
  );

/** IEEE 802.11: at most 32 bytes. */
export const ssid: Grammar = value =>
  check(Buffer.byteLength(value) <= 32 && value === value.trim(), 'a network name (SSID) of at most 32 bytes');

export const overrideCode: Grammar = value =>
  check(
    /^(?=.*\d)[0-9A-Za-z]{4,32}$/.test(value),
    'the override code from your administrator, 4 to 32 letters and digits',
  );

export const gatewayId: Grammar = value =>
  check(/^[0-9A-Za-z]{1,64}$/.test(value), 'a Gateway ID of letters and digits');

export const identifier: Grammar = value =>
  check(/^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$/.test(value), 'an identifier of letters, digits, hyphens and underscores');

/**
 * What holds for every argument: no option, nothing that a terminal, a log or a reader's eye would mistake.
 * Cc, Cf, Zl, Zp: control and invisible formatting characters, line and paragraph separators.
 */
export const plain: Grammar = value => {
  if (value === '') return 'a value';
  if (value.length > 8192) return 'at most 8192 characters';
  if (value.startsWith('-')) return 'a value that does not start with a hyphen';
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(value)) return 'a value without control or invisible characters';
  return null;
};

const LABEL = /^(?!-)[0-9A-Za-z-]{1,63}(?<!-)$/;
const TOKEN_URL =
  /^com\.cloudflare\.warp:\/\/(?:[0-9a-z-]{1,63}\.){1,4}cloudflareaccess\.(?:com|us)\/auth\?(?:[\w.~%+/=&-]*&)?token=[\w.~%+/=&-]+$/i;

function oneOf(...words: string[]): Grammar {
  return value => check(words.includes(value), `one of ${words.join(', ')}`);
}

function check(ok: boolean, expected: string): string | null {
  return ok ? null : expected;
}

/** Without a zone (`%eth0`), which node:net accepts and a route can't have. */
function isAddress(value: string): boolean {
  return isIP(value) !== 0 && !value.includes('%');
}

function isPort(value: string): boolean {
  return /^[1-9]\d{0,4}$/.test(value) && Number(value) <= 65_535;
}

/** The last label of a name is never a number; a mistyped address is. */
function isDomain(value: string): boolean {
  const labels = value.split('.');
  const known = labels.every(label => LABEL.test(label.replaceAll('_', 'x')));
  return value.length <= 253 && known && !/^\d+$/.test(labels.at(-1) ?? '');
}
