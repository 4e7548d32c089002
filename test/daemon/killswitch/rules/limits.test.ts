// The limits of a packet filter that culvert-killswitch(8) names, in a kernel: what leaves although the rules are in force.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { render } from '../../../../daemon/killswitch/rules/rules.ts';
import { missing } from '../../../support/killswitch/stage.ts';

/** A link from `a0` to `b0`, with a counter of what arrives; `send ADDRESS COUNT` sends datagrams. */
const LINK = `set -eu
ip link add a0 type veth peer name b0
sysctl -qw net.ipv6.conf.a0.disable_ipv6=1 net.ipv6.conf.b0.disable_ipv6=1
ip address add 192.0.2.1/24 dev a0; ip link set a0 up; ip link set b0 up
nft 'table netdev wire { chain in { type filter hook ingress device b0 priority 0; meta protocol != arp counter; }; }'
count() { nft list table netdev wire | sed -n 's/.*counter packets \\([0-9]*\\).*/\\1/p'; }
send() { python3 -c '
import socket, sys
for _ in range(int(sys.argv[2])):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    try: s.sendto(b"x", (sys.argv[1], 9999))
    except OSError: pass' "$@"; }
`;

/** Why a test of that queueing discipline is skipped, or false. */
function lacks(qdisc: 'tbf' | 'clsact'): string | false {
  if (missing) return missing;
  const script =
    qdisc === 'tbf'
      ? 'tc qdisc add dev lo root tbf rate 4kbit burst 1600 limit 20000'
      : 'tc qdisc add dev lo clsact && tc filter add dev lo egress protocol ip u32 match u32 0 0 action mirred egress redirect dev lo';
  const { status } = spawnSync('unshare', ['-n', 'sh', '-c', script]);
  return status !== 0 && `needs tc, and ${qdisc} in the kernel`;
}

/** Runs the script in a separate network; the rules are on stdin. @returns the numbers that it prints */
function counts(script: string): number[] {
  const input = render({ allowLan: false, endpoints: [] });
  return execFileSync('unshare', ['-n', 'sh', '-c', LINK + script], {
    input,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: 60_000,
  })
    .trim()
    .split('\n')
    .map(Number);
}

test('packets that wait for a neighbor leave after the rules are loaded, as many as the kernel queues, and none after them', {
  skip: missing,
}, () => {
  const [before, after, later] = counts(`
sysctl -qw net.ipv4.neigh.a0.mcast_solicit=60
send 192.0.2.2 600; count
nft -f -
ip neigh replace 192.0.2.2 lladdr 02:00:00:00:00:01 dev a0 nud permanent
until [ "$(count)" -gt 0 ]; do :; done; count
send 192.0.2.2 300; count`);
  assert.equal(before, 0);
  assert.ok(after! > 0 && after! <= 300, `${after} packets`);
  assert.equal(later, after);
});

test('packets in the queue of a traffic shaper leave after the rules are loaded, and none after them', {
  skip: lacks('tbf'),
}, () => {
  const [before, after, later] = counts(`
ip neigh replace 192.0.2.2 lladdr 02:00:00:00:00:01 dev a0 nud permanent
tc qdisc add dev a0 root tbf rate 4kbit burst 1600 limit 20000
send 192.0.2.2 60
nft -f -
count
until [ "$(count)" -eq 60 ]; do :; done; count
send 192.0.2.2 60; count`);
  assert.ok(before! < 60, `${before} packets`);
  assert.deepEqual([after, later], [60, 60]);
});

for (const [what, skip, redirect] of [
  [
    'an egress chain',
    missing,
    "nft 'add chain netdev wire out { type filter hook egress device CloudflareWARP priority 0; }; add rule netdev wire out fwd to a0'",
  ],
  [
    'a tc filter',
    lacks('clsact'),
    `tc qdisc add dev CloudflareWARP clsact
tc filter add dev CloudflareWARP egress protocol ip u32 match u32 0 0 action mirred egress redirect dev a0`,
  ],
] as const)
  test(`${what} of root redirects packets past the rules, from the tunnel to the uplink`, { skip }, () => {
    const [before, after] = counts(`
ip neigh replace 192.0.2.2 lladdr 02:00:00:00:00:01 dev a0 nud permanent
ip tuntap add CloudflareWARP mode tun; ip address add 172.16.0.2/24 dev CloudflareWARP; ip link set CloudflareWARP up
nft -f -
send 192.0.2.2 10; count
${redirect}
send 172.16.0.9 10
until [ "$(count)" -ge 10 ]; do :; done; count`);
    assert.equal(before, 0);
    assert.ok(after! >= 10, `${after} packets`);
  });
