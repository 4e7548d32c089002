// Addresses are read as Node and another library read them.
import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import ipaddr from 'ipaddr.js';
import { bytesOf } from '../../../daemon/core/address.ts';

const ADDRESSES =
  `0.0.0.0 255.255.255.255 192.0.2.1 :: ::1 1:: 2001:db8::1 2001:DB8:0:0:1:0:0:1 1:2:3:4:5:6:7:8 1:2:3:4:5:6:7::
  ::2:3:4:5:6:7:8 ::ffff:192.0.2.1 64:ff9b::192.0.2.1 1:2:3:4:5:6:192.0.2.1 fe80::`.split(/\s+/);

const OTHERS =
  `1.2.3 1.2.3.4.5 256.0.0.1 01.2.3.4 1.2.3.-4 0x1.2.3.4 1.2.3.4/8 : ::: 1 :1 1: 1::2::3 1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9
  1:2:3:4:5:6:7:8:: 12345:: g:: ::1.2.3 ::1.2.3.4:5 1.2.3.4:: 1:2:3:4:5:6:7:1.2.3.4 [::1] example.com`.split(/\s+/);

for (const text of ADDRESSES)
  test(`reads ${text}`, () => {
    assert.deepEqual(bytesOf(text), ipaddr.parse(text).toByteArray());
  });

test('reads nothing else', () => {
  for (const text of ['', ' 1.2.3.4', 'fe80::1%eth0', ...OTHERS]) assert.equal(bytesOf(text), null, text);
  assert.deepEqual(OTHERS.filter(isIP), []);
});
