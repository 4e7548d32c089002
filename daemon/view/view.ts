// Describes everything that clients show of the daemon's state, once per event.
import type { ClientState } from './client/client-state.ts';
import { describeBanners } from './states/banners.ts';
import { describeUnconfirmed, type Unconfirmed } from './states/changes.ts';
import { describeKillSwitch, type KillSwitchView } from './states/killswitch.ts';
import { describeProxy, type ProxyView } from './states/proxy.ts';
import { describeTunnel, type TunnelView } from './states/tunnel.ts';
import { describeUpdate, type UpdateView } from './states/updates.ts';
import type { Translator } from './translator.ts';

export interface View {
  client: ClientState;
  tunnel: TunnelView;
  killSwitch: KillSwitchView;
  proxy: ProxyView;
  update: UpdateView;
  banners: ReturnType<typeof describeBanners>;
  /** Changes that revert unless the user confirms them. */
  unconfirmed: Unconfirmed | null;
}

/** @param version version of the client, shown before the first check for updates */
export function describe(client: ClientState, version: string, tr: Translator): View {
  const tunnel = describeTunnel(client, tr);
  const update = describeUpdate(client.update, client.config, version, tr);
  return {
    client,
    tunnel,
    update,
    killSwitch: describeKillSwitch(client, tr),
    proxy: describeProxy(client, tr),
    banners: describeBanners(client, { tunnel, update }, tr),
    unconfirmed: describeUnconfirmed(client, tr),
  };
}
