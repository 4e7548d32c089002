// `culvert mode` and `culvert protocol`: show what is set, or set it.
import type { ActionName, Status } from '../api/schema.ts';
import { type Context, type Run, show } from './context.ts';
import { unknown, usage } from './exit.ts';
import { protocolOf } from './statusline.ts';
import { columns, printable } from './terminal.ts';
import { MODES, PROTOCOLS } from './vocabulary.ts';

export const mode: Run = async (context, [name]) => {
  if (name !== undefined) return set(context, 'setMode', 'Mode', choose('mode', name, MODES));
  const snapshot = await context.client.call('GET /api/snapshot');
  return print(context, 'mode', snapshot.settings.Mode ?? null, MODES, snapshot.status);
};

export const protocol: Run = async (context, [name]) => {
  if (name !== undefined) return set(context, 'setProtocol', 'Protocol', choose('protocol', name, PROTOCOLS));
  const snapshot = await context.client.call('GET /api/snapshot');
  return print(context, 'protocol', protocolOf(snapshot), PROTOCOLS, snapshot.status);
};

async function set(context: Context, action: ActionName, label: string, value: string): Promise<undefined> {
  const response = await context.client.call('POST /api/action', { body: { action, value } });
  if (context.json) show(context, response, () => '');
  context.say(`${label} set to ${value}.`);
}

/** The name alone where a program reads it; on a terminal, all names with the current one marked. */
function print(
  context: Context,
  what: string,
  current: string | null,
  names: Record<string, string>,
  status: Status,
): undefined {
  if (current === null) throw unknown(what, status);
  if (context.json) return show(context, { ok: true, [what]: current }, () => '') as undefined;
  if (!context.stdout.isTTY) return context.print(printable(current)) as undefined;
  const { style } = context;
  const known = Object.hasOwn(names, current) ? names : { [current]: 'set by the tunnel client', ...names };
  const rows = Object.entries(known).map(([name, summary]) => [name === current ? '●' : ' ', name, summary]);
  context.print(columns(rows, (text, column) => [style.green, style.bold, style.dim][column]!(text)));
}

/** The name as the contract spells it, whatever its case. */
function choose(what: string, name: string, names: Record<string, string>): string {
  const found = Object.keys(names).find(known => known.toLowerCase() === name.toLowerCase());
  if (!found) throw usage(`There is no ${what} "${name}".`, `Choose one of: ${Object.keys(names).join(', ')}`);
  return found;
}
