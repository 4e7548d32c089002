// Gateways in the tables of the kernel.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gatewaysOf } from '../../../../daemon/networks/links.ts';

const ROUTES = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
wlan0	00000000	0102000A	0003	0	0	600	00000000	0	0	0
wlan0	00000000	0101A8C0	0003	0	0	100	00000000	0	0	0
eth0	00000000	00000000	0001	0	0	50	00000000	0	0	0
eth1	00000000	0103000A	0003	0	0	50	00000000	0	0	0
wlan0	0001A8C0	00000000	0001	0	0	600	00FFFFFF	0	0	0
`;
const NEIGHBORS = `IP address       HW type     Flags       HW address            Mask     Device
192.168.1.1      0x1         0x2         AA:bb:cc:00:11:22     *        wlan0
10.0.3.1         0x1         0x0         00:00:00:00:00:00     *        eth1
`;

test('the gateway of a device is that of its best default route, with its hardware address once that is known', () => {
  assert.deepEqual(
    [...gatewaysOf(ROUTES, NEIGHBORS)],
    [
      ['wlan0', { address: '192.168.1.1', hardware: 'aa:bb:cc:00:11:22' }],
      ['eth1', { address: '10.0.3.1', hardware: null }],
    ],
  );
  assert.equal(gatewaysOf('', '').size, 0);
});
