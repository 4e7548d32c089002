// The links of NetworkManager, from objects as busctl prints them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NM, objectsOf } from '../../../../daemon/networks/bus.ts';
import { linksOfNetworkManager } from '../../../../daemon/networks/links.ts';

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
