// Networks of this machine as entries: from files like those of real machines.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { readPresets } from '../../../daemon/routes/surroundings.ts';
import { temporary } from '../../support/temporary.ts';

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
    'broken line',
  ].join('\n'),
  'proc/net/ipv6_route': [
    '20010db8000100000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 1 0 00000001     eth0',
    'fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 1 0 00000001     eth0',
    'fd7a115ca1e000000000000000000001 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 1 0 00000001 tailscale0',
    '00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 1 0 00000003     eth0',
  ].join('\n'),
  'proc/net/dev': 'Inter-|   Receive\n face |bytes\n    lo: 0\ntailscale0: 0 0\n',
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
