// `culvert network`: where this machine is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHome, culvert, startDaemon } from '../../../support/daemon/command.ts';
import { link } from '../../../support/networks/mocks.ts';

test('prints each link with what identifies its network', async t => {
  const home = createHome(t);
  const running = await startDaemon(t, home);
  assert.match((await culvert(home, ['network'])).stdout, /^Neither NetworkManager nor systemd-networkd nor iwd runs/);
  running.network = { service: 'NetworkManager', links: [] };
  assert.equal((await culvert(home, ['network'])).stdout, 'No network: no physical link is up.\n');
  const wifi = link('wlan0', {
    name: 'Café\u001b[31m',
    security: 'psk',
    gateway: '192.0.2.1',
    gatewayHardware: '02:00:00:00:00:01',
    metered: true,
  });
  running.network = { service: 'NetworkManager', links: [link('eth0', { kind: 'ethernet' }), wifi] };
  const { stdout } = await culvert(home, ['network']);
  assert.deepEqual(stdout.trimEnd().split('\n'), [
    'eth0: Ethernet',
    'wlan0: Wi-Fi Café [31m',
    'security  psk',
    'gateway   192.0.2.1, 02:00:00:00:00:01',
    'metered   yes',
  ]);
  const json = JSON.parse((await culvert(home, ['network', '--json'])).stdout);
  assert.deepEqual([json.ok, json.service, json.links.length], [true, 'NetworkManager', 2]);
});
