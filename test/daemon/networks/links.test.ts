// Links of several network services are read from objects as busctl prints them, with gateways from the tables of the kernel.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { askBus, NM, objectsOf } from '../../../daemon/networks/bus.ts';
import { gatewaysOf, linksOfNetworkManager, readLinks } from '../../../daemon/networks/links.ts';
import { temporary } from '../../support/temporary.ts';

const ROOT = '/org/freedesktop/NetworkManager';

/** Connectivity of an Ethernet link. @param state of NetworkManager, 0 where it checks nothing @param options of the lease */
function connectivity(state: number, options: Record<string, { type: string; data: unknown }>) {
  const device = {
    Interface: { type: 's', data: 'eth0' },
    DeviceType: { type: 'u', data: 1 },
    State: { type: 'u', data: 100 },
    Dhcp4Config: { type: 'o', data: `${ROOT}/DHCP4Config/1` },
    Ip4Connectivity: { type: 'u', data: state },
  };
  const objects = objectsOf({
    [`${ROOT}/Devices/1`]: { [`${NM}.Device`]: device },
    [`${ROOT}/DHCP4Config/1`]: { [`${NM}.DHCP4Config`]: { Options: { type: 'a{sv}', data: options } } },
  });
  return linksOfNetworkManager(objects!).map(link => link.connectivity);
}

test('a lease that names a login page counts unless NetworkManager itself gets through', () => {
  const login = { default_url: { type: 's', data: 'https://portal.example/' } };
  const none = { routers: { type: 's', data: '192.0.2.1' } };
  assert.deepEqual(connectivity(0, login), ['portal']);
  assert.deepEqual(connectivity(3, login), ['portal'], 'its check is blocked');
  assert.deepEqual(connectivity(4, login), ['full']);
  assert.deepEqual(connectivity(3, none), ['limited']);
  assert.deepEqual(connectivity(0, none), [null]);
});

/** NetworkManager with devices in states, and systemd-networkd with interfaces that are up. */
function ask(devices: Record<string, number>, interfaces: readonly string[]) {
  const objects = Object.entries(devices).map(([device, state]) => [
    `/${device}`,
    { [`${NM}.Device`]: { Interface: { data: device }, DeviceType: { data: 1 }, State: { data: state } } },
  ]);
  const described = interfaces.map(Name => ({ Name, Type: 'ether', OperationalState: 'routable' }));
  const replies: Record<string, unknown> = {
    [NM]: Object.fromEntries(objects),
    'org.freedesktop.network1': JSON.stringify({ Interfaces: described }),
  };
  return async ([service]: readonly [string, ...string[]]) => replies[service] ?? null;
}

test('a link of systemd-networkd counts next to the links of NetworkManager, unless NetworkManager manages its device', async () => {
  const [unmanaged, connecting, activated] = [10, 70, 100];
  const read = (devices: Record<string, number>, ...interfaces: string[]) =>
    readLinks(ask(devices, interfaces), () => new Map());
  const both = await read({ eth0: activated, eth1: unmanaged, eth2: connecting }, 'eth0', 'eth1', 'eth2', 'eth3');
  assert.deepEqual(
    [both.service, both.links.map(({ device }) => device)],
    ['NetworkManager', ['eth0', 'eth1', 'eth3']],
  );
  assert.equal((await read({ eth1: unmanaged }, 'eth1')).service, 'systemd-networkd');
  assert.equal((await read({ eth1: connecting }, 'eth1')).service, 'NetworkManager');
});

test('distinguishes a service that does not answer from a service that does not run', async t => {
  const path = temporary(t, 'busctl');
  const busctl = (script: string) => {
    writeFileSync(join(path, 'busctl'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return readLinks(askBus({ PATH: `${path}:${process.env.PATH}` }), () => new Map());
  };
  await assert.rejects(busctl('echo "Call failed: Connection timed out" >&2; exit 1'), /does not answer/);
  const none = { service: null, links: [] };
  assert.deepEqual(await busctl('echo "Call failed: The name is not activatable" >&2; exit 1'), none);
});

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

test('the gateway of a device is the gateway of its best default route, with its hardware address once known', () => {
  assert.deepEqual(
    [...gatewaysOf(ROUTES, NEIGHBORS)],
    [
      ['wlan0', { address: '192.168.1.1', hardware: 'aa:bb:cc:00:11:22' }],
      ['eth1', { address: '10.0.3.1', hardware: null }],
    ],
  );
  assert.equal(gatewaysOf('', '').size, 0);
});
