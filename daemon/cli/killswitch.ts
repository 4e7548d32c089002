// `culvert killswitch`: blocks traffic outside the tunnel, or says whether it is blocked.
import type { KillSwitch } from '../api/schema.ts';
import { type Context, type Run, show } from './context.ts';

export const killSwitchStatus: Run = async context => {
  show(context, await context.client.call('GET /api/killswitch'), describe);
  return 0;
};

export const killSwitchOn: Run = (context, _, options) => set(context, true, options.allowLan === true);
export const killSwitchOff: Run = context => set(context, false, false);

async function set(context: Context, enabled: boolean, allowLan: boolean): Promise<number> {
  show(context, await context.client.call('POST /api/killswitch', { body: { enabled, allowLan } }), describe);
  return 0;
}

function describe({ enabled, allowLan, active, detail }: KillSwitch): string {
  const wanted = `Kill switch ${enabled ? 'on' : 'off'}${enabled && allowLan ? ', local network allowed' : ''}`;
  const measured = active === null ? 'whether it blocks is not known' : active ? 'it blocks' : 'it does not block';
  return `${wanted}; ${measured}.${detail ? ` ${detail}` : ''}`;
}
