// The remaining commands: DNS, networks, overrides, targets, and what only reports.
import { type Context, notAuthorized, type Operation, refuse, say, success } from '../answer.ts';
import { connectedAt, effectiveProtocol } from '../connection.ts';
import { fallbackLine, fallbackOf, settingsJson, settingsText } from '../render/settings.ts';
import { targetTable } from '../render/targets.ts';
import type { Fallback } from '../state.ts';
import { statsAt } from '../stats.ts';
import { change } from './connection.ts';

const HOUR = 3_600_000;

export const settings: Operation = context => say(settingsText(context), settingsJson(context));
export const modeSwitchAllowed: Operation = ({ state }) => {
  const allowed = state.policy?.allowModeSwitch ?? true;
  return say(`${allowed}\n`, allowed);
};
export const supportUrl: Operation = ({ state }) =>
  say(`${state.policy?.supportUrl ?? ''}\n`, state.policy?.supportUrl ?? '');

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

export const vnet: Operation = (context, [id]) => {
  const { vnets, settings } = context.state;
  const active = settings.activeVnet ?? vnets.find(each => each.default)?.id ?? null;
  if (id !== undefined) {
    if (!vnets.some(each => each.id === id))
      return refuse('UnknownVirtualNetwork', `Virtual network ${id} does not exist.`);
    return change(context, each => {
      each.activeVnet = id;
    });
  }
  const blocks = vnets.map(
    each =>
      `  ID: ${each.id}\n  Name: ${each.name}\n${each.description ? `  Description: ${each.description}\n` : ''}  Default: ${each.default}\n`,
  );
  return say(`Currently selected: ${active ?? 'None'}\n${blocks.join('\n')}`, {
    active_vnet_id: active,
    virtual_networks: vnets,
  });
};

export const showOverride: Operation = ({ state, now }) => {
  const until = state.override && state.override.until > now ? state.override.until : null;
  if (until === null) return say('No override currently set\n', { override: null });
  const seconds = Math.ceil((until - now) / 1000);
  return say(`Override ends in ${seconds}s\n`, { override: { ends_in_secs: seconds } });
};
export const unlock: Operation = ({ state, now }, [code = '']) => {
  if (!/^[A-Za-z0-9-]{4,}$/.test(code)) return refuse('InvalidOverrideCode', 'Invalid override code.');
  state.override = { code, until: now + HOUR };
  return success;
};

/** Consumers have no policy that would permit it: refused there (2026.7.1377). */
export const allowLocalNetwork: Operation = ({ state, now }) => {
  if (!state.policy?.localNetwork) return notAuthorized;
  state.localNetworkUntil = now + HOUR;
  return success;
};
export const stopLocalNetwork: Operation = ({ state }) => {
  state.localNetworkUntil = null;
  return success;
};
export const showLocalNetwork: Operation = ({ state, now }) => {
  const seconds = Math.max(Math.ceil(((state.localNetworkUntil ?? 0) - now) / 1000), 0);
  const text = seconds > 0 ? `Access to local network ends in ${seconds}s\n` : 'No current access to local network\n';
  return say(text, { allowed: seconds > 0, ends_in_secs: seconds });
};

export const listSsids: Operation = ({ state }) =>
  say(`Trusted SSIDs:\n${state.settings.ssids.map(ssid => `  ${ssid}\n`).join('')}`, state.settings.ssids);
export const addSsid: Operation = (context, [ssid = '']) => {
  if (context.state.policy) return notAuthorized;
  const { ssids } = context.state.settings;
  if (ssids.includes(ssid)) return refuse('AlreadyExists', `${ssid} already exists.`);
  return change(context, settings => {
    settings.ssids = [...ssids, ssid];
  });
};
export const removeSsid: Operation = (context, [ssid = '']) => {
  if (context.state.policy) return notAuthorized;
  const { ssids } = context.state.settings;
  if (!ssids.includes(ssid)) return refuse('NotFound', `${ssid} was not found.`);
  return change(context, settings => {
    settings.ssids = ssids.filter(each => each !== ssid);
  });
};

export const targets: Operation = ({ state }) => say(targetTable(state.targets), state.targets);
export const certs: Operation = () => say('', []);
export const mdmConfigs: Operation = () => say('No MDM configurations found\n', []);
export const alternateNetwork: Operation = () => say('');
export const posture: Operation = () => say('[]\n', []);
export const dex: Operation = () => say('[]\n', []);

/** One line of JSON in either form (2023.7). */
export const network: Operation = ({ state }) => say(`${JSON.stringify(state.network)}\n`, state.network);

/** Of the real layout nothing was recorded. */
export const clientStats: Operation = context => {
  const figures = statsAt(context, effectiveProtocol(context.state, context.era));
  const all = { bytes_sent: figures?.sent ?? 0, bytes_received: figures?.received ?? 0 };
  return say(`Bytes sent: ${all.bytes_sent}\nBytes received: ${all.bytes_received}\n`, all);
};
