// `culvert mode` and `culvert protocol`: show what is set, or set it.

import { subjectOf } from '../../../api/actions.ts';
import type { ActionRequest, Snapshot } from '../../../api/schema.ts';
import { protocolOf } from '../../../state/status-line.ts';
import { printable } from '../../../system/printable.ts';
import { subjectLabel } from '../../../view/states/changes.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Options, type Run, show } from '../../context.ts';
import { forSeconds } from '../../duration.ts';
import { unknown, usage } from '../../errors.ts';
import { askToKeep, keepingOf, limited, sayEnd } from '../../keep.ts';
import { MODES, PROTOCOLS } from '../../labels.ts';
import { columns } from '../../terminal/columns.ts';

export const mode: Run = async (context, [name], options) => {
  if (name !== undefined) return set(context, options, { action: 'setMode', value: choose('mode', name, MODES) });
  const snapshot = await context.client.call('GET /api/snapshot');
  return print(context, 'mode', snapshot.settings.Mode ?? null, { names: MODES, snapshot });
};

export const protocol: Run = async (context, [name], options) => {
  if (name !== undefined)
    return set(context, options, { action: 'setProtocol', value: choose('protocol', name, PROTOCOLS) });
  const snapshot = await context.client.call('GET /api/snapshot');
  return print(context, 'protocol', protocolOf(snapshot), { names: PROTOCOLS, snapshot });
};

async function set(context: Context, options: Options, request: ActionRequest): Promise<number> {
  const limit = forSeconds(options);
  const wanted = keepingOf(context, options);
  // a change with an end needs no question, unless the user asks for one
  const keeping = limit === undefined || wanted.isWanted ? wanted : { asks: false };
  const body: ActionRequest = {
    ...request,
    ...limited(keeping),
    ...(limit === undefined ? {} : { forSeconds: limit }),
  };
  const response = await context.client.call('POST /api/action', { body });
  if (context.json) show(context, response, () => '');
  const subject = subjectOf(request.action)!;
  context.say(`${subjectLabel(subject, english)} set to ${request.value}.`);
  if (limit !== undefined) await sayEnd(context, subject);
  return askToKeep(context, subject, keeping);
}

/** The name alone where a program reads it; on a terminal, all names with the current one marked. */
function print(
  context: Context,
  what: string,
  current: string | null,
  { names, snapshot }: { names: Record<string, string>; snapshot: Snapshot },
): undefined {
  if (current === null) throw unknown(what, 'settings', snapshot);
  if (context.json) return show(context, { ok: true, [what]: current }, () => '') as undefined;
  if (!context.stdout.isTTY) return context.print(printable(current)) as undefined;
  const { style } = context;
  const choices = Object.hasOwn(names, current) ? names : { [current]: 'set by the tunnel client', ...names };
  const rows = Object.entries(choices).map(([name, summary]) => [name === current ? '●' : ' ', name, summary]);
  context.print(columns(rows, (text, column) => [style.green, style.bold, style.dim][column]!(text), context.width));
}

/** The name as the contract spells it, whatever its case. */
function choose<K extends string>(what: string, name: string, names: Record<K, string>): K {
  const choice = (Object.keys(names) as K[]).find(key => key.toLowerCase() === name.toLowerCase());
  if (!choice) throw usage(`There is no ${what} "${name}".`, `Choose one of: ${Object.keys(names).join(', ')}`);
  return choice;
}
