// Events of the network services on a bus end in the same networks, whatever their order.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, type TestContext, test } from 'node:test';
import type { NetworkLink } from '../../../daemon/api/networks.ts';
import { askBus, IWD, NETWORKD, NM } from '../../../daemon/networks/bus.ts';
import { readLinks } from '../../../daemon/networks/links.ts';
import { createNetworks } from '../../../daemon/networks/networks.ts';
import { paths } from '../../../daemon/system/paths.ts';
import { memoryTunnel } from '../../support/daemon/memory-tunnel.ts';
import { LAPTOP, type NetworkEvent, randomOf, shuffled } from '../../support/networks/events.ts';
import { missingMocks, startMockBus } from '../../support/networks/mocks.ts';
import { temporary } from '../../support/temporary.ts';
import { FULL } from '../../support/thoroughness.ts';
import { until } from '../../support/until.ts';

const ORDERS = FULL ? 200 : 3;
/** Longer than a mock takes between two events. */
const SETTLE_MS = 250;
/** Longer than the whole test. */
const LEASE_MS = 3_600_000;
const PLAYER = join(import.meta.dirname, '../../support/networks/play.py');

/** A service on the bus, and how events change what it says. */
interface Service {
  name: string;
  root: string;
  events: NetworkEvent[];
  set(player: Player, events: readonly NetworkEvent[]): Promise<void>;
}

const STATION: NetworkEvent[] = [
  ['/0/1', `${IWD}.Device`, 'Name', 'wlan0'],
  ['/0/1', `${IWD}.Station`, 'State', 'connected'],
  ['/0/1', `${IWD}.Station`, 'ConnectedNetwork', '/0/1/net'],
  ['/0/1', `${IWD}.Station`, 'ConnectedAccessPoint', '/0/1/ap'],
  ['/0/1/net', `${IWD}.Network`, 'Name', 'Hotel'],
  ['/0/1/net', `${IWD}.Network`, 'Type', 'psk'],
  ['/0/1/ap', `${IWD}.BasicServiceSet`, 'Address', 'AA:BB:CC:DD:EE:FF'],
];
/** Devices of systemd-networkd: the path is the name, and there are no interfaces. */
const INTERFACES: NetworkEvent[] = (
  [
    ['eth0', { Type: 'ether', OperationalState: 'routable', NetworkFile: '/etc/systemd/network/20-office.network' }],
    ['wlan0', { Type: 'wlan', OperationalState: 'routable', SSID: 'Hotel', CaptivePortal: 'https://portal.example/' }],
    ['br0', { Type: 'ether', Kind: 'bridge', OperationalState: 'routable' }],
  ] as [string, Record<string, string>][]
).flatMap(([name, values]) => Object.entries(values).map(([key, value]): NetworkEvent => [name, '', key, value]));

const objects = (name: string, root: string, events: NetworkEvent[]): Service => ({
  name,
  root,
  events,
  async set(player, changes) {
    for (const [path, interfaceName, key, value] of changes)
      await player.play(['set', name, path, interfaceName, { [key]: value }]);
  },
});

/** Interfaces of systemd-networkd as they are after some of the events. */
const described: Service = {
  name: NETWORKD,
  root: '/org/freedesktop/network1',
  events: INTERFACES,
  async set(player, changes) {
    const interfaces: Record<string, Record<string, unknown>> = {};
    for (const [name, , key, value] of changes) {
      interfaces[name] = { ...interfaces[name], Name: name, [key]: value };
      await player.play(['describe', JSON.stringify({ Interfaces: Object.values(interfaces) })]);
    }
  },
};

class Player {
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  constructor(t: TestContext, env: NodeJS.ProcessEnv) {
    const argv = ['-W', 'ignore', PLAYER];
    this.#child = spawn('/usr/bin/python3', argv, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    t.after(() => this.#child.kill('SIGKILL'));
    this.#answers = createInterface(this.#child.stdout!)[Symbol.asyncIterator]();
  }

  async play(words: readonly unknown[]): Promise<void> {
    this.#child.stdin!.write(`${JSON.stringify(words)}\n`);
    assert.equal((await this.#answers.next()).value, 'ok', 'the mocks took the event');
  }
}

/** Events that undo others: the values of links that are not up. */
const nothing = (events: readonly NetworkEvent[]) =>
  events.map(([path, interfaceName, key, value]): NetworkEvent => {
    if (Array.isArray(value)) return [path, interfaceName, key, []];
    if (typeof value === 'number') return [path, interfaceName, key, 0];
    return [path, interfaceName, key, ''];
  });

describe('the networks', { skip: missingMocks() }, () => {
  for (const { name, root, events, set } of [
    objects(NM, '/org/freedesktop', LAPTOP),
    described,
    objects(IWD, '/', STATION),
  ])
    test(`${ORDERS} random orders of events of ${name} end as the sorted order does`, async t => {
      const bus = await startMockBus(t);
      await bus.mock(name, ['--is-object-manager', name, root, `${name}.Mock`]);
      const player = new Player(t, bus.env);
      if (name !== NETWORKD) {
        for (const path of new Set(events.map(([path]) => path))) await player.play(['object', name, root, path]);
        for (const [path, interfaceName, key, value] of nothing(events))
          await player.play(['add', name, path, interfaceName, { [key]: value }]);
      }
      const { state, tunnel } = memoryTunnel();
      const unused = () => Promise.reject(new Error('there are no rules'));
      const networks = createNetworks(
        { env: bus.env, paths: paths({ HOME: temporary(t, 'home') }), state, tunnel, say: () => {} },
        { changes: { runWithLimit: unused }, routes: unused, killSwitch: unused, ruled() {} },
        { leaseMs: LEASE_MS, settleMs: SETTLE_MS, read: () => readLinks(askBus(bus.env), () => new Map()) },
      );
      t.after(() => networks.stop());
      await networks.read();
      const links = () => state.snapshot().networks?.links ?? [];
      const clear = async () => {
        await until(async () => {
          await set(player, nothing(events));
          return until(() => links().length === 0, 'no network', { limitMs: 3_000 }).catch(() => false);
        }, 'no network');
      };
      const after = async (changes: readonly NetworkEvent[], expected?: readonly NetworkLink[]) => {
        await set(player, changes);
        const isThere = expected
          ? () => JSON.stringify(links()) === JSON.stringify(expected)
          : () => links().length > 0;
        await until(isThere, 'the networks', { limitMs: 20_000 }).catch(() => assert.deepEqual(links(), expected));
        return links();
      };
      await clear();
      // the monitor may not have begun to listen: until it does, the events come again
      await until(async () => {
        await set(player, events);
        return until(() => links().length > 0, 'the networks', { limitMs: 3_000 }).catch(() => false);
      }, 'the networks');
      const expected = links();
      for (let seed = 1; seed <= ORDERS; seed++) {
        await clear();
        await after(shuffled(events, randomOf(seed)), expected);
      }
    });
});
