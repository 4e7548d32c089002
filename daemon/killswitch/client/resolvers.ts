// Finds what a kept program lacks of names, or gets from programs that look them up for others: those ask from their own place.
import { existsSync, readFileSync } from 'node:fs';
import { TUNNEL_INTERFACES } from '../rules/place.ts';
import { type Message, message, N_ } from '../wording.ts';

const ANY_NAME = N_('Names are looked up by %s, which is not kept in the tunnel.');
const LOCAL_NAMES = N_('Names that end in .local are looked up by %s, which is not kept in the tunnel.');

/** Each with the module of nsswitch.conf that asks it by its socket; the C library asks nscd before any module. */
const RESOLVERS = [
  { name: 'nscd', module: null, socket: '/run/nscd/socket', says: ANY_NAME },
  { name: 'systemd-resolved', module: /^resolve$/, socket: '/run/systemd/resolve/io.systemd.Resolve', says: ANY_NAME },
  { name: 'SSSD', module: /^sss$/, socket: '/var/lib/sss/pipes/nss', says: ANY_NAME },
  { name: 'Avahi', module: /^mdns[46]?(_minimal)?$/, socket: '/run/avahi-daemon/socket', says: LOCAL_NAMES },
];

/** A mode of WARP leaves names to other resolvers, which a kept program does not reach on this machine. */
const NO_NAMES = N_(
  'WARP looks up no names now, as in the mode tunnel_only. Only name servers that the tunnel reaches can be asked.',
);
/** 127.0.2.2, port 53: either byte order of the machine. */
const WARP_LISTENS = /^\s*\d+: (?:0202007F|7F000202):0035 /m;

/** A sentence about each limit of names here. @param root of the system */
export function limitsOfNames(root = ''): Message[] {
  return [...(isWithoutNames(root) ? [message(NO_NAMES)] : []), ...resolversElsewhere(root)];
}

function isWithoutNames(root: string): boolean {
  const devices = readText(`${root}/proc/net/dev`).split('\n');
  const isUp = devices.some(line => TUNNEL_INTERFACES.includes(line.split(':')[0]!.trim()));
  return isUp && !WARP_LISTENS.test(readText(`${root}/proc/net/udp`));
}

/** A sentence about each of them that runs. */
function resolversElsewhere(root: string): Message[] {
  const modules = modulesOf(`${root}/etc/nsswitch.conf`);
  return RESOLVERS.filter(
    ({ module, socket }) =>
      existsSync(`${root}${socket}`) && (module === null || modules.some(name => module.test(name))),
  ).map(({ name, says }) => message(says, name));
}

/** Modules that look up the names of hosts; none without the file. */
function modulesOf(path: string): string[] {
  const [, hosts = ''] = /^\s*hosts:([^#\n]*)/m.exec(readText(path)) ?? [];
  return hosts.trim().split(/\s+/);
}

/** The text of nsswitch.conf by which SSSD is not asked for hosts. What decides after its answer goes with it. */
export function withoutSssd(text: string): string {
  return text.replace(/^\s*hosts:.*/m, line => line.replace(/\s+sss(?=\s|#|$)(?:\s*\[[^\]\n]*\])?/g, ''));
}

/** Empty if there is no such file. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
