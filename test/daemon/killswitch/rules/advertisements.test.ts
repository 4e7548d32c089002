// Neighbor advertisements through the rules, in a kernel: to an address that asked, and no longer than an answer.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { render } from '../../../../daemon/killswitch/rules/rules.ts';
import { missing } from '../../../support/killswitch/stage.ts';

/** This host with the rules, and a neighbor that counts advertisements by their length. The neighbor asks before it sends a datagram. */
const SCRIPT = `set -eu
unshare -n sleep 300 & neighbor=$!
trap 'kill $neighbor' EXIT
until [ "$(readlink /proc/$neighbor/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done
ip link add a0 type veth peer name b0
ip link set b0 netns $neighbor
ip address add 2001:db8::1/64 dev a0 nodad; ip link set a0 up; ip link set lo up
in_b() { nsenter -t $neighbor -n "$@"; }
in_b ip address add 2001:db8::2/64 dev b0 nodad; in_b ip link set b0 up
mac=$(in_b ip -o link show b0 | sed 's/.*ether \\([^ ]*\\).*/\\1/')
for to in 2 3; do ip neigh replace 2001:db8::$to lladdr $mac dev a0 nud permanent; done
in_b nft 'table netdev wire { counter short { }; counter long { };
  chain in { type filter hook ingress device b0 priority 0;
    icmpv6 type nd-neighbor-advert ip6 daddr 2001:db8::2 ip6 length >= 64 counter name long
    icmpv6 type nd-neighbor-advert ip6 daddr 2001:db8::3 counter name long
    icmpv6 type nd-neighbor-advert ip6 daddr 2001:db8::2 ip6 length < 64 counter name short; }; }'
nft -f -
python3 - $neighbor <<'END'
import re, socket, subprocess, sys
in_b = ['nsenter', '-t', sys.argv[1], '-n']
raw = socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)
raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, 255)
def advertise(to, length):
    try: raw.sendto((b'\\x88\\0\\0\\0\\x60\\0\\0\\0' + socket.inet_pton(socket.AF_INET6, '2001:db8::1')).ljust(length, b'\\0'), ('2001:db8::%d' % to, 0))
    except OSError: pass
def counters():
    text = subprocess.run(in_b + ['nft', 'list', 'counters'], capture_output=True, text=True).stdout
    return [int(re.search(name + r' \\{\\s*packets (\\d+)', text).group(1)) for name in ('short', 'long')]
advertise(2, 24); advertise(2, 500); advertise(3, 24)
print(*counters(), sep='\\n')
for _ in range(20):
    subprocess.run(in_b + ['ip', 'neigh', 'flush', 'dev', 'b0'])
    before = counters()[0]
    subprocess.run(in_b + ['python3', '-c', 'import socket; socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"x", ("2001:db8::1", 9))'])
    answered = counters()[0] - before
    for _ in range(5): advertise(2, 24)
    advertise(2, 500); advertise(3, 24)
    if answered and counters()[0] - before >= answered + 5: break
print(answered, *counters(), sep='\\n')
END
`;

test('an advertisement reaches the address that asked, no other one, and not at length', { skip: missing }, () => {
  const input = render({ allowLan: false, endpoints: [] });
  const [unasked, unaskedLong, answered, short, long] = execFileSync('unshare', ['-n', 'sh', '-c', SCRIPT], {
    input,
    encoding: 'utf8',
    timeout: 60_000,
  })
    .trim()
    .split('\n')
    .map(Number);
  assert.deepEqual([unasked, unaskedLong], [0, 0], 'nobody asked');
  assert.ok(answered! > 0, 'the kernel answers the neighbor');
  assert.ok(short! >= 5, `${short} advertisements to the address that asked`);
  assert.equal(long, 0, 'long ones, and those to another address');
});
