// The link to the internet, read from the kernel's tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  defaultRoute,
  hardwareOf,
  hasChanged,
  hasIpv6Route,
  type Link,
  serversIn,
} from '../../../../daemon/killswitch/sign-in/link.ts';

const ROUTES = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
wlan0\t00000000\t0102A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0
docker0\t00000000\t0100110A\t0003\t0\t0\t50\t00000000\t0\t0\t0
eth0\t00000000\t01000A0A\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth0\t00000A0A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
`;
const isPhysical = (device: string) => device !== 'docker0';

test('takes the default route with the lowest metric of a physical device', () => {
  assert.deepEqual(defaultRoute(ROUTES, isPhysical), { device: 'eth0', gateway: '10.10.0.1' });
  assert.deepEqual(
    defaultRoute(ROUTES, device => device === 'wlan0'),
    { device: 'wlan0', gateway: '192.168.2.1' },
  );
  assert.equal(
    defaultRoute(ROUTES, () => false),
    null,
  );
  assert.equal(defaultRoute('', isPhysical), null);
});

test('finds a default route of IPv6 by way of a router, on a physical device', () => {
  const zero = '0'.repeat(32);
  const row = (to: string, flags: string, device: string) =>
    `${to} 00 ${zero} 00 20010db8000000000000000000000002 00000400 00000001 00000000 ${flags}      ${device}\n`;
  const rows = row(zero, '00200200', 'lo') + row(`fe80${'0'.repeat(28)}`, '00000003', 'eth0');
  assert.equal(hasIpv6Route(rows, isPhysical), false);
  assert.equal(hasIpv6Route(rows + row(zero, '00000003', 'docker0'), isPhysical), false);
  assert.equal(hasIpv6Route(rows + row(zero, '00000003', 'eth0'), isPhysical), true);
  assert.equal(hasIpv6Route('', isPhysical), false);
});

test('reads the hardware address of the gateway on that device', () => {
  const table = `IP address       HW type     Flags       HW address            Mask     Device
10.10.0.1        0x1         0x2         aa:bb:cc:dd:ee:01     *        wlan0
10.10.0.1        0x1         0x2         aa:bb:cc:dd:ee:02     *        eth0
10.10.0.9        0x1         0x0         00:00:00:00:00:00     *        eth0
`;
  assert.equal(hardwareOf(table, { device: 'eth0', gateway: '10.10.0.1' }), 'aa:bb:cc:dd:ee:02');
  assert.equal(hardwareOf(table, { device: 'eth0', gateway: '10.10.0.9' }), null);
  assert.equal(hardwareOf(table, { device: 'eth0', gateway: '10.10.0.2' }), null);
});

test('another device, gateway or hardware address is another network', () => {
  const link: Link = { device: 'eth0', index: '2', gateway: '10.10.0.1', hardware: 'aa:bb:cc:dd:ee:02' };
  assert.equal(hasChanged(link, link), false);
  assert.equal(hasChanged(link, { ...link, hardware: null }), false, 'the kernel forgets it after a while');
  for (const other of [{ device: 'eth1' }, { index: '3' }, { gateway: '10.10.0.2' }, { hardware: 'aa:bb:cc:dd:ee:03' }])
    assert.equal(hasChanged(link, { ...link, ...other }), true, JSON.stringify(other));
  assert.equal(hasChanged(link, null), true);
});

test('name servers are IPv4 addresses outside this machine, three at most', () => {
  const words = ['127.0.0.53', '::1', '10.0.0.1', '10.0.0.1', '192.168.1.1; drop', '0.0.0.0', '224.0.0.251', '1.1.1.1'];
  assert.deepEqual(serversIn(words), ['10.0.0.1', '1.1.1.1']);
  assert.deepEqual(serversIn(['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4']), ['10.0.0.1', '10.0.0.2', '10.0.0.3']);
});
