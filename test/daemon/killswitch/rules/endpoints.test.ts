// Endpoints of the tunnel: accepted spellings, refused addresses, and their rules.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import {
  type Endpoint,
  parseCidr,
  parseEndpoints,
  shippedEndpoints,
} from '../../../../daemon/killswitch/rules/endpoints.ts';
import { type RuleOptions, render, renderRemoval } from '../../../../daemon/killswitch/rules/rules.ts';
import { missingRules, parseListing } from '../../../../daemon/killswitch/table.ts';
import { missing } from '../../../support/killswitch/stage.ts';

const endpoint: Endpoint = { cidr: '162.159.193.0/24', protocol: 'udp', ports: [2408] };
const options: RuleOptions = { allowLan: false, endpoints: shippedEndpoints() };

test('a range is taken in one canonical spelling', () => {
  for (const [word, text] of [
    ['162.159.193.7/24', '162.159.193.0/24'],
    ['162.159.137.105', '162.159.137.105'],
    ['162.159.137.105/32', '162.159.137.105'],
    ['2606:4700:0100:0000::/48', '2606:4700:100::/48'],
    ['2606:4700:7::A29F:8969', '2606:4700:7::a29f:8969'],
    ['2606:4700:1:0:0:0:0:1', '2606:4700:1::1'],
    ['2606:0:0:1:0:0:0:1', '2606:0:0:1::1'],
    ['104.16.0.0/16', '104.16.0.0/16'],
  ] as const) {
    const parsed = parseCidr(word);
    assert.equal(typeof parsed === 'object' && parsed.text, text, word);
  }
});

test('an address that is not on the internet is refused, with the reason', () => {
  for (const word of [
    '',
    ' ',
    'x',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '01.2.3.4',
    '1.2.3.4/33',
    '1.2.3.4/',
    '1.2.3.4/024',
    '1.2.3.4/-1',
    '8.0.0.0/15',
    '0.0.0.0/0',
    '8.0.0.0/8',
    '::/0',
    '2606::/31',
    '2000::/3',
    '10.1.2.3',
    '127.0.0.1',
    '192.168.1.0/24',
    '172.31.0.1',
    '169.254.1.1',
    '100.64.0.1',
    '0.1.2.3',
    '192.0.0.0/16',
    '224.0.0.1',
    '239.1.1.1',
    '240.0.0.1',
    '255.255.255.255',
    '198.18.0.1',
    '198.18.0.0/16',
    '::1',
    'fe80::1',
    'fc00::1',
    'ff02::1',
    '::ffff:8.8.8.8',
    '2002:7f00:1::',
    '2001:0:1::',
    ':::',
    '1::2::3',
    '2606:4700',
    '2606:4700:1:2:3:4:5:6:7',
    '2606:4700::1.2.3.4',
    '2606:4700::g',
    'fe80::1%eth0',
    '2606:4700::/129',
    '1.1.1.1; flush ruleset',
    '1.1.1.1\n',
    '1.1.1.1 }',
    '$x',
    '@set',
    '1.1.1.1-1.1.1.9',
    '１.1.1.1',
    '1'.repeat(5000),
  ])
    assert.equal(typeof parseCidr(word), 'string', JSON.stringify(word.slice(0, 40)));
});

test('a forbidden endpoint or an invalid interface name renders nothing', () => {
  for (const wrong of [
    { ...endpoint, cidr: '8.0.0.0/8' },
    { ...endpoint, ports: [53] },
    { ...endpoint, ports: [443, 853] },
    { ...endpoint, ports: [0] },
    { ...endpoint, ports: [65536] },
    { ...endpoint, ports: [1.5] },
    { ...endpoint, protocol: 'icmp' as 'udp' },
  ])
    assert.throws(() => render({ allowLan: false, endpoints: [wrong] }), TypeError);
  for (const name of ['', 'a b', 'x"', '-x', 'sixteen-letters-x', 'a/b', '"; flush ruleset'])
    assert.throws(() => render({ allowLan: false, endpoints: [], tunnelInterfaces: [name] }), TypeError);
});

test('no packet gets out by a rule that is not for an interface, a protocol of the link, root, a sign-in, or the local network', () => {
  for (const allowLan of [false, true]) {
    const output = chain(render({ ...options, allowLan }), 'output');
    const accepting = output.filter(rule => rule.endsWith('accept'));
    const known = [
      /^oifname /,
      /^meta skuid < 1000 udp length <= 576 udp sport 68 udp dport 67 ip daddr 255\.255\.255\.255 /,
      /^meta skuid < 1000 udp length <= 576 ip6 saddr fe80::\/10 udp sport 546 /,
      /^icmp type destination-unreachable icmp code frag-needed ip length <= 576 ip daddr \{ 10\./,
      /^icmpv6 type packet-too-big ip6 length <= 1240 ip6 daddr \{ fe80::/,
      /^tcp dport != \{ 53, 853 \} meta skuid \. oifname @sign_in_helpers /,
      /^udp dport 53 meta skuid \. oifname \. ip daddr @sign_in_servers /,
    ];
    const rest = accepting.filter(
      rule =>
        ![...known, /^icmpv6 type nd-/, /^meta skuid 0 ip6? daddr \{ \S+( \S+)* \} (udp|tcp) dport \{ /].some(p =>
          p.test(rule),
        ),
    );
    assert.deepEqual(
      rest.map(rule => rule.split(' ')[0]),
      allowLan ? ['ip', 'ip6'] : [],
    );
    assert.match(output.at(-1)!, /reject/);
    assert.ok(!output.some(rule => rule.includes('established')), 'no flow that was open before goes on');
  }
});

test('DNS is dropped before the local network is allowed', () => {
  for (const name of ['output', 'forward'] as const) {
    const rules = chain(render({ ...options, allowLan: true }), name);
    const dns = rules.findIndex(rule => rule.startsWith('meta l4proto { 6, 17, 33, 132, 136 } th dport { 53, 853 }'));
    assert.ok(dns >= 0 && dns < rules.findIndex(rule => rule.startsWith('ip daddr { 10.0.0.0/8')), name);
  }
});

test('the shipped endpoints keep to the rules of an exception, and data that does not is refused', () => {
  assert.ok(shippedEndpoints().length > 10);
  const group = { name: 'x', source: 'y', cidrs: ['162.159.193.0/24'], udp: [2408] };
  assert.deepEqual(parseEndpoints({ version: 1, date: '', groups: [group] }), [endpoint]);
  for (const wrong of [
    null,
    [],
    { version: 'x', groups: [] },
    { version: 1, groups: {} },
    { version: 1, groups: [], more: 1 },
    ...[{ cidrs: ['10.0.0.0/8'] }, { cidrs: 'x' }, { udp: [53] }, { udp: ['443'] }, { name: '' }, { sctp: [1] }].map(
      change => ({
        version: 1,
        groups: [{ ...group, ...change }],
      }),
    ),
  ])
    assert.throws(() => parseEndpoints(wrong), TypeError, JSON.stringify(wrong));
});

test('the kernel takes the rules, holds just them, and gives them up again', { skip: missing }, () => {
  const script = `nft -f - && nft -j list table inet culvert`;
  for (const variant of [options, { ...options, allowLan: true }, { allowLan: false, endpoints: [] }]) {
    const text = render(variant);
    const listing = parseListing(inside(script, text));
    assert.equal(missingRules(listing, text), null);
    const twice = inside(`nft -f - && nft -f /dev/stdin <<'E'\n${text}\nE\nnft -j list table inet culvert`, text);
    assert.equal(
      parseListing(twice)?.fingerprint,
      listing?.fingerprint,
      'replacing them by themselves changes nothing',
    );
  }
  assert.equal(inside(`nft -f - && nft list ruleset`, renderRemoval()), '');
});

test('a changed table is distinguished from the loaded table', { skip: missing }, () => {
  const text = render(options);
  for (const [change, said] of [
    ['delete table inet culvert', /no table/],
    ['delete chain inet culvert forward', /chain forward/],
    ['flush chain inet culvert output', /chain output has 0 rules/],
    ['insert rule inet culvert output accept', /rules instead of/],
    ["chain inet culvert output '{ policy accept; }'", /policy of chain output is accept/],
    ["add table inet culvert '{ flags dormant; }'", /dormant/],
    ["chain inet culvert more '{ type filter hook output priority -1; }'", /chain more/],
  ] as const)
    assert.match(
      missingRules(
        parseListing(inside(`nft -f - && nft ${change}; nft -j list table inet culvert || true`, text)),
        text,
      )!,
      said,
    );
});

test('addresses that asked do not make it another table', { skip: missing }, () => {
  const asked = "nft add element inet culvert askers '{ 2001:db8::7 }' && nft -j list table inet culvert";
  const [before, after] = ['nft -j list table inet culvert', asked].map(script =>
    parseListing(inside(`nft -f - && ${script}`, render(options))),
  );
  assert.equal(after!.fingerprint, before!.fingerprint);
});

test('another table is never touched', { skip: missing }, () => {
  const other =
    'table inet cloudflare-warp { chain output { type filter hook output priority filter; policy drop; }; }';
  const left = inside(
    `nft '${other}' && nft -f - && nft 'add table inet culvert; delete table inet culvert' && nft list ruleset`,
    render(options),
  );
  assert.match(left, /^table inet cloudflare-warp \{/);
});

function inside(script: string, input: string): string {
  return execFileSync('unshare', ['-n', 'sh', '-c', script], {
    input,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

function chain(text: string, name: string): string[] {
  const [, body = ''] = new RegExp(`chain ${name} \\{\\n(.*?)\\n {2}\\}`, 's').exec(text) ?? [];
  return body
    .split('\n')
    .map(line => line.trim())
    .filter(line => line && !/^(#|type filter)/.test(line));
}
