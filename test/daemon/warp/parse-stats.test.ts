// Holds the statistics parser to every recorded answer, in plain units.
import assert from 'node:assert/strict';
import test from 'node:test';
import { parseStats } from '../../../daemon/warp/parse-stats.ts';
import { recorded } from './recordings.ts';

test('recorded figures of every era', () => {
  const readings = recorded('tunnel stats', 'warp-stats').map(row => parseStats(row.stdout));
  assert.deepEqual(readings, [
    {
      protocol: null,
      endpoints: ['162.159.193.8'],
      handshakeAgeSeconds: 54,
      bytesSent: 80_800_000,
      bytesReceived: 818_400_000,
      latencyMs: 14,
      loss: 0,
      colo: null,
    },
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
  assert.equal(stats('512B', '1h 2m 3s')?.bytesSent, 512);
  assert.equal(stats('1.5KiB', '1h 2m 3s')?.bytesSent, 1536);
  assert.equal(stats('2TB', '1h 2m 3s')?.bytesSent, 2e12);
  assert.equal(stats('2TB', '1h 2m 3s')?.handshakeAgeSeconds, 3723);
  assert.equal(stats('a lot', 'ages')?.bytesSent, null);
  assert.equal(stats('a lot', 'ages')?.handshakeAgeSeconds, null);
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
