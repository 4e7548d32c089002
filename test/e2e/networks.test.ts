// Rules for networks in the built daemon, with a NetworkManager on a private bus.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createHome, culvert, startDemo } from '../support/e2e/culvert.ts';
import { missingMocks, startMockBus } from '../support/networks/mocks.ts';
import { FULL } from '../support/thoroughness.ts';
import { until } from '../support/until.ts';

const NM = 'org.freedesktop.NetworkManager';
const MAIN = '/org/freedesktop';

test('WARP connects on an unknown Wi-Fi without a client, and the daemon without rules starts no monitor', {
  skip: FULL ? missingMocks() : 'only in a full run',
}, async t => {
  const bus = await startMockBus(t);
  await bus.mock(NM, ['--template', 'networkmanager']);
  const home = createHome(t);
  home.env.DBUS_SYSTEM_BUS_ADDRESS = bus.env.DBUS_SYSTEM_BUS_ADDRESS!;
  const first = await startDemo(home);
  const status = async () => JSON.parse((await culvert(home, 'status', '--json')).stdout);
  const monitors = () => bus.clients().includes('gdbus');
  await until(async () => (await status()).status.state === 'disconnected', 'the emulator');
  assert.equal(monitors(), false);
  first.child.kill();
  await first.ended;

  const state = join(home.directory, '.local/state/culvert/demo');
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, 'networks.toml'), '[[network]]\nname = "cafes"\nany = "unknown-wifi"\nwarp = "connect"\n');
  await startDemo(home);
  await until(monitors, 'the monitor');
  bus.call(NM, MAIN, 'AddWiFiDevice', 'ssi', 'wifi', 'wlan0', '30');
  const device = '/org/freedesktop/NetworkManager/Devices/wifi';
  bus.call(
    NM,
    MAIN,
    'AddAccessPoint',
    'ssssuuuyu',
    device,
    'a',
    'Café',
    '00:23:F8:7E:12:01',
    '2',
    '2425',
    '54',
    '82',
    '0',
  );
  const reply = bus.call(NM, MAIN, 'AddWiFiConnection', 'ssss', device, 'c', 'Café', '');
  const point = '/org/freedesktop/NetworkManager/AccessPoint/a';
  bus.call(NM, MAIN, 'AddActiveConnection', 'assssu', '1', device, /"(.*)"/.exec(reply)![1]!, point, 'x', '2');
  let networks = '';
  await until(
    async () => {
      const { state } = (await status()).status;
      networks = (await culvert(home, 'network', '--json')).stdout;
      return state === 'connected';
    },
    () => `the connection: ${networks}`,
  );
  const { acted, decision } = JSON.parse(networks);
  assert.deepEqual([acted.rule, decision.links], ['cafes', [{ device: 'wlan0', rule: 'cafes' }]]);
});
