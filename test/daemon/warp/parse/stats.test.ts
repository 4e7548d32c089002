// Holds the statistics parser to every recorded answer, in plain units.
import assert from 'node:assert/strict';
import test from 'node:test';
import { parseStats } from '../../../../daemon/warp/parse/stats.ts';
import { recorded } from '../../../support/daemon/recordings.ts';

test('recorded figures of every generation', () => {
  const readings = recorded('tunnel stats').map(row => parseStats(row.stdout));
  assert.deepEqual(readings, [
    {
      protocol: 'MASQUE (HTTP/3)',
      endpoints: ['162.159.198.2'],
      handshakeAgeSeconds: 2002,
      bytesSent: 17_700_000,
      bytesReceived: 59_200_000,
      latencyMs: 212,
      loss: 0.0047,
      colo: null,
    },
    {
      protocol: 'MASQUE (HTTPS via UDP)',
      endpoints: ['162.159.198.2'],
      handshakeAgeSeconds: 658,
      bytesSent: 2_800_000,
      bytesReceived: 14_200_000,
      latencyMs: 11,
      loss: 0,
      colo: 'MAD',
    },
    {
      protocol: 'MASQUE (HTTPS via UDP)',
      endpoints: ['162.159.198.2'],
      handshakeAgeSeconds: null,
      bytesSent: 586_300,
      bytesReceived: 2_600_000,
      latencyMs: 87,
      loss: 0.0001,
      colo: 'HKG',
    },
    null, // {"code":"WarpNotConnected"}
  ]);
});

test('JSON as documented for 2026.7', () => {
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

test('units, from bytes to binary multiples and from minutes to microseconds', () => {
  const stats = (sent: string, age: string) =>
    parseStats(`Sent: ${sent}; Received: 1GB\nTime since last handshake: ${age}\n`);
  const sizes: [text: string, bytes: number | null][] = [
    ['512B', 512], ['3kB', 3000], ['3 MB', 3e6], ['1.5GB', 1.5e9], ['2TB', 2e12], ['2pb', 2e15],
    ['1.5KiB', 1536], ['3MiB', 3 * 1024 ** 2], ['1PiB', 1024 ** 5],
    ['a lot', null], ['3', null], ['3 EB', null],
  ]; // biome-ignore format: a table
  for (const [text, bytes] of sizes) assert.equal(stats(text, '1s')?.bytesSent, bytes, text);
  const times: [text: string, seconds: number | null][] = [
    ['1h 2m 3s', 3723],
    ['2d', 172_800],
    ['1m', 60],
    ['7ms', 0.007],
    ['7us', 7e-6],
    ['7µs', 7e-6],
    ['7ns', 7e-9],
    ['123456.1234567s', 123456.123457],
    ['ages', null],
    ['5s or so', null],
  ];
  for (const [text, seconds] of times) assert.equal(stats('1B', text)?.handshakeAgeSeconds, seconds, text);
});

test('negative and absurd figures in JSON are not passed on', () => {
  const reading = parseStats(
    '{"v4_endpoint":"0.0.0.0","bytes_sent":-1,"bytes_received":"3","estimated_latency_ms":null}',
  );
  assert.deepEqual(
    [reading?.endpoints, reading?.bytesSent, reading?.bytesReceived, reading?.latencyMs],
    [[], null, null, null],
  );
});

test('one known figure is enough for an answer, in JSON and in text', () => {
  assert.equal(parseStats('{"bytes_sent":1}')?.bytesSent, 1);
  assert.deepEqual(parseStats('{"v4_endpoint":"192.0.2.1"}')?.endpoints, ['192.0.2.1']);
  assert.equal(parseStats('{"bytes_received":1}'), null);
  assert.equal(parseStats('Sent: 1B\n')?.bytesSent, 1);
  assert.deepEqual(parseStats('Endpoints: 192.0.2.1, ::\n')?.endpoints, ['192.0.2.1']);
  assert.equal(parseStats('Received: 1B\n'), null);
});
