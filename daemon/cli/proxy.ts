// `culvert proxy`: the local proxy of the tunnel client, on, off, or how it stands.
import type { Snapshot } from '../api/schema.ts';
import { type Run, show } from './context.ts';

export const proxyStatus: Run = async context => {
  const state = describe(await context.client.call('GET /api/snapshot'));
  show(context, { ok: true, ...state }, ({ enabled, address }) =>
    enabled ? `Local proxy on${address ? ` at ${address}` : ''} (SOCKS5 and HTTP).` : 'Local proxy off.',
  );
  return 0;
};

export const proxyOn: Run = async context => {
  const response = await context.client.call('POST /api/action', { body: { action: 'enableLocalProxy' } });
  if (context.json) show(context, response, () => '');
  const { address } = describe(await context.client.call('GET /api/snapshot'));
  context.say(`Local proxy on${address ? ` at ${address}` : ''}.`);
  return 0;
};

/** Leaves every other mode alone: `proxy off` is no way to switch from DNS only to the tunnel. */
export const proxyOff: Run = async context => {
  const { enabled } = describe(await context.client.call('GET /api/snapshot'));
  if (!enabled) {
    if (context.json) show(context, { ok: true, enabled: false, address: null }, () => '');
    context.say('The local proxy is off already.');
    return 0;
  }
  const response = await context.client.call('POST /api/action', { body: { action: 'setMode', value: 'warp' } });
  if (context.json) show(context, response, () => '');
  context.say('Local proxy off; the mode is warp.');
  return 0;
};

function describe({ settings, tunnel }: Snapshot): { enabled: boolean; address: string | null } {
  const enabled = settings.Mode === 'proxy';
  return { enabled, address: enabled && tunnel.proxyPort !== null ? `127.0.0.1:${tunnel.proxyPort}` : null };
}
