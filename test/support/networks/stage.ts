// A daemon's networks over a tunnel in memory, with rules for some of them.
import type { TestContext } from 'node:test';
import type { NetworkLink } from '../../../daemon/api/networks.ts';
import type { RoutesPresets } from '../../../daemon/api/routes.ts';
import type { KillSwitch, KillSwitchRequest } from '../../../daemon/api/schema.ts';
import { openChanges } from '../../../daemon/changes/index.ts';
import { createNetworks } from '../../../daemon/networks/networks.ts';
import { createRoutes } from '../../../daemon/routes/routes-service.ts';
import { NO_KILL_SWITCH, type State, setPart } from '../../../daemon/state/store.ts';
import { paths as pathsOf } from '../../../daemon/system/paths.ts';
import { memoryTunnel, type Values } from '../daemon/memory-tunnel.ts';
import { temporary } from '../temporary.ts';
import { until } from '../until.ts';
import { link } from './mocks.ts';

export const home = link('wlan0', { name: 'Home', security: 'psk' });
export const cafe = link('wlan0', { name: 'Café', security: 'open' });
export const other = link('eth0', { kind: 'ethernet', name: 'Wired' });

export const RULES = `
[[network]]
name = "home"
ssid = "Home"
warp = "pause"
mode = "doh"

[[network]]
name = "cafes"
any = "unknown-wifi"
warp = "connect"
protocol = "WireGuard"
kill_switch = true
`;

/** A kill switch that is confirmable, and what it was asked for. */
function playKillSwitch(state: State) {
  const killSwitches: KillSwitchRequest[] = [];
  const decided: string[] = [];
  const show = (killSwitch: KillSwitch) => {
    state.set('killSwitch', killSwitch);
    const { unconfirmed } = killSwitch;
    const change = { subject: 'killSwitch' as const, value: 'on', previous: 'off', endsAt: null, endingSoon: false };
    setPart(state, 'kill-switch', unconfirmed ? [{ ...change, ...unconfirmed, previous: 'off', problem: null }] : []);
    return killSwitch;
  };
  show({ ...NO_KILL_SWITCH, confirmable: true });
  const killSwitch = {
    read: async () => state.snapshot().killSwitch,
    async set(request: KillSwitchRequest) {
      killSwitches.push(request);
      const { enabled, confirmWithin } = request;
      const setAt = new Date().toISOString();
      const unconfirmed =
        confirmWithin === undefined
          ? null
          : { setAt, confirmBy: setAt, previous: { enabled: false, allowLan: request.allowLan } };
      return show({ ...NO_KILL_SWITCH, confirmable: true, enabled, unconfirmed });
    },
    async decide(decision: 'confirm' | 'revert') {
      const { enabled } = state.snapshot().killSwitch;
      decided.push(decision);
      return show({ ...NO_KILL_SWITCH, confirmable: true, enabled: decision === 'confirm' ? enabled : !enabled });
    },
  };
  return { killSwitch, killSwitches, decided };
}

/** A daemon's networks over a tunnel in memory; `restart` begins again with what is on disk. */
export function stage(t: TestContext, given: Partial<Values> = {}) {
  const paths = pathsOf({ HOME: temporary(t, 'home') });
  const memory = memoryTunnel({ connected: true, ...given });
  const { state, tunnel } = memory;
  state.set('account', { registered: true, type: 'Free', organization: null, managed: false });
  const said: string[] = [];
  const context = {
    env: {},
    paths,
    state,
    tunnel,
    say: (line: string) => void said.push(line),
    settings: undefined as never,
    restart() {},
  };
  const changes = openChanges(context, {
    routes: async () => routes,
    killSwitch: async () => killSwitch,
  });
  const routes = createRoutes(context, changes);
  const { killSwitch, killSwitches, decided } = playKillSwitch(state);
  const presets: RoutesPresets['presets'] = [];
  const ruled: string[] = [];
  let links: NetworkLink[] = [];
  let notice = () => {};
  let isSilent = () => false;
  let slow: Promise<void> | null = null;
  let reads = 0;
  const proven = new Set<string>();
  const greeted: string[] = [];
  let asked = 0;
  const create = () =>
    createNetworks(
      context,
      {
        changes,
        routes: async () => ({ ...routes, presets: () => ({ ok: true, presets }) }),
        killSwitch: async () => killSwitch,
        ruled: ({ subject, rule, ended }) => void ruled.push(`${rule} ${subject}${ended ? ' ended' : ''}`),
      },
      {
        settleMs: 1,
        leaseMs: 60_000,
        againMs: [1, 1],
        restoreFirstMs: 1,
        greet: address => void greeted.push(address),
        read: async () => {
          const present = structuredClone(links);
          reads += 1;
          const wait = slow;
          slow = null;
          await wait;
          if (isSilent()) throw new Error('NetworkManager does not answer');
          return { service: 'NetworkManager', links: present };
        },
        watch: (_env, changed) => {
          notice = changed;
          return { stop: () => (notice = () => {}) };
        },
        proves: async ({ address }) => {
          asked += 1;
          return proven.has(address);
        },
      },
    );
  let networks = create();
  t.after(() => Promise.all([networks.stop(), changes.stop()]));
  const words = () =>
    memory.performed.splice(0).map(({ action, value }) => (value === undefined ? action : `${action} ${value}`));
  return {
    paths,
    state,
    said,
    memory,
    changes,
    killSwitch,
    killSwitches,
    decided,
    ruled,
    proven,
    presets,
    greeted,
    isOn: () => state.snapshot().killSwitch.enabled,
    reads: () => reads,
    asked: () => asked,
    words,
    networks: () => networks,
    /** Goes to another network, and resolves with the actions of the rules. */
    async go(...to: NetworkLink[]) {
      links = to;
      await networks.read();
      return words();
    },
    /** The same as the daemon notices it. */
    async move(...to: NetworkLink[]) {
      links = to;
      notice();
      await until(
        () =>
          state
            .snapshot()
            .networks?.links.map(each => each.name)
            .join() === to.map(each => each.name).join(),
      );
    },
    /** The next read resolves when the returned function is called. */
    delay() {
      let go = () => {};
      slow = new Promise(resolve => {
        go = resolve;
      });
      return () => go();
    },
    /** @param left reads that get no answer from now on */
    silence(left: number) {
      isSilent = () => left-- > 0;
    },
    restart() {
      networks.stop();
      networks = create();
      networks.start();
    },
  };
}
