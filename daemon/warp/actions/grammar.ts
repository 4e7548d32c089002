// Defines the grammar of each argument that reaches the tunnel CLI: what is not exactly one of these is refused.
import { isIP } from 'node:net';
import { ARGUMENTS, type Argument, type ArgumentName } from '../../api/actions.ts';

type Check = (value: string) => boolean;

/** Tests of the kinds of argument whose values can't be listed. */
const CHECKS: { [N in ArgumentName as (typeof ARGUMENTS)[N] extends { values: unknown } ? never : N]: Check } = {
  address: isAddress,
  range(value) {
    const [, base = '', bits = ''] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(value) ?? [];
    return isAddress(base) && Number(bits) <= (isIP(base) === 4 ? 32 : 128);
  },
  endpoint(value) {
    const [, v6, v4, number = ''] = /^(?:\[([^\]]+)\]|([^[\]:]+)):(\d+)$/.exec(value) ?? [];
    const isValid = v6 === undefined ? isIP(v4 ?? '') === 4 : isIP(v6) === 6 && isAddress(v6);
    return isValid && isPort(number);
  },
  port: isPort,
  domain: isDomain,
  // a name, or every name below one
  host: value => isDomain(value.replace(/^\*\./, '')),
  // the first label of `<team>.cloudflareaccess.com`
  team: value => LABEL.test(value),
  license: value => /^[0-9A-Za-z]{8}(-[0-9A-Za-z]{8}){2}$/.test(value),
  // the address that a browser is sent to after signing in to a team; it carries the token
  tokenUrl: value => value.length <= 8192 && TOKEN_URL.test(value),
  // IEEE 802.11: at most 32 bytes
  ssid: value => Buffer.byteLength(value) <= 32 && value === value.trim(),
  overrideCode: value => /^(?=.*\d)[0-9A-Za-z]{4,32}$/.test(value),
  gatewayId: value => /^[0-9A-Za-z]{1,64}$/.test(value),
  virtualNetwork: value => /^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$/.test(value),
};

/**
 * Checks the value of an action.
 * @returns null when it is well-formed, else what is expected instead, to follow the word "expected".
 */
export function checkArgument(name: ArgumentName, value: string): string | null {
  const { values, expected }: Argument = ARGUMENTS[name];
  const isValid = values ? values.includes(value) : CHECKS[name as keyof typeof CHECKS](value);
  return plain(value) ?? (isValid ? null : expected);
}

/**
 * The rules for every argument: it is no option, and has nothing that a terminal, a log or a reader would mistake.
 * Cc, Cf, Zl, Zp: control and invisible formatting characters, line and paragraph separators.
 */
function plain(value: string): string | null {
  if (value === '') return 'a value';
  if (value.length > 8192) return 'at most 8192 characters';
  if (value.startsWith('-')) return 'a value that does not start with a hyphen';
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(value)) return 'a value without control or invisible characters';
  return null;
}

const LABEL = /^(?!-)[0-9A-Za-z-]{1,63}(?<!-)$/;
const TOKEN_URL =
  /^com\.cloudflare\.warp:\/\/(?:[0-9a-z-]{1,63}\.){1,4}cloudflareaccess\.(?:com|us)\/auth\?(?:[\w.~%+/=&-]*&)?token=[\w.~%+/=&-]+$/i;

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
  const isValid = labels.every(label => LABEL.test(label.replaceAll('_', 'x')));
  return value.length <= 253 && isValid && !/^\d+$/.test(labels.at(-1) ?? '');
}
