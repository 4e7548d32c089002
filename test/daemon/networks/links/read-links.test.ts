// Links of several network services at the same time are all read.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { askBus } from '../../../../daemon/networks/bus.ts';
import { readLinks } from '../../../../daemon/networks/links.ts';
import { temporary } from '../../../support/temporary.ts';

const NM = 'org.freedesktop.NetworkManager';

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

test('a link of systemd-networkd counts next to those of NetworkManager, unless NetworkManager manages its device', async () => {
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

test('distinguishes a service that does not answer from one that does not run', async t => {
  const path = temporary(t, 'busctl');
  const busctl = (script: string) => {
    writeFileSync(join(path, 'busctl'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return readLinks(askBus({ PATH: `${path}:${process.env.PATH}` }), () => new Map());
  };
  await assert.rejects(busctl('echo "Call failed: Connection timed out" >&2; exit 1'), /does not answer/);
  const none = { service: null, links: [] };
  assert.deepEqual(await busctl('echo "Call failed: The name is not activatable" >&2; exit 1'), none);
});
