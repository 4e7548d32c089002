// dns …: fallback domains and statistics.
import { type Context, notAuthorized, type Operation, refuse, say } from '../answer.ts';
import { connectedAt } from '../client/connection.ts';
import type { Fallback } from '../client/state.ts';
import { fallbackLine, fallbackOf } from '../render/settings.ts';
import { change } from './connection.ts';

export const listFallback: Operation = context => {
  const domains = fallbackOf(context);
  const text = domains.map(each => `  ${fallbackLine(each)}\n`).join('');
  return say(`Fallback domains:\n${text}`, {
    fallback_domains: domains.map(({ domain, description, servers }) => ({
      domain,
      description,
      dns_servers: servers,
    })),
  });
};
export const addFallback: Operation = (context, [domain = '']) =>
  editFallback(context, list =>
    list.some(each => each.domain === domain)
      ? refuse('AlreadyExists', `${domain} already exists.`)
      : [...list, { domain, description: 'CLI add', servers: [] }],
  );
export const removeFallback: Operation = (context, [domain = '']) =>
  editFallback(context, list =>
    list.some(each => each.domain === domain)
      ? list.filter(each => each.domain !== domain)
      : refuse('NotFound', `${domain} was not found.`),
  );
export const resetFallback: Operation = context => editFallback(context, () => null);

function editFallback(context: Context, edit: (list: Fallback[]) => Fallback[] | null | ReturnType<typeof refuse>) {
  if (context.state.policy) return notAuthorized;
  const next = edit(fallbackOf(context));
  if (next !== null && !Array.isArray(next)) return next;
  return change(context, settings => {
    settings.fallback = next;
  });
}

/** Text as of 2023.7; JSON keys as a client library reads them. */
export const dnsStats: Operation = ({ state, now, faults }) => {
  const since = connectedAt(state, now, faults);
  const queries = state.dnsStats?.queries ?? (since === null ? 0 : Math.floor((now - since) / 4000));
  const average = state.dnsStats?.averageMs ?? (queries === 0 ? 0 : 14.5 + (queries % 7) / 2);
  const text = [
    `Queries: ${queries}`,
    `Average Duration: ${average.toFixed(2)}ms`,
    `Success: ${(queries === 0 ? 0 : 100).toFixed(1)}%`,
    ...['Timed Out', 'No Records Found', 'Other Error'].map(name => `${name}: 0.0%`),
  ];
  return say(`${text.join('\n')}\n`, {
    dns_proxy_enabled: since !== null,
    avg_duration_millis: average,
    timed_out: 0,
    no_records_found: 0,
    other_error: 0,
    success: queries,
    total: queries,
  });
};
export const defaultFallbacks: Operation = () => say('127.0.0.53\n', ['127.0.0.53']);
