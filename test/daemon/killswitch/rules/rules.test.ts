// Compares the rendered table with every rule written out, so that no rule changes unnoticed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEndpointPort } from '../../../../daemon/killswitch/rules/endpoints.ts';
import { type RuleOptions, render, renderRemoval } from '../../../../daemon/killswitch/rules/rules.ts';

const OPTIONS: RuleOptions = {
  allowLan: false,
  endpoints: [
    { cidr: '162.159.193.0/24', protocol: 'udp', ports: [4500, 500, 500] },
    { cidr: '2606:4700:100::/48', protocol: 'tcp', ports: [443] },
    { cidr: '162.159.137.105', protocol: 'udp', ports: [] },
  ],
};
const TUNNEL_OUT = 'oifname { "CloudflareWARP" } meta oiftype 65534';
const TUNNEL_IN = 'iifname { "CloudflareWARP" } meta iiftype 65534';
const ADVERTISEMENT = 'icmpv6 type nd-neighbor-advert ip6 hoplimit 255 ip6 length < 64 ip6 daddr';
const LAN4 =
  '{ 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 169.254.0.0/16, 224.0.0.0/24, 239.0.0.0/8, 255.255.255.255 }';
const LAN6 = '{ fe80::/10, fc00::/7, ff01::/16, ff02::/16, ff03::/16, ff04::/16, ff05::/16 }';
const WITH_PORTS = 'meta l4proto { 6, 17, 33, 132, 136 }';
const SOURCE_ROUTES = ['exthdr rt', 'ip option lsrr', 'ip option ssrr'].map(
  option => `${option} exists counter name blocked drop`,
);
const LEAVING = [
  'oifname "lo" accept',
  `${TUNNEL_OUT} accept`,
  ...SOURCE_ROUTES,
  `icmp type destination-unreachable icmp code frag-needed ip length <= 576 ip daddr ${LAN4} accept`,
  `icmpv6 type packet-too-big ip6 length <= 1240 ip6 daddr ${LAN6} accept`,
  'meta skuid < 1000 udp length <= 576 udp sport 68 udp dport 67 ip daddr 255.255.255.255 accept',
  'meta skuid < 1000 udp length <= 576 ip6 saddr fe80::/10 udp sport 546 udp dport 547 ip6 daddr ff02::1:2 accept',
  'icmpv6 type nd-router-solicit ip6 daddr ff02::2 ip6 hoplimit 255 accept',
  'icmpv6 type nd-neighbor-solicit ip6 daddr { ff02::1:ff00:0/104, fe80::/10 } ip6 hoplimit 255 accept',
  `${ADVERTISEMENT} { ff02::1, fe80::/10 } accept`,
  `${ADVERTISEMENT} @askers accept`,
  'meta skuid 0 ip daddr { 162.159.193.0/24 } udp dport { 500, 4500 } accept',
  'meta skuid 0 ip6 daddr { 2606:4700:100::/48 } tcp dport { 443 } accept',
  'tcp dport != { 53, 853 } meta skuid . oifname @sign_in_helpers ct mark set 0x20000000 accept',
  'udp dport 53 meta skuid . oifname . ip daddr @sign_in_servers ct mark set 0x20000000 accept',
];
const lan = (side: string) => [`ip ${side} ${LAN4} accept`, `ip6 ${side} ${LAN6} accept`];

/** The chains in their order, each with its hook and its rules. */
function chainsOf(allowLan: boolean): [name: string, hook: string, rules: string[]][] {
  const local = (side: string) => (allowLan ? lan(side) : []);
  return [
    [
      'output',
      'type filter hook output priority filter; policy drop;',
      [
        'oifname "lo" meta skuid . oifname @sign_in_helpers reject',
        ...LEAVING,
        'meta l4proto 6 th dport { 53, 853 } counter name blocked reject with tcp reset',
        `${WITH_PORTS} th dport { 53, 853 } counter name blocked reject`,
        ...local('daddr'),
        'counter name blocked reject with icmpx type admin-prohibited',
      ],
    ],
    [
      'postrouting',
      'type filter hook postrouting priority 2147483646; policy drop;',
      [
        ...LEAVING,
        'iifname . oifname @exceptions accept',
        'iifname { "CloudflareWARP" } ct state established,related accept',
        `${WITH_PORTS} th dport { 53, 853 } counter name blocked drop`,
        `ct direction original ${WITH_PORTS} ct original proto-dst { 53, 853 } counter name blocked drop`,
        `${WITH_PORTS} ct state untracked counter name blocked drop`,
        ...local('daddr'),
        'counter name blocked drop',
      ],
    ],
    [
      'forward',
      'type filter hook forward priority filter; policy drop;',
      [
        'iifname . oifname @exceptions accept',
        `${TUNNEL_OUT} accept`,
        `${TUNNEL_IN} ct state established,related accept`,
        ...SOURCE_ROUTES,
        `${WITH_PORTS} th dport { 53, 853 } counter name blocked drop`,
        ...local('daddr'),
        'counter name blocked drop',
      ],
    ],
    [
      'input',
      'type filter hook input priority filter; policy drop;',
      [
        'iifname "lo" accept',
        `${TUNNEL_IN} accept`,
        'udp sport 67 udp dport 68 accept',
        'ip6 saddr fe80::/10 udp sport 547 udp dport 546 accept',
        'icmpv6 type nd-neighbor-solicit ip6 hoplimit 255 ip6 saddr { fc00::/7, 2000::/3 } update @askers { ip6 saddr }',
        'icmpv6 type { nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert, nd-redirect } ip6 hoplimit 255 accept',
        'icmp type { destination-unreachable, time-exceeded, parameter-problem } ct state related accept',
        'icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem } ct state related accept',
        'ct mark 0x20000000 ct state established accept',
        'ip saddr { 162.159.193.0/24 } udp sport { 500, 4500 } ct state established accept',
        'ip6 saddr { 2606:4700:100::/48 } tcp sport { 443 } ct state established accept',
        ...local('saddr'),
      ],
    ],
    [
      'prerouting',
      'type filter hook prerouting priority raw; policy accept;',
      [
        'iifname "lo" accept',
        `${TUNNEL_IN} accept`,
        'fib daddr . iif type != { local, broadcast, multicast, anycast } fib daddr type local drop',
      ],
    ],
  ];
}

for (const allowLan of [false, true])
  test(`the table ${allowLan ? 'with' : 'without'} local network access has exactly these rules`, () => {
    const text = render({ ...OPTIONS, allowLan });
    const chains = [...text.matchAll(/^ {2}chain (\w+) \{\n(.*?)\n {2}\}$/gms)].map(([, name, body]) => {
      const [hook, ...rules] = body!
        .split('\n')
        .map(line => line.trim())
        .filter(line => line && !line.startsWith('#'));
      return [name, hook, rules];
    });
    assert.deepEqual(chains, chainsOf(allowLan));
    const around = text.replace(/^ {2}chain .*?^ {2}\}$/gms, '').replace(/^ *#.*$/gm, '');
    assert.deepEqual(
      around.split('\n').filter(line => line.trim()),
      [
        'add table inet culvert',
        'delete table inet culvert',
        'table inet culvert {',
        '  counter blocked { }',
        '  set askers { type ipv6_addr; size 256; flags dynamic, timeout; timeout 5s; }',
        '  set sign_in_helpers { type uid . ifname; flags timeout; timeout 5s; }',
        '  set sign_in_servers { type uid . ifname . ipv4_addr; flags timeout; timeout 5s; }',
        '  set exceptions { type ifname . ifname; flags timeout; timeout 5s; }',
        '}',
      ],
    );
  });

test('destroys a table with flags before creating it', () => {
  const text = render({ ...OPTIONS, flags: ['owner', 'persist'] });
  assert.match(text, /^destroy table inet culvert\ntable inet culvert \{\n {2}flags owner, persist\n/);
  assert.doesNotMatch(text, /^(add|delete) /m);
  assert.equal(renderRemoval(), 'add table inet culvert\ndelete table inet culvert\n');
});

test('uses the configured tunnel interfaces everywhere', () => {
  const text = render({ ...OPTIONS, tunnelInterfaces: ['wg0', 'CloudflareWARP'] });
  assert.equal(text.match(/[io]ifname \{ "wg0", "CloudflareWARP" \} (meta [io]iftype 65534|ct )/g)?.length, 7);
});

test('allows an endpoint any valid port except those of DNS', () => {
  for (const port of [1, 52, 54, 443, 852, 854, 65535]) assert.equal(isEndpointPort(port), true, String(port));
  for (const port of [-1, 0, 0.5, 53, 853, 65536, Number.NaN, Number.POSITIVE_INFINITY])
    assert.equal(isEndpointPort(port), false, String(port));
});

test('accepts only interface names of 1 to 15 safe characters', () => {
  for (const name of ['a', 'wg0', 'tun-1', 'a.b', '_x', 'exactly15letter'])
    assert.doesNotThrow(() => render({ ...OPTIONS, tunnelInterfaces: [name] }), name);
  for (const name of ['', '.a', '-a', 'sixteen-letters-', 'a b', 'a"', 'a\n', 'ä'])
    assert.throws(() => render({ ...OPTIONS, tunnelInterfaces: [name] }), TypeError, name);
});

test('merges ranges with the same ports into one rule, and drops a range that another one contains, in any order', () => {
  const of = (cidr: string, ports: number[]) => ({ cidr, protocol: 'udp', ports }) as const;
  const [range, single, apart] = [
    of('162.159.193.0/24', [500]),
    of('162.159.193.7', [500]),
    of('162.159.197.0/24', [500]),
  ];
  for (const endpoints of [
    [range, single, apart],
    [single, range, apart],
    [single, range, apart, single, range],
  ])
    assert.deepEqual(render({ allowLan: false, endpoints }).match(/^.*skuid 0 .*$/gm), [
      ...Array.from(
        { length: 2 },
        () => '    meta skuid 0 ip daddr { 162.159.193.0/24, 162.159.197.0/24 } udp dport { 500 } accept',
      ),
    ]);
  // a range with other ports keeps its own rule
  const others = render({ allowLan: false, endpoints: [range, of('162.159.193.7', [443])] });
  assert.equal(others.match(/skuid 0/g)?.length, 4);
});
