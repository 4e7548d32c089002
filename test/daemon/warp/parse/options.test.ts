// Options that warp-cli prints: filters, trusted networks and virtual networks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  optionsOf,
  parseLocalNetworkAccess,
  parseSsids,
  parseVirtualNetworks,
} from '../../../../daemon/warp/parse/options.ts';
import { parseSettings } from '../../../../daemon/warp/parse/settings.ts';

/** As `warp-cli settings` prints it since 2023.7: where a value comes from, a tab, key and value. */
const printed = (...lines: string[]) =>
  optionsOf(parseSettings(`Merged configuration:\n(default)\tMode: Warp\n${lines.join('\n')}\n`)!.settings);

test('the filter of DNS and the location are read from the resolver, or from a name', () => {
  const cases: [string, 'off' | 'malware' | 'full' | null, string | null][] = [
    ['(not set)\tResolve via: cloudflare-dns.com @ [162.159.36.1, 2606:4700:4700::1111]', 'off', null],
    ['(user set)\tResolve via: security.cloudflare-dns.com @ [1.1.1.2]', 'malware', null],
    ['(user set)\tResolve via: family.cloudflare-dns.com @ [1.1.1.3]', 'full', null],
    ['(user set)\tResolve via: https://FAMILY.cloudflare-dns.com/dns-query', 'full', null],
    ['(user set)\tResolve via: abc123.cloudflare-gateway.com @ [162.159.36.1]', null, 'abc123'],
    ['(user set)\tResolve via: dns.example.com @ [192.0.2.1]', null, null],
    ['(not set)\tGateway ID: abc', null, 'abc'],
    ['(not set)\tGateway ID: not set', null, null],
    ['Cloudflare for Families: Off', 'off', null],
    ['Cloudflare for Families: Malware', 'malware', null],
    ['Cloudflare for Families: Full', 'full', null],
    ['Cloudflare for Families: Something', null, null],
  ];
  for (const [line, families, gatewayId] of cases) {
    const options = printed(line);
    assert.deepEqual([options.families, options.gatewayId], [families, gatewayId], line);
  }
});

test('a value that is not printed is not known', () => {
  assert.deepEqual(optionsOf({}), {
    switchLocked: null,
    modeLocked: null,
    organization: null,
    families: null,
    gatewayId: null,
    fallbackDomains: [],
    wifiTrusted: null,
    ethernetTrusted: null,
    masque: null,
    endpoint: null,
    environment: null,
    localNetwork: null,
  });
});

test('each option has its line', () => {
  const options = printed(
    '(override)\tSwitch Locked: true',
    '(network policy)\tAllow Mode Switch: false',
    '(user set)\tOrganization: example-org',
    '(user set)\tDisabled for Wifi: true',
    '(default)\tDisabled for Ethernet: false',
    '(not set)\tMASQUE Protocol Settings: ',
    '  HTTP Version: MASQUE (HTTP/2)',
    '(not set)\tCustom Endpoint: 162.159.198.2:443',
    '(not set)\tCompliance Environment: Normal',
    '(network policy)\tLAN Access Settings: Allowed until reconnect on a /24 subnet',
    '(user set)\tFallback domains:',
    '  corp (added)',
    '  example.org\t-> [10.0.0.53]',
    '  lan',
  );
  assert.deepEqual(options, {
    switchLocked: true,
    modeLocked: true,
    organization: 'example-org',
    families: null,
    gatewayId: null,
    fallbackDomains: [
      { domain: 'corp', note: 'added' },
      { domain: 'example.org', note: '-> [10.0.0.53]' },
      { domain: 'lan', note: null },
    ],
    wifiTrusted: true,
    ethernetTrusted: false,
    masque: 'MASQUE (HTTP/2)',
    endpoint: '162.159.198.2:443',
    environment: 'Normal',
    localNetwork: 'Allowed until reconnect on a /24 subnet',
  });
  assert.equal(printed('(network policy)\tAllow Mode Switch: true').modeLocked, false);
});

test('trusted Wi-Fi names come as JSON or as lines below a heading', () => {
  const cases: [string, string[] | null][] = [
    ['["Home","Caf\u00e9 \u2713"]', ['Home', 'Café ✓']],
    ['[]', []],
    ['{"ssids":["a"]}', ['a']],
    ['[{"name":"a"}]', null],
    ['Trusted SSIDs:\n  Home\n  two words\n', ['Home', 'two words']],
    ['Trusted SSIDs:\n', []],
    ['No trusted SSIDs\n', []],
    ['Error: something else', null],
    ['', null],
  ];
  for (const [text, names] of cases) assert.deepEqual(parseSsids(text), names, text);
});

test('virtual networks come as JSON or as blocks of lines', () => {
  const json =
    '{"active_vnet_id":"i1","virtual_networks":[{"id":"i1","name":"office","description":"","default":true}]}';
  const networks = [{ id: 'i1', name: 'office', default: true }];
  assert.deepEqual(parseVirtualNetworks(json), { active: 'i1', networks });
  const text =
    'Currently selected: i1\n  ID: i1\n  Name: office\n  Default: true\n\n  ID: i2\n  Name: lab\n  Default: false\n';
  assert.deepEqual(parseVirtualNetworks(text), {
    active: 'i1',
    networks: [...networks, { id: 'i2', name: 'lab', default: false }],
  });
  assert.deepEqual(parseVirtualNetworks('Currently selected: None\n'), { active: null, networks: [] });
  assert.deepEqual(parseVirtualNetworks('{"virtual_networks":[]}'), { active: null, networks: [] });
  assert.equal(parseVirtualNetworks('Error: Not authorized'), null);
});

test('access to the local network comes with its end, which a later reading does not move', () => {
  const at = Date.parse('2026-11-25T12:00:00.000Z');
  const read = (text: string, before = null as ReturnType<typeof parseLocalNetworkAccess>, later = 0) =>
    parseLocalNetworkAccess(text, at + later, before);
  const first = read('{"allowed":true,"ends_in_secs":900}');
  assert.deepEqual(first, { allowed: true, endsAt: '2026-11-25T12:15:00.000Z' });
  assert.equal(read('{"allowed":true,"ends_in_secs":841}', first, 60_000), first);
  assert.deepEqual(read('{"allowed":true,"ends_in_secs":900}', first, 60_000)?.endsAt, '2026-11-25T12:16:00.000Z');
  assert.deepEqual(read('{"allowed":true,"ends_in_secs":0}'), { allowed: true, endsAt: null });
  assert.deepEqual(read('{"allowed":false,"ends_in_secs":0}'), { allowed: false, endsAt: null });
  for (const text of ['', 'No current access to local network\n', '{"override":null}', '[]'])
    assert.equal(read(text), null);
});
