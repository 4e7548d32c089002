// Holds the parsers of settings, options and split-tunnel lists to the recorded answers of every generation.
import assert from 'node:assert/strict';
import test from 'node:test';
import { optionsOf, parseRoutes, parseSettings, splitOf } from '../../../../daemon/warp/parse/settings.ts';
import { recorded } from '../../../support/daemon/recordings.ts';

function find(version: string, excerpt: string) {
  const recording = recorded('settings').find(row => row.version.startsWith(version) && row.stdout.includes(excerpt));
  assert.ok(recording, `no recording ${version} with ${excerpt}`);
  const reading = parseSettings(recording.stdout);
  assert.ok(reading);
  return reading;
}

test('every recorded listing is understood, and none takes a trap for the mode', () => {
  const listings = recorded('settings').filter(row => !row.argv.includes('--help'));
  assert.ok(listings.length >= 9);
  for (const { stdout, version } of listings) {
    const reading = parseSettings(stdout);
    if (!/\bMode: |operation_mode/.test(stdout)) {
      assert.equal(reading, null, 'a fragment without a key is not a listing');
      continue;
    }
    assert.ok(reading, version);
    assert.match(reading.settings.Mode ?? '', /^(warp|doh|dot|warp\+doh|warp\+dot|proxy|tunnel_only)$/);
    assert.ok(!('Merged configuration' in reading.settings));
    for (const key of Object.keys(reading.settings))
      assert.doesNotMatch(key, /^\(|\)\s/, 'a source is not part of a key');
  }
});

test('a consumer listing of 2026 with sources', () => {
  const { settings, proxyPort, splitTunnel } = find('2026.3.846', 'Fallback domains');
  assert.equal(settings.Mode, 'proxy');
  assert.equal(proxyPort, 40000);
  assert.equal(settings['Always On'], true);
  assert.equal(settings['WARP tunnel protocol'], 'MASQUE');
  assert.deepEqual(settings['MASQUE Protocol Settings'], { 'HTTP Version': 'MASQUE (HTTP/3 with HTTP/2 fallback)' });
  assert.equal((settings['Fallback domains'] as string[]).length, 14);
  assert.equal(settings['Firewall Scope'], 'All interfaces');
  assert.equal(splitTunnel?.mode, 'exclude');
  assert.equal(splitTunnel?.ips.length, 27);
  assert.deepEqual(splitTunnel?.hosts, []);
});

test('a team listing with descriptions, hosts and resolvers', () => {
  const { settings, proxyPort, splitTunnel } = find('2023.7.159', 'Organization');
  assert.equal(settings.Mode, 'warp+doh');
  assert.equal(proxyPort, null);
  assert.equal(settings['Captive Portal'], 180);
  assert.equal(settings['Support URL'], '');
  assert.equal(settings.Organization, 'example-org');
  assert.equal(settings['Allow Mode Switch'], true);
  assert.ok((settings['Fallback domains'] as string[]).includes('wikipedia.org -> [8.8.8.8]'));
  assert.deepEqual(splitTunnel?.ips[2], { value: '169.254.0.0/16', description: 'DHCP Unspecified' });
  assert.deepEqual(
    splitTunnel?.hosts.map(host => host.value),
    ['*.wikipedia.org', '*.en.wikipedia.org'],
  );
});

test('include mode, with spaces where the original has a tab', () => {
  const { settings, splitTunnel } = find('2026 (unstated, Windows', 'Include mode');
  assert.equal(settings.Mode, 'tunnel_only');
  assert.deepEqual(splitTunnel, {
    mode: 'include',
    ips: [{ value: '100.96.0.0/12', description: 'Cloudflare Mesh device range' }],
    hosts: [],
  });
});

test('JSON has the same keys as text, and keeps keys without a known text', () => {
  const { settings, splitTunnel, proxyPort } = find('2026.7.1377', 'operation_mode');
  assert.deepEqual(settings, {
    'Always On': true,
    'Switch Locked': false,
    Mode: 'warp',
    'Disabled for Wifi': false,
    'Disabled for Ethernet': false,
    Onboarding: true,
    'Disable Auto Fallback': false,
    lan_subnet_size: 24,
    'WARP tunnel protocol': 'MASQUE',
    'Post-quantum support for MASQUE': 'Enabled (downgrades allowed)',
    enable_pmtud: true,
    'Exclude mode, with hosts/ips': ['10.0.0.0/8'],
  });
  assert.deepEqual(splitTunnel, { mode: 'exclude', ips: [{ value: '10.0.0.0/8', description: null }], hosts: [] });
  assert.equal(proxyPort, null);
});

test('JSON and text of the same settings read the same', () => {
  const json = parseSettings(
    JSON.stringify({
      settings: {
        always_on: false,
        operation_mode: { WarpProxy: { port: 41000 } },
        warp_tunnel_protocol: 'wire_guard',
        fallback_domains: [
          { domain: 'corp', description: '', dns_servers: [] },
          { domain: 'wikipedia.org', description: '', dns_servers: ['8.8.8.8'] },
          { domain: 'bytedns3.com', description: 'CLI add', dns_servers: [] },
        ],
        split_tunnel_mode: 'include',
        split_tunnel_ips: [{ value: '192.0.2.0/24', description: 'office' }],
        split_tunnel_hosts: [{ value: '*.example.com', description: '' }],
      },
    }),
  );
  const text = parseSettings(
    [
      'Merged configuration:',
      '(derived)\tAlways On: false',
      '(user set)\tMode: WarpProxy on port 41000',
      '(network policy)\tWARP tunnel protocol: WireGuard',
      '(network policy)\tFallback domains:',
      '  corp',
      '  wikipedia.org\t-> [8.8.8.8]',
      '  bytedns3.com (CLI add)',
      '(network policy)\tInclude mode, with hosts/ips:',
      '  192.0.2.0/24 (office)',
      '  *.example.com',
      '',
    ].join('\r\n'),
  );
  assert.deepEqual(json, text);
});

test('every mode has the name that setMode takes, in text and in JSON', () => {
  const modes: [text: string, json: unknown, mode: string][] = [
    ['Warp', 'warp', 'warp'],
    ['DnsOverHttps', 'doh', 'doh'],
    ['WarpWithDnsOverHttps', 'warp+doh', 'warp+doh'],
    ['WarpWithDnsOverHttps', 'warp_doh', 'warp+doh'],
    ['DnsOverTls', 'dot', 'dot'],
    ['WarpWithDnsOverTls', 'warp_dot', 'warp+dot'],
    ['WarpProxy on port 40000', 'proxy', 'proxy'],
    ['TunnelOnly', 'tunnel_only', 'tunnel_only'],
    ['PostureOnly', 'PostureOnly', 'PostureOnly'],
  ];
  for (const [text, json, mode] of modes) {
    assert.equal(parseSettings(`(default)\tMode: ${text}\n`)?.settings.Mode, mode);
    assert.equal(parseSettings(JSON.stringify({ settings: { operation_mode: json } }))?.settings.Mode, mode);
  }
});

test('an organization that looks like a number stays text', () => {
  assert.equal(parseSettings('Mode: Warp\nOrganization: 007\nProfile ID: 12\n')?.settings.Organization, '007');
});

test('a text that is not a listing is null', () => {
  for (const text of ['', 'Success', 'Error: Operation not authorized', '{"code":"x","error":"y"}', '{}', '[]', 'a: b'])
    assert.equal(parseSettings(text), null, text);
});

test('the port of the local proxy comes from the mode, the settings, or the documented default', () => {
  const port = (settings: object) => parseSettings(JSON.stringify(settings))?.proxyPort;
  assert.equal(port({ operation_mode: 'proxy', proxy_port: 41_000 }), 41_000);
  assert.equal(port({ operation_mode: { WarpProxy: 42_000 }, proxy_port: 41_000 }), 42_000);
  assert.equal(port({ operation_mode: 'proxy', proxy_port: '41000' }), 40_000);
  assert.equal(parseSettings('Mode: WarpProxy\n')?.proxyPort, 40_000);
});

test('JSON lists under other keys stay as they are', () => {
  const { settings } = parseSettings('{"always_on":true,"other":[1],"fallback_domains":null}')!;
  assert.deepEqual(settings, { 'Always On': true, other: [1], 'Fallback domains': null });
});

test('a block of text is an object where each line is a pair, and a list otherwise', () => {
  const text = 'Mode: Warp\nTeam:\n  Profile ID: 12\n  Seats: 3\nNotes:\n  a: b\n  only   words\n';
  assert.deepEqual(parseSettings(text)?.settings, {
    Mode: 'warp',
    Team: { 'Profile ID': '12', Seats: 3 },
    Notes: ['a: b', 'only words'],
  });
  const domains = parseSettings('Mode: Warp\nFallback domains:\n  corp: 10.0.0.1\n')?.settings;
  assert.deepEqual(domains?.['Fallback domains'], ['corp: 10.0.0.1']);
});

test('no fallback domains are an empty list, and no other value is empty text', () => {
  const { settings } = parseSettings('Mode: Warp\nFallback domains:\nSupport URL:\nOther:\n')!;
  assert.deepEqual(settings, { Mode: 'warp', 'Fallback domains': [], 'Support URL': '', Other: '' });
});

test('addresses and ranges of both families are distinguished from names', () => {
  const list = ['10.0.0.0/8', '192.0.2.1', '2001:db8::1', 'fc00::/7', 'a.example', '*.example', '7.example'];
  const { splitTunnel } = parseSettings(`Mode: Warp\nExclude mode, with hosts/ips:\n  ${list.join('\n  ')}\n`)!;
  assert.deepEqual(
    [splitTunnel!.ips, splitTunnel!.hosts].map(part => part.map(({ value }) => value)),
    [list.slice(0, 4), list.slice(4)],
  );
});

test('a recorded list of addresses has their ranges and notes', () => {
  const [excluded, included] = recorded('tunnel ip list');
  assert.deepEqual(parseRoutes(excluded?.stdout ?? ''), {
    mode: 'exclude',
    routes: [
      { value: '10.0.0.0/8', description: null },
      { value: '0.0.0.0/0', description: 'CLI exclude' },
      { value: '::/0', description: 'CLI exclude' },
    ],
  });
  assert.deepEqual(parseRoutes(included?.stdout ?? ''), {
    mode: 'include',
    routes: [{ value: '0.0.0.0/0', description: null }],
  });
});

test('a recorded list of hosts', () => {
  assert.deepEqual(parseRoutes(recorded('tunnel host list')[0]?.stdout ?? ''), {
    mode: 'exclude',
    routes: [{ value: 'www.baidu.com', description: 'CLI exclude' }],
  });
});

test('an empty list is a list, and other text is null', () => {
  assert.deepEqual(parseRoutes('Excluded hosts:\r\n'), { mode: 'exclude', routes: [] });
  for (const text of ['', 'Success\n', "error: unrecognized subcommand 'tunnel'", '{"code":"x","error":"y"}']) {
    assert.equal(parseRoutes(text), null, text);
  }
});

test('JSON lists of strings or objects', () => {
  const routes = [{ value: '10.0.0.0/8', description: null }];
  assert.deepEqual(parseRoutes('["10.0.0.0/8"]'), { mode: null, routes });
  assert.deepEqual(parseRoutes('{"mode":"Exclude","routes":[{"value":"10.0.0.0/8","description":""}]}'), {
    mode: 'exclude',
    routes,
  });
});

test('one of two lists makes a split tunnel', () => {
  const entry = { value: 'a.example', description: null };
  assert.deepEqual(splitOf('exclude', ['a.example'], undefined), { mode: 'exclude', ips: [entry], hosts: [] });
  assert.deepEqual(splitOf('include', undefined, ['a.example']), { mode: 'include', ips: [], hosts: [entry] });
  assert.equal(splitOf('include', undefined, undefined), null);
});

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
