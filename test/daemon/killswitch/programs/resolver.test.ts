// The resolver of programs outside the tunnel, from systemd-resolved and NetworkManager as python-dbusmock plays them.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildSync } from 'esbuild';
import { builtOnce } from '../../../support/built.ts';
import { type MockBus, missingMocks, startMockBus } from '../../../support/networks/mocks.ts';

const skip =
  missingMocks() ||
  (['gjs', 'busctl'].some(name => spawnSync(name, ['--version']).error) ? 'needs gjs, busctl' : false);

const RESOLVED = 'org.freedesktop.resolve1';
const NM = 'org.freedesktop.NetworkManager';

/** Prints the resolver of a device, as the root service finds it. */
const HOST = `
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import system from 'system';
import { resolverOf } from './uplink.ts';
const [device, family] = system.programArgs;
const loop = new GLib.MainLoop(null, false);
resolverOf(Gio.bus_get_sync(Gio.BusType.SYSTEM, null), { device, router: null }, Number(family)).then(resolver => {
  print(resolver);
  loop.quit();
});
loop.run();`;

function host(): string {
  const directory = builtOnce('resolver-host', place => {
    buildSync({
      stdin: { contents: HOST, resolveDir: join(import.meta.dirname, '../../../../daemon/killswitch/service') },
      outfile: join(place, 'host.js'),
      bundle: true,
      format: 'esm',
      external: ['gi://*', 'system'],
    });
  });
  return join(directory, 'host.js');
}

/** Resolvers of both families, on the device that every machine has. */
function resolvers({ env }: MockBus): string[] {
  return ['4', '6'].map(family => execFileSync('gjs', ['-m', host(), 'lo', family], { env, encoding: 'utf8' }).trim());
}

/** @param servers family, length and bytes of each, as systemd-resolved has them */
async function playResolved(bus: MockBus, servers: readonly string[]) {
  const root = '/org/freedesktop/resolve1';
  const link = `${root}/link/_31`;
  const end = await bus.mock(RESOLVED, [RESOLVED, root, `${RESOLVED}.Manager`]);
  const code = `ret = "${link}" if args[0] == 1 else "/none"`;
  bus.call(RESOLVED, root, 'AddMethod', 'sssss', `${RESOLVED}.Manager`, 'GetLink', 'i', 'o', code);
  const dns = `1 DNS a(iay) ${[servers.length, ...servers].join(' ')} 0`.split(' ');
  bus.call(RESOLVED, root, 'AddObject', 'ssa{sv}a(ssss)', link, `${RESOLVED}.Link`, ...dns);
  return end;
}

async function playNetworkManager(bus: MockBus): Promise<void> {
  const root = '/org/freedesktop/NetworkManager';
  await bus.mock(NM, [NM, root, NM]);
  const add = (at: string, of: string, properties: string) =>
    bus.call(NM, root, 'AddObject', 'ssa{sv}a(ssss)', root + at, `${NM}.${of}`, ...properties.split(' '), '0');
  const code = `ret = "${root}/Devices/" + ("1" if args[0] == "lo" else "2")`;
  bus.call(NM, root, 'AddMethod', 'sssss', NM, 'GetDeviceByIpIface', 's', 'o', code);
  add('/Devices/1', 'Device', `2 Ip4Config o ${root}/IP4Config/1 Ip6Config o ${root}/IP6Config/1`);
  add('/IP4Config/1', 'IP4Config', '1 NameserverData aa{sv} 2 1 address s 127.0.0.53 1 address s 192.0.2.9');
  add('/IP6Config/1', 'IP6Config', '1 Nameservers aay 1 16 32 1 13 184 0 0 0 0 0 0 0 0 0 0 0 9');
}

test('systemd-resolved is asked first, then NetworkManager', { skip }, async t => {
  const bus = await startMockBus(t);
  await playNetworkManager(bus);
  assert.deepEqual(resolvers(bus), ['192.0.2.9', '2001:db8::9']);
  const end = await playResolved(bus, [
    '10 16 254 128 0 0 0 0 0 0 0 0 0 0 0 0 0 1', // fe80::1, of the link alone
    '2 4 127 0 0 53',
    '10 16 32 1 13 184 0 0 0 0 0 0 0 0 0 0 0 7',
    '2 4 192 0 2 7',
    '2 4 192 0 2 8',
  ]);
  assert.deepEqual(resolvers(bus), ['192.0.2.7', '2001:db8::7']);
  await end();
  // it knows no server for the link
  await playResolved(bus, []);
  assert.deepEqual(resolvers(bus), ['192.0.2.9', '2001:db8::9']);
});
