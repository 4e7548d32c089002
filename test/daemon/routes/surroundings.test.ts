// The machine's connections, as the kernel's tables and resolv.conf have them.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { readSurroundings } from '../../../daemon/routes/surroundings.ts';
import { temporary } from '../../support/temporary.ts';

const ROUTE = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
tun0\t00000000\t00000000\t0001\t0\t0\t50\t00000000\t0\t0\t0
eth0\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
`;
const ROUTE6 = `00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000064 00000001 00000000 00450003     eth0
fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0
`;
const row = (remote: string, state: string) =>
  `   0: 0201A8C0:C350 ${remote} ${state} 00000000:00000000 00:00000000 00000000  1000        0 1 1 0000000000000000 100 0 0 10 0\n`;
const TCP = [
  '  sl  local_address rem_address   st tx_queue\n',
  row('2801A8C0:0277', '01'), // 192.168.1.40, IPP
  row('2901A8C0:238C', '01'), // JetDirect
  row('2A01A8C0:0277', '06'), // over
  row('2B01A8C0:01BB', '01'), // HTTPS
  row('0100007F:0277', '01'), // CUPS of this machine
].join('');
const TCP6 = [
  row('0000000000000000FFFF00002C01A8C0:0203', '01'), // ::ffff:192.168.1.44, LPD
  row('000000FD000000000000000028000000:0277', '01'), // fd00::28
  row('00000000000000000000000001000000:0277', '01'), // ::1
  row('junk:0277', '01'),
].join('');

test('finds routers, name servers, printers, the SSH peer and endpoints', t => {
  const root = temporary(t, 'surroundings');
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write('proc/net/route', ROUTE);
  write('proc/net/ipv6_route', ROUTE6);
  write('proc/net/tcp', TCP);
  write('proc/net/tcp6', TCP6);
  write('etc/resolv.conf', '# nameserver 203.0.113.1\nnameserver 127.0.2.2\nnameserver 192.168.1.1\nnameserver ::1\n');
  const known = { endpoints: ['162.159.198.2:443', '[2606:4700:103::2]:443'], clientMode: 'warp' };
  assert.deepEqual(readSurroundings({ SSH_CONNECTION: '203.0.113.9 50000 192.168.1.2 22' }, known, root), {
    sshPeer: '203.0.113.9',
    gateways: ['192.168.1.1', 'fe80::1'],
    resolvers: ['192.168.1.1'],
    printers: ['192.168.1.40', '192.168.1.41', '192.168.1.44', 'fd00::28'],
    endpoints: ['162.159.198.2', '2606:4700:103::2'],
    clientMode: 'warp',
  });
});

test('finds nothing where nothing can be read', t => {
  const known = { endpoints: [], clientMode: null };
  assert.deepEqual(readSurroundings({}, known, temporary(t, 'surroundings')), {
    sshPeer: null,
    gateways: [],
    resolvers: [],
    printers: [],
    endpoints: [],
    clientMode: null,
  });
});
