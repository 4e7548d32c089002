// The checks of typed text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checks, routeKind } from '../../../../daemon/view/forms/validate.ts';
import { tr } from '../../../support/gnome/view/translator.ts';

test('an entry of the split tunnel is an address, a range, a host, or nothing', () => {
  const kinds = {
    address: ['192.0.2.1', '::1', '2001:db8::1', '::ffff:192.0.2.1', '1:2:3:4:5:6:7:8'],
    range: ['192.0.2.0/24', '0.0.0.0/0', '2001:db8::/32', '::/0'],
    host: ['example.com', '*.example.com', 'a-b.example'],
    null: [
      '',
      '192.0.2',
      '192.0.2.256',
      '192.0.2.0/33',
      '2001:db8::/129',
      '1:2:3:4:5:6:7:8:9',
      '1::2::3',
      'localhost',
      '-a.example',
      'a..b',
      'exa mple.com',
      '01.2.3.4',
    ],
  };
  for (const [kind, texts] of Object.entries(kinds))
    for (const text of texts) assert.equal(String(routeKind(text)), kind, text);
});

test('typed text is checked, and an empty field is valid', () => {
  const check = checks(tr);
  const samples: Record<keyof typeof check, [wrong: string, right: string]> = {
    route: ['nowhere', '192.0.2.1'],
    domain: ['1.2.3.4', 'corp'],
    endpoint: ['1.2.3.4', '[2001:db8::1]:443'],
    port: ['65536', '1'],
    team: ['a b', 'my-team'],
    license: ['abc', 'abcd1234-abcd1234-abcd1234'],
    token: ['https://x', 'com.cloudflare.warp://a.cloudflareaccess.com/auth?token=x'],
    gateway: ['a-b', 'abc123'],
    identifier: [' x', 'v-net_1'],
    code: ['abcd', '1234567'],
    hardware: ['02:00:00:00:00:0g', '02:00:00:00:00:AB'],
    beacon: ['192.0.2.1:8443', `[2001:db8::1]:8443 ${'AB:'.repeat(31)}ab`],
    name: ['x'.repeat(65), 'Café'],
    ssid: [` ${'x'.repeat(33)}`, 'Café'],
  };
  for (const [name, rule] of Object.entries(check) as [keyof typeof check, (text: string) => string | null][]) {
    assert.equal(rule(''), null, name);
    const [wrong, right] = samples[name];
    assert.ok(rule(wrong), `${name}: ${wrong}`);
    assert.equal(rule(right), null, `${name}: ${right}`);
  }
});
