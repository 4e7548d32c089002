// The machine’s connections and networks, from files like those of real machines.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { readPresets, readSurroundings } from '../../../daemon/routes/surroundings.ts';
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
  const known = { endpoints: ['162.159.198.2:443', '[2606:4700:103::2]:443'], clientMode: 'warp', connected: true };
  assert.deepEqual(readSurroundings({ SSH_CONNECTION: '203.0.113.9 50000 192.168.1.2 22' }, known, root), {
    sshPeer: '203.0.113.9',
    gateways: ['192.168.1.1', 'fe80::1'],
    resolvers: ['192.168.1.1'],
    printers: ['192.168.1.40', '192.168.1.41', '192.168.1.44', 'fd00::28'],
    endpoints: ['162.159.198.2', '2606:4700:103::2'],
    clientMode: 'warp',
    connected: true,
  });
});

test('finds nothing where nothing can be read', t => {
  const known = { endpoints: [], clientMode: null, connected: false };
  assert.deepEqual(readSurroundings({}, known, temporary(t, 'surroundings')), {
    sshPeer: null,
    gateways: [],
    resolvers: [],
    printers: [],
    endpoints: [],
    clientMode: null,
    connected: false,
  });
});

const FILES: Record<string, string> = {
  'proc/net/route': [
    'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
    'eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0', // the default route
    'eth0\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0', // 192.168.1.0/24
    'eth0\t0000A8C0\t0101A8C0\t0003\t0\t0\t100\t0000FFFF\t0\t0\t0', // behind a gateway
    'docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0', // 172.17.0.0/16
    'br-0123456789ab\t000012AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0', // 172.18.0.0/16
    'podman0\t0000580A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0', // 10.88.0.0/16
    'virbr0\t007AA8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0', // 192.168.122.0/24
    'cni0\t0000F40A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0', // 10.244.0.0/24
    'CloudflareWARP\t0000600A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0',
    '*\t097100CB\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0', // blackhole 203.0.113.9
    '*\t0A7100CB\t00000000\t0205\t0\t0\t0\tFFFFFFFF\t0\t0\t0', // unreachable 203.0.113.10
    'broken line',
  ].join('\n'),
  'proc/net/ipv6_route': [
    '20010db8000100000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 1 0 00000001     eth0',
    'fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 1 0 00000001     eth0',
    '20010db8000200000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000400 1 0 00200200       lo', // blackhole
    'fd7a115ca1e000000000000000000001 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 1 0 00000001 tailscale0',
    '00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 1 0 00000003     eth0',
  ].join('\n'),
  'proc/net/dev': 'Inter-|   Receive\n face |bytes\n    lo: 0\ntailscale0: 0 0\n',
  'proc/net/tcp': [
    '  sl  local_address rem_address   st tx_queue',
    '   0: 0201A8C0:0016 057100CB:C350 01 0 0 0 0 0 1', // from 203.0.113.5
    '   1: 0201A8C0:0016 057100CB:C351 01 0 0 0 0 0 1', // again
    '   2: 0201A8C0:0016 067100CB:C350 06 0 0 0 0 0 1', // over
    '   3: 0201A8C0:C350 077100CB:0016 01 0 0 0 0 0 1', // to another server
    '   4: 0100007F:0016 0100007F:C350 01 0 0 0 0 0 1', // from this machine
  ].join('\n'),
  'proc/net/tcp6': [
    '   0: 00000000000000000000000000000000:08AE B80D0120000000000000000009000000:C350 01 0 0 0 0 0 1',
    '   1: 00000000000000000000000000000000:0016 000080FE000000000000000001000000:C350 01 0 0 0 0 0 1', // link-local
  ].join('\n'),
  'etc/ssh/sshd_config': '# Port 2200\nPort 22\n',
  'etc/ssh/sshd_config.d/10-port.conf': 'port 2222\n',
  'etc/docker/daemon.json':
    '{"bip": "172.26.0.1/16", "default-address-pools": [{"base": "10.200.0.0/16", "size": 24}]}',
  'etc/containers/networks/web.json':
    '{"name": "web", "subnets": [{"subnet": "10.89.3.0/24"}, {"subnet": "nonsense"}]}',
  'etc/cni/net.d/10-flannel.conflist': '{"plugins": [{"ipam": {"ranges": [[{"subnet": "10.42.0.0/24"}]]}}]}',
  'etc/cni/net.d/broken.conf': '{',
};

function root(t: Parameters<typeof temporary>[0], files: Record<string, string>): string {
  const directory = temporary(t, 'presets');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return directory;
}

test('finds the local network, containers, virtual machines and Tailscale', t => {
  const found = readPresets(root(t, FILES));
  assert.deepEqual(Object.fromEntries(found.map(({ id, entries }) => [id, entries.map(({ value }) => value)])), {
    lan: ['192.168.1.0/24', '2001:db8:1::/64'],
    docker: ['172.17.0.0/16', '172.18.0.0/16', '172.26.0.0/16', '10.200.0.0/16'],
    podman: ['10.88.0.0/16', '10.89.3.0/24'],
    libvirt: ['192.168.122.0/24'],
    kubernetes: ['10.244.0.0/24', '10.42.0.0/24'],
    tailscale: ['100.64.0.0/10', 'fd7a:115c:a1e0::/48'],
    ssh: ['203.0.113.5', '2001:db8::9'],
  });
  assert.deepEqual(found[0]?.entries[0], { value: '192.168.1.0/24', source: 'eth0' });
});

test('shows no other text of the files that it reads', t => {
  const canary = 'http://ann:canary@proxy.example';
  const text = JSON.stringify({
    bip: canary,
    'default-address-pools': [{ base: canary }, { base: '10.201.0.0/16', name: canary }],
    proxies: { 'http-proxy': canary },
    subnet: canary,
    name: canary,
  });
  const places = Object.keys(FILES).filter(name => name.startsWith('etc/'));
  const found = readPresets(root(t, { ...FILES, ...Object.fromEntries(places.map(name => [name, text])) }));
  assert.doesNotMatch(JSON.stringify(found), /canary/);
  assert.match(JSON.stringify(found), /10\.201\.0\.0/);
});

test('finds nothing on a machine that has nothing', t => {
  assert.ok(readPresets(root(t, {})).every(({ entries }) => entries.length === 0));
});
