// Documents of rules: what is understood, and why the rest is not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EMPTY_DOCUMENT, keyOf, parseRules } from '../../../../daemon/networks/rules/rules.ts';

test('reads every key, and writes hardware addresses and fingerprints in one form', () => {
  const { rules, invalid } = parseRules(`
[[network]]
name = "home"
ssid = "Home"
security = "psk"
uuid = "1f0c"
gateway = "02:00:00:00:00:AB"
bssid = "02:00:00:00:00:CD"
beacon = {address = "192.0.2.1:8443", sha256 = "${Array.from({ length: 32 }, () => 'AB').join(':')}"}
warp = "pause"
mode = "doh"
protocol = "MASQUE"
kill_switch = true
routes = "lan"

[[network]]
name = "cafes"
any = "unknown-wifi"
warp = "connect"
`);
  assert.deepEqual(invalid, []);
  assert.deepEqual(rules, [
    {
      name: 'home',
      match: {
        ssid: 'Home',
        security: 'psk',
        uuid: '1f0c',
        gateway: '02:00:00:00:00:ab',
        bssid: ['02:00:00:00:00:cd'],
        beacon: { address: '192.0.2.1:8443', sha256: 'ab'.repeat(32) },
      },
      effects: { warp: 'pause', mode: 'doh', protocol: 'MASQUE', killSwitch: true, routes: 'lan' },
    },
    { name: 'cafes', match: { any: 'unknown-wifi' }, effects: { warp: 'connect' } },
  ]);
  assert.deepEqual(parseRules(EMPTY_DOCUMENT), { rules: [], invalid: [] });
});

const rule = (lines: string) => `# rules\n\n[[network]]\n${lines}`;
for (const [lines, reason] of [
  ['ssid = "x"\nwarp = "connect"', 'A rule needs a name of at most 64 characters.'],
  ['name = "x"\nwarp = "connect"', 'A rule needs a network to be for, such as ssid = "Home".'],
  ['name = "x"\nssid = "x"', 'A rule needs something that holds, such as warp = "connect".'],
  ['name = "x"\nssid = "x"\nwarp = "off"', 'The value of warp is not valid.'],
  ['name = "x"\nssid = 1\nwarp = "connect"', 'The value of ssid is not valid.'],
  ['name = "x"\ngateway = "router"\nwarp = "connect"', 'The value of gateway is not valid.'],
  ['name = "x"\nany = "wifi"\nwarp = "connect"', 'The value of any is not valid.'],
  ['name = "x"\nbeacon = {address = "x:1", sha256 = "ab"}\nwarp = "pause"', 'The value of beacon is not valid.'],
  [
    'name = "x"\nssid = "x"\nkill_switch = false',
    'kill_switch can only be true: a rule never turns the kill switch off.',
  ],
  ['name = "x"\nssid = "x"\nkillSwitch = true', 'killSwitch is not a key of a rule.'],
  ['name = "x"\nsid = "x"\nwarp = "connect"', 'sid is not a key of a rule.'],
] as const)
  test(`refuses a rule: ${reason}`, () => {
    const { rules, invalid } = parseRules(rule(lines));
    assert.deepEqual([rules, invalid.map(({ line, reason }) => [line, reason])], [[], [[3, reason]]]);
  });

test('refuses what is not TOML with its line, other tables, and a name that is there twice', () => {
  assert.equal(parseRules('\n[[network]\n').invalid[0]?.line, 2);
  assert.equal(parseRules('other = 1').invalid[0]?.reason, 'Only tables [[network]] are allowed.');
  const twice = 'name = "x"\nssid = "x"\nwarp = "connect"\n';
  const { rules, invalid } = parseRules(`${rule(twice)}[[network]]\n${twice}`);
  assert.deepEqual([rules.length, invalid[0]?.line, invalid[0]?.reason], [1, 7, 'Another rule has the name x.']);
});

test('an answer about a rule is one about what it says, not about its name', () => {
  const key = (text: string) => keyOf(parseRules(rule(text)).rules[0]!);
  const first = key('name = "a"\nssid = "x"\nwarp = "pause"');
  assert.equal(key('name = "b"\nssid = "x"\nwarp = "pause"'), first);
  assert.notEqual(key('name = "a"\nssid = "y"\nwarp = "pause"'), first);
});
