// Proofs of the checks of servers next to WARP, in network namespaces with recorded rules and tables of public reports.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { routeOwners } from '../../../../daemon/doctor/checks/routes.ts';
import { forwardedTraffic, inboundFirewall, ruleOrder } from '../../../../daemon/doctor/checks/server.ts';
import type { World } from '../../../../daemon/doctor/world/world.ts';
import {
  ENV,
  type Fixture,
  NOW,
  namespace,
  type Parts,
  snapshot,
  tree,
  withPrograms,
  world,
} from '../../../support/doctor/world.ts';
import type { Ends } from '../../../support/temporary.ts';
import { type Case, proofs } from './cases.ts';

const RECORDED = join(import.meta.dirname, '../../../fixtures/reachable');
const load = (name: string) => `nft -f ${join(RECORDED, name)};`;

/** Sets the rules of a recorded `ip rule`; the name of a table that this machine lacks becomes a number. */
function rulesOf(name: string): string {
  const lines = readFileSync(join(RECORDED, name), 'utf8').trim().split('\n');
  const own = lines.filter(line => !/^(0|32766|32767):/.test(line));
  return own
    .map(line => {
      const [, priority, rule] = /^(\d+):\s+(.*)$/.exec(line)!;
      return `ip rule add ${rule!.replace('ssh_route', '100')} priority ${priority};`;
    })
    .join(' ');
}

const TUNNEL =
  'ip tuntap add CloudflareWARP mode tun; ip addr add 172.16.0.2/32 dev CloudflareWARP; ip link set CloudflareWARP up;';
/** The routes of WARP, shortened: everything that the usual split tunnel does not exclude. */
const WARP_ROUTES = '203.0.0.0/8 198.51.0.0/16'
  .split(' ')
  .map(range => `ip route add ${range} dev CloudflareWARP table 65743;`)
  .join(' ');
const WARP_RULE = 'ip rule add not fwmark 0x100cf table 65743 priority 5209;';
const UPLINK =
  'ip link add uplink type bridge; ip addr add 10.164.0.125/20 dev uplink; ip link set uplink up; ip route add default via 10.164.0.1;';
const bridge = (name: string, address: string) =>
  `ip link add ${name} type bridge; ip addr add ${address} dev ${name}; ip link set ${name} up;`;
const FORWARDS = 'sysctl -qw net.ipv4.ip_forward=1;';

interface Options {
  files?: Fixture;
  programs?: Record<string, string>;
  tunnel?: Parts;
}

const NO_JOURNAL = { journalctl: 'exit 0' };

async function inside(t: Ends, setUp: string, { files, programs = {}, tunnel }: Options = {}): Promise<World> {
  const { prefix } = await namespace(t, setUp);
  return world(t, {
    prefix,
    root: tree(t, files),
    env: { ...ENV, ...withPrograms(t, { ...NO_JOURNAL, ...programs }) },
    ...(tunnel && { tunnel: snapshot(tunnel) }),
  });
}

const HEAD = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const socket = (local: string, remote: string, state: string) =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000     0        0 1 1 0000000000000000 100 0 0 10 0\n`;
const LISTENS = socket('00000000:0016', '00000000:0000', '0A');
/** From 203.0.113.5 to 192.168.1.2. */
const SESSION = socket('0201A8C0:0016', '057100CB:C350', '01');
/** From 203.0.113.5 to 172.16.0.2, the address of the tunnel. */
const TUNNELED = socket('020010AC:0016', '057100CB:C350', '01');
const sshServer = (rows = LISTENS): Fixture => ({ '/proc/net/tcp': HEAD + rows });
const excluded = (...ips: string[]): Parts => ({
  splitTunnel: { mode: 'exclude', ips: ips.map(value => ({ value, description: null })) },
});

const FIREWALL: Case[] = proofs(inboundFirewall, 'namespace', [
  {
    title: 'the table that dropped the connections of an SSH server (nixpkgs#168092)',
    verdict: 'notice',
    shows: /except from 11 ranges[\s\S]*SSH server listens on port 22[\s\S]*SSH from the Internet gets no answer/,
    fix: null,
    world: t => inside(t, `${TUNNEL} ${load('nixpkgs-168092.nft')}`, { files: sshServer() }),
  },
  {
    title: 'the same table, with an open session from outside',
    verdict: 'problem',
    shows: /open from 203\.0\.113\.5, which it drops/,
    fix: /"addSplitIp","value":"203\.0\.113\.5"[\s\S]*"removeSplitIp"/,
    world: t => inside(t, `${TUNNEL} ${load('nixpkgs-168092.nft')}`, { files: sshServer(LISTENS + SESSION) }),
  },
  {
    title: 'the same table, with a session through the tunnel',
    verdict: 'notice',
    fix: null,
    world: t => inside(t, `${TUNNEL} ${load('nixpkgs-168092.nft')}`, { files: sshServer(LISTENS + TUNNELED) }),
  },
  {
    title: 'a port of sshd_config',
    verdict: 'notice',
    shows: /listens on port 2222/,
    world: t =>
      inside(t, `${TUNNEL} ${load('nixpkgs-168092.nft')}`, {
        files: {
          ...sshServer(socket('00000000:08AE', '00000000:0000', '0A')),
          '/etc/ssh/sshd_config.d/10-port.conf': '# Port 22\nPort 2222\n',
        },
      }),
  },
  {
    title: 'a local network that is not excluded, and a rule of others in the table',
    verdict: 'problem',
    shows: /uplink: it drops the local network 10\.164\.0\.0\/20\nnot a rule of WARP: ct mark 21026/,
    fix: /"addSplitRange","value":"10\.164\.0\.0\/20"/,
    world: t => inside(t, `${TUNNEL} ${UPLINK} ${load('marks-of-others.nft')}`, { tunnel: excluded('10.0.0.0/16') }),
  },
  {
    title: 'a local network that an organization does not exclude',
    verdict: 'problem',
    fix: null,
    world: t =>
      inside(t, `${TUNNEL} ${UPLINK} ${load('marks-of-others.nft')}`, {
        tunnel: { ...excluded('10.0.0.0/16'), account: { managed: true } },
      }),
  },
  {
    title: 'a machine without an SSH server',
    verdict: 'ok',
    shows: /except from 11 ranges\.\nNo SSH server listens here\./,
    world: t => inside(t, `${TUNNEL} ${UPLINK} ${load('nixpkgs-168092.nft')}`, { files: { '/proc/net/tcp': HEAD } }),
  },
  {
    title: 'a machine without an SSH server, and no table',
    verdict: 'ok',
    shows: /No SSH server listens here\.\nuplink: 10\.164\.0\.0\/20 is outside the tunnel/,
    world: t => inside(t, `${TUNNEL} ${UPLINK}`, { files: { '/proc/net/tcp': HEAD } }),
  },
  {
    title: 'a local network that is excluded, which the table drops all the same',
    verdict: 'problem',
    shows: /uplink: it drops the local network 10\.164\.0\.0\/20[\s\S]*although the network is excluded/,
    fix: /"disconnect"[\s\S]*"connect"/,
    world: t => inside(t, `${TUNNEL} ${UPLINK} ${load('marks-of-others.nft')}`, { tunnel: excluded('10.0.0.0/8') }),
  },
  {
    title: 'an SSH server that one address may reach',
    verdict: 'ok',
    shows: /Also let in: 198\.51\.100\.7/,
    world: t =>
      inside(
        t,
        `${TUNNEL} ${load('nixpkgs-168092.nft')} nft add rule inet cloudflare-warp input ip saddr 198.51.100.7 accept`,
        { files: sshServer(), tunnel: excluded('10.0.0.0/8', '198.51.100.7') },
      ),
  },
  {
    title: 'no table',
    verdict: 'ok',
    shows: /no table “inet cloudflare-warp” now/,
    world: t => inside(t, TUNNEL, { files: sshServer() }),
  },
  {
    title: 'a user who may not read it',
    verdict: 'not-applicable',
    shows: /sudo culvert doctor --only inbound-firewall/,
    world: t =>
      inside(t, TUNNEL, {
        files: sshServer(),
        programs: { nft: 'echo "Operation not permitted (you must be root)" >&2; exit 1' },
      }),
  },
  {
    title: 'an answer that is not understood',
    verdict: 'unknown',
    shows: /was not understood/,
    world: t => inside(t, TUNNEL, { files: sshServer(), programs: { nft: 'echo "{}"' } }),
  },
]);

const UNIT = '/etc/systemd/system/keep-ssh.service';
const enabled = (execStart: string): Fixture => ({
  [UNIT]: `[Service]\nType=oneshot\nExecStart=${execStart}\n`,
  '/etc/systemd/system/multi-user.target.wants/keep-ssh.service': { link: UNIT },
});
const WARP = `${TUNNEL} ${WARP_ROUTES} ${WARP_RULE}`;

const RULES: Case[] = proofs(ruleOrder, 'namespace', [
  {
    title: 'rules of the owner behind the rule of WARP (SSH blocked on a VPS)',
    verdict: 'notice',
    shows:
      /“from 10\.0\.0\.16 lookup 100” \(5208\) comes after WARP’s[\s\S]*WARP has the rule “not from all fwmark 0x100cf lookup 65743” \(5207\)\nTailscale has/,
    fix: null,
    world: t => inside(t, `${TUNNEL} ${rulesOf('rules-vps-tailscale.txt')}`),
  },
  {
    title: 'a rule that WARP overtook when it reconnected',
    verdict: 'notice',
    shows: /“from all lookup 10000” \(32764\) comes after WARP’s/,
    world: t => inside(t, `${TUNNEL} ${rulesOf('rules-after-reconnect.txt')}`),
  },
  {
    title: 'a rule for one destination behind the rule of WARP',
    verdict: 'notice',
    fix: /"addSplitRange","value":"198\.51\.100\.0\/24"/,
    world: t => inside(t, `${WARP} ip rule add to 198.51.100.0/24 table 100 priority 6000`),
  },
  {
    title: 'a rule of an enabled unit that is gone',
    verdict: 'notice',
    shows:
      /keep-ssh\.service sets the rule “from 10\.0\.0\.16 lookup 100”, which is not there[\s\S]*has removed a rule, or it was never set/,
    fix: /\["ip","rule","add","from","10\.0\.0\.16","lookup","100","priority","5000"\][\s\S]*\["ip","rule","del"/,
    world: t =>
      inside(t, WARP, { files: enabled('/sbin/ip rule add from 10.0.0.16/32 table 100 pref 5000 2>/dev/null') }),
  },
  {
    title: 'a rule of a script that is gone, which may be meant so',
    verdict: 'notice',
    shows: /keep-ssh sets the rule “from 10\.0\.0\.16 lookup office”/,
    fix: null,
    world: t =>
      inside(t, WARP, {
        files: {
          ...enabled('/usr/local/bin/keep-ssh'),
          '/usr/local/bin/keep-ssh': '#!/bin/sh\nif test -e /x; then\n  ip rule add from 10.0.0.16 table 77\nfi\n',
          '/etc/iproute2/rt_tables.d/office.conf': '77 office\n',
        },
      }),
  },
  {
    title: 'rules that a script comments out, prints, or sets after a condition',
    verdict: 'ok',
    world: t =>
      inside(t, WARP, {
        files: {
          ...enabled('/usr/local/bin/keep-ssh'),
          '/usr/local/bin/keep-ssh':
            '#!/bin/sh\n# ip rule add from 10.0.0.16 table 7\n#nft add rule inet cloudflare-warp input accept\necho ip rule add from 10.0.0.17 table 7\ntest -e /x && ip rule add from 10.0.0.18 table 7\n',
        },
      }),
  },
  {
    title: 'a rule of systemd-networkd that is gone',
    verdict: 'notice',
    shows: /10-eth0\.network sets the rule “from all to 192\.0\.2\.0\/24 lookup main”/,
    fix: /"addSplitRange","value":"192\.0\.2\.0\/24"/,
    world: t =>
      inside(t, WARP, {
        files: {
          '/etc/systemd/network/10-eth0.network':
            '[Match]\nName=eth0\n\n[RoutingPolicyRule]\nTo=192.0.2.0/24\nTable=254\nPriority=100\n\n[Route]\nGateway=192.0.2.1\n',
        },
      }),
  },
  {
    title: 'a script of a unit that writes into the table of WARP',
    verdict: 'notice',
    shows: /\/usr\/local\/bin\/keep-ssh adds rules to the table “inet cloudflare-warp” of WARP/,
    fix: null,
    world: t =>
      inside(t, WARP, {
        files: {
          ...enabled('/usr/local/bin/keep-ssh'),
          '/usr/local/bin/keep-ssh': '#!/bin/sh\nnft add rule inet cloudflare-warp input tcp dport 22 accept\n',
        },
      }),
  },
  {
    title: 'rules that are there, those of units that nobody starts, and those with variables',
    verdict: 'ok',
    shows: /WARP has the rule/,
    world: t =>
      inside(t, `${WARP} ip rule add from 10.0.0.16 table 100 priority 100`, {
        files: {
          ...enabled(
            '/bin/sh -c "ip rule add from 10.0.0.16 table 100 priority 100; ip rule add from $ADDRESS table 7"',
          ),
          '/etc/systemd/system/other.service': '[Service]\nExecStart=/sbin/ip rule add from 10.0.0.17 table 100\n',
        },
      }),
  },
]);

const PROXY = [
  'docker-proxy',
  '-proto',
  'tcp',
  '-host-ip',
  '0.0.0.0',
  '-host-port',
  '8080',
  '-container-ip',
  '172.17.0.2',
];
const DOCKER = `${WARP} ${FORWARDS} ${UPLINK} ${bridge('docker0', '172.17.0.1/16')}`;
const MARTIAN = { journalctl: `sed "s/^.*warp-svc.[0-9]*.: //" ${join(RECORDED, 'martian.txt')}` };

const AN_HOUR_AGO = JSON.stringify({
  MESSAGE: 'Dropping martian, tun should not have seen this src_addr=172.17.48.191',
  __REALTIME_TIMESTAMP: String((NOW - 3_600_000) * 1000),
});

const TAILSCALE =
  'ip tuntap add tailscale0 mode tun; ip addr add 100.86.173.77/32 dev tailscale0; ip link set tailscale0 up;';

/** An exit node of Tailscale with clients, which the kernel forwards into the tunnel. */
const EXIT_NODE = `${WARP} ${FORWARDS} ${TAILSCALE} ip route add 100.86.0.9 dev tailscale0; ${load('tailscale-15288.nft')}`;

const FORWARDED: Case[] = proofs(forwardedTraffic, 'namespace', [
  {
    title: 'containers that publish a port (warp-yg#45)',
    verdict: 'notice',
    shows:
      /docker0: what it sends to the Internet goes into the tunnel\nports that containers publish: 8080[\s\S]*can’t reach these ports/,
    fix: null,
    world: t =>
      inside(t, DOCKER, {
        files: { '/proc/77/comm': 'docker-proxy\n', '/proc/77/cmdline': `${PROXY.join('\0')}\0` },
      }),
  },
  {
    title: 'packets with another address than that of WARP (openvpn-install#1040)',
    verdict: 'problem',
    shows: /dropped packets with the source address 172\.17\.48\.191[\s\S]*masquerading/,
    fix: /postrouting oifname \\"CloudflareWARP\\" masquerade[\s\S]*"delete table ip culvert-forwarded"/,
    world: t => inside(t, DOCKER, { programs: MARTIAN }),
  },
  {
    title: 'packets that WARP dropped an hour ago',
    verdict: 'ok',
    world: t => inside(t, DOCKER, { programs: { journalctl: `echo '${AN_HOUR_AGO}'` } }),
  },
  {
    title: 'containers whose network WARP routes, with a strict filter for the reverse path',
    verdict: 'problem',
    shows:
      /does not forward packets of 172\.17\.0\.2: Invalid (cross-device link|argument)\ndocker0: the filter for the reverse path is strict/,
    fix: /"sysctl","-w","net\/ipv4\/conf\/docker0\/rp_filter=2"[\s\S]*rp_filter=1"/,
    world: t =>
      inside(
        t,
        `${DOCKER} sysctl -qw net.ipv4.conf.docker0.rp_filter=1; ip route add 172.16.0.0/12 dev CloudflareWARP table 65743`,
        {
          files: { '/proc/sys/net/ipv4/conf/docker0/rp_filter': '1\n' },
        },
      ),
  },
  {
    title: 'a journal that this user may not read',
    verdict: 'ok',
    shows: /packets that WARP dropped are not known/,
    world: t =>
      inside(t, DOCKER, {
        programs: { journalctl: 'echo "No journal files were opened due to insufficient permissions." >&2; exit 1' },
      }),
  },
  {
    title: 'clients of an exit node, whose addresses nothing replaces (tailscale#15288)',
    verdict: 'notice',
    shows: /tailscale0: what it sends[^\n]*tunnel\nNo rule[\s\S]*masquerading/,
    fix: /postrouting oifname \\"CloudflareWARP\\" masquerade/,
    world: t => inside(t, EXIT_NODE),
  },
  {
    title: 'clients of an exit node with masquerading',
    verdict: 'ok',
    shows: /has rules that replace source addresses/,
    world: t =>
      inside(
        t,
        `${EXIT_NODE} nft 'add table ip nat; add chain ip nat post { type nat hook postrouting priority 100; }; add rule ip nat post masquerade'`,
      ),
  },
  {
    title: 'clients of an exit node, and rules that only an administrator can read',
    verdict: 'unknown',
    shows: /Only an administrator can see/,
    world: t =>
      inside(t, EXIT_NODE, { programs: { nft: 'echo "Operation not permitted (you must be root)" >&2; exit 1' } }),
  },
  {
    title: 'clients of an exit node, containers that publish a port, and rules that only an administrator can read',
    verdict: 'notice',
    shows: /Only an administrator can see[^\n]*\nports that containers publish: 8080/,
    world: t =>
      inside(t, `${EXIT_NODE} ${DOCKER.replace(WARP, '')}`, {
        files: { '/proc/77/comm': 'docker-proxy\n', '/proc/77/cmdline': `${PROXY.join('\0')}\0` },
        programs: { nft: 'echo "Operation not permitted (you must be root)" >&2; exit 1' },
      }),
  },
  {
    title: 'clients of an exit node, and rules of the old iptables',
    verdict: 'unknown',
    shows: /Only an administrator can see/,
    world: t => inside(t, EXIT_NODE, { files: { '/proc/net/ip_tables_names': 'nat\nfilter\n' } }),
  },
  {
    title: 'virtual machines, whose packets leave by the uplink',
    verdict: 'ok',
    shows: /virbr0: what it sends to the Internet leaves by uplink/,
    world: t => inside(t, `${TUNNEL} ${FORWARDS} ${UPLINK} ${bridge('virbr0', '192.168.122.1/24')}`),
  },
  {
    title: 'a machine with nothing behind it',
    verdict: 'not-applicable',
    world: t => inside(t, `${WARP} ${UPLINK}`),
  },
]);

const OWNERS: Case[] = proofs(routeOwners, 'namespace', [
  {
    title: 'an exit node of Tailscale that this machine uses',
    verdict: 'problem',
    shows: /tailscale0 owns default \(table 52\)/,
    fix: /\["tailscale","set","--exit-node="\]/,
    world: t =>
      inside(t, `${WARP} ${TAILSCALE} ip route add default dev tailscale0 table 52`, {
        programs: { tailscale: 'exit 0' },
      }),
  },
  {
    title: 'an exit node of Tailscale behind WARP (tailscale#15288, #5631)',
    verdict: 'notice',
    shows: /IPv4: rule 5207 of WARP comes before rule 5210 of Tailscale[\s\S]*culvert mode proxy/,
    fix: null,
    world: t =>
      inside(t, `${TUNNEL} ${TAILSCALE} ${load('tailscale-15288.nft')} ${rulesOf('rules-vps-tailscale.txt')}`),
  },
  {
    title: 'Tailscale whose rules come first',
    verdict: 'ok',
    world: t =>
      inside(t, `${TUNNEL} ${TAILSCALE} ${WARP_RULE} ip rule add fwmark 0x80000/0xff0000 table main priority 5000`),
  },
]);

export const SERVER_CASES: Case[] = [...FIREWALL, ...RULES, ...FORWARDED, ...OWNERS];
