// The networks as NetworkManager, systemd-networkd and iwd report them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { askBus } from '../../../daemon/networks/bus.ts';
import { readLinks } from '../../../daemon/networks/links.ts';
import { createNetworks } from '../../../daemon/networks/networks.ts';
import { paths } from '../../../daemon/system/paths.ts';
import { memoryTunnel } from '../../support/daemon/memory-tunnel.ts';
import { link, type MockBus, missingMocks, startMockBus } from '../../support/networks/mocks.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

const NM = 'org.freedesktop.NetworkManager';
const ROOT = '/org/freedesktop/NetworkManager';
const MAIN = '/org/freedesktop';
const ACTIVATED = '100';
const GATEWAYS = new Map([['wlan0', { address: '192.0.2.1', hardware: '02:00:00:00:00:01' }]]);

/** A NetworkManager with a wired link that is up and a Wi-Fi that is not. */
async function manager(t: Parameters<typeof startMockBus>[0]): Promise<MockBus> {
  const bus = await startMockBus(t);
  await bus.mock(NM, ['--template', 'networkmanager']);
  bus.call(NM, MAIN, 'AddEthernetDevice', 'ssi', 'eth', 'eth0', ACTIVATED);
  bus.call(NM, MAIN, 'AddWiFiDevice', 'ssi', 'wifi', 'wlan0', '30');
  return bus;
}

function join(bus: MockBus, ssid: string, security: number, number: number): void {
  const [device, point] = [`${ROOT}/Devices/wifi`, `${ROOT}/AccessPoint/${number}`];
  const ap = ['2', '2425', '5400', '82', String(security)];
  bus.call(
    NM,
    MAIN,
    'AddAccessPoint',
    'ssssuuuyu',
    device,
    String(number),
    ssid,
    `00:23:F8:7E:12:${number.toString(16).padStart(2, '0')}`,
    ...ap,
  );
  const reply = bus.call(NM, MAIN, 'AddWiFiConnection', 'ssss', device, `c${number}`, ssid, 'wpa-psk');
  const connection = /"(.*)"/.exec(reply)![1]!;
  bus.call(NM, MAIN, 'AddActiveConnection', 'assssu', '1', device, connection, point, `a${number}`, '2');
}

describe('the networks', { skip: missingMocks() }, () => {
  test('come from NetworkManager, without devices that are not up', async t => {
    const bus = await manager(t);
    const wired = { service: 'NetworkManager', links: [link('eth0', { kind: 'ethernet', connectivity: 'full' })] };
    assert.deepEqual(await readLinks(askBus(bus.env), () => GATEWAYS), wired);
    join(bus, 'Café', 0x100, 1);
    const { links } = await readLinks(askBus(bus.env), () => GATEWAYS);
    const { uuid, ...wifi } = links[1]!;
    assert.match(uuid!, /^[\da-f-]{36}$/);
    assert.deepEqual(
      { ...wifi, uuid: null },
      {
        ...link('wlan0', { name: 'Café', security: 'psk', bssid: '00:23:f8:7e:12:01', connectivity: 'full' }),
        gateway: '192.0.2.1',
        gatewayHardware: '02:00:00:00:00:01',
      },
    );
  });

  test('are published again once they have changed, while a client reads them', async t => {
    const bus = await manager(t);
    const { state, tunnel } = memoryTunnel();
    const said: string[] = [];
    const read = () => readLinks(askBus(bus.env), () => GATEWAYS);
    const context = { env: bus.env, paths: paths({ HOME: temporary(t, 'home') }), state, tunnel };
    const unused = () => Promise.reject(new Error('there are no rules'));
    const networks = createNetworks(
      { ...context, say: line => void said.push(line) },
      { changes: { runWithLimit: unused }, routes: unused, killSwitch: unused, ruled() {} },
      { settleMs: 50, read },
    );
    t.after(() => networks.stop());
    assert.equal(state.snapshot().networks, null);
    assert.equal((await networks.read()).links.length, 1);
    // the monitor may not have begun to listen: it still notices a later change
    let number = 0;
    const isOpen = () => state.snapshot().networks?.links[1]?.security === 'open';
    await until(() => {
      join(bus, `Net ${++number}`, 0, number);
      return until(isOpen, 'the Wi-Fi', { limitMs: 3_000 }).catch(() => false);
    }, 'the Wi-Fi');
    networks.stop();
    assert.equal(state.snapshot().networks, null);
    assert.deepEqual(said, []);
  });

  test('come from systemd-networkd and iwd together', async t => {
    const bus = await startMockBus(t);
    assert.deepEqual(await readLinks(askBus(bus.env)), { service: null, links: [] });
    const [networkd, iwd] = ['org.freedesktop.network1', 'net.connman.iwd'];
    await bus.mock(networkd, [networkd, '/org/freedesktop/network1', `${networkd}.Manager`]);
    const up = { OperationalState: 'routable' };
    const described = {
      Interfaces: [
        { Name: 'lo', Type: 'loopback', OperationalState: 'carrier' },
        { Name: 'eth0', Type: 'ether', NetworkFile: '/etc/systemd/network/20-office.network', ...up },
        { Name: 'eth1', Type: 'ether', OperationalState: 'no-carrier' },
        { Name: 'br0', Type: 'ether', Kind: 'bridge', ...up },
        { Name: 'CloudflareWARP', Type: 'none', Kind: 'tun', ...up },
        { Name: 'wlan0', Type: 'wlan', SSID: 'Hotel', CaptivePortal: 'https://portal.example/', ...up },
      ],
    };
    const code = `ret = ${JSON.stringify(JSON.stringify(described))}`;
    bus.call(
      networkd,
      '/org/freedesktop/network1',
      'AddMethod',
      'sssss',
      `${networkd}.Manager`,
      'Describe',
      '',
      's',
      code,
    );
    const eth0 = link('eth0', { kind: 'ethernet', name: '20-office' });
    const wlan0 = link('wlan0', { name: 'Hotel', connectivity: 'portal' });
    const none = () => new Map();
    assert.deepEqual(await readLinks(askBus(bus.env), none), { service: 'systemd-networkd', links: [eth0, wlan0] });

    await bus.mock(iwd, ['--is-object-manager', iwd, '/', `${iwd}.Mock`]);
    const add = (path: string, name: string, properties: [string, string, string][]) =>
      bus.call(
        iwd,
        '/',
        'AddObject',
        'ssa{sv}a(ssss)',
        path,
        `${iwd}.${name}`,
        String(properties.length),
        ...properties.flat(),
        '0',
      );
    add('/0/1', 'Device', [['Name', 's', 'wlan0']]);
    add('/0/1/net', 'Network', [
      ['Name', 's', 'Hotel'],
      ['Type', 's', '8021x'],
    ]);
    add('/0/1/ap', 'BasicServiceSet', [['Address', 's', 'AA:BB:CC:DD:EE:FF']]);
    bus.call(
      iwd,
      '/0/1',
      'AddProperties',
      'sa{sv}',
      `${iwd}.Station`,
      '3',
      'State',
      's',
      'connected',
      'ConnectedNetwork',
      'o',
      '/0/1/net',
      'ConnectedAccessPoint',
      'o',
      '/0/1/ap',
    );
    const joined = { ...wlan0, security: 'enterprise', bssid: 'aa:bb:cc:dd:ee:ff' };
    assert.deepEqual((await readLinks(askBus(bus.env), none)).links, [eth0, joined]);
  });
});
