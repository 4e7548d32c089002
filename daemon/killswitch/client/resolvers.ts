// Finds the programs that look up names for others: what they ask for a kept program leaves from their own place.
import { existsSync, readFileSync } from 'node:fs';
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

/** A sentence about each of them that runs here. @param root of the system */
export function resolversElsewhere(root = ''): Message[] {
  const modules = modulesOf(`${root}/etc/nsswitch.conf`);
  return RESOLVERS.filter(
    ({ module, socket }) =>
      existsSync(`${root}${socket}`) && (module === null || modules.some(name => module.test(name))),
  ).map(({ name, says }) => message(says, name));
}

/** Modules that look up the names of hosts; none without the file. */
function modulesOf(path: string): string[] {
  try {
    const [, hosts = ''] = /^\s*hosts:([^#\n]*)/m.exec(readFileSync(path, 'utf8')) ?? [];
    return hosts.trim().split(/\s+/);
  } catch {
    return [];
  }
}
