// Checks text while the user types it; the daemon checks it again.
import { teamOf } from '../../api/actions.ts';
import type { Beacon } from '../../api/networks.ts';
import { bytesOf } from '../../core/address.ts';
import type { Translator } from '../translator.ts';

const LABEL = /^(?!-)[0-9A-Za-z_-]{1,63}(?<!-)$/;

const isIpv4 = (text: string) => bytesOf(text)?.length === 4;
const isIpv6 = (text: string) => bytesOf(text)?.length === 16;

function isDomain(text: string): boolean {
  const labels = text.split('.');
  return text.length <= 253 && labels.every(label => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '');
}

export type RouteKind = 'address' | 'range' | 'host';

/** Returns the kind of a split tunnel entry, or null for an invalid entry. */
export function routeKind(text: string): RouteKind | null {
  if (isIpv4(text) || isIpv6(text)) return 'address';
  const [, base = '', bits = ''] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  if ((isIpv4(base) && Number(bits) <= 32) || (isIpv6(base) && Number(bits) <= 128)) return 'range';
  return text.includes('.') && isDomain(text.replace(/^\*\./, '')) ? 'host' : null;
}

/** Returns the checks. A check returns its message for an invalid text, or null; it accepts an empty text. */
export function checks({ _ }: Translator) {
  const rule = (test: (text: string) => boolean, message: string) => (text: string) =>
    text === '' || test(text) ? null : message;
  return {
    route: rule(text => routeKind(text) !== null, _('Enter an address, a range such as 192.0.2.0/24, or a host name')),
    domain: rule(isDomain, _('Enter a domain such as corp.example.com')),
    endpoint: rule(isEndpoint, _('Enter an address and a port such as 162.159.198.2:443')),
    port: rule(text => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535, _('Enter a port from 1 to 65535')),
    team: rule(text => /^(?!-)[0-9A-Za-z-]{1,63}(?<!-)$/.test(teamOf(text)), _('Letters, digits and hyphens only')),
    license: rule(
      text => /^[0-9A-Za-z]{8}(-[0-9A-Za-z]{8}){2}$/.test(text),
      _('A key looks like abcd1234-abcd1234-abcd1234'),
    ),
    token: rule(
      text => /^com\.cloudflare\.warp:\/\/[^\s]+[?&]token=/i.test(text),
      _('Paste the whole address, which begins with com.cloudflare.warp://'),
    ),
    gateway: rule(text => /^[0-9A-Za-z]{1,64}$/.test(text), _('Letters and digits only')),
    identifier: rule(text => /^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$/.test(text), _('Letters, digits, - and _ only')),
    code: rule(text => /^(?=.*\d)[0-9A-Za-z]{4,32}$/.test(text), _('4 to 32 letters and digits')),
    hardware: rule(isHardware, _('Enter a hardware address such as 02:00:00:00:00:01')),
    beacon: rule(
      text => beaconIn(text) !== null,
      _('Enter an address such as 192.0.2.1:8443, and 64 hexadecimal digits'),
    ),
    name: rule(text => [...text].length <= 64 && !/\p{Cc}/u.test(text), _('At most 64 characters')),
    ssid: rule(text => byteLength(text) <= 32 && text === text.trim(), _('A name has at most 32 bytes')),
  };
}

/** Counts the bytes of a text in UTF-8; this folder must not depend on an encoder. */
function byteLength(text: string): number {
  return [...text].reduce((sum, char) => {
    const code = char.codePointAt(0)!;
    return sum + (code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
  }, 0);
}

function isEndpoint(text: string): boolean {
  const [, v6, v4, port = ''] = /^(?:\[([^\]]+)\]|([^[\]:]+)):(\d{1,5})$/.exec(text) ?? [];
  const isAddress = v6 === undefined ? isIpv4(v4 ?? '') : isIpv6(v6);
  return isAddress && Number(port) >= 1 && Number(port) <= 65_535;
}

function isHardware(text: string): boolean {
  return /^[\da-f]{2}(:[\da-f]{2}){5}$/i.test(text);
}

/** Parses `HOST:PORT` and a SHA-256 with or without colons, like `culvert network beacon`; null for any other text. */
export function beaconIn(text: string): Beacon | null {
  const [address = '', digits = '', ...others] = text.trim().split(/\s+/);
  const sha256 = digits.toLowerCase().replaceAll(':', '');
  const isAddress = address.length <= 260 && /^(\[[\da-f:.]+\]|[\w.-]+):\d{1,5}$/i.test(address);
  return isAddress && /^[\da-f]{64}$/.test(sha256) && others.length === 0 ? { address, sha256 } : null;
}
