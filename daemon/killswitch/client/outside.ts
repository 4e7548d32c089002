// Moves this process and its parent outside the tunnel: asks the root service for a link into their network namespace, and sets
// up the program's side of the link. bin/culvert has already made the namespaces, with rights that hold only inside them.
import { execFile } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reason } from '../../core/errors.ts';
import { readText } from '../../core/files.ts';
import { Problem } from '../../problem.ts';
import type { Outside } from '../outside.ts';
import { ALLOWLIST, INNER_DEVICE, parseAllowlist } from '../rules/place.ts';
import { type Message, message, N_ } from '../wording.ts';
import { requireService, SERVICE_PATHS } from './published-state.ts';
import { askPatiently } from './service-link.ts';

/** Directories with the sockets of resolvers that look names up through the tunnel. */
const RESOLVERS = ['/run/systemd/resolve', '/run/nscd'] as const;
const RESOLV_CONF = '/etc/resolv.conf';
const NSSWITCH_CONF = '/etc/nsswitch.conf';
/** Limit on a kernel that can't forward IPv6 for one program alone. */
const NO_IPV6 = N_('The program has no IPv6: before 6.17, Linux forwards it for all links or for none.');
/** Asks for the gateway every 20 ms, for 10 s. */
const PATIENCE = 'retrans 20 mcast_probes 500';

/**
 * @param outer network namespace in which bin/culvert was started, as /proc names it
 * @returns the program's limits; `waits` is true if an administrator must have allowed the program
 * @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed; the parent must not start a program then
 */
export async function leadOutside(outer: string | undefined): Promise<{ limits: Message[]; waits: boolean }> {
  if (!existsSync('/run/systemd/system'))
    throw new Problem(
      'killswitch-failed',
      message('Running a program outside the tunnel needs systemd, which does not run here.'),
    );
  requireService(SERVICE_PATHS, 'outside');
  if (!outer || ['self', process.ppid].some(pid => readlinkSync(`/proc/${pid}/ns/net`) === outer))
    throw new Problem('killswitch-failed', message('The program was not started: it has no network of its own.'));
  const outside = parseOutside(await askPatiently('LeadOutside', SERVICE_PATHS));
  if (!outside) throw new Problem('killswitch-failed', message("The root service's answer can't be parsed."));
  try {
    await setLink(outside);
    await setNames(outside.nameserver);
  } catch (error) {
    throw new Problem(
      'killswitch-failed',
      message('The program was not started: its network could not be set up. %s', reason(error).trim()),
      {},
      error,
    );
  }
  return { limits: outside.complete ? [] : [message(NO_IPV6)], waits: outside.waits };
}

/** Returns null if the answer is malformed. */
function parseOutside(value: unknown): Outside | null {
  const { address, gateway, address6, gateway6, nameserver, complete, waits } = (value ?? {}) as Partial<
    Record<keyof Outside, unknown>
  >;
  const isAddress = (text: unknown, family?: number): text is string =>
    typeof text === 'string' && (family ? isIP(text) === family : isIP(text) > 0);
  const isPrefix = (text: unknown, family: number): text is string =>
    typeof text === 'string' && /^[^/]+\/\d+$/.test(text) && isAddress(text.split('/')[0], family);
  if (!isPrefix(address, 4) || !isAddress(gateway, 4) || !isAddress(nameserver)) return null;
  const six = address6 === null && gateway6 === null ? { address6, gateway6 } : null;
  if (!six && (!isPrefix(address6, 6) || !isAddress(gateway6, 6))) return null;
  return {
    address,
    gateway,
    address6: six ? null : (address6 as string),
    gateway6: six ? null : (gateway6 as string),
    complete: complete === true,
    waits: waits === true,
    nameserver,
  };
}

async function setLink({ address, gateway, address6, gateway6, waits }: Outside): Promise<void> {
  const lines = [
    'link set dev lo up',
    `address add ${address} dev ${INNER_DEVICE}`,
    `link set dev ${INNER_DEVICE} up`,
    `route add default via ${gateway} dev ${INNER_DEVICE}`,
  ];
  if (address6 && gateway6)
    lines.push(
      `address add ${address6} dev ${INNER_DEVICE} nodad`,
      `route add ::/0 via ${gateway6} dev ${INNER_DEVICE}`,
    );
  // the gateway answers only after the link is turned on: until then the kernel keeps the first packets
  if (waits)
    for (const table of ['arp_cache', 'ndisc_cache'])
      lines.push(`ntable change name ${table} dev ${INNER_DEVICE} ${PATIENCE}`);
  await run('ip', ['-batch', '-'], lines.join('\n'));
  // lets the user run `ping`
  const group = process.getgid!();
  writeFileSync('/proc/sys/net/ipv4/ping_group_range', `${group} ${group}`);
}

/**
 * Makes programs ask the uplink's resolver, through a mounted resolv.conf. If another program replaces the file, the kernel
 * removes the mount, and the file names a resolver of this machine; a rule then translates the address.
 */
async function setNames(nameserver: string): Promise<void> {
  const text = `# culvert run --outside: the resolver of the network outside the tunnel\nnameserver ${nameserver}\n`;
  const file = existsSync(RESOLV_CONF) ? realpathSync(RESOLV_CONF) : null;
  const hidden = RESOLVERS.filter(existsSync);
  for (const directory of hidden) await run('mount', ['-t', 'tmpfs', '-o', 'mode=0755,size=64k', 'tmpfs', directory]);
  if (file && hidden.some(directory => file.startsWith(`${directory}/`))) writeFileSync(file, text, { mode: 0o644 });
  else if (file) await mountText(text, file);
  // SSSD looks names up through the tunnel as well, but its sockets also serve the user database
  const modules = existsSync(NSSWITCH_CONF) ? readFileSync(NSSWITCH_CONF, 'utf8') : '';
  const own = withoutSssd(modules);
  if (own !== modules) await mountText(own, realpathSync(NSSWITCH_CONF));
  if (isIP(nameserver) !== 4) return;
  writeFileSync(`/proc/sys/net/ipv4/conf/${INNER_DEVICE}/route_localnet`, '1');
  const dns = 'meta l4proto { 6, 17 } th dport 53';
  await run('nft', [
    `table inet culvert_names {
      chain output { type nat hook output priority -100; ip daddr 127.0.0.0/8 ${dns} dnat ip to ${nameserver}; };
      chain postrouting { type nat hook postrouting priority 100; ip saddr 127.0.0.0/8 oifname "${INNER_DEVICE}" masquerade; };
      chain other { type filter hook output priority 0; oifname "lo" ip6 daddr ::1 ${dns} reject; };
    }`,
  ]);
}

/** Mounts a text over a file, in this mount namespace. */
async function mountText(text: string, file: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-outside-'));
  try {
    const source = join(directory, 'text');
    writeFileSync(source, text, { mode: 0o644 });
    await run('mount', ['--bind', source, file]);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** @throws Error with the program's error output */
function run(program: string, argv: readonly string[], input = ''): Promise<void> {
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
  return new Promise((resolve, reject) => {
    const child = execFile(program, [...argv], { env, timeout: 10_000 }, (error, _, stderr) =>
      error ? reject(new Error(stderr.trim() || error.message)) : resolve(),
    );
    child.stdin?.on('error', () => {}); // the program ended early, and its error says why
    child.stdin?.end(input);
  });
}

/** Returns nsswitch.conf without SSSD for hosts, and without the conditions on its answer. */
export function withoutSssd(text: string): string {
  return text.replace(/^\s*hosts:.*/m, line => line.replace(/\s+sss(?=\s|#|$)(?:\s*\[[^\]\n]*\])?/g, ''));
}

/**
 * Refuses a program that is not allowed outside the tunnel.
 * @param file path of the program; null if it was not found
 * @throws Problem killswitch-failed
 */
export function requireAllowed(file: string | null): void {
  if (!file || !existsSync(file)) return; // the shell reports this
  const real = realpathSync(file);
  const script = startOf(real) === '#!';
  const text = readText(ALLOWLIST);
  // the root service checks a list that only root may read
  if (!script && (text === null || parseAllowlist(text).includes(real))) return;
  throw new Problem(
    'killswitch-failed',
    script
      ? message('The kill switch is on, and %s is a script: only the program that it starts can be allowed.', real)
      : message('The kill switch is on, and no administrator has allowed %s outside the tunnel.', real),
    { hint: `An administrator can add the path of the program to ${ALLOWLIST}` },
  );
}

/** Returns the first two bytes; null for a program that can be run but not read. */
function startOf(file: string): string | null {
  try {
    const fd = openSync(file, 'r');
    try {
      const start = Buffer.alloc(2);
      readSync(fd, start);
      return start.toString('latin1');
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}
