// Both ends of every range that can't be an endpoint, and the addresses next to them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Cidr, contains, parseCidr } from '../../../../daemon/killswitch/rules/endpoints.ts';

const accepted = (word: string) => {
  const cidr = parseCidr(word);
  return typeof cidr === 'object' ? cidr.text : null;
};

/** First and last address of each range, and the neighbors that are public. */
const BOUNDARIES: readonly (readonly [refused: readonly string[], allowed: readonly string[]])[] = [
  [['0.0.0.0', '0.255.255.255'], ['1.0.0.0']],
  [
    ['10.0.0.0', '10.255.255.255'],
    ['9.255.255.255', '11.0.0.0'],
  ],
  [
    ['100.64.0.0', '100.127.255.255'],
    ['100.63.255.255', '100.128.0.0'],
  ],
  [
    ['127.0.0.0', '127.255.255.255'],
    ['126.255.255.255', '128.0.0.0'],
  ],
  [
    ['169.254.0.0', '169.254.255.255'],
    ['169.253.255.255', '169.255.0.0'],
  ],
  [
    ['172.16.0.0', '172.31.255.255'],
    ['172.15.255.255', '172.32.0.0'],
  ],
  [
    ['192.0.0.0', '192.0.0.255'],
    ['191.255.255.255', '192.0.1.0'],
  ],
  [
    ['192.168.0.0', '192.168.255.255'],
    ['192.167.255.255', '192.169.0.0'],
  ],
  [
    ['198.18.0.0', '198.19.255.255'],
    ['198.17.255.255', '198.20.0.0'],
  ],
  [['224.0.0.0', '239.255.255.255', '240.0.0.0', '255.255.255.255'], ['223.255.255.255']],
  [
    ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
  ],
  [
    ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['2001:db7:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db9::'],
  ],
  [
    ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:1000::'],
  ],
  [
    ['192.0.2.0', '192.0.2.255'],
    ['192.0.1.255', '192.0.3.0'],
  ],
  [
    ['192.88.99.0', '192.88.99.255'],
    ['192.88.98.255', '192.88.100.0'],
  ],
  [
    ['198.51.100.0', '198.51.100.255'],
    ['198.51.99.255', '198.51.101.0'],
  ],
  [
    ['203.0.113.0', '203.0.113.255'],
    ['203.0.112.255', '203.0.114.0'],
  ],
  [['2001:1::1', '2001:2::1', '2001:20::1'], []],
  [
    ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2003::'],
  ],
  [
    ['::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '4000::', 'ffff:ffff::'],
    ['2000::', '3fff:ffff::'],
  ],
];

test('refuses the first and the last address of every special range, but not their neighbors outside it', () => {
  for (const [refused, allowed] of BOUNDARIES) {
    for (const word of refused) assert.match(String(parseCidr(word)), /is not on the internet/, word);
    for (const word of allowed) assert.equal(accepted(word), word);
  }
});

test('a range that only overlaps a special one is refused', () => {
  for (const word of ['192.0.0.0/16', '198.18.0.0/16', '198.16.0.0/16', '2001::/32', '2002:1::/48'])
    assert.equal(/is not on the internet/.test(String(parseCidr(word))), word !== '198.16.0.0/16', word);
});

test('a range has the widest prefix that is allowed, or a longer one', () => {
  for (const [word, text] of [
    ['104.16.0.0/16', '104.16.0.0/16'],
    ['104.16.1.2/31', '104.16.1.2/31'],
    ['104.16.1.2/32', '104.16.1.2'],
    ['2606:4700::/32', '2606:4700::/32'],
    ['2606:4700::1/127', '2606:4700::/127'],
    ['2606:4700::1/128', '2606:4700::1'],
  ] as const)
    assert.equal(accepted(word), text);
  assert.match(String(parseCidr('104.0.0.0/15')), /wider than \/16/);
  assert.match(String(parseCidr('2606::/31')), /wider than \/32/);
  for (const word of ['104.16.0.0/33', '2606:4700::/129', '104.16.0.0/', '104.16.0.0/016', '104.16.0.0/-1', '/16'])
    assert.match(String(parseCidr(word)), /is neither an IP address nor a range/, word);
});

test('an address has one spelling, whatever it was read from', () => {
  for (const [word, text] of [
    ['162.159.193.7/24', '162.159.193.0/24'],
    ['2606:4700:0100:0000::/48', '2606:4700:100::/48'],
    ['2606:4700:7::A29F:8969', '2606:4700:7::a29f:8969'],
    ['2606:0:0:1:0:0:0:1', '2606:0:0:1::1'],
    ['2606:4700:1:0:2:3:4:5', '2606:4700:1:0:2:3:4:5'],
  ] as const)
    assert.equal(accepted(word), text);
});

test('spellings that only other programs accept as an address are refused', () => {
  for (const word of [
    '1.2.3',
    '01.2.3.4',
    '0x1.2.3.4',
    '16843009',
    '1.1.1.1.',
    '2606:4700::1.2.3.4',
    '2606::1%eth0',
    '1::2::3',
  ])
    assert.equal(typeof parseCidr(word), 'string', word);
  assert.equal(
    parseCidr(`${'\u0000ä'.repeat(60)}`),
    `"${'ä '.repeat(30).trim()}" is neither an IP address nor a range such as 162.159.193.0/24`,
  );
});

test('a range contains itself and its parts, in its own family', () => {
  const of = (word: string) => parseCidr(word) as Cidr;
  for (const [outer, inner, expected] of [
    ['104.16.0.0/16', '104.16.0.0/16', true],
    ['104.16.0.0/16', '104.16.255.255', true],
    ['104.16.0.0/16', '104.17.0.0', false],
    ['104.16.0.0/17', '104.16.0.0/16', false],
    ['2606:4700::/32', '2606:4700:ffff::', true],
    ['2606:4700::/32', '2606:4701::', false],
    ['104.16.0.0/16', '2606:4700::1', false],
    ['2606:4700::/32', '104.16.0.1', false],
  ] as const)
    assert.equal(contains(of(outer), of(inner)), expected, `${outer} ${inner}`);
});
