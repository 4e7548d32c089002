// The verdict on a frame, without any network: what is innocent is known exactly, and everything else leaked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADVERTISEMENTS, EDGES, FLOWS, HOSTS, judge, REROUTED, SENDERS, type Seen, WIREGUARD_PORT } from './classes.ts';

const frame = (seen: Partial<Seen>): Seen => ({
  family: 4,
  protocol: 17,
  source: HOSTS.client4,
  sourcePort: 0,
  destination: HOSTS.site4,
  port: 9999,
  type: null,
  wireguard: false,
  canary: null,
  count: 1,
  ...seen,
});

test('every class has its own name, short enough to be read back from a frame', () => {
  const names = [...SENDERS, ...FLOWS, ...REROUTED, ...ADVERTISEMENTS, ...EDGES].map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(name, /^[\x20-\x3a\x3c-\x7e]{1,90}$/);
});

test('a packet with a canary leaked, whatever it looks like', () => {
  for (const { name } of SENDERS) {
    const seen = frame({ canary: name, destination: HOSTS.wireguard4, port: WIREGUARD_PORT, wireguard: true });
    assert.deepEqual(judge(seen, SENDERS, false), { leaked: name });
  }
});

test('a handshake without payload is known by where it goes, or where its answer comes from', () => {
  for (const sender of [...SENDERS, ...FLOWS].filter(({ how }) => how === 'tcp' || how === 'flow')) {
    const { name, to, port, from } = sender;
    const seen =
      from === 'neighbor'
        ? frame({ protocol: 6, source: to, sourcePort: port!, destination: HOSTS.neighbor4, port: 0 })
        : frame({ protocol: 6, destination: to, port: port! });
    assert.deepEqual(judge(seen, [...SENDERS, ...FLOWS], false), { leaked: name });
  }
});

test('only what is meant for the local network may leave where that is allowed, and never DNS', () => {
  for (const { name, lan, port } of SENDERS) {
    const expected = lan ? { allowed: 'local network' } : { leaked: name };
    assert.deepEqual(judge(frame({ canary: name }), SENDERS, true), expected);
    if (port === 53 || port === 853) assert.equal(lan, undefined);
  }
});

const tunnel = frame({ destination: HOSTS.wireguard4, port: WIREGUARD_PORT, wireguard: true });
const cases: [string, Seen, ReturnType<typeof judge>][] = [
  ['the tunnel’s own packet', tunnel, { allowed: 'tunnel' }],
  ['ARP', frame({ family: 'arp' }), { allowed: 'ARP' }],
  [
    'neighbor discovery',
    frame({ family: 6, protocol: 58, type: 135, destination: 'ff02::1:ff00:1' }),
    { allowed: 'neighbor discovery' },
  ],
  [
    'an advertisement that leaves the link',
    frame({ family: 6, protocol: 58, type: 136, destination: HOSTS.site6 }),
    { leaked: `protocol 58 type 136 to ${HOSTS.site6}:9999` },
  ],
  ['DHCP', frame({ sourcePort: 68, destination: '255.255.255.255', port: 67 }), { allowed: 'DHCP' }],
  ['no WireGuard at the endpoint', { ...tunnel, wireguard: false }, { leaked: 'protocol 17 to 162.159.193.1:2408' }],
  ['WireGuard at another port', { ...tunnel, port: 53 }, { leaked: 'protocol 17 to 162.159.193.1:53' }],
  ['WireGuard to another host', { ...tunnel, destination: '192.0.2.1' }, { leaked: 'protocol 17 to 192.0.2.1:2408' }],
  ['DHCP to one host', frame({ sourcePort: 68, port: 67 }), { leaked: 'protocol 17 to 203.0.113.10:67' }],
  ['an echo', frame({ family: 6, protocol: 58, type: 128 }), { leaked: 'protocol 58 type 128 to 203.0.113.10:9999' }],
  ['a report of membership', frame({ protocol: 2, type: 34 }), { leaked: 'igmp' }],
  ['a frame of another kind', frame({ family: '0x88cc', protocol: 0 }), { leaked: 'protocol 0 to 203.0.113.10:9999' }],
];
for (const [what, seen, verdict] of cases)
  test(`${what} is ${'allowed' in verdict ? 'innocent' : 'a leak'}`, () =>
    assert.deepEqual(judge(seen, SENDERS, false), verdict));
