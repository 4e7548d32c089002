// `culvert routes list|reset`: the entries as a table, and the defaults of WARP.
import type { ActionRequest, Snapshot, SplitTunnel } from '../../../api/schema.ts';
import { type Run, show } from '../../context.ts';
import { EXIT, unknown } from '../../errors.ts';
import { askToKeep, keepingOf, requestKept } from '../../keep.ts';
import { columns } from '../../terminal/columns.ts';

export const list: Run = async context => {
  const split = knownList(await context.client.call('GET /api/snapshot'));
  show(context, split, ({ mode, ips, hosts }) => {
    const rows = [
      ...ips.map(({ value, description }) => ['', value, value.includes('/') ? 'range' : 'address', description ?? '']),
      ...hosts.map(({ value, description }) => ['', value, 'host', description ?? '']),
    ];
    if (!rows.length)
      return mode === 'include'
        ? 'Nothing uses WARP. Add a site: culvert routes add HOST'
        : 'Nothing bypasses WARP. Add a site: culvert routes add HOST';
    const title = mode === 'include' ? 'Only these use WARP:' : 'These bypass WARP:';
    const table = columns(rows, (text, column) => (column > 1 ? context.style.dim(text) : text), context.width);
    return `${context.style.bold(title)}\n${table}`;
  });
  return EXIT.ok;
};

export const reset: Run = async (context, _, options) => {
  const isBoth = !options.ips === !options.hosts;
  const keeping = keepingOf(context, options);
  const results = [];
  if (isBoth || options.ips) results.push(await requestKept(context, { action: 'resetSplitIps' }, keeping));
  const hosts: ActionRequest = isBoth ? { action: 'resetSplitHosts', continues: true } : { action: 'resetSplitHosts' };
  if (isBoth || options.hosts) results.push(await requestKept(context, hosts, keeping));
  if (context.json) show(context, { results }, () => '');
  context.say(
    `${isBoth ? 'Addresses and hosts' : options.ips ? 'Addresses' : 'Hosts'} are the defaults of WARP again.`,
  );
  return askToKeep(context, 'routes', keeping);
};

/** The list. It is empty before it was ever read, too: that must not pass for "nothing bypasses WARP". @throws Failure */
export function knownList(snapshot: Snapshot): SplitTunnel {
  const split = snapshot.splitTunnel;
  if (split.mode === null && split.ips.length + split.hosts.length === 0)
    throw unknown('split tunnel', 'splitTunnel', snapshot);
  return split;
}
