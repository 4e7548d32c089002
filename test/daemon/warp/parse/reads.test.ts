// Holds the parsers of single reads to the recorded answers, and the license key to its mask.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  parseDevices,
  parseLocalNetworkAccess,
  parseRegistration,
  parseSsids,
  parseStats,
  parseVirtualNetworks,
  UNREGISTERED,
} from '../../../../daemon/warp/parse/reads.ts';
import { recorded } from '../../../support/daemon/recordings.ts';

test('recorded registrations of consumers and teams', () => {
  const readings = recorded('registration show')
    .map(row => parseRegistration(row.stdout))
    .filter(reading => reading !== null);
  assert.deepEqual(
    readings.map(({ registered, type, organization, managed }) => [registered, type, organization, managed]),
    [
      [true, 'Free', null, false],
      [true, 'Team', 'acme-team', true],
    ],
  );
  assert.equal(readings[1]?.deviceId, '66666666-7777-8888-9999-000000000000');
  assert.equal(readings[0]?.accountId, '0'.repeat(32));
});

test('only the last four characters of a license are shown, also when it was masked before', () => {
  for (const license of ['abcdefgh-ijklmnop-qrstuvwx', '****uvwx']) {
    assert.equal(parseRegistration(JSON.stringify({ device_id: 'd', account: { license } }))?.license, '****uvwx');
  }
});

test('a missing registration, failures and other text are not a registration', () => {
  for (const row of recorded('registration show').filter(row => /Missing/.test(row.stdout + row.stderr))) {
    assert.equal(parseRegistration(row.stdout), null);
  }
  for (const text of ['', 'Success', '[]', '{}', 'License: x']) assert.equal(parseRegistration(text), null, text);
});

test('devices in a list', () => {
  const json = '[{"device_id":"a","name":"laptop","model":"T14","active":true},{"device_id":"b"},{"name":"no id"},7]';
  assert.deepEqual(parseDevices(json), [
    { deviceId: 'a', name: 'laptop', model: 'T14', os: null, active: true },
    { deviceId: 'b', name: null, model: null, os: null, active: null },
  ]);
  for (const none of ['', '{}', 'Error: nothing']) assert.deepEqual(parseDevices(none), []);
});

test('JSON with either an account or a device is a registration', () => {
  assert.equal(parseRegistration('{"device_id":"d"}')?.deviceId, 'd');
  assert.equal(parseRegistration('{"account":{"id":"a"}}')?.accountId, 'a');
  assert.equal(UNREGISTERED.registered, false);
});

test('devices inside an object are found', () => {
  assert.deepEqual(parseDevices('{"devices":[{"id":"a","type":"linux"}]}'), [
    { deviceId: 'a', name: null, model: null, os: 'linux', active: null },
  ]);
});

test('statistics as documented for 2026.7', () => {
  const json =
    '{"v4_endpoint":"162.159.198.2","v6_endpoint":"::","warp_is_on":true,"secs_since_last_handshake":22289,"bytes_sent":876162833,"bytes_received":1261869238,"estimated_latency_ms":56,"estimated_loss":0.0002215079,"protocol":"MASQUE (HTTPS via UDP)","edge":{"colo":"DEL","metal":"678f17"}}';
  assert.deepEqual(parseStats(json), {
    protocol: 'MASQUE (HTTPS via UDP)',
    endpoints: ['162.159.198.2'],
    handshakeAgeSeconds: 22289,
    bytesSent: 876162833,
    bytesReceived: 1261869238,
    latencyMs: 56,
    loss: 0.0002215079,
    colo: 'DEL',
  });
});

test('negative and absurd figures are not passed on', () => {
  const reading = parseStats(
    '{"v4_endpoint":"0.0.0.0","bytes_sent":-1,"bytes_received":"3","estimated_latency_ms":null}',
  );
  assert.deepEqual(
    [reading?.endpoints, reading?.bytesSent, reading?.bytesReceived, reading?.latencyMs],
    [[], null, null, null],
  );
});

test('a tunnel that is down has no figures', () => {
  for (const { stdout } of recorded('tunnel stats').filter(row => row.stdout.includes('WarpNotConnected')))
    assert.equal(parseStats(stdout), null);
});

test('one known figure is enough for an answer', () => {
  assert.equal(parseStats('{"bytes_sent":1}')?.bytesSent, 1);
  assert.deepEqual(parseStats('{"v4_endpoint":"192.0.2.1"}')?.endpoints, ['192.0.2.1']);
  assert.equal(parseStats('{"bytes_received":1}'), null);
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
