// Defines the changes that `culvert-repair` makes as root, and verifies each file first. Takes a name and parameters from the
// caller, and reads everything else from the machine.
import { existsSync, lstatSync, readFileSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Message } from '../../api/values.ts';
import type { Failure } from '../../core/errors.ts';
import { message } from '../../view/message.ts';
import { DNSMASQ, RESOLVED_STUB, STOPPABLE, setIpv6Disabled } from '../file-fix.ts';
import { fixFailure } from '../fix-journal.ts';
import { command, linkInstead, type Operation, replacement } from '../fixes.ts';
import { LOCAL_PROXY, parseResolvConf, withoutInvalidWords } from '../world/resolv-conf.ts';
import type { Tools } from '../world/tools.ts';

/** The system to change. */
export interface Machine {
  /** `/`, or a directory in a test. */
  root: string;
  tools: Tools;
  /** File of the changes that can be undone. */
  journal: string;
}

export interface Repair {
  /** The check whose problem this repair fixes. */
  check: string;
  /** Returns true if the parameters are valid for this repair. */
  accepts(parameters: readonly string[]): boolean;
  label(parameters: readonly string[]): Message;
  /** Inspects the machine without changing it. @throws Failure if the repair does not fit the machine */
  plan(machine: Machine, parameters: readonly string[]): Promise<Operation[]>;
}

const WARP = 'warp-svc';
const RESOLV_CONF = '/etc/resolv.conf';
const MAX_INTERFACES = 16;
/** Stricter than Linux: no real device has a name that begins like an option or contains two dots. */
const INTERFACE = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,14}$/;
/** Entries of net.ipv6.conf that are not devices, and the loopback interface. */
const NO_INTERFACES = new Set(['all', 'default', 'lo']);

const isEmpty = (parameters: readonly string[]) => parameters.length === 0;

const REPAIRS: ReadonlyMap<string, Repair> = new Map<string, Repair>([
  [
    'start-warp',
    { check: 'service', accepts: isEmpty, label: () => message('Start the WARP service'), plan: startWarp },
  ],
  [
    'restart-warp',
    {
      check: 'service',
      accepts: isEmpty,
      label: () => message('Restart the WARP service'),
      plan: async ({ tools }) => [command(['systemctl', 'restart', WARP], tools)],
    },
  ],
  [
    'ipv6-off',
    {
      check: 'ipv6-beside',
      accepts: names =>
        names.length > 0 &&
        names.length <= MAX_INTERFACES &&
        new Set(names).size === names.length &&
        names.every(name => INTERFACE.test(name) && !NO_INTERFACES.has(name)),
      label: () => message('Turn IPv6 off on these interfaces'),
      plan: turnIpv6Off,
    },
  ],
  [
    'dnsmasq',
    {
      check: 'dns-port-53',
      accepts: isEmpty,
      label: () => message('Keep dnsmasq off the addresses of WARP'),
      plan: limitDnsmasq,
    },
  ],
  [
    'stop-resolver',
    {
      check: 'dns-port-53',
      accepts: ([unit = '', ...others]) => others.length === 0 && STOPPABLE.includes(unit),
      label: ([unit = '']) => message('Stop %s', unit),
      plan: stopResolver,
    },
  ],
  [
    'dns-link',
    {
      check: 'dns-resolv-conf',
      accepts: isEmpty,
      label: () => message('Remove the leftover DNS server'),
      plan: async ({ tools }) => [command(['resolvectl', 'revert', 'CloudflareWARP'], tools)],
    },
  ],
  [
    'resolv-conf-link',
    {
      check: 'dns-resolv-conf',
      accepts: isEmpty,
      label: () => message('Remove the leftover DNS server'),
      plan: linkResolvConf,
    },
  ],
  [
    'resolv-conf-words',
    {
      check: 'dns-search',
      accepts: isEmpty,
      label: () => message('Remove the invalid words'),
      plan: removeInvalidWords,
    },
  ],
]);

/** @returns null for a name that is not in the list, or for parameters that the repair does not accept */
export function repairOf(name: string, parameters: readonly string[]): Repair | null {
  const repair = REPAIRS.get(name);
  return repair?.accepts(parameters) ? repair : null;
}

/** Plans the start of the service. Undo leaves a service enabled if it was enabled before. */
async function startWarp({ tools }: Machine): Promise<Operation[]> {
  const { exitCode } = await tools.run('systemctl', ['is-enabled', '--quiet', WARP]);
  const undo = exitCode === 0 ? ['systemctl', 'stop', WARP] : ['systemctl', 'disable', '--now', WARP];
  return [command(['systemctl', 'enable', '--now', WARP], tools, undo)];
}

async function turnIpv6Off({ root, tools }: Machine, names: readonly string[]): Promise<Operation[]> {
  return names.map(name => {
    const before = settingOf(join(root, 'proc/sys/net/ipv6/conf', name, 'disable_ipv6'));
    if (before === null) throw refused(`There is no interface ${name} with IPv6.`);
    return command(setIpv6Disabled(name, '1'), tools, setIpv6Disabled(name, before));
  });
}

/** Returns `0` or `1`; null for anything else. */
function settingOf(path: string): string | null {
  const text = existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
  return /^[01]$/.test(text) ? text : null;
}

async function limitDnsmasq({ root, tools, journal }: Machine): Promise<Operation[]> {
  const path = join(root, DNSMASQ.path);
  readOwnFile(root, path);
  const restart = ['systemctl', 'try-restart', DNSMASQ.unit];
  return [
    // undone in the reverse order: dnsmasq reads the restored settings at the end
    { does: '', undo: () => ({ kind: 'command', argv: restart }), run() {} },
    replacement(path, DNSMASQ.content, journal),
    command(restart, tools),
  ];
}

async function stopResolver({ tools }: Machine, [unit = '']: readonly string[]): Promise<Operation[]> {
  const { exitCode } = await tools.run('systemctl', ['is-active', '--quiet', unit]);
  if (exitCode !== 0) throw refused(`${unit} does not run.`);
  return [command(['systemctl', 'stop', unit], tools, ['systemctl', 'start', unit])];
}

async function linkResolvConf({ root, journal }: Machine): Promise<Operation[]> {
  const path = join(root, RESOLV_CONF);
  const { nameservers } = parseResolvConf(readResolvConf(root), null);
  if (!nameservers.some(server => LOCAL_PROXY.has(server)))
    throw refused(`${RESOLV_CONF} does not name the DNS server of WARP.`);
  if (!existsSync(join(root, 'etc', RESOLVED_STUB))) throw refused('systemd-resolved does not run.');
  return [linkInstead(path, RESOLVED_STUB, journal)];
}

async function removeInvalidWords({ root, journal }: Machine): Promise<Operation[]> {
  const before = readResolvConf(root);
  const content = withoutInvalidWords(before);
  if (content === before) throw refused(`Every line of ${RESOLV_CONF} is valid.`);
  return [replacement(join(root, RESOLV_CONF), content, journal)];
}

function readResolvConf(root: string): string {
  const text = readOwnFile(root, join(root, RESOLV_CONF));
  if (text === null) throw refused(`There is no ${RESOLV_CONF}.`);
  return text;
}

/** Maximum size of a file that is repaired. */
const MAX_BYTES = 64 * 1024;
const OTHERS_MAY_WRITE = 0o022;

/**
 * Requires that each directory above a path is not a link and that only root can write to it. Otherwise another user could replace
 * the directory between this check and the change.
 * @param root the directory that stands for `/`
 * @throws Failure
 */
export function requireOwnDirectories(root: string, path: string): void {
  const directories: string[] = [];
  for (let each = dirname(path); ; each = dirname(each)) {
    directories.push(each);
    if (each === root || each === dirname(each)) break;
  }
  for (const directory of directories) {
    const info = lstatSync(directory, { throwIfNoEntry: false });
    if (!info) throw refused(`There is no directory ${directory}.`);
    if (!info.isDirectory()) throw refused(`${directory} is not a directory, or it is a link.`);
    requireOwn(directory, info);
  }
}

/** Returns the text of a regular file owned by root, or null if it does not exist. @throws Failure */
function readOwnFile(root: string, path: string): string | null {
  requireOwnDirectories(root, path);
  const info = lstatSync(path, { throwIfNoEntry: false });
  if (!info) return null;
  if (!info.isFile() || info.nlink !== 1) throw refused(`${path} is a link, or not a regular file.`);
  requireOwn(path, info);
  if (info.size > MAX_BYTES) throw refused(`${path} has more than ${MAX_BYTES} bytes.`);
  return readFileSync(path, 'utf8');
}

function requireOwn(path: string, { uid, mode }: Stats): void {
  if (uid !== process.geteuid?.() || (mode & OTHERS_MAY_WRITE) !== 0)
    throw refused(`Others than root may change ${path}.`);
}

function refused(why: string): Failure {
  return fixFailure('failed', `${why} Nothing was changed.`);
}
