// Follows the networks of this machine while somebody looks.
import type { NetworksState } from '../api/schema/traffic/networks.ts';
import type { FeatureContext, NetworksControl } from '../controls.ts';
import { askBus } from './bus.ts';
import { type Monitor, monitorNetworks } from './monitor.ts';
import { readLinks } from './read-links.ts';
import { createSettler } from './settle.ts';

/** Time for which changes are published after a client has read. */
const LEASE_MS = 120_000;
/** Quiet time after which a network is complete. */
const SETTLE_MS = 2_000;

interface Options {
  leaseMs?: number;
  settleMs?: number;
  read?: () => Promise<NetworksState>;
  /** Notices changes. */
  watch?: typeof monitorNetworks;
}

export function createNetworks(
  { env, state, say }: Pick<FeatureContext, 'env' | 'state' | 'say'>,
  {
    leaseMs = LEASE_MS,
    settleMs = SETTLE_MS,
    read = () => readLinks(askBus(env)),
    watch = monitorNetworks,
  }: Options = {},
): NetworksControl {
  const publish = (networks: NetworksState) => state.set('networks', networks);
  const settler = createSettler(settleMs, read, publish);
  let monitor: Monitor | null = null;
  let lease: NodeJS.Timeout | undefined;

  function follow(): void {
    monitor ??= watch(env, settler.changed, reason =>
      say(`Changes of the network are not noticed: ${reason}. Install gdbus (package libglib2.0-bin).`),
    );
    clearTimeout(lease);
    lease = setTimeout(end, leaseMs);
    lease.unref();
  }

  function end(): void {
    clearTimeout(lease);
    settler.stop();
    monitor?.stop();
    monitor = null;
    state.set('networks', null);
  }

  return {
    async read() {
      follow();
      const networks = await read();
      publish(networks);
      return { ok: true, ...networks };
    },
    stop: end,
  };
}
